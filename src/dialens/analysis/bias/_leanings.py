"""What moved ratings and choices beside the response itself: tag, form, length, place.

Tags and variants rotate over responses and raters, so that each is compared within raters and
within responses. Ratings are means over both orders where an item came in both; their model has
raters and responses random, and what a tag or a form does to each of them. Choices have a model
of pairs with covariates. Flips and the first place come from pairs that were shown in both orders.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import polars as pl
from scipy import special

from dialens.analysis.bias._cells import FEWEST_RATERS
from dialens.analysis.bias._data import NONE, StudyData
from dialens.analysis.bias._scales import is_choice
from dialens.analysis.judges import order_shares, verdicts
from dialens.analysis.people import no_variance
from dialens.base import DialensError, Estimate
from dialens.statistics import TESTED, corrected
from dialens.statistics.choices import PairFit, fit_pair_covariates
from dialens.statistics.mixed import MixedFit, fit_mixed

LEANINGS = pl.Schema(
    {
        "raters": pl.String,
        "bias": pl.String,
        "of": pl.String,
        "quality": pl.String,
        "measure": pl.String,
        **TESTED,
        "degrees": pl.Float64,
        "n_raters": pl.Int64,
        "n": pl.Int64,
        "reason": pl.String,
    }
)
"""`raters` are people, or the judge by name; `of` the level against another; `measure` what `value`
is: `points`, `share` of choices between two that are otherwise equal (one half: no effect), or
`share of pairs`. `degrees` of freedom, where known."""

EQUAL_LENGTH = pl.Schema(
    {
        "raters": pl.String,
        "quality": pl.String,
        "agent": pl.String,
        "other": pl.String,
        "measure": pl.String,
        **TESTED,
        "uncontrolled": pl.Float64,
        "reason": pl.String,
    }
)
"""Differences between two agents if their responses were equally long; `uncontrolled` is the same
difference from the model without length."""

TAG, VARIANT = "tag", "variant"
_PLAIN = "plain"
LENGTH = "log2_length"
POINTS, SHARE, _PAIRS = "points", "share", "share of pairs"
_FEWEST = 3


def leanings(
    data: StudyData,
    *,
    raters: str = "people",
    shown: pl.DataFrame | None = None,
    confidence: float = 0.95,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What moved ratings and choices, and the agents' differences at equal length.

    Args:
        data: The study.
        raters: Who they are, for the column `raters`.
        shown: Their verdicts, where the study's rows are means of several answers.
        confidence: Of the intervals.

    Returns:
        Tables in the columns of `LEANINGS` and `EQUAL_LENGTH`; both empty where nothing of the
        kind was varied or recorded.
    """
    rows: list[dict[str, object]] = []
    equal: list[dict[str, object]] = []
    chosen = is_choice(data.ratings)
    for quality in data.points().qualities:
        part = data.ratings.filter(~chosen, pl.col("quality") == quality)
        rows += _on_ratings(part, quality, data, confidence)
        equal += _agents_rated(part, quality, data, confidence, rows)
    for quality in data.choices:
        part = comparisons_of(data.ratings.filter(chosen, pl.col("quality") == quality))
        if part.height:
            rows += on_choices(part, quality, confidence)
            equal += agents_chosen(part, quality, confidence)
    rows += in_both_orders(verdicts(data.ratings) if shown is None else shown, confidence)
    moved = pl.DataFrame([{"raters": raters, **row} for row in rows], schema=LEANINGS)
    apart = pl.DataFrame([{"raters": raters, **row} for row in equal], schema=EQUAL_LENGTH)
    return corrected(moved), corrected(apart)


def leaning_row(
    bias: str,
    of: str,
    quality: str,
    measure: str,
    estimate: Estimate,
    table: pl.DataFrame,
) -> dict[str, object]:
    return {
        "bias": bias,
        "of": of,
        "quality": quality,
        "measure": measure,
        **numbers_of(estimate),
        "degrees": getattr(estimate, "degrees", None),
        "n_raters": table["rater"].n_unique(),
        "n": table.height,
    }


