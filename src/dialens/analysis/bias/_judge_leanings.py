"""What moved one language model beside the response itself, over the items it judged.

The same rows as people's (`leanings`), and the place on the screen. Repeats are averaged, and each
response is compared with itself; where it came in one form only, with the others to the same item.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from dialens.analysis.bias._data import StudyData
from dialens.analysis.bias._leanings import (
    EQUAL_LENGTH,
    LEANINGS,
    LENGTH,
    POINTS,
    TAG,
    agents_chosen,
    comparisons_of,
    conditions_of,
    in_both_orders,
    leaning_row,
    numbers_of,
    on_choices,
    once_each,
    varied_factors,
    with_length,
)
from dialens.analysis.bias._scales import is_choice
from dialens.analysis.judges import asked_together, distinct_answers, verdicts
from dialens.base import Estimate
from dialens.statistics import corrected
from dialens.statistics.judges import OverItems, over_items

PLACE = "position"
_SIZE = "characters"
FURTHER = "a place further down"

_FLAT = "it gave everything the same rating: there is no variance, and no test"
_ONE_FORM = "it saw every response one way only: raise `participations`"
_WITH_AGENTS = "length goes with the agents: the two cannot be told apart"


def judge_leanings(
    data: StudyData, name: str, *, confidence: float = 0.95
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What moved one judge's ratings and choices, and agents' differences at equal length.

    Args:
        data: Ratings of one judge alone.
        name: Of the judge, for the column `raters`.
        confidence: Of the intervals.

    Returns:
        Tables in the columns of `LEANINGS` and `EQUAL_LENGTH`.
    """
    table = distinct_answers(data.ratings)
    rows: list[dict[str, object]] = []
    equal: list[dict[str, object]] = []
    chosen = is_choice(table)
    for quality in data.points().qualities:
        part = table.filter(~chosen, pl.col("quality") == quality)
        rows += _on_ratings(part, quality, data, confidence)
        equal += _agents_rated(part, quality, data, confidence, rows)
    rows += _places(table.filter(~chosen), data, confidence)
    for quality in data.choices:
        part = comparisons_of(table.filter(chosen, pl.col("quality") == quality))
        if part.height:
            own = part.with_columns(rater=pl.lit(None, pl.String))  # repeats are no raters
            rows += on_choices(own, quality, confidence)
            equal += agents_chosen(own, quality, confidence)
    rows += in_both_orders(verdicts(table).with_columns(rater=pl.lit(name)), confidence)
    moved = pl.DataFrame([row | {"raters": name, "n_raters": 1} for row in rows], schema=LEANINGS)
    apart = pl.DataFrame([row | {"raters": name} for row in equal], schema=EQUAL_LENGTH)
    return corrected(moved), corrected(apart)


def _columns(
    table: pl.DataFrame, names: Sequence[str], first: Mapping[str, str]
) -> dict[str, np.ndarray]:
    """A column a level but the first, or the numbers themselves."""
    made = {}
    for name in names:
        if table[name].dtype.is_numeric():
            made[name] = table[name].cast(pl.Float64).to_numpy()
            continue
        levels = sorted(table[name].unique().to_list())
        base = first.get(name, levels[0])
        for level in levels:
            if level != base:
                made[f"{name}[{level}]"] = (table[name] == level).cast(pl.Float64).to_numpy()
    return made


def _fitted(
    table: pl.DataFrame,
    names: Sequence[str],
    inside: str,
    confidence: float,
    first: Mapping[str, str] | None = None,
) -> tuple[OverItems | None, str | None]:
    """Slopes within items or dialogues, or None and why there are none."""
    if not table.height or table["value"].n_unique() == 1:
        return None, _FLAT
    made = over_items(
        table["value"].to_numpy(),
        _columns(table, names, first or {}),
        table[inside].to_list(),
        table["cluster"].to_list(),
        confidence=confidence,
    )
    return made, None


def _known(fit: OverItems | None, why: str | None, name: str, otherwise: str) -> Estimate:
    if fit is None:
        return Estimate(reason=why)
    found = fit.effect(name)
    return found if found.value is not None else Estimate(reason=otherwise)


def _row(
    bias: str, of: str, quality: str, found: Estimate, table: pl.DataFrame, degrees: float | None
) -> dict[str, object]:
    shown = table.with_columns(rater=pl.lit(""))
    return leaning_row(bias, of, quality, POINTS, found, shown) | {
        "degrees": None if found.low is None else degrees
    }


