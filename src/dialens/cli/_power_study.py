"""`dialens power --study`: what a study file, as it stands, would see."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING

from dialens.base import DialensError, counted
from dialens.cli._options import extra
from dialens.cli._power_question import Question, most_to_try
from dialens.report import advised
from dialens.statistics.power import PlannedPower, VarianceParts, advise, price_of

if TYPE_CHECKING:
    from dialens.studies import Study

_RATED = ("likert", "magnitude", "number", "slider")
_FEW_ITEMS = 10
Plan = Callable[[int, int], PlannedPower]


@dataclass(frozen=True)
class Shape:
    """What one participant of a study rates on one quality.

    Attributes:
        cells: Conditions between participants.
        target: Participants of the smallest cell.
        participants: Of all cells.
        items: Different items that a participant judges.
        agents: Agents whose replies a participant judges.
        talks: Whether participants talk with agents, so that nobody shares an item.
        instrument: With which the first quality is judged.
    """

    cells: int
    target: int
    participants: int
    items: int
    agents: int
    talks: bool
    instrument: str


def print_power_of_study(
    path: Path,
    question: Question,
    effects: Sequence[float],
    *,
    wanted: float,
    price: float | None,
) -> None:
    """Say what a study sees of a difference between two agents and between two cells."""
    with extra("Studies", "studies"):
        from dialens.studies import load_study
    shape = shape_of(load_study(path), question.seed)
    if shape.instrument == "pairwise":
        raise DialensError(
            "This study compares replies in pairs. Give --outcome pairwise with "
            f"--raters {shape.participants} --items {shape.items} --shared-raters and a --win-rate."
        )
    if shape.instrument not in _RATED:
        raise DialensError(
            f"--study plans for ratings ({', '.join(_RATED)}), but this study asks for "
            f"{shape.instrument}. Give --outcome binary with --raters and --items for yes or no."
        )
    for effect in effects:
        if not effect and question.margin is None:
            raise DialensError("Give the --effect that the study is to see, in points.")
        for line in sentences(shape, question, effect, wanted=wanted, price=price):
            print(line)


def shape_of(study: "Study", seed: int = 0) -> Shape:
    """What a participant of the first cell rates, read from the screens of one."""
    from dialens.studies import Planner
    from dialens.studies.design import LIST

    targets: Counter[tuple[tuple[str, str], ...]] = Counter()
    for cell in study.cells:  # lists of items are dealt to people, and are no condition
        levels = {name: level for name, level in cell.levels.items() if name != LIST}
        targets[tuple(sorted(levels.items()))] += study.targets[cell.name]
    fields = [
        field
        for screen in Planner(study).screens(study.cells[0].name, seed)
        if screen.kind == "rating"
        for field in screen.fields
        if field.quality is not None
    ]
    if not fields:
        raise DialensError(f"The study {study.name!r} has no screen on which anything is rated.")
    first = [field for field in fields if field.quality == fields[0].quality]
    agents = {str(target.get("agent")) for field in first for target in field.targets.values()}
    items = {field.item for field in first}
    talks = study.design.conversations is not None
    return Shape(
        cells=len(targets),
        target=min(targets.values()),
        participants=targets.total(),
        items=len(first) if talks else len(items),
        agents=len(agents),
        talks=talks,
        instrument=first[0].instrument,
    )


def sentences(
    shape: Shape, question: Question, effect: float, *, wanted: float, price: float | None
) -> list[str]:
    """One sentence for two agents, one for two cells, each where the study has two."""
    comparisons = []
    if shape.agents > 1:
        people = shape.participants if not shape.talks else 1
        units = shape.items if not shape.talks else shape.participants
        comparisons.append(("two agents", _agents(shape, question, effect), people, units))
    if shape.cells > 1:
        replies = shape.items * shape.agents
        comparisons.append(("two cells", _cells(shape, question, effect), shape.target, replies))
    if not comparisons:
        raise DialensError("The study has one agent and one cell: there is nothing to compare.")
    said = [
        _sentence(whom, question, plan, (raters, items), wanted, price)
        for whom, plan, raters, items in comparisons
    ]
    parts = question.parts
    if shape.agents > 1 and isinstance(parts, VarianceParts) and not parts.rater_agent:
        said.append(
            "This takes all raters to prefer the same agent equally; --rater-agent-sd says how "
            "much they differ."
        )
    return said


def _agents(shape: Shape, question: Question, effect: float) -> Plan:
    """Everybody rates both agents; who talks with them has conversations of their own."""
    design = replace(question.design, between=False, paired=True, shared_raters=not shape.talks)
    parts = question.parts
    assert isinstance(parts, VarianceParts)
    if shape.talks:
        parts = replace(parts, rater=0.0)  # how high a person rates cancels between two talks
    asked = replace(question, design=design, parts=parts)
    return lambda raters, items: asked.planned(raters, items, 1, effect)


def _cells(shape: Shape, question: Question, effect: float) -> Plan:
    """Every cell has people of its own; their conversations, if they have any, are their own."""
    parts = question.parts
    assert isinstance(parts, VarianceParts)
    if shape.talks:
        own = hypot(parts.rater, parts.item, parts.dialog)
        parts = replace(parts, rater=own, item=0.0, dialog=0.0)
    asked = replace(question, design=replace(question.design, between=True), parts=parts)
    return lambda raters, items: asked.planned(raters, items, 1, effect)


def _sentence(
    whom: str,
    question: Question,
    plan: Plan,
    size: tuple[int, int],
    wanted: float,
    price: float | None,
) -> str:
    raters, items = size
    now = plan(raters, items)
    if now.power.value is None:
        return f"The difference between {whom} cannot be tested: {now.power.reason}."
    what = f"a difference of {now.effect:g}"
    if question.margin is not None:
        what = f"a difference below {question.margin:g}"
    who = f"{counted(raters, 'participant')}{' a cell' if whom == 'two cells' else ''}"
    judged = "replies" if whom == "two cells" else "items"
    with_what = f"{who} and {items} {judged} each" if raters > 1 else f"{items} participants"
    power = (
        f"Between {whom}, {what} is {'seen' if question.margin is None else 'shown'} with a power "
        f"of {now.power.value:.2f} ({with_what}; {price_of(now.ratings, price)} a quality)"
    )
    if whom == "two agents" and raters > 1 and items <= _FEW_ITEMS:
        # Raters' tastes make a second sample, so that there may be fewer degrees of freedom yet.
        power += (
            f"; items are taken as a sample, and with only {counted(items, 'item')} the test has "
            f"{counted(items - 1, 'degree')} of freedom at most"
        )
    if now.power.value >= wanted:
        return f"{power}: enough for the {wanted:g} wanted."
    most = most_to_try(now.ratings, computed=not now.power.has_interval)
    if raters == 1:  # conversations: more participants are the only way
        alone = advise(plan, raters, items, wanted=wanted, most=most)
        needed = None if alone is None else alone.items.needed
        takes = f"{needed:,} participants" if needed else f"more than {items * most:,} participants"
        return f"{power}, less than the {wanted:g} wanted; that takes {takes}."
    advice = advise(plan, raters, items, wanted=wanted, most=most)
    return f"{power}, less than the {wanted:g} wanted. " + (
        "" if advice is None else f"{advised(advice, price)}."
    )
