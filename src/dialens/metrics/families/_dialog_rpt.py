"""DialogRPT: which reply would people vote up, answer, or answer at length?

Gao et al. 2020. Five GPT-2 models with one number on the last token each; their own weights
(`microsoft/DialogRPT-updown` …) are read as published. The rankers that ship with this package,
under `dialog_rpt_dialens_…`, are in `shipped_ranker.py`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import Family, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families import _shipped_ranker as shipped_ranker
from dialens.metrics.families._causal import dialogue_ids, end_of_turn, turn_ids
from dialens.metrics.families._token_encoder import longest
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    check_labels,
    lacking_packages,
    lacking_weights,
    load_model,
)
from dialens.models import padded, run_batches, token_batches

GROUP = "dialog_rpt"
RANKERS = {
    "updown": "How likely the reply gets more votes than others would (DialogRPT)",
    "width": "How likely the reply gets more direct answers than others would (DialogRPT)",
    "depth": "How likely the reply starts a longer thread than others would (DialogRPT)",
    "human_vs_rand": "How likely the reply belongs to this context, not to another (DialogRPT)",
    "human_vs_machine": "How likely a person wrote the reply, not a machine (DialogRPT)",
}
_TOKENS = {"cpu": 2048, "cuda": 32768}


class DialogRptScorer:
    """The logistic function of the score at the last token of context and reply.

    Every turn of the context is stripped and followed by the end of text; the reply is not. What is
    too long loses its beginning.
    """

    def __init__(self, loaded: Loaded, turns: int | None) -> None:
        self._loaded = loaded
        self._turns = turns
        self._longest = longest(loaded)
        self.signature = loaded.signature + ("" if turns is None else f",turns={turns}")

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit."""
        import torch

        rows = [self._ids(unit) for unit in units]
        scores = np.empty((len(units), 1))
        tell = paced(advance, len(units), len(units))
        model, device = self._loaded.model, self._loaded.device

        def run(batch: np.ndarray) -> Floats:
            chosen = [rows[row] for row in batch]
            ids = padded(chosen, 0).to(device)
            read = padded([[1] * len(row) for row in chosen], 0).to(device)
            states = model.transformer(
                input_ids=ids, attention_mask=read, use_cache=False
            ).last_hidden_state
            last = torch.tensor([len(row) - 1 for row in chosen], device=device)
            logits = model.score(states[torch.arange(len(chosen), device=device), last])
            chances: Floats = torch.sigmoid(logits).cpu().double().numpy()
            return chances

        with torch.inference_mode():
            batches = token_batches([len(row) for row in rows], _TOKENS[device])
            for batch, chances in run_batches(batches, run):
                scores[batch] = chances
                tell(len(batch))
        return scores

    def _ids(self, unit: Unit) -> list[int]:
        turns = unit.context if self._turns is None else unit.context[-self._turns :]
        before = dialogue_ids(self._loaded, turns) if turns else []
        return (before + turn_ids(self._loaded, unit.response))[-self._longest :]


def ready(name: str, context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, name, _what(name))


def open_scorer(name: str, context: ScorerContext) -> DialogRptScorer:
    """Load one ranker and read its options.

    Raises:
        DialensError: An option cannot be read, or the folder holds something else.
    """
    turns = context.options.get(name, {}).get("turns")
    if turns is not None and (not turns.isdecimal() or int(turns) == 0):
        raise DialensError(f"--metric-option {name}.turns={turns}: give 1, 2, 3 …")
    loaded = load_model(context, name, _what(name), "GPT2ForSequenceClassification", may_lack=())
    check_labels(loaded, 1, _what(name))
    end_of_turn(loaded)
    return DialogRptScorer(loaded, None if turns is None else int(turns))


def _what(name: str) -> str:
    return f"DialogRPT's {name.removeprefix(GROUP + '_')} ranker, a GPT-2 with one output"


def _family(ranker: str, meaning: str) -> Family:
    name = f"{GROUP}_{ranker}"
    label = f"DialogRPT {name.removeprefix('dialog_rpt_').replace('_', ' ')}"
    return Family(
        name=name,
        label=label,
        outputs=(
            Output(
                name,
                meaning,
                (0.0, 1.0),
                label=label,
                headline=105 if name == "dialog_rpt_updown" else None,
            ),
        ),
        open=partial(open_scorer, name),
        ready=partial(ready, name),
        needs=("context",),
        reads=("context",),
        weights={name: _what(name)},
        options={"turns": "how many turns of context are read; all that fit if not given"},
        citation="Gao et al. 2020, Dialogue Response Ranking Training with Large-Scale Human "
        "Feedback Data, EMNLP",
        groups=(GROUP,),
    )


FAMILIES = (*(_family(*entry) for entry in RANKERS.items()), shipped_ranker.DIALOG_RPT)


PLACE = 180
METRICS = FAMILIES
