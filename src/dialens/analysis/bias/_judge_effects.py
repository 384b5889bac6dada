"""What the design did to one language model, with intervals over items and repeats.

The same effects by the same names as people's (`effects`), so that they can stand side by side.
Fewer than five models are no sample of models, and repeats of one are no participants: the unit is
the item, with the model's repeats and prompts averaged.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import FEWEST_RATERS, USUAL, Resampling
from dialens.analysis.bias._contrasts import Contrast, anchor_contrast, contrasts
from dialens.analysis.bias._data import StudyData, by_number
from dialens.analysis.bias._effects import (
    EFFECTS,
    INDEX,
    PULL,
    effects,
    judged,
    pull_target,
)
from dialens.analysis.bias._scope_model import ALL, Scope, scopes
from dialens.analysis.judges import asked_together, distinct_answers, with_judge
from dialens.base import Estimate
from dialens.statistics import Floats, corrected
from dialens.statistics.judges import OverItems, over_items

JUDGE_EFFECTS = pl.Schema([("judge", pl.String), *EFFECTS.items()])
"""As `EFFECTS`, of each judge; `random` is `item`, `n_raters` its prompts and repeats."""

_CELL = "\x1f"
_NOT_RATED = "it answered nothing in a condition that this needs"
_FLAT = "it gave everything the same rating: there is no variance, and no test"
_SAME_TEXT = "it read the same in both conditions, word for word: no effect can show"


def judge_effects(models: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Every effect of the design on each judge, in the columns of `JUDGE_EFFECTS`.

    Where five models or more took the study, a last part, `all N models`, takes them as a sample.

    Args:
        models: Ratings of language models alone.
        draws: Whose confidence level the intervals have.
    """
    table = with_judge(models.ratings)
    names = table["judge"].unique(maintain_order=True).sort().to_list()
    found = []
    for name in names:
        part = models.with_ratings(table.filter(judge=name))
        made = effects_over_items(part, draws=draws)
        if made["value"].is_not_null().any() or len(names) < FEWEST_RATERS:
            found.append(made.with_columns(judge=pl.lit(name)))
    if len(names) >= FEWEST_RATERS:
        made = effects(models.judges_as_raters(), draws=draws)
        found.append(made.with_columns(judge=pl.lit(together(len(names)))))
    empty = JUDGE_EFFECTS.to_frame()
    return pl.concat([empty, *(made.select(JUDGE_EFFECTS.names()) for made in found)])


def together(models: int) -> str:
    """What several models are called that are taken as a sample."""
    return f"all {models} models"


