"""Agreement of people alone, and when a judge joins them as one more rater.

A judge that sees what people see leaves their agreement as it is, or raises it; one that sees
something else lowers it. The items are those that both rated, and a judge's several ratings of an
item are one. Change of ICC(2,1) and of Krippendorff's alpha, by items and by people left out in
turn (`agreement_difference`): the judge is this judge, people and items are drawn from many. Two
judges are compared on the same items and people.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import polars as pl

from dialens.statistics import corrected
from dialens.statistics.agreement import RatingMatrix, agreement_difference

PEOPLE_ALONE = "people alone"
JUDGE_PANEL = pl.Schema(
    {
        "judge": pl.String,
        "than": pl.String,
        "quality": pl.String,
        "statistic": pl.String,
        "value": pl.Float64,
        "other": pl.Float64,
        "change": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "n_items": pl.Int64,
        "n_people": pl.Int64,
        "over": pl.String,
        "reason": pl.String,
    }
)
"""`value` is the agreement of people and `judge`, `other` that of people alone (`PEOPLE_ALONE`) or
of people and the judge that `than` names; `change` is the first minus the second."""

_ADDED = ("p_adjusted", "family")
_FEWEST_PEOPLE = 2
_MOST_COMPARED = 6
_JUDGE = "\x00judge"
_LABELS = ("yes_no", "choice")


def judges_joining(
    people: pl.DataFrame,
    machines: pl.DataFrame,
    *,
    kinds: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """How the agreement of a panel of people changes when each judge joins it.

    Args:
        people: `item`, `quality`, `rater`, `value` of people.
        machines: `item`, `quality`, `judge`, `value` of judges.
        kinds: What kind of answer a quality has; labels (`yes_no`, `choice`) have no ICC.
        confidence: Of the intervals.

    Returns:
        In the columns of `JUDGE_PANEL`.

    Examples:
        >>> rows = [
        ...     (f"i{n}", who, float((n + shift) % 5))
        ...     for n in range(30)
        ...     for who, shift in [("a", 0), ("b", 1), ("c", 0)]
        ... ]
        >>> people = pl.DataFrame(rows, ["item", "rater", "value"], orient="row")
        >>> same = people.filter(rater="a").rename({"rater": "judge"})
        >>> quality = pl.lit("q").alias("quality")
        >>> found = judges_joining(people.with_columns(quality), same.with_columns(quality))
        >>> found.select("judge", "than", "statistic", pl.col("change").round(2)).row(0)  # ⅓, ½
        ('a', 'people alone', 'ICC(2,1)', 0.17)
    """
    rows: list[dict[str, Any]] = []
    for (quality,), judged in machines.drop_nulls("value").group_by(
        ["quality"], maintain_order=True
    ):
        asked = people.filter(pl.col("quality") == quality).drop_nulls(["value", "rater"])
        kind = (kinds or {}).get(str(quality), "")
        rows += [{"quality": str(quality), **row} for row in _rows(asked, judged, kind, confidence)]
    table = pl.DataFrame(rows, schema={k: v for k, v in JUDGE_PANEL.items() if k not in _ADDED})
    return corrected(table).select(JUDGE_PANEL.names())


def _rows(
    people: pl.DataFrame, judged: pl.DataFrame, kind: str, confidence: float
) -> Iterator[dict[str, Any]]:
    labels = kind in _LABELS
    one = pl.col("value").mode().sort().first() if labels else pl.col("value").mean()
    by_judge = {
        str(name): part.group_by("item", maintain_order=True).agg(one)
        for (name,), part in judged.sort("judge", maintain_order=True).group_by(
            ["judge"], maintain_order=True
        )
    }
    statistics = ("alpha_nominal",) if labels else ("ICC(2,1)", _alpha(kind))
    names = list(by_judge)
    pairs: list[tuple[str, str | None]] = [(name, None) for name in names]
    if len(names) <= _MOST_COMPARED:
        pairs += combinations(names, 2)
    for judge, than in pairs:
        both = by_judge[judge] if than is None else by_judge[judge].join(
            by_judge[than].select("item"), on="item", how="semi", maintain_order="left"
        )  # fmt: skip
        shown = people.join(both.select("item"), on="item", how="semi", maintain_order="left")
        items = shown.select("item").unique()
        first = _panel(shown, by_judge[judge].join(items, on="item", how="semi"))
        other = None if than is None else by_judge[than].join(items, on="item", how="semi")
        second = _panel(shown, other)
        for statistic in statistics:
            row = {
                "judge": judge,
                "than": than or PEOPLE_ALONE,
                "statistic": statistic,
                "n_items": items.height,
                "n_people": shown["rater"].n_unique(),
            }
            yield row | _change(first, second, statistic, row["n_people"], confidence)


def _alpha(kind: str) -> str:
    return "alpha_interval" if kind in ("slider", "magnitude", "number") else "alpha_ordinal"


def _panel(people: pl.DataFrame, judge: pl.DataFrame | None) -> RatingMatrix:
    table = people.select(pl.col("item").cast(pl.String), pl.col("rater").cast(pl.String), "value")
    if judge is not None:
        more = judge.select(pl.col("item").cast(pl.String), rater=pl.lit(_JUDGE), value="value")
        table = pl.concat([table, more], how="vertical_relaxed")
    return RatingMatrix.of(table["item"].to_list(), table["rater"].to_list(), table["value"])


def _change(
    first: RatingMatrix, second: RatingMatrix, statistic: str, people: object, confidence: float
) -> dict[str, Any]:
    if not isinstance(people, int) or people < _FEWEST_PEOPLE:
        return {"reason": f"fewer than {_FEWEST_PEOPLE} people rated what the judge rated"}
    found = agreement_difference(first, second, statistic, fixed=(_JUDGE,), confidence=confidence)
    if found.value is None:
        return {"reason": found.reason}
    return {
        "value": found.first,
        "other": found.second,
        "change": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "over": found.basis,
        "reason": found.reason,
    }