def _clustered(table: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    return table.join(asked_together(part), on="item", how="left", maintain_order="left")


def _on_ratings(
    part: pl.DataFrame, quality: str, data: StudyData, confidence: float
) -> Iterator[dict[str, object]]:
    """Points that tags and variants add, within responses, or else within items."""
    varied = varied_factors(part)
    if not varied:
        return
    places = [name for name in ("agent", "dialog") if name in part.columns]
    keys = ["item", *places, *varied]
    table = once_each(part, data, keys)
    fixed = [*varied, *conditions_of(table, keys)]
    table = _clustered(table, part)
    first = {name: levels[0] for name, levels in varied.items()}
    fit, why = _fitted(table, fixed, "item", confidence, first)
    wide = None
    if len(places) == 2:
        wide, _ = _fitted(table, [*fixed, "agent"], "dialog", confidence, first)
    for name, (base, *others) in varied.items():
        for level in others:
            term = f"{name}[{level}]"
            used = fit
            if fit is not None and fit.effect(term).low is None and wide is not None:
                used = wide if wide.effect(term).low is not None else fit
            found = _known(used, why, term, _ONE_FORM)
            degrees = None if used is None else used.degrees({term: 1.0})
            yield _row(name, f"{level} against {base}", quality, found, table, degrees)


def _agents_rated(
    part: pl.DataFrame,
    quality: str,
    data: StudyData,
    confidence: float,
    rows: list[dict[str, object]],
) -> Iterator[dict[str, object]]:
    """Differences of agents within items, with length taken out and without."""
    table = with_length(part) if {"agent", "dialog"} <= set(part.columns) else None
    if table is None or table["agent"].n_unique() < 2:
        return
    tag = [TAG] if TAG in varied_factors(part) else []
    keys = ["agent", "dialog", "item", _SIZE, *tag]
    once = once_each(table.with_columns(pl.col("length").cast(pl.String).alias(_SIZE)), data, keys)
    others = [*tag, *conditions_of(once, keys)]
    once = _clustered(once, part)
    fit, why = _fitted(once, ["agent", *others, LENGTH], "dialog", confidence)
    bare, _ = _fitted(once, ["agent", *others], "dialog", confidence)
    # A response in several lengths says most: what it is like otherwise stays the same.
    inside, _ = _fitted(once, [*others, LENGTH], "item", confidence)
    used = fit if inside is None or inside.effect(LENGTH).low is None else inside
    slope = _known(used, why, LENGTH, _WITH_AGENTS)
    degrees = None if used is None else used.degrees({LENGTH: 1.0})
    rows.append(_row("length", "twice as long", quality, slope, once, degrees))
    for agent, other in combinations(sorted(once["agent"].unique().to_list()), 2):
        found = Estimate(reason=_WITH_AGENTS if why is None else why)
        if fit is not None and fit.effect(LENGTH).value is not None:
            found = _apart(fit, agent, other)
        yield {
            "quality": quality, "agent": agent, "other": other, "measure": POINTS,
            **numbers_of(found), "uncontrolled": _apart(bare, agent, other).value,
        }  # fmt: skip


def _apart(fit: OverItems | None, agent: str, other: str) -> Estimate:
    if fit is None:
        return Estimate(reason=_FLAT)
    weights = {f"agent[{agent}]": 1.0, f"agent[{other}]": -1.0}
    return fit.contrast({name: w for name, w in weights.items() if name in fit.names})


def _places(
    ratings: pl.DataFrame, data: StudyData, confidence: float
) -> Iterator[dict[str, object]]:
    """Points a place further down the screen, each response compared with itself."""
    if PLACE not in ratings.columns or ratings[PLACE].drop_nulls().n_unique() < 2:
        return
    parts = [(name, ratings.filter(quality=name)) for name in ratings["quality"].unique().sort()]
    if data.share_a_scale:
        parts = [("all" if len(parts) > 1 else parts[0][0], ratings)]
    for label, part in parts:
        varied = varied_factors(part)
        keys = ["item", "quality", PLACE, *varied]
        table = once_each(part.with_columns(pl.col(PLACE).cast(pl.Float64)), data, keys)
        fixed = [PLACE, *varied, *conditions_of(table, keys)]
        table = _clustered(table, part).with_columns(
            thing=pl.concat_str("item", "quality", separator=" | ")
        )
        fit, why = _fitted(table, fixed, "thing", confidence)
        found = _known(fit, why, PLACE, "every response stood in one place only")
        degrees = None if fit is None else fit.degrees({PLACE: 1.0})
        yield _row(PLACE, FURTHER, label, found, table, degrees)
