"""PRED_EN: predicted engagement of a query and a reply.

Ghazarian, Weischedel, Galstyan and Peng 2020. The mean of BERT's states in the layer before the
last, special tokens included, for the query (the turn before) and for the reply; the mean of the
two goes through three layers of tanh to the probability of "engaging". One network was trained on
ConvAI, the other, with fine-tuning, on DailyDialog too: two folders, two metrics.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dialens.metrics._family import Family, NotReadyError, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._token_encoder import longest
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    lacking_packages,
    lacking_weights,
    load_model,
)
from dialens.models import padded, run_batches, token_batches

if TYPE_CHECKING:
    import torch

CLASSIFIER = "classifier.safetensors"
"""The authors' `best_model.pt` (or `best_model_finetuned.pt`) as safetensors, beside BERT."""

LAYERS = ("mlp_hidden_0", "mlp_hidden_1", "mlp_hidden_2", "mlp_out")
LONGEST = 128
_CLASSES = 2  # not engaging, engaging
_FILES = ("config.json", CLASSIFIER)
_TOKENS = {"cpu": 2048, "cuda": 32768}
_NAMES = {
    "pred_en": "as published, trained on ConvAI",
    "pred_en_finetuned": "fine-tuned on DailyDialog",
}


class PredEnScorer:
    """The probability that the reply to the last turn is engaging."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._layers = _classifier(loaded.folder / CLASSIFIER, loaded)
        self.signature = loaded.signature

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit, each with a turn before it."""
        import torch

        pairs = [(unit.context[-1], unit.response) for unit in units]
        texts = {
            text: place for place, text in enumerate(dict.fromkeys(t for p in pairs for t in p))
        }
        vectors = self._vectors(list(texts), paced(advance, len(units), len(texts)))
        queries, replies = ([texts[pair[side]] for pair in pairs] for side in (0, 1))
        state = (vectors[queries] + vectors[replies]) / 2
        with torch.inference_mode():
            for place, (weight, bias) in enumerate(self._layers):
                state = torch.nn.functional.linear(state, weight, bias)
                if place < len(self._layers) - 1:
                    state = torch.tanh(state)
            chances = state.softmax(dim=-1)[:, 1:]
        result: Floats = chances.cpu().double().numpy()
        return result

    def _vectors(self, texts: list[str], tell: Callable[[int], None]) -> "torch.Tensor":
        import torch

        tokenizer, device = self._loaded.tokenizer, self._loaded.device
        most = min(LONGEST, longest(self._loaded))
        ids = tokenizer(texts, truncation=True, max_length=most)["input_ids"]
        vectors = torch.empty((len(texts), self._loaded.model.config.hidden_size), device=device)

        def run(rows: np.ndarray) -> torch.Tensor:
            chosen = [ids[row] for row in rows]
            read = padded([[1] * len(row) for row in chosen], 0).to(device)
            states = self._loaded.model(
                input_ids=padded(chosen, 0).to(device),
                attention_mask=read,
                output_hidden_states=True,
            ).hidden_states[-2]
            share = read[:, :, None].float()
            means: torch.Tensor = (states * share).sum(dim=1) / share.sum(dim=1)
            return means

        with torch.inference_mode():
            batches = token_batches([len(row_ids) for row_ids in ids], _TOKENS[device])
            for rows, means in run_batches(batches, run):
                vectors[rows] = means
                tell(len(rows))
        return vectors


def _classifier(file: Path, loaded: Loaded) -> "list[tuple[torch.Tensor, torch.Tensor]]":
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights = load_file(str(file))
        layers = [(weights[f"{layer}.weight"], weights[f"{layer}.bias"]) for layer in LAYERS]
    except (SafetensorError, KeyError) as error:
        raise NotReadyError(
            f"{file} is not PRED_EN's classifier: it should hold weight and bias of "
            f"{', '.join(LAYERS)} ({error})"
        ) from error
    width = loaded.model.config.hidden_size
    if layers[0][0].shape[1] != width or len(layers[-1][0]) != _CLASSES:
        raise NotReadyError(
            f"{file} does not fit {loaded.folder}: vectors there have {width} numbers"
        )
    return [(w.float().to(loaded.device), b.float().to(loaded.device)) for w, b in layers]


def ready(name: str, context: ScorerContext) -> str | None:
    """What is missing."""
    what = _what(name)
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, name, what, files=_FILES)


def open_scorer(name: str, context: ScorerContext) -> PredEnScorer:
    """Load the encoder and the classifier."""
    return PredEnScorer(load_model(context, name, _what(name), files=_FILES))


def _what(name: str) -> str:
    return f"BERT and PRED_EN's classifier, {_NAMES[name]}"


FAMILIES = tuple(
    Family(
        name=name,
        label="PRED_EN",
        outputs=(
            Output(
                name,
                f"Predicted engagement of the reply ({how})",
                (0.0, 1.0),
                label="PRED_EN, fine-tuned" if name.endswith("_finetuned") else "PRED_EN",
            ),
        ),
        open=partial(open_scorer, name),
        ready=partial(ready, name),
        needs=("context",),
        reads=("context",),
        weights={name: _what(name)},
        citation="Ghazarian et al. 2020, Predictive Engagement: An Efficient Metric for Automatic "
        "Evaluation of Open-Domain Dialogue Systems, AAAI",
    )
    for name, how in _NAMES.items()
)


PLACE = 200
METRICS = FAMILIES
