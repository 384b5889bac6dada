"""USL-H and DialogRPT with weights that ship: trained here on Reddit's threads, not the authors'.

One small encoder (`ranker`) has a head for each part and a masked language model. It runs offline,
on processors by ONNX Runtime, without PyTorch. What it was trained on, and how good it is, is in
its card: `dialens models`.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import (
    Family,
    NotReadyError,
    Output,
    Running,
    ScorerContext,
    Unit,
)
from dialens.metrics._state import Floats
from dialens.metrics._units import distinct_replies
from dialens.models import (
    GET_LARGER,
    LanguageModel,
    Model,
    ModelCard,
    list_models,
    read_card,
    shipped_folder,
)

USL_H_NAME = "usl_h_dialens"
DIALOG_RPT_NAME = "dialog_rpt_dialens"
RANKERS = ("width", "depth", "human_vs_rand")
CONTEXT_TURNS = 2
COMPOSITIONS = ("h", "hs", "a")
_FOLDER = "ranker"


def composed(valid: Floats, fits: Floats, likelihood: Floats, how: str) -> Floats:
    """USL-H from its parts, each between 0 and 1, and so is the result.

    `h` is the paper's (U + U·S + U·S·L) / 3: what cannot be understood gains nothing from fitting,
    and what does not fit gains nothing from being specific. `hs` is what the authors' code computes
    by default, (U + S + S·L) / 3; `a` is the plain mean.

    Examples:
        >>> parts = [np.array([1.0]), np.array([0.5]), np.array([0.0])]
        >>> [round(float(composed(*parts, how)[0]), 4) for how in ("h", "hs", "a")]
        [0.5, 0.5, 0.5]
    """
    if how == "h":
        total = valid + valid * fits + valid * fits * likelihood
    elif how == "hs":
        total = valid + fits + fits * likelihood
    else:
        total = valid + fits + likelihood
    result: Floats = total / 3
    return result


def between(values: Floats, low: float, high: float) -> Floats:
    """Values as shares of the way from low to high, cut at both ends, as USL-H normalises.

    Examples:
        >>> between(np.array([5.0, 15.0, 40.0]), 10, 20).tolist()
        [0.0, 0.5, 1.0]
    """
    result: Floats = (np.clip(values, low, high) - low) / (high - low)
    return result


def composition(context: ScorerContext, family: str) -> str:
    """How the user wants the parts put together.

    Raises:
        DialensError: It is none of the ways there are.
    """
    how = context.options.get(family, {}).get("composition", "h").lower()
    if how not in COMPOSITIONS:
        raise DialensError(f"--metric-option {family}.composition={how}: give h, hs or a")
    return how


class ShippedUslH:
    """USL-H, its understandability, sensibleness and likelihood, one column each."""

    def __init__(self, card: ModelCard, how: str, *, each: bool, running: Running) -> None:
        quantiles = card.facts["likelihood"]["normalisation"]["nll"]
        self._low, self._high = float(quantiles["low"]), float(quantiles["high"])
        self._how = how
        self._each = each
        self._valid = Model(card, "valid_utterance", **running)
        self._next = Model(card, "next_utterance", **running)
        self._language = LanguageModel(card, **running)
        hidden = "each" if each else "sixth"
        self.signature = (
            f"{card.signature},{self._valid.arithmetic},composition={how},hidden={hidden}"
        )

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit; without context there is understandability and likelihood only."""
        replies, own = distinct_replies(units)
        valid = self._valid.predict(replies, advance=lambda _: None)[:, 0].astype(float)
        likelihood = self._language.score(replies, each=self._each)
        specific = np.where(
            likelihood.tokens > 0, between(-likelihood.total, self._low, self._high), np.nan
        )
        fits = np.full(len(units), np.nan)
        rows = [row for row, unit in enumerate(units) if unit.context]
        inputs = [_pair(units[row]) for row in rows]
        if rows:
            fits[rows] = self._next.predict(inputs, advance=lambda _: None)[:, 0]
        parts = (valid[own], fits, specific[own])
        advance(len(units))
        return np.stack([composed(*parts, self._how), *parts], axis=1)


