"""How the tests of a rating study are put into words."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.analysis.people import PAIRWISE, choices_of
from dialens.base import counted, interval, number, p_value

ALPHA = 0.05


def is_clear(row: Mapping[str, Any]) -> bool:
    """Whether a row's corrected p is below the level."""
    return row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA


def with_family(row: Mapping[str, Any]) -> str:
    """The corrected p and the family it was corrected over.

    Examples:
        >>> with_family({"p_adjusted": 0.0124, "family": 19})
        'corrected p = 0.012, family of 19 tests'
    """
    if row["p_adjusted"] is None:
        return "not tested"
    tests = counted(row["family"], "test")
    return f"corrected p {p_value(row['p_adjusted'], equals=True)}, family of {tests}"


def bounds(row: Mapping[str, Any], *, percent: bool = False, flip: bool = False) -> str:
    """`95 % interval 6.0 to 22.1`, or why there is none."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return row.get("reason") or "no interval"
    if flip:
        low, high = -high, -low
    return f"95 % interval {interval(low, high, percent=percent)}"


def icc_bounds(row: Mapping[str, Any]) -> str:
    """The interval of an ICC in words; how far below 0 it reaches says nothing about agreement.

    Examples:
        >>> icc_bounds({"low": -646.4, "high": 0.5}), icc_bounds({"low": 0.25, "high": 0.5})
        ('95 % interval below 0 to 0.50', '95 % interval 0.25 to 0.50')
    """
    if row["low"] is None or row["high"] is None or row["low"] >= 0:
        return bounds(row)
    end = "0" if row["high"] < 0 else number(row["high"], 2)
    return f"95 % interval below 0 to {end}"


def below_zero(row: Mapping[str, Any]) -> bool:
    """Whether an ICC is below 0 by more than rounding."""
    return bool(round(row["value"], 2) < 0)


def no_agreement(row: Mapping[str, Any]) -> str:
    """Why an ICC below 0 means that no agreement can be seen, and how much there may be.

    Examples:
        >>> no_agreement({"high": 0.504}).partition("; ")[2]
        'ICC(2,k) is below 0, at most 0.50 by its 95 % interval'
    """
    most = row["high"]
    reach = "" if most is None or most < 0 else f", at most {number(most, 2)} by its 95 % interval"
    return (
        "raters differ about an item at least as much as items differ from each other; ICC(2,k) is "
        f"below 0{reach}"
    )


def answers_counted(analysis: StudyAnalysis) -> str:
    """How many ratings and choices, and of what: the rows of one choice are one answer.

    Examples:
        >>> from dialens.analysis.bias import analyse_study, study_data
        >>> rows = [
        ...     (f"r{r}", f"d{d}", agent, "better", float((agent == "a") == (r != d)))
        ...     for r in range(4)
        ...     for d in range(4)
        ...     for agent in "ab"
        ... ]
        >>> names = ["rater", "dialog", "agent", "quality", "value"]
        >>> from dialens.corpus import RATINGS
        >>> table = pl.DataFrame([dict(zip(names, row)) for row in rows], schema=RATINGS)
        >>> answers_counted(analyse_study(study_data(table)))
        '16 choices between pairs on 4 items'
    """
    ratings = analysis.data.ratings
    rated = analysis.data.points().ratings
    choices = choices_of(ratings).values()
    parts = []
    if rated.height or not choices:
        parts.append(f"{counted(rated.height, 'rating')} of {rated_things(rated)}")
    for pairs in (True, False):
        n = sum(one.n for one in choices if (one.kind == PAIRWISE) == pairs)
        if n:
            names = [one.quality for one in choices if (one.kind == PAIRWISE) == pairs]
            part = ratings.filter(pl.col("quality").is_in(names))
            what = " between pairs" if pairs else ""
            parts.append(f"{counted(n, 'choice')}{what}{_chosen_from(part)}")
    return " and ".join(parts)


def _chosen_from(ratings: pl.DataFrame) -> str:
    """What was chosen from: items that several agents answered, or conversations of each agent.

    Examples:
        >>> table = pl.DataFrame({"dialog": ["x", "y"], "agent": ["a", "b"], "turn": [1, 1]})
        >>> _chosen_from(table), _chosen_from(table.with_columns(dialog=pl.lit("x")))
        (' from 2 conversations', ' on 1 item')
    """
    if not {"dialog", "agent"} <= set(ratings.columns) or ratings["dialog"].null_count():
        return ""
    agents = ratings.group_by("dialog").agg(pl.col("agent").n_unique())["agent"]
    if (agents > 1).any():
        places = [name for name in ("dialog", "turn") if name in ratings.columns]
        return f" on {counted(ratings.select(places).n_unique(), 'item')}"
    return f" from {counted(len(agents), 'conversation')}"


def rated_things(ratings: pl.DataFrame) -> str:
    """How many items were rated; where several agents answered them, how many responses.

    Examples:
        >>> table = pl.DataFrame({"item": ["a / x", "b / x"], "dialog": ["x", "x"]})
        >>> rated_things(table)
        '2 responses to 1 item'
    """
    rated = ratings["item"].n_unique()
    places = [name for name in ("dialog", "turn") if name in ratings.columns]
    asked = ratings.select(places).n_unique() if places else rated
    if asked >= rated:
        return counted(rated, "item")
    return f"{counted(rated, 'response')} to {counted(asked, 'item')}"
