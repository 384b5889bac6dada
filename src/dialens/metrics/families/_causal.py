"""How likely a causal language model finds a text after another: perplexity, FED."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialens.metrics._family import NotReadyError, ScorerContext
from dialens.metrics._state import Floats
from dialens.metrics.families._weights import Loaded, load_model
from dialens.models import padded, run_batches, token_batches

_TOKENS = {"cpu": 1024, "cuda": 16384}  # of a batch; each needs a row as wide as the vocabulary
_ALIKE = 1e-4  # of the largest number; a network that looks ahead changes by far more


@dataclass(frozen=True)
class Continuation:
    """Token ids of the context, at least one, and those whose likelihood is asked for."""

    context: tuple[int, ...]
    asked: tuple[int, ...]


def load_causal(context: ScorerContext, name: str, what: str) -> Loaded:
    """A causal language model whose tokenizer can end a turn.

    Args:
        context: Says where the user has the weights, and where they run.
        name: Of the weights.
        what: Should be in the folder, in words.

    Raises:
        NotReadyError: It is missing, looks ahead, as BERT and RoBERTa do, or has no such token.
    """
    loaded = load_model(context, name, what, "AutoModelForCausalLM", may_lack=())
    if not is_causal(loaded.model, loaded.device):
        raise NotReadyError(
            f"the model in {loaded.folder} looks ahead, as masked language models do, and what it "
            f"says is no probability of a text; {name} wants {what}"
        )
    end_of_turn(loaded)
    return loaded


def is_causal(network: Any, device: str) -> bool:
    """Whether what a network makes of a token depends on none that follows; found by trying."""
    import torch

    ids = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]], device=device)
    with torch.inference_mode():
        first, other = network(input_ids=ids, attention_mask=torch.ones_like(ids))[0][:, :-1]
    return bool((first - other).abs().max() <= _ALIKE * first.abs().max())


def end_of_turn(loaded: Loaded) -> int:
    """The token that ends a turn and begins a text, as in DialoGPT.

    Raises:
        NotReadyError: The tokenizer has none.
    """
    end = loaded.tokenizer.eos_token_id
    if end is None:
        raise NotReadyError(
            f"the tokenizer in {loaded.folder} has no token that ends a text: name it as eos_token "
            "in tokenizer_config.json"
        )
    return int(end)


def turn_ids(loaded: Loaded, text: str) -> list[int]:
    """Tokens of one turn, nothing added."""
    return list(
        loaded.tokenizer(text.strip(), add_special_tokens=False, verbose=False)["input_ids"]
    )


def dialogue_ids(loaded: Loaded, turns: Sequence[str]) -> list[int]:
    """Tokens of turns, each ended by the end of a text; that alone where there are no turns."""
    end = end_of_turn(loaded)
    ids = [token for turn in turns for token in (*turn_ids(loaded, turn), end)]
    return ids or [end]


def fitted(context: Sequence[int], asked: Sequence[int], most: int) -> Continuation:
    """Cut to fit: the context loses its beginning, what is asked for its end.

    Examples:
        >>> fitted([1, 2, 3], [4, 5], 4)
        Continuation(context=(2, 3), asked=(4, 5))
        >>> fitted([1, 2, 3], [4, 5, 6], 3)
        Continuation(context=(3,), asked=(4, 5))
    """
    kept = tuple(asked[: most - 1])
    return Continuation(tuple(context[-(most - len(kept)) :]), kept)


def log_likelihoods(
    loaded: Loaded,
    continuations: Sequence[Continuation],
    tell: Callable[[int], None] = lambda _: None,
) -> Floats:
    """The sum of the natural logarithms of the asked tokens' probabilities, for each.

    Args:
        loaded: A causal language model.
        continuations: Of which each has something given.
        tell: Called with the number of continuations just done.
    """
    import torch

    totals = np.empty(len(continuations))
    lengths = [len(part.context) + len(part.asked) for part in continuations]

    def run(rows: np.ndarray) -> Floats:
        chosen = [continuations[row] for row in rows]
        ids = padded([(*part.context, *part.asked) for part in chosen], 0).to(loaded.device)
        read = padded(
            [(1,) * (len(part.context) + len(part.asked)) for part in chosen],
            0,
        )
        counts = padded(
            [(0,) * len(part.context) + (1,) * len(part.asked) for part in chosen],
            0,
        )
        logits = loaded.model(
            input_ids=ids, attention_mask=read.to(loaded.device), use_cache=False
        ).logits[:, :-1]
        next_ids = ids[:, 1:, None]
        spoken = logits.gather(2, next_ids)[:, :, 0] - logits.logsumexp(dim=2)
        total = (spoken * counts[:, 1:].to(loaded.device)).sum(dim=1)
        found: Floats = total.cpu().double().numpy()
        return found

    with torch.inference_mode():
        for rows, total in run_batches(token_batches(lengths, _TOKENS[loaded.device]), run):
            totals[rows] = total
            tell(len(rows))
    return totals