def numbers_of(estimate: Estimate) -> dict[str, object]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "p", "reason")}


def _levels(table: pl.DataFrame, factor: str) -> list[str]:
    """The levels of a factor, the one that others are compared with first."""
    if factor not in table.columns:
        return []
    found = sorted(table[factor].drop_nulls().unique().to_list())
    return sorted(found, key=lambda name: name not in (NONE, _PLAIN))


def varied_factors(table: pl.DataFrame) -> dict[str, list[str]]:
    found = {name: _levels(table, name) for name in (TAG, VARIANT)}
    return {name: levels for name, levels in found.items() if len(levels) > 1}


def once_each(part: pl.DataFrame, data: StudyData, keys: Sequence[str]) -> pl.DataFrame:
    """One row a rater, response and condition: the mean over both orders."""
    asked = [name for name in data.factors if name not in keys]
    conditions = [name for name in asked if part[name].drop_nulls().n_unique() > 1]
    number = pl.col("anchor_value").cast(pl.String).fill_null(NONE).alias("number_shown")
    table = part.with_columns(number)
    if table["number_shown"].n_unique() > 1:
        conditions = [name for name in conditions if name != "anchor"] + ["number_shown"]
    group = list(dict.fromkeys([*keys, *conditions]))
    return (
        table.drop_nulls(group)
        .group_by(group, maintain_order=True)
        .agg(pl.col("value").mean(), *([pl.col(LENGTH).mean()] if LENGTH in part.columns else []))
    )


