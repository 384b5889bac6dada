"""What is varied: cells between participants, levels within them, and what each means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dialens.base import DialensError, did_you_mean
from dialens.studies._types import Cell
from dialens.studies.design import (
    ANCHOR_VALUE,
    EACH,
    LIST,
    OWN_ANSWER,
    PER_RESPONSE,
    Design,
    Level,
    Quality,
)
from dialens.studies.instruments import Settings


@dataclass(frozen=True)
class Condition:
    """Everything that decides how an item is presented.

    Attributes:
        levels: Of every factor, and of anchor, layout and deadline where they are none.
        anchor: `none`, `numerical`, `textual` or `both`.
        layout: `together`, `separate` or `single`.
        order: Of the items.
        deadline_s: Seconds for a screen.
        render: `plain` or `markdown`.
        instrument: With which all qualities are judged, where the scale is a factor.
        notes: What participants read on every rating screen.
        name: For the column `condition`.
        number: The level of the factor `anchor_value`, where there is one.
        own_answer: Whether participants reply themselves before they see the responses.
    """

    levels: Mapping[str, str]
    anchor: str
    layout: str
    order: str
    deadline_s: float | None
    render: str
    instrument: Settings | None
    notes: tuple[str, ...]
    name: str
    number: Level | None = None
    own_answer: bool = False

    def instrument_of(self, quality: Quality) -> Settings:
        """The settings with which a quality is judged under this condition."""
        return self.instrument or quality.instrument


def cells(design: Design, n_lists: int = 0) -> tuple[Cell, ...]:
    """The conditions between participants, the first factor changing slowest.

    Args:
        design: The study.
        n_lists: How many lists of items there are, if items are dealt into lists.

    Examples:
        >>> from dialens.studies.design import Design
        >>> from dialens.studies._examples import TEA
        >>> [cell.name for cell in cells(Design.model_validate(TEA))]
        ['anchor=none,layout=together', 'anchor=none,layout=separate',
         'anchor=both,layout=together', 'anchor=both,layout=separate']
    """
    varied = {
        name: [level.name for level in factor.levels]
        for name, factor in design.factors.items()
        if factor.assign == "between"
    }
    talks = design.conversations
    if talks is not None and talks.assign == "between":
        varied[talks.factor] = list(talks.line_ups)
    if n_lists:
        width = len(str(n_lists))
        varied[LIST] = [f"{number:0{width}d}" for number in range(1, n_lists + 1)]
    return tuple(
        Cell.of(dict(zip(varied, levels, strict=True))) for levels in product(*varied.values())
    )


def targets(design: Design, known: Sequence[Cell]) -> dict[str, int]:
    """How many participants each cell is to have.

    Examples:
        >>> from dialens.studies.design import Design
        >>> from dialens.studies._examples import TEA
        >>> design = Design.model_validate(TEA)
        >>> set(targets(design, cells(design)).values())
        {20}
    """
    if design.items.lists is not None:
        return {cell.name: design.items.lists.annotators for cell in known}
    names = [cell.name for cell in known]
    for name in design.targets:
        if name != EACH and name not in names:
            raise DialensError(
                f"targets: there is no cell {name!r}. {did_you_mean(name, names)}"
                f"Cells: {'; '.join(names)}."
            )
    made = {}
    for name in names:
        if name not in design.targets and EACH not in design.targets:
            raise DialensError(
                f"targets: the cell {name!r} has no target. Give it one, or a number for `{EACH}`."
            )
        made[name] = design.targets.get(name, design.targets.get(EACH, 0))
    return made


def within(design: Design) -> tuple[dict[str, str], ...]:
    """The combinations of levels that every participant sees; one empty one if there is none."""
    varied = {
        name: [level.name for level in factor.levels]
        for name, factor in design.factors.items()
        if factor.assign == "within" and name not in PER_RESPONSE
    }
    return tuple(dict(zip(varied, levels, strict=True)) for levels in product(*varied.values()))


def condition(design: Design, levels: Mapping[str, str]) -> Condition:
    """What the levels of a participant and an item mean together.

    Args:
        design: The study.
        levels: By factor, between and within participants.

    Examples:
        >>> from dialens.studies.design import Design
        >>> from dialens.studies._examples import TEA
        >>> condition(Design.model_validate(TEA), {"anchor": "both", "layout": "separate"}).layout
        'separate'
    """
    default = design.presentation
    own = {name: levels[name] for name in design.factors if name in levels}
    chosen = {name: design.factors[name].level(level) for name, level in own.items()}
    deadline = default.deadline
    if "deadline" in chosen:
        deadline = chosen["deadline"].seconds
    everything = {
        "anchor": str(default.anchor),
        "layout": str(default.layout),
        "deadline": "none" if deadline is None else f"{deadline:g}s",
    }
    anchor, number = own.get("anchor", default.anchor), chosen.get(ANCHOR_VALUE)
    if number is not None:
        anchor = _with_number(anchor, number)
        if "anchor" not in own:
            everything["anchor"] = anchor
    if default.anchor_repeated and anchor in ("numerical", "both"):
        everything["anchor_repeated"] = "yes"
    if default.render != "plain":
        everything["render"] = default.render
    return Condition(
        levels=everything | own,
        anchor=anchor,
        layout=own.get("layout", default.layout),
        order=own.get("order", default.order),
        deadline_s=deadline,
        render=own.get("render", default.render),
        instrument=chosen["scale"].instrument if "scale" in chosen else None,
        notes=tuple(
            level.note
            for name, level in chosen.items()
            if level.note and name != ANCHOR_VALUE and name not in PER_RESPONSE
        ),
        name=Cell.of(own).name,
        number=number,
        own_answer=own.get(OWN_ANSWER) == "yes",
    )


def _with_number(anchor: str, number: Level) -> str:
    """The kind of anchor that is on the screen once the level of `anchor_value` is known."""
    text = anchor in ("textual", "both")
    shown = number.value is not None and (number.note or anchor in ("numerical", "both"))
    if shown:
        return "both" if text else "numerical"
    return "textual" if text else "none"