class ShippedDialogRpt:
    """The chance to win against another reply to the same turn, by three kinds of feedback."""

    def __init__(self, card: ModelCard, running: Running) -> None:
        self._model = Model(card, RANKERS[0], **running)
        self.signature = f"{card.signature},{self._model.arithmetic}"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit, one column a ranker."""
        predictions = self._model.predict_many(
            [_pair(unit) for unit in units], RANKERS, advance=advance
        )
        return np.concatenate([predictions[name] for name in RANKERS], axis=1).astype(float)


def _pair(unit: Unit) -> tuple[str, str]:
    return "\n".join(unit.context[-CONTEXT_TURNS:]), unit.response


def ready(context: ScorerContext) -> str | None:
    """What is missing: the package with the larger models, or nothing."""
    del context
    return None if shipped_folder(_FOLDER) else f"its model is not installed ({GET_LARGER})"


def _card(context: ScorerContext) -> ModelCard:
    folder = shipped_folder(_FOLDER)
    if folder is None:
        raise NotReadyError(ready(context) or "")
    listed = context.cached(list_models, None)
    card = next((entry.card for entry in listed if entry.card.folder == folder), None)
    return card or read_card(folder)  # which says why it cannot be read


def open_usl_h(context: ScorerContext) -> ShippedUslH:
    """Read the options; weights are read at the first reply.

    Raises:
        DialensError: An option cannot be read.
    """
    how = composition(context, USL_H_NAME)
    hidden = context.options.get(USL_H_NAME, {}).get("hidden", "sixth")
    if hidden not in ("sixth", "each"):
        raise DialensError(f"--metric-option {USL_H_NAME}.hidden={hidden}: give sixth or each")
    return ShippedUslH(_card(context), how, each=hidden == "each", running=context.running)


def open_dialog_rpt(context: ScorerContext) -> ShippedDialogRpt:
    """Nothing is read before the first reply."""
    return ShippedDialogRpt(_card(context), context.running)


_OWN = "weights trained here on Reddit threads and open chats"

USL_H = Family(
    name=USL_H_NAME,
    label="USL-H, trained for dialens",
    language="en",
    outputs=(
        Output(
            USL_H_NAME,
            f"USL-H from its three parts ({_OWN})",
            (0.0, 1.0),
            label="USL-H dialens",
            headline=108,
        ),
        Output(
            f"{USL_H_NAME}_vup",
            f"Valid utterance: is the reply whole? ({_OWN})",
            (0.0, 1.0),
            label="USL-H dialens vup",
        ),
        Output(
            f"{USL_H_NAME}_nup",
            f"Next utterance: does it follow the context? ({_OWN})",
            (0.0, 1.0),
            label="USL-H dialens nup",
        ),
        Output(
            f"{USL_H_NAME}_mlm",
            "Negative log-likelihood of the reply as a share between that of common and of rare "
            f"replies: how specific it is ({_OWN})",
            (0.0, 1.0),
            label="USL-H dialens mlm",
        ),
    ),
    open=open_usl_h,
    ready=ready,
    reads=("context",),
    options={
        "composition": "h (the paper's), hs (the authors' code) or a (plain mean)",
        "hidden": "sixth: every sixth token is hidden at once; each: one at a time, as in the "
        "paper, and slower",
    },
    citation="Phy, Zhao and Aizawa 2020, Deconstruct to Reconstruct a Configurable Evaluation "
    "Metric for Open-Domain Dialogue Systems, COLING; our own weights",
    groups=("usl_h",),
)
DIALOG_RPT = Family(
    name=DIALOG_RPT_NAME,
    label="DialogRPT, trained for dialens",
    language="en",
    outputs=tuple(
        Output(
            f"{DIALOG_RPT_NAME}_{name}",
            f"{meaning} ({_OWN})",
            (0.0, 1.0),
            label=f"DialogRPT dialens {name.replace('_', ' ')}",
        )
        for name, meaning in zip(
            RANKERS,
            (
                "How likely the reply gets more direct answers than others would",
                "How likely the reply starts a longer thread than others would",
                "How likely the reply belongs to this context, not to another",
            ),
            strict=True,
        )
    ),
    open=open_dialog_rpt,
    ready=ready,
    needs=("context",),
    reads=("context",),
    citation="Gao et al. 2020, Dialogue Response Ranking Training with Large-Scale Human Feedback "
    "Data, EMNLP; our own weights",
    groups=("dialog_rpt",),
)
