"""Each judge beside people: agreement, whether it may stand in, what it saves, how steady it is.

From any table of ratings whose `rater_kind` tells people (`human`, `person`) from language models
(`llm`). A judge is what the column `judge` names, or else a rater; several ratings of an item by
one judge (prompts, repeats) are averaged where it stands beside people, and compared with each
other where it stands beside itself. What the data do not carry is null, with the reason.
"""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from dialens.analysis.judges._again import own_agreement
from dialens.analysis.judges._answers import MODELS, distinct_answers, one_side, with_judge
from dialens.analysis.judges._orders import order_shares, verdicts
from dialens.analysis.validation import mean_ratings
from dialens.base import Estimate
from dialens.corpus import kind_of_rater
from dialens.statistics import pearson
from dialens.statistics.judges import (
    EPSILON,
    Fit,
    alternative_test,
    prediction_powered,
)

PEOPLE = ("human", "simulated")

JUDGES = pl.Schema(
    {
        "judge": pl.String,
        "quality": pl.String,
        "n": pl.Int64,
        "distinct": pl.Int64,
        "r": pl.Float64,
        "r_low": pl.Float64,
        "r_high": pl.Float64,
        "r_corrected": pl.Float64,
        "ceiling": pl.Float64,
        "saving": pl.Float64,
        "saving_most": pl.Float64,
        "winning_rate": pl.Float64,
        "advantage": pl.Float64,
        "test_retest": pl.Float64,
        "test_retest_low": pl.Float64,
        "test_retest_high": pl.Float64,
        "flip_rate": pl.Float64,
        "flip_rate_low": pl.Float64,
        "flip_rate_high": pl.Float64,
        "reason": pl.String,
    }
)
"""A row a judge and quality; `distinct` is how many different ratings it gave (one: no variance,
and nothing to test), `ceiling` is the correlation with people's means that people's own
errors allow, `saving_most` the share of human ratings saved if the judge rated without end."""

_FEWEST = 4


@dataclass
class _Row:
    """What is known of a judge and a quality; what is not, with the reason."""

    values: dict[str, float | int | str | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: float | None, reason: str | None) -> None:
        self.values[name] = value
        if value is None:
            self.reasons[name] = reason or "not known"

    def put_estimate(self, name: str, found: Estimate) -> None:
        if found.value is not None and not np.isfinite(found.value):
            found = Estimate(reason="too few items, which differ too little, for a number")
        self.put(name, found.value, found.reason)
        self.values |= {f"{name}_low": found.low, f"{name}_high": found.high}


def judges_against_people(ratings: pl.DataFrame, *, epsilon: float = EPSILON) -> pl.DataFrame:
    """Hold every judge of a table against people, quality by quality.

    Args:
        ratings: `item`, `quality`, `rater`, `rater_kind`, `value`; perhaps `judge`, `prompt`,
            `repeat`, `scale`; `pair`, `order_shown` and `place` (or `position`) for pairs shown
            both ways.
        epsilon: By how much a judge may be worse than a person, as in `alternative_test`.

    Returns:
        In the columns of `JUDGES`; no row if there is no judge.

    Examples:
        >>> rows = [
        ...     (f"i{n}", who, kind, float(n % 5 + gap))
        ...     for n in range(40)
        ...     for who, kind, gap in [("a", "human", 0), ("b", "human", 1), ("m", "llm", 0)]
        ... ]
        >>> table = pl.DataFrame(rows, ["item", "rater", "rater_kind", "value"], orient="row")
        >>> found = judges_against_people(table.with_columns(quality=pl.lit("warmth")))
        >>> found.select("judge", "n", "r", "winning_rate").row(0)
        ('m', 40, 1.0, 1.0)
    """
    kind = kind_of_rater()
    people = ratings.filter(kind.is_in(PEOPLE), pl.col("value").is_not_null())
    machines = ratings.filter(kind.is_in(MODELS), pl.col("value").is_not_null())
    machines = distinct_answers(with_judge(machines))
    rows = [
        _row(str(name), str(quality), part, people.filter(pl.col("quality") == quality), epsilon)
        for (name, quality), part in machines.sort("judge", "quality").group_by(
            "judge", "quality", maintain_order=True
        )
    ]
    return pl.DataFrame(rows, schema=JUDGES)