def effects_over_items(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Every effect of the design on the mean of some models, in the columns of `EFFECTS`."""
    data = data.points()
    if not data.ratings.height:
        return EFFECTS.to_frame()
    numbered, level = by_number(data)
    data = data.with_ratings(distinct_answers(numbered.ratings, [*data.factors, *level]))
    rows: list[dict[str, object]] = []
    wanted = scopes(data)
    if data.factors:
        cells = judged(data)
        for scope in wanted:
            model = _Model(data, scope, cells, draws.confidence)
            rows += [model.row(one, model.contrast(one.weights)) for one in contrasts(data, cells)]
            rows += model.pull(data)
        if wanted[0].name == ALL:
            rows += _between_qualities(data, cells, draws.confidence)
        rows += _unanswered(data, wanted)
    first = wanted[:1] if wanted[0].name == ALL else wanted
    rows += _index(data, first, draws.confidence)
    return corrected(pl.DataFrame(rows, schema=EFFECTS))


def _unanswered(data: StudyData, wanted: list[Scope]) -> Iterator[dict[str, object]]:
    """Factors of the study of which the judge answered one level only."""
    for factor in data.factors:
        seen = data.levels(factor)
        if len(seen) < 2:
            why = Estimate(reason=f"of {factor} it answered under “{''.join(seen)}” only")
            for scope in wanted:
                yield _row(factor, f"the effect of {factor}", scope.name, why, "points", None) | {
                    "n_raters": data.raters.height,
                    "n_items": data.ratings["item"].n_unique(),
                }


class _Model:
    """The conditions' means of one scope, and what each cluster of items does to them."""

    def __init__(
        self, data: StudyData, scope: Scope, cells: pl.DataFrame, confidence: float
    ) -> None:
        self.data, self.scope, self.cells = data, scope, cells
        self.confidence = confidence
        keys = cells.columns
        self.rows = scope.table(data, keys)
        self.table = (
            self.rows.group_by("item", *keys, maintain_order=True)
            .agg(pl.col("value").mean())
            .join(asked_together(data.ratings), on="item", how="left", maintain_order="left")
            .with_columns(cell=pl.concat_str(keys, separator=_CELL))
        )
        self.names = cells.select(pl.concat_str(keys, separator=_CELL))[:, 0].to_list()
        self.flat = self.table.height > 1 and self.table["value"].n_unique() == 1

    def fit(self, *, within: bool) -> OverItems:
        columns = {
            name: (self.table["cell"] == name).cast(pl.Float64).to_numpy()
            for name in self.names[1:]
        }
        return over_items(
            self.table["value"].to_numpy(),
            columns,
            self.table["item"].to_list(),
            self.table["cluster"].to_list(),
            within=within,
            confidence=self.confidence,
        )

    def contrast(self, weights: Floats) -> Estimate:
        why = self._why_not(weights)
        if why is not None:
            return Estimate(reason=why)
        return self._fitted(weights).contrast(self._named(weights))

    def degrees(self, weights: Floats) -> float | None:
        if self._why_not(weights) is not None:
            return None
        return self._fitted(weights).degrees(self._named(weights))

    def _fitted(self, weights: Floats) -> OverItems:
        """Within items where each side has some of the same, between them where it has not."""
        made = self.fit(within=True)
        if made.contrast(self._named(weights)).value is None:
            made = self.fit(within=False)
        return made

    def _why_not(self, weights: Floats) -> str | None:
        there = set(self.table["cell"])
        used = [self.names[cell] for cell in np.flatnonzero(weights).tolist()]
        if not all(name in there for name in used):
            return _NOT_RATED
        if self.flat:
            return _FLAT
        return _SAME_TEXT if self._same_asks(weights) else None

    def _same_asks(self, weights: Floats) -> bool:
        """Whether both sides of a contrast rest on the very same answers."""
        ratings = self.data.ratings
        if "ask" not in ratings.columns or ratings["ask"].null_count():
            return False
        part = ratings.filter(pl.col("quality").is_in(list(self.scope.weights))).with_columns(
            cell=pl.concat_str(self.cells.columns, separator=_CELL)
        )
        up, down = (
            set(part.filter(pl.col("cell").is_in([self.names[i] for i in side.tolist()]))["ask"])
            for side in (np.flatnonzero(weights > 0), np.flatnonzero(weights < 0))
        )
        return up == down

    def _named(self, weights: Floats) -> dict[str, float]:
        pairs = zip(self.names[1:], weights[1:], strict=True)
        return {name: float(weight) for name, weight in pairs if weight}

    def pull(self, data: StudyData) -> Iterator[dict[str, object]]:
        """The share of the way to the anchor, as for people."""
        anchor = anchor_contrast(data, self.cells)
        if anchor is None:
            return
        target, why = pull_target(data)
        estimate = self.contrast(anchor.weights)
        if target is None:
            estimate = Estimate(reason=why)
        elif estimate.value is not None:
            free = -np.minimum(anchor.weights, 0.0)
            made = self._fitted(anchor.weights)
            estimate = made.share(self._named(anchor.weights), self._named(free), target)
        yield self.row(Contrast(*PULL, anchor.weights), estimate, unit="share", raw=False)

    def row(
        self, contrast: Contrast, estimate: Estimate, *, unit: str = "points", raw: bool = True
    ) -> dict[str, object]:
        used = [self.names[cell] for cell in np.flatnonzero(contrast.weights).tolist()]
        part = self.table.filter(pl.col("cell").is_in(used))
        means = dict(part.group_by("cell").agg(pl.col("value").mean()).iter_rows())
        pairs = zip(self.names, contrast.weights, strict=True)
        plain = sum(w * means.get(name, np.nan) for name, w in pairs if w)
        degrees = None if estimate.low is None else self.degrees(contrast.weights)
        return _row(
            contrast.effect, contrast.question, self.scope.name, estimate, unit, degrees
        ) | {
            "raw_value": float(plain) if raw and np.isfinite(plain) else None,
            "n_raters": self.rows["rater"].n_unique(),
            "n_items": part["item"].n_unique(),
        }


def _row(
    effect: str, question: str, quality: str, found: Estimate, unit: str, degrees: float | None
) -> dict[str, object]:
    return {
        "effect": effect, "question": question, "quality": quality, "unit": unit,
        "value": found.value, "low": found.low, "high": found.high, "p": found.p,
        "degrees": degrees, "reason": found.reason, "random": "item",
    }  # fmt: skip


def _between_qualities(
    data: StudyData, cells: pl.DataFrame, confidence: float
) -> Iterator[dict[str, object]]:
    anchor = anchor_contrast(data, cells)
    if anchor is None:
        return
    first, *others = data.qualities
    question = "whether the anchor moves one quality more than the other"
    for other in others:
        scope = Scope(f"{first} − {other}", {first: 1.0, other: -1.0})
        model = _Model(data, scope, cells, confidence)
        one = Contrast("anchor × quality", question, anchor.weights)
        if model.table.height:
            yield model.row(one, model.contrast(anchor.weights))


def _index(data: StudyData, wanted: list[Scope], confidence: float) -> Iterator[dict[str, object]]:
    """How far ratings follow the number shown, where several were."""
    if data.ratings["anchor_value"].drop_nulls().n_unique() < 2:
        return
    data, level = by_number(data)
    for scope in wanted:
        rows = scope.table(data, ["anchor", *level]).drop_nulls("anchor_value")
        table = (
            rows.group_by("item", "anchor_value", maintain_order=True)
            .agg(pl.col("value").mean())
            .join(asked_together(data.ratings), on="item", how="left", maintain_order="left")
        )
        slope, degrees = Estimate(reason=_NOT_RATED), None
        if table.height and table["value"].n_unique() == 1:
            slope = Estimate(reason=_FLAT)
        elif table.height:
            for within in (True, False):
                made = over_items(
                    table["value"].to_numpy(),
                    {"number": table["anchor_value"].to_numpy()},
                    table["item"].to_list(),
                    table["cluster"].to_list(),
                    within=within,
                    confidence=confidence,
                )
                slope, degrees = made.effect("number"), made.degrees({"number": 1.0})
                if slope.value is not None:
                    break
        yield _row(*INDEX, scope.name, slope, "share", degrees) | {
            "n_raters": rows["rater"].n_unique(),
            "n_items": table["item"].n_unique(),
        }
