"""What a study of a selection could show, and what it would cost: people, judges, a mix of both."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from scipy import optimize

from dialens.base import DialensError, counted, number
from dialens.corpus import kind_of_rater
from dialens.statistics.power import (
    Design,
    JudgeMix,
    VarianceParts,
    fitted_parts,
    judge_mix,
    power_binary,
    power_pairwise,
    power_within,
)
from dialens.studies import Planner, Study, StudyEstimate, quality_label
from dialens.studies.instruments import instrument
from dialens.workbench._drawing import Draw

WANTED = 0.8
_ASSUMED = {"dialog": 0.15, "rater": 0.125, "residual": 0.225}
"""Standard deviations in lengths of the scale: 0.6, 0.5 and 0.9 points of a scale from 1 to 5."""
_RATED = ("likert", "slider", "number")
_FEWEST_RATINGS = 30
_FEWEST_BOTH = 10
_MOST_FITTED = 20_000


@dataclass(frozen=True)
class QualityPower:
    """What could be found of a quality.

    Attributes:
        quality: Its name.
        label: What participants read.
        sentence: The smallest difference that is found with a power of .8, or why none is said.
        found: That difference, in points; none where it is not known.
        parts: What ratings are made of; none where they are choices.
        basis: Where that comes from.
    """

    quality: str
    label: str
    sentence: str
    found: float | None = None
    parts: VarianceParts | None = None
    basis: str = ""


@dataclass(frozen=True)
class Price:
    """What a study costs.

    Attributes:
        people: The sentence on people.
        judges: The sentence on judges; empty where no price is known.
        mix: The sentence on both together; empty where it is not known how far a judge goes.
    """

    people: str
    judges: str = ""
    mix: str = ""


def powers(study: Study, drawn: Draw, raters: int, ratings: pl.DataFrame) -> list[QualityPower]:
    """What difference between two agents could be found on each quality.

    Args:
        study: As it would be written.
        drawn: Its items.
        raters: People who judge each item.
        ratings: Earlier ones, from which variances are taken where the scale is the same.
    """
    return [
        _power(study, quality, scale, drawn, raters, ratings)
        for quality, scale in scales(study).items()
    ]


def scales(study: Study) -> dict[str, dict[str, object]]:
    """The scale of each quality: kind, low, high."""
    found: dict[str, dict[str, object]] = {}
    for screen in Planner(study).screens(study.cells[0].name, 0):
        for field in screen.fields if screen.kind == "rating" else ():
            if field.quality is not None and field.quality not in found:
                found[field.quality] = dict(instrument(field.instrument).scale(field))
    return found


def _power(
    study: Study,
    quality: str,
    scale: dict[str, object],
    drawn: Draw,
    raters: int,
    ratings: pl.DataFrame,
) -> QualityPower:
    label = quality_label(study.design, quality)
    kind = str(scale.get("kind"))
    every = _items_by_agent(drawn)
    counts = [n for n in every.values() if n > 1]
    if len(counts) < 2:
        return QualityPower(
            quality, label, "Fewer than two agents have two items: there is nothing to compare."
        )
    items = min(counts)
    with_what = f"{counted(items, 'item')} an agent, {counted(raters, 'rater')} each"
    if len(counts) < len(every):
        with_what += f"; of {len(counts)} of {len(every)} agents, the others have one item"
    if kind == "pairwise":
        share = _smallest(
            lambda x: power_pairwise(0.5 + x, raters=raters, items=items).power.value, 0.5
        )
        return QualityPower(quality, label, _said_share(share, with_what, wins=True))
    design = Design(raters=raters, items=items, paired=False, shared_raters=len(study.cells) == 1)
    if kind == "yes_no":
        share = _smallest(lambda x: power_binary(0.5, 0.5 + x, design).power.value, 0.5)
        return QualityPower(quality, label, _said_share(share, with_what, wins=False))
    low, high = scale.get("low"), scale.get("high")
    if kind not in _RATED or not isinstance(low, int | float) or not isinstance(high, int | float):
        return QualityPower(quality, label, f"The power of {kind} is not planned here.")
    length = float(high) - float(low)
    parts, basis = _parts(quality, length, scale, ratings)
    found = _smallest(lambda x: power_within(parts, x, design).power.value, length)
    if found is None:
        sentence = f"No difference on this scale is found with a power of .8 ({with_what})."
    else:
        sentence = (
            f"A difference of {number(found)} points between two agents is found with a power of "
            f".8 ({with_what}; the scale goes from {low:g} to {high:g})."
        )
    return QualityPower(quality, label, sentence, found, parts, basis)


def _items_by_agent(drawn: Draw) -> dict[str, int]:
    found: dict[str, int] = {}
    for unit in drawn.units:
        found[unit.agent] = found.get(unit.agent, 0) + 1
    return found


def _smallest(power: Callable[[float], float | None], most: float) -> float | None:
    """The smallest effect that is seen with the power wanted; none if the largest is not."""
    if (power(most * 0.999) or 0.0) < WANTED:
        return None
    found: float = optimize.brentq(
        lambda x: (power(x) or 0.0) - WANTED, most * 1e-4, most * 0.999, xtol=most * 1e-4
    )
    return found


def _said_share(share: float | None, with_what: str, *, wins: bool) -> str:
    what = "win rate" if wins else "share of yes"
    if share is None:
        return f"No difference in the {what} is found with a power of .8 ({with_what})."
    if wins:
        return (
            f"That an agent wins {50 + 100 * share:.0f} % of the choices between two is found "
            f"with a power of .8 ({with_what}; as if choices were independent)."
        )
    return (
        f"A difference between 50 and {50 + 100 * share:.0f} % yes is found with a power of .8 "
        f"({with_what}; as if ratings were independent)."
    )


def _parts(
    quality: str, length: float, scale: dict[str, object], ratings: pl.DataFrame
) -> tuple[VarianceParts, str]:
    """Variances of earlier ratings of the quality on the same scale, or assumed ones."""
    own = ratings.filter(
        pl.col("quality") == quality, kind_of_rater() == "human", pl.col("value").is_not_null()
    ).head(_MOST_FITTED)
    same = own.filter(pl.col("scale").map_elements(
        lambda text: _ends(text) == (scale.get("low"), scale.get("high")),
        return_dtype=pl.Boolean,
    ))  # fmt: skip
    if same.height >= _FEWEST_RATINGS:
        try:
            fitted = fitted_parts(same, quality=quality)
        except (DialensError, ArithmeticError, ValueError):
            pass
        else:
            return fitted.parts, f"as in {counted(same.height, 'earlier rating')} of {quality}"
    parts = {name: share * length for name, share in _ASSUMED.items()}
    named = f"{number(parts['dialog'])} between items, {number(parts['rater'])} between raters"
    return VarianceParts(**parts), (
        f"assumed: standard deviations of {named}, {number(parts['residual'])} beside; "
        "dialens power plans with others"
    )


def _ends(text: str | None) -> tuple[object, object] | None:
    try:
        scale = json.loads(text or "")
    except ValueError:
        return None
    return (scale.get("low"), scale.get("high")) if isinstance(scale, dict) else None


def price(
    study: Study,
    found: StudyEstimate,
    raters: int,
    power: QualityPower | None,
    *,
    judge_price: float | None,
    judge_r: float | None,
) -> Price:
    """What people cost, what a judge costs, and what both together do.

    Args:
        study: As it would be written.
        found: What it asks of people.
        raters: People who judge each item.
        power: Of the quality that the mix is planned for; none if none can be.
        judge_price: Of one rating by a judge, if it is known.
        judge_r: How far a judge goes with people's mean of an item, if it is known.
    """
    longest = max(cell.minutes for cell in found.cells)
    who = f"{counted(found.participants, 'participant')}, about {longest:.0f} minutes each"
    if found.cost:
        reward = study.design.recruiter.reward
        people = (
            f"{who}: {found.currency} {reward:.2f} each, {found.currency} {found.cost:,.2f} in all "
            f"for {counted(found.ratings, 'rating')}."
        )
    else:
        people = f"{who}: nobody is paid, {counted(found.ratings, 'rating')}."
    judged = found.ratings // max(raters, 1)
    judges = ""
    if judge_price is not None:
        judges = (
            f"A judge that rates every item once: {counted(judged, 'rating')}, "
            f"{found.currency} {judged * judge_price:,.2f}."
        )
    if judge_r is None or judge_price is None or power is None or not found.cost:
        return Price(people, judges)
    if power.parts is None or power.found is None:
        return Price(people, judges)
    try:
        mix = judge_mix(
            power.parts,
            power.found,
            Design(raters=raters, items=2, paired=False),
            judge_r,
            price=found.cost / max(found.ratings, 1),
            judge_price=judge_price,
        )
    except DialensError as error:
        return Price(people, judges, f"A mix cannot be planned: {error}")
    return Price(people, judges, _mixed(mix, power, found.currency))


def _mixed(mix: JudgeMix, power: QualityPower, currency: str) -> str:
    if mix.reason is not None:
        return f"The judge is better left out: {mix.reason}."
    return (
        f"For the same difference in {power.label}, people on {mix.items} items an agent and the "
        f"judge on {mix.judged_items}: {currency} {mix.price:,.2f} in the place of "
        f"{currency} {mix.alone_price:,.2f} (r = {mix.r:.2f})."
    )


def known_r(ratings: pl.DataFrame, qualities: list[str]) -> tuple[float, str, int] | None:
    """How far a judge goes with people's mean in the folder's own ratings.

    Returns:
        The correlation over units that both rated, the judge and quality, and how many units;
        the one with most units of those that there are. None with fewer than ten.
    """
    keys = ["agent", "dialog", "turn", "quality"]
    own = ratings.filter(
        pl.col("quality").is_in(qualities) & pl.col("value").is_not_null()
    ).with_columns(kind=kind_of_rater())
    people = own.filter(kind="human").group_by(keys).agg(people=pl.col("value").mean())
    judged = own.filter(kind="llm").group_by(*keys, "rater").agg(judge=pl.col("value").mean())
    both = judged.join(people, on=keys, nulls_equal=True)
    found = (
        both.group_by("rater", "quality")
        .agg(n=pl.len(), r=pl.corr("people", "judge"))
        .filter(pl.col("n") >= _FEWEST_BOTH, pl.col("r").is_finite())
        .sort("n", "r", descending=True)
    )
    if not found.height:
        return None
    best = found.row(0, named=True)
    return float(best["r"]), f"{best['rater']} on {best['quality']}", int(best["n"])