def _row(
    judge: str, quality: str, machine: pl.DataFrame, people: pl.DataFrame, epsilon: float
) -> dict[str, object]:
    row = _Row({"judge": judge, "quality": quality})
    row.put_estimate("flip_rate", _flips(machine))
    people, machine = one_side(people), one_side(machine)
    by_judge = machine.group_by("item", maintain_order=True).agg(pl.col("value").mean())
    both = by_judge.join(people.select("item").unique(), on="item", how="semi")
    row.values |= {"n": both.height, "distinct": machine["value"].n_unique()}
    _beside(row, people, machine, by_judge)
    _standing_in(row, people, by_judge, machine, epsilon)
    row.put_estimate("test_retest", own_agreement(machine))
    whys: dict[str, list[str]] = {}
    for name, why in row.reasons.items():
        whys.setdefault(why, []).append(name)
    told = "; ".join(f"{', '.join(names)}: {why}" for why, names in whys.items())
    return {**row.values, "reason": told or None}


def _beside(row: _Row, people: pl.DataFrame, machine: pl.DataFrame, by_judge: pl.DataFrame) -> None:
    """Correlation, the same without the noise of both sides, and what the judge saves."""
    known = {item: place for place, item in enumerate(people["item"].unique(maintain_order=True))}
    names = ("r", "r_corrected", "ceiling", "saving", "saving_most")
    if not known:
        for name in names:
            row.put(name, None, "no people rated this")
        return
    units = people.select("rater", "value", unit=pl.col("item").replace_strict(known))
    rated = mean_ratings(units, len(known))
    given = dict(by_judge.iter_rows())
    shared = [item for item in known if item in given]
    x = np.array([rated.mean[known[item]] for item in shared])
    y = np.array([given[item] for item in shared])
    if len(shared) < _FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        reason = (
            f"people and judge share {len(shared)} items; {_FEWEST} are needed"
            if len(shared) < _FEWEST
            else "one side gives everything the same rating: no variance, no correlation"
        )
        for name in names:
            row.put(name, None, reason)
        return
    r = float(pearson(x, y))
    row.put("r", r, None)
    row.values |= dict(zip(("r_low", "r_high"), _fisher(r, len(shared)), strict=True))
    reliability = rated.reliability
    if reliability is None or reliability <= 0:
        reason = rated.reason or "people's ratings do not agree at all"
        row.put("ceiling", None, reason)
        row.put("r_corrected", None, reason)
    else:
        row.put("ceiling", float(np.sqrt(min(reliability, 1.0))), None)
        own = _own_reliability(machine)
        row.put("r_corrected", float(r / np.sqrt(reliability * own)), None)
    alone = np.array([value for item, value in given.items() if item not in known])
    row.put("saving_most", r * r if r > 0 else 0.0, None)
    done = prediction_powered(x, y, alone) if len(alone) else None
    row.put(
        "saving",
        None if done is None or done.saving is None else max(done.saving, 0.0),
        "people rated everything that the judge rated" if done is None else done.estimate.reason,
    )


def _fisher(r: float, n: int) -> tuple[float | None, float | None]:
    if n < _FEWEST or abs(r) >= 1:
        return None, None
    middle, reach = np.arctanh(r), 1.959964 / np.sqrt(n - 3)
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def _own_reliability(machine: pl.DataFrame) -> float:
    """Of the judge's mean over its repeats; 1 where it was asked once."""
    again = own_agreement(machine)
    if again.value is None or again.value <= 0:
        return 1.0
    k = machine.group_by("item").len()["len"].mean()
    assert isinstance(k, float)
    return k * again.value / (1 + (k - 1) * again.value)


def _standing_in(
    row: _Row, people: pl.DataFrame, by_judge: pl.DataFrame, machine: pl.DataFrame, epsilon: float
) -> None:
    fit: Fit = "numbers"
    if "label" in machine.columns and machine["label"].null_count() == 0:
        by_judge = machine.group_by("item", maintain_order=True).agg(
            value=pl.col("label").mode().sort().first()
        )
        people, fit = people.with_columns(value=pl.col("label")), "labels"
    one_each = people.group_by("item", "rater", maintain_order=True).agg(pl.col("value").first())
    done = alternative_test(one_each, by_judge, fit=fit, epsilon=epsilon)
    row.put("winning_rate", done.winning_rate, done.reason)
    row.put("advantage", done.advantage, done.reason)


def _flips(machine: pl.DataFrame) -> Estimate:
    """How often a choice between two changes with the order; needs pairs in both orders."""
    shown = verdicts(machine)
    if shown["order"].n_unique() != 2:
        return Estimate(reason="no pair was judged in both orders")
    return order_shares(shown.with_columns(rater=pl.lit("the judge"))).flip_rate
