"""The part of a metric's page that holds it against people and judges."""

from collections.abc import Sequence
from typing import Any

from dialens.base import capitalised, counted, interval, listed, number
from dialens.web.workbench._unit_rows import unit_row
from dialens.workbench import (
    FEWEST_RATED,
    Association,
    Column,
    Gap,
    Index,
    Rated,
    association_of_agents,
    associations,
    mean_gap,
    parting,
    rated_units,
    said_columns,
)

_UNITS = {"turn": "turn", "dialog": "conversation", "agent": "agent"}
_SCOPES = {"within": "within agents", "pooled": "all together"}


def parting_part(index: Index, column: Column, level: str, against: str) -> dict[str, Any]:
    """What the template shows of a metric beside what was said of the same units."""
    said = [one for one in said_columns(index, level) if one.name != column.name]
    if not said:
        return {"choices": [], "unseen": _nobody(index, level)}
    chosen = next((one for one in said if one.name == against), _usual(column, said))
    rated = rated_units(index, level, column, chosen)
    choices = [(one.name, one.label, one.name == chosen.name) for one in said]
    part: dict[str, Any] = {"choices": choices, "chosen": chosen}
    n = rated.frame.height
    if n < FEWEST_RATED:
        return part | {
            "unseen": f"Only {counted(n, _UNITS[level])} {'has' if n == 1 else 'have'} both a "
            f"value and a rating. Below {FEWEST_RATED} two orders differ by chance alone, so "
            "nothing is shown."
        }
    apart = parting(rated.frame, lower_is_better=column.better is False)
    found = associations(rated)
    other = _elsewhere(index, column, chosen, level)
    of_agents = association_of_agents(index, column.name, rated)
    values = {
        row["id"]: row for row in index.rows(level, [gap.id for gap in
            (*apart.metric_high, *apart.rating_high)], [])
    }  # fmt: skip
    return part | {
        "unseen": "",
        "sentence": _sentence(column, chosen, rated, found),
        "rows": [_association(one) for one in (*found, *other, *filter(None, [of_agents]))],
        "judged": _judged(column, chosen, rated),
        "left_out": listed(rated.left_out),
        "flipped": column.better is False,
        "n": n,
        "heads": _heads(column, chosen),
        "high": [_gap(gap, values, column, level) for gap in apart.metric_high],
        "low": [_gap(gap, values, column, level) for gap in apart.rating_high],
        "n_high": apart.n_metric_high,
        "n_low": apart.n_rating_high,
    }


def _elsewhere(index: Index, column: Column, chosen: Column, level: str) -> list[Association]:
    """How far both go together at the other level, if they have values there."""
    other = "dialog" if level == "turn" else "turn"
    there = index.columns(other)
    if column.name not in there or chosen.name not in there:
        return []
    return associations(rated_units(index, other, there[column.name], there[chosen.name]))


def _nobody(index: Index, level: str) -> str:
    other = "dialog" if level == "turn" else "turn"
    if said_columns(index, other):
        return (
            f"{_UNITS[other].capitalize()}s were rated here, and no {_UNITS[level]}. "
            f"Look at {_UNITS[other]}s instead."
        )
    return (
        "Nobody has rated any of these yet. Ratings in the corpus, of studies and of judges in "
        "this folder show up here."
    )


def _usual(column: Column, said: Sequence[Column]) -> Column:
    """For a judge people's rating of the same quality, else the first."""
    quality = column.name.rpartition(":")[2]
    same = (one for one in said if column.kind != "metric" and one.name == f"people:{quality}")
    return next(same, said[0])


def _who(chosen: Column) -> str:
    return "people" if chosen.kind == "people" else chosen.label


def _heads(column: Column, chosen: Column) -> tuple[str, str]:
    """Over both lists; only a metric with a better end can say yes or no."""
    who = _who(chosen)
    if column.kind != "metric" or column.better is None:
        return f"{column.label} high, {who} low", f"{capitalised(who)} high, {column.label} low"
    say = "say" if chosen.kind == "people" else "says"
    return f"The metric says yes, {who} no", f"{capitalised(who)} {say} yes, the metric no"


def _sentence(column: Column, chosen: Column, rated: Rated, found: Sequence[Association]) -> str:
    """The answer: how far both go together."""
    n = counted(rated.frame.height, f"rated {_UNITS[rated.level]}")
    first = found[0].spearman if found else None
    if first is None or first.value is None:
        why = f": {first.reason}" if first and first.reason else ""
        return f"Over {n}, how far both go together cannot be said{why}."
    scope = ", within agents" if found[0].scope == "within" else ""
    said = f"Spearman’s {number(first.value, 2)}"
    ends = f", 95 % interval {interval(first.low, first.high, 2)}" if first.has_interval else ""
    way = ""
    if first.low is not None and first.high is not None:
        way = "go together"
        if first.high < 0:
            way = "go opposite ways"
        elif first.low <= 0:
            way = "show no clear relation"
    verb = way or "go together by this much"
    return f"{column.label} and {chosen.label} {verb} ({said}{ends}; {n}{scope})."


def _association(one: Association) -> dict[str, str]:
    def words(estimate: Any) -> str:
        if estimate.value is None:
            return f"– ({estimate.reason})" if estimate.reason else "–"
        ends = f" ({interval(estimate.low, estimate.high, 2)})" if estimate.has_interval else ""
        return f"{number(estimate.value, 2)}{ends}"

    return {
        "level": f"{_UNITS[one.level].capitalize()}s, {_SCOPES[one.scope]}"
        if one.level != "agent"
        else "Agents",
        "n": f"{one.n:,}",
        "clusters": f"{one.clusters:,}",
        "pearson": words(one.pearson),
        "spearman": words(one.spearman),
    }


def _judged(column: Column, chosen: Column, rated: Rated) -> str:
    """For a judge beside people on the same quality, how far it is above or below them."""
    same = column.name.rpartition(":")[2] == chosen.name.rpartition(":")[2]
    if column.kind != "judge" or chosen.kind != "people" or not same:
        return ""
    gap = mean_gap(rated.frame)
    if gap.value is None:
        return ""
    way = "above" if gap.value >= 0 else "below"
    ends = f" (95 % interval {interval(gap.low, gap.high)})" if gap.has_interval else ""
    return (
        f"On average the judge is {number(abs(gap.value))} {way} people{ends}, over "
        f"{counted(gap.n or 0, 'conversation')}, in points of the scale, if both used the same."
    )


def _gap(gap: Gap, rows: dict[int, dict[str, Any]], column: Column, level: str) -> dict[str, Any]:
    return unit_row(rows[gap.id], level) | {
        "value": number(gap.value, percent=column.percent),
        "rating": number(gap.rating),
        "ratings": "" if gap.ratings is None else counted(gap.ratings, "rating"),
        "place": number(gap.place, percent=True),
        "rated_place": number(gap.rated_place, percent=True),
    }