def conditions_of(table: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    return [name for name in table.columns if name not in (*keys, "value", LENGTH)]


def _on_ratings(
    part: pl.DataFrame, quality: str, data: StudyData, confidence: float
) -> Iterator[dict[str, object]]:
    """Points that tags and variants add, within raters and responses."""
    varied = varied_factors(part)
    if not varied:
        return
    keys = ["rater", "item", *varied]
    table = once_each(part, data, keys)
    random = ["rater", "item"]
    for unit in ("rater", "item"):
        random += [
            f"{unit}:{name}"
            for name in varied
            if table.select(unit, name).n_unique() * 1.2 <= table.height
        ]
    fixed = [*varied, *conditions_of(table, keys)]
    reference = {name: levels[0] for name, levels in varied.items()}
    fit, why = _fitted(table, fixed, random, confidence, reference)
    for name, (first, *others) in varied.items():
        for level in others:
            found = Estimate(reason=why)
            if fit is not None:
                term = f"{name}[{level}]"
                lost = fit.dropped.get(term)
                found = fit.effect(term) if lost is None else Estimate(reason=f"it {lost}")
                found = _of_enough(found, table)
            yield leaning_row(name, f"{level} against {first}", quality, POINTS, found, table)


def _fitted(
    table: pl.DataFrame,
    fixed: Sequence[str],
    random: Sequence[str],
    confidence: float,
    reference: Mapping[str, str] | None = None,
) -> tuple[MixedFit | None, str | None]:
    """A mixed model, or None and why not."""
    flat = no_variance(table)
    if flat is not None:
        return None, flat
    if table["rater"].n_unique() < _FEWEST and table["item"].n_unique() < _FEWEST:
        return None, "fewer than three raters and fewer than three responses"
    try:
        fit = fit_mixed(table, "value", fixed, random, confidence=confidence, reference=reference)
    except DialensError as error:
        return None, str(error)
    return fit, None


def _of_enough(found: Estimate, table: pl.DataFrame) -> Estimate:
    """The same without an interval where raters are too few for one."""
    if found.value is None or table["rater"].n_unique() >= FEWEST_RATERS:
        return found
    return Estimate(found.value, reason=f"no interval: fewer than {FEWEST_RATERS} raters")


def with_length(part: pl.DataFrame) -> pl.DataFrame | None:
    """Ratings with the doublings of their response's length; None where lengths are not known."""
    if "length" not in part.columns:
        return None
    length = pl.col("length").cast(pl.Float64, strict=False)
    table = part.with_columns(pl.when(length > 0).then(length.log(2.0)).alias(LENGTH))
    table = table.drop_nulls([LENGTH, "agent", "dialog"])
    return table if table.height and table[LENGTH].n_unique() > 1 else None


def _agents_rated(
    part: pl.DataFrame,
    quality: str,
    data: StudyData,
    confidence: float,
    rows: list[dict[str, object]],
) -> Iterator[dict[str, object]]:
    """Differences of agents' ratings with length taken out, and without; length goes to `rows`."""
    table = with_length(part) if {"agent", "dialog"} <= set(part.columns) else None
    if table is None or table["agent"].n_unique() < 2:
        return
    keys = ["rater", "agent", "dialog", "item", *([TAG] if TAG in varied_factors(part) else [])]
    once = once_each(table, data, keys)
    random = [
        term
        for term in ("rater", "dialog", "item", "rater:agent")
        if once.select(term.split(":")).n_unique() * 1.2 <= once.height
    ]
    fixed = ["agent", *([TAG] if TAG in keys else []), *conditions_of(once, keys)]
    fit, why = _fitted(once, [*fixed, LENGTH], random, confidence)
    bare, _ = _fitted(once, fixed, random, confidence)
    if fit is not None and LENGTH in fit.dropped:
        fit, why = None, "length goes with the agents: the two cannot be told apart"
    slope = Estimate(reason=why) if fit is None else _of_enough(fit.effect(LENGTH), once)
    rows.append(leaning_row("length", "twice as long", quality, POINTS, slope, once))
    for agent, other in combinations(sorted(once["agent"].unique().to_list()), 2):
        yield {
            "quality": quality, "agent": agent, "other": other, "measure": POINTS,
            **numbers_of(
                Estimate(reason=why) if fit is None
                else _of_enough(_apart(fit, agent, other), once)
            ),
            "uncontrolled": None if bare is None else _apart(bare, agent, other).value,
        }  # fmt: skip


def _apart(fit: MixedFit, agent: str, other: str) -> Estimate:
    known = {effect.name for effect in fit.fixed}
    weights = {f"agent[{agent}]": 1.0, f"agent[{other}]": -1.0}
    return fit.contrast({name: w for name, w in weights.items() if name in known})


def comparisons_of(part: pl.DataFrame) -> pl.DataFrame:
    """Choices between two, one row each: who stood first, who won, what else differed."""
    schema = {"first": pl.String, "second": pl.String, "outcome": pl.Float64, "rater": pl.String}
    empty = pl.DataFrame(schema={**schema, "item": pl.String})
    needed = {"agent", "position", "rater", "dialog", "screen"}
    if not needed <= set(part.columns) or part["position"].null_count() == part.height:
        return empty
    keys = [name for name in ("rater", "attempt", "screen") if name in part.columns]
    kept = [name for name in ("agent", TAG, VARIANT, "length", "value") if name in part.columns]
    pair = (
        part.sort("position")
        .group_by(keys, maintain_order=True)
        .agg(
            *(pl.col(name) for name in kept), item=pl.col("dialog").unique().sort().str.join(" + ")
        )
        .filter(pl.col("agent").list.len() == 2)
        .filter(pl.col("value").list.sum() == 1)
    )
    if not pair.height:
        return empty
    table = pair.select(
        "rater",
        "item",
        *(pl.col(name).list.get(at).alias(f"{name}_{at}") for name in kept[1:-1] for at in (0, 1)),
        first=pl.col("agent").list.get(0),
        second=pl.col("agent").list.get(1),
        outcome=pl.col("value").list.get(0),
    )
    return table.filter(pl.col("first") != pl.col("second"))


def _differences(table: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """The table with a covariate for every level but the first, first minus second."""
    varied = {}
    for name in (TAG, VARIANT):
        if f"{name}_0" not in table.columns:
            continue
        both = pl.concat([table[f"{name}_0"], table[f"{name}_1"].alias(f"{name}_0")])
        levels = _levels(both.to_frame(name), name)
        if len(levels) > 1:
            varied[name] = levels
            table = table.with_columns(
                (
                    (pl.col(f"{name}_0") == level).cast(pl.Float64)
                    - (pl.col(f"{name}_1") == level).cast(pl.Float64)
                ).alias(f"{name} {level}")
                for level in levels[1:]
            )
    if "length_0" in table.columns:
        one, two = (pl.col(f"length_{at}").cast(pl.Float64) for at in (0, 1))
        table = table.with_columns(
            pl.when((one > 0) & (two > 0)).then((one / two).log(2.0)).alias(LENGTH)
        )
    return table, varied


def _shares(found: Estimate) -> Estimate:
    """Log-odds as a share."""
    ends = [
        None if end is None else float(special.expit(end))
        for end in (found.value, found.low, found.high)
    ]
    return Estimate(ends[0], ends[1], ends[2], found.p, n=found.n, reason=found.reason)


def _pairs(
    table: pl.DataFrame, covariates: Sequence[str], confidence: float
) -> tuple[PairFit | None, str | None]:
    try:
        return fit_pair_covariates(table, covariates, confidence=confidence), None
    except DialensError as error:
        return None, str(error)


def on_choices(part: pl.DataFrame, quality: str, confidence: float) -> Iterator[dict[str, object]]:
    """Shares of choices between two that differ in tag, form, length or place alone."""
    table, varied = _differences(part)
    covariates = [f"{name} {level}" for name, levels in varied.items() for level in levels[1:]]
    if covariates:
        fit, why = _pairs(table, covariates, confidence)
        for name, (first, *others) in varied.items():
            for level in others:
                found = Estimate(reason=why)
                if fit is not None:
                    found = _shares(fit.effect(f"{name} {level}"))
                yield leaning_row(name, f"{level} against {first}", quality, SHARE, found, table)
    if LENGTH in table.columns and table[LENGTH].drop_nulls().n_unique() > 1:
        tags = [name for name in covariates if name.startswith(f"{TAG} ")]
        fit, why = _pairs(table, [*tags, LENGTH], confidence)
        found = Estimate(reason=why) if fit is None else _shares(fit.effect(LENGTH))
        yield leaning_row("length", "twice as long", quality, SHARE, found, table)


def agents_chosen(
    part: pl.DataFrame, quality: str, confidence: float
) -> Iterator[dict[str, object]]:
    """Shares of choices between two agents if their responses were equally long."""
    table, varied = _differences(part)
    if LENGTH not in table.columns or table[LENGTH].drop_nulls().n_unique() < 2:
        return
    tags = [f"{TAG} {level}" for level in varied.get(TAG, [""])[1:]]
    fit, why = _pairs(table, [*tags, LENGTH], confidence)
    bare, _ = _pairs(table, tags, confidence)
    agents = sorted({*table["first"].unique(), *table["second"].unique()})
    for agent, other in combinations(agents, 2):
        found = Estimate(reason=why) if fit is None else _shares(fit.difference(agent, other))
        if fit is not None and LENGTH in fit.unknown:
            found = fit.effect(LENGTH)
        plain = None if bare is None else _shares(bare.difference(agent, other)).value
        yield {
            "quality": quality, "agent": agent, "other": other, "measure": SHARE,
            **numbers_of(found), "uncontrolled": plain,
        }  # fmt: skip


def in_both_orders(shown: pl.DataFrame, confidence: float) -> Iterable[dict[str, object]]:
    """How often verdicts change with the order, and how often the first place wins."""
    for (quality,), part in shown.group_by("quality", maintain_order=True):
        if part["order"].n_unique() < 2:
            continue
        found = order_shares(part, confidence=confidence)
        of = "the same two in the other order"
        yield leaning_row("order", of, str(quality), _PAIRS, found.flip_rate, part)
        yield leaning_row(
            "first place", "verdicts in both orders", str(quality), SHARE, found.first, part
        )
