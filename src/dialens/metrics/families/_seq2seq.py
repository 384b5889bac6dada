"""How likely an encoder-decoder finds one text, having read another: BARTScore, Prism."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dialens.metrics._family import NotReadyError, ScorerContext
from dialens.metrics._state import Floats
from dialens.metrics.families._weights import Loaded, load_model
from dialens.models import padded, run_batches, token_batches

_TOKENS = {"cpu": 1024, "cuda": 16384}  # of a batch; each needs a row as wide as the vocabulary


@dataclass(frozen=True)
class Reading:
    """What is read, and what should follow.

    Attributes:
        source: Token ids for the encoder, with whatever it wants around them.
        target: Token ids that the decoder should give, its end included.
        forced: How many of the first are given to the decoder and do not count.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    forced: int = 0


def load_halves(context: ScorerContext, name: str, what: str) -> Loaded:
    """An encoder-decoder with a head for generation that says what its decoder begins with.

    Args:
        context: Says where the user has the weights, and where they run.
        name: Of the weights.
        what: Should be in the folder, in words.

    Raises:
        NotReadyError: It is missing, or does not say so.
    """
    loaded = load_model(context, name, what, "AutoModelForSeq2SeqLM", may_lack=())
    decoder_start(loaded)
    return loaded


def decoder_start(loaded: Loaded) -> int:
    """The token that the decoder is given first.

    Raises:
        NotReadyError: The folder does not say; to guess would give other numbers.
    """
    for config in (loaded.model.config, loaded.model.generation_config):
        start = getattr(config, "decoder_start_token_id", None)
        if start is not None:
            return int(start)
    raise NotReadyError(
        f"{loaded.folder / 'config.json'} does not say decoder_start_token_id: add it (T5 begins "
        "with its padding, BART and mBART with the end of a text)"
    )


def likelihoods(
    loaded: Loaded, readings: Sequence[Reading], tell: Callable[[int], None] = lambda _: None
) -> Floats:
    """The mean natural logarithm of the probability of the target's tokens, for each reading.

    Args:
        loaded: An encoder-decoder with a head for generation.
        readings: Distinct ones; targets have tokens that count.
        tell: Called with the number of readings just done.
    """
    import torch

    config = loaded.model.config
    pad = config.pad_token_id or 0
    start = decoder_start(loaded)
    means_of_readings = np.empty(len(readings))
    lengths = [len(reading.source) + len(reading.target) for reading in readings]

    def run(rows: np.ndarray) -> Floats:
        chosen = [readings[row] for row in rows]
        source = padded([reading.source for reading in chosen], pad).to(loaded.device)
        read = padded([(1,) * len(reading.source) for reading in chosen], 0).to(loaded.device)
        target = padded([reading.target for reading in chosen], pad).to(loaded.device)
        counts = padded(
            [
                (0,) * reading.forced + (1,) * (len(reading.target) - reading.forced)
                for reading in chosen
            ],
            0,
        ).to(loaded.device)
        begun = torch.full_like(target[:, :1], start)
        logits = loaded.model(
            input_ids=source,
            attention_mask=read,
            decoder_input_ids=torch.cat([begun, target[:, :-1]], dim=1),
            use_cache=False,
        ).logits
        spoken = logits.gather(2, target[:, :, None])[:, :, 0] - logits.logsumexp(dim=2)
        means: Floats = ((spoken * counts).sum(dim=1) / counts.sum(dim=1)).cpu().double().numpy()
        return means

    with torch.inference_mode():
        for rows, means in run_batches(token_batches(lengths, _TOKENS[loaded.device]), run):
            means_of_readings[rows] = means
            tell(len(rows))
    return means_of_readings
