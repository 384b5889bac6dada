"""The alternative annotator test: may a judge stand in for a person?

Each person is left out in turn. On every item that they and others labelled, the judge and the
person are held against the others: whoever is at least as near has a point. A person is beaten if
the judge's points are not fewer by `epsilon` or more, which is what a judge saves; the share of
people beaten is the winning rate, and from one half on the judge may replace people (Calderon et
al. 2025, arXiv:2501.10970).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import stats

from dialens.statistics._bootstrap import Floats

FEWEST_ITEMS = 30
"""A person with fewer shared items is not tested."""

EPSILON = 0.2
"""By how much a judge may be worse, since it costs less: .2 beside experts, .1 beside a crowd."""

LEVEL = 0.05

Fit = Literal["labels", "numbers"]


@dataclass(frozen=True)
class AlternativeTest:
    """What became of the test for one judge.

    Attributes:
        winning_rate: Share of people that the judge beats; None if nobody could be tested.
        advantage: Mean share of items on which the judge is at least as near to the others as
            the person left out.
        people: A row a person: `rater`, `n` items, the points of `judge` and `person`, `p`,
            `p_adjusted` and whether `beaten`; those with too few items have no p.
        epsilon: By how much the judge was allowed to be worse.
        reason: Why there is no rate.
    """

    winning_rate: float | None
    advantage: float | None
    people: pl.DataFrame
    epsilon: float
    reason: str | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the judge may replace people; None if nobody could be tested."""
        return None if self.winning_rate is None else self.winning_rate >= 0.5


def alternative_test(
    people: pl.DataFrame,
    judge: pl.DataFrame,
    *,
    fit: Fit,
    epsilon: float = EPSILON,
    fewest: int = FEWEST_ITEMS,
) -> AlternativeTest:
    """Whether a judge's labels may replace those of a person.

    Args:
        people: `item`, `rater`, `value`; one value a person and item.
        judge: `item`, `value`; one value an item.
        fit: `labels` counts equal values, `numbers` takes the root mean squared difference.
        epsilon: By how much the judge may be worse.
        fewest: Shared items below which a person is not tested.

    Examples:
        Three people who agree, and a judge who agrees with them:

        >>> items = [f"i{n}" for n in range(40)]
        >>> said = [n % 2 for n in range(40)]
        >>> people = pl.concat(
        ...     pl.DataFrame({"item": items, "rater": who, "value": said}) for who in "abc"
        ... )
        >>> judge = pl.DataFrame({"item": items, "value": said})
        >>> done = alternative_test(people, judge, fit="labels")
        >>> done.winning_rate, done.advantage, done.passed
        (1.0, 1.0, True)
    """
    points = _points(people, judge, fit)
    rows = [
        _person(str(who[0]), part, epsilon, fewest)
        for who, part in points.group_by("rater", maintain_order=True)
    ]
    table = pl.DataFrame(rows, schema=_PEOPLE)
    tested = table.filter(pl.col("p").is_not_null())
    if tested.is_empty():
        reason = f"no person shares {fewest} items with the judge and another person"
        return AlternativeTest(None, None, table, epsilon, reason)
    adjusted = stats.false_discovery_control(tested["p"].to_numpy(), method="by")
    found = tested.select("rater", p_adjusted=pl.Series(adjusted))
    table = table.drop("p_adjusted", "beaten").join(found, on="rater", how="left")
    table = table.with_columns(beaten=pl.col("p_adjusted") < LEVEL).sort("rater")
    kept = table.filter(pl.col("p").is_not_null())
    rate, advantage = kept["beaten"].mean(), kept["judge"].mean()
    assert isinstance(rate, float)
    assert isinstance(advantage, float)
    return AlternativeTest(rate, advantage, table, epsilon)


_PEOPLE = {
    "rater": pl.String,
    "n": pl.Int64,
    "judge": pl.Float64,
    "person": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "beaten": pl.Boolean,
}


def _points(people: pl.DataFrame, judge: pl.DataFrame, fit: Fit) -> pl.DataFrame:
    """For each person and item that others labelled too: are judge and person at least as near?"""
    nearness = _NEARNESS[fit]
    machine = dict(judge.select("item", "value").iter_rows())
    rows = []
    for (item,), part in people.group_by("item", maintain_order=True):
        if part.height < 2 or item not in machine:
            continue
        raters, values = part["rater"].to_list(), part["value"].to_numpy()
        for at, rater in enumerate(raters):
            others = np.delete(values, at)
            by_judge, by_person = nearness(machine[item], others), nearness(values[at], others)
            rows.append((item, rater, by_judge >= by_person, by_person >= by_judge))
    schema = {"item": people.schema["item"], "rater": people.schema["rater"]}
    return pl.DataFrame(
        rows, schema={**schema, "judge": pl.Boolean, "person": pl.Boolean}, orient="row"
    ).sort("rater", maintain_order=True)


def _equal(value: Any, others: Floats) -> float:
    return float(np.mean(others == value))


def _close(value: Any, others: Floats) -> float:
    return -float(np.sqrt(np.mean(np.square(others - value))))


_NEARNESS: dict[Fit, Callable[[Any, Floats], float]] = {"labels": _equal, "numbers": _close}


def _person(rater: str, points: pl.DataFrame, epsilon: float, fewest: int) -> dict[str, object]:
    judge = points["judge"].to_numpy().astype(float)
    person = points["person"].to_numpy().astype(float)
    row = {"rater": rater, "n": len(judge), "judge": judge.mean(), "person": person.mean()}
    if len(judge) < fewest:
        return row | {"p": None}
    gap = person - judge
    if np.ptp(gap) == 0:  # no variance, no test: the difference is what it is
        return row | {"p": 0.0 if gap[0] < epsilon else 1.0}
    return row | {"p": float(stats.ttest_1samp(gap, epsilon, alternative="less").pvalue)}
