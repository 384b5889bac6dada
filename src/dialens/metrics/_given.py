"""Metrics whose values were found elsewhere, by judges say: looked up, then added up as ours.

Their card keeps the reasons for which a value may be missing, from which the sums in a score folder
can be read again without the table that they came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.metrics._batch import TurnBatch
from dialens.metrics._card import LAST, Definition, MetricCard, Resources
from dialens.metrics._features import Additive, quantised
from dialens.metrics._state import Floats, State, Values, ratio

NOT_THERE = "not judged"
"""Why units have no value that the table does not name."""

GIVEN = pl.Schema({"dialog": pl.String, "turn": pl.Int32, "value": pl.Float64, "reason": pl.String})
"""One row a unit; `turn` is null for whole dialogues, `reason` says why `value` is."""


@dataclass(frozen=True)
class GivenValues(Additive):
    """Values by turn or by dialogue, from a table.

    Columns: the sum, how many units have a value, how many turns stand behind them, and units
    without a value for each reason.
    """

    name: str
    of_turns: bool
    reasons: tuple[str, ...]
    table: pl.DataFrame = field(repr=False, compare=False)

    def turns(self, batch: TurnBatch) -> Floats:
        """The value of each turn; nothing where dialogues have them."""
        if not self.of_turns:
            return np.zeros((batch.turns.height, 3 + len(self.reasons)))
        return self._columns(batch.turns.select("dialog", "turn"), np.ones(batch.turns.height))

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Sums over the turns that are kept, or a dialogue's own value."""
        if self.of_turns:
            return super().dialogs(batch, turns, keep)
        units = batch.turns.select("dialog")[batch.dialog_starts]
        return self._columns(units, batch.turns_by_dialog(keep).astype(np.float64))

    def _columns(self, units: pl.DataFrame, behind: Floats) -> Floats:
        found = units.join(self.table, on=units.columns, how="left", maintain_order="left")
        value = quantised(found["value"].cast(pl.Float64).fill_null(np.nan).to_numpy())
        present = ~np.isnan(value)
        why = found["reason"].fill_null(NOT_THERE)
        lacking = [(why == reason).to_numpy() & ~present for reason in self.reasons]
        columns = [np.where(present, value, 0.0), present, np.where(present, behind, 0.0), *lacking]
        return np.column_stack([column.astype(np.float64) for column in columns])


def given_metric(
    name: str,
    values: pl.DataFrame,
    *,
    meaning: str,
    family: str,
    family_label: str,
    label: str,
    higher_reads: str = "",
    uses: Mapping[str, str],
    range: tuple[float | None, float | None] = (None, None),
    higher_is_better: bool | None = None,
    headline: int = LAST,
) -> MetricCard:
    """A metric whose values stand in a table, by turn or by dialogue.

    Larger units have the mean of theirs; units that the table does not name are `not judged`.

    Args:
        name: What the `metric` column holds.
        values: In the columns of `GIVEN`, all of turns or all of dialogues.
        meaning: One line.
        family: What it is selected with.
        family_label: The family's heading.
        label: Its heading.
        higher_reads: What an agent with the higher value does, as a predicate.
        uses: What the values depend on, for the signature.
        range: Lowest and highest possible value.
        higher_is_better: Or None, where neither is.
        headline: Its rank among the metrics that are shown first.

    Examples:
        >>> from dialens.corpus import Corpus, Dialogue, Turn
        >>> from dialens.metrics._scoring import score
        >>> table = pl.DataFrame([("d1", None, 4.0, None)], schema=GIVEN, orient="row")
        >>> card = given_metric(
        ...     "judge_warmth",
        ...     table,
        ...     meaning="Warmth.",
        ...     family="judge",
        ...     family_label="Judges",
        ...     label="Warmth",
        ...     uses={"model": "small"},
        ... )
        >>> talks = [
        ...     Dialogue("s", "bot", name, [Turn("B", "agent", "Hi!")]) for name in ("d1", "d2")
        ... ]
        >>> scores = score(Corpus.of(talks), metrics=[card])
        >>> scores.wide("dialog").select("dialog", "judge_warmth").rows()
        [('d1', 4.0), ('d2', None)]
        >>> scores.signatures["judge_warmth"]
        'judge_warmth|v1|model:small'
    """
    table = values.select(pl.col(column).cast(kind) for column, kind in GIVEN.items())
    of_turns = bool(table.height) and table["turn"].null_count() == 0
    if not of_turns:
        table = table.drop("turn")
    known = table["reason"].drop_nulls().unique(maintain_order=True).to_list()
    reasons = (*(reason for reason in known if reason != NOT_THERE), NOT_THERE)
    signed = {key: value.replace("|", "/") for key, value in uses.items()}

    def make(_: Resources) -> Definition:
        return given_definition(name, reasons, table=table, of_turns=of_turns, uses=signed)

    return MetricCard(
        name,
        meaning,
        family,
        make,
        levels=("turn", "dialog", "agent", "system") if of_turns else ("dialog", "agent", "system"),
        range=range,
        higher_is_better=higher_is_better,
        label=label,
        higher_reads=higher_reads,
        family_label=family_label,
        headline=headline,
        given=reasons,
    )


def given_definition(
    name: str,
    reasons: tuple[str, ...],
    *,
    of_turns: bool,
    table: pl.DataFrame | None = None,
    uses: Mapping[str, str] | None = None,
) -> Definition:
    """How values that were given add up; without a table, from sums that were kept alone."""
    feature = GivenValues(name, of_turns, reasons, pl.DataFrame() if table is None else table)

    def compute(state: State) -> Values:
        total, n, _, *lacking = state.own[name].T
        none = n == 0
        why = {reason: none & (count > 0) for reason, count in zip(reasons, lacking, strict=True)}
        return Values.missing(ratio(total, n), {**why, NOT_THERE: none})

    def behind(state: State) -> Floats:
        return np.asarray(state.own[name][:, 2], np.float64)

    return Definition((feature,), compute, uses or {}, None if of_turns else behind)
