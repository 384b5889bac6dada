"""A small line chart of a column along the turns of a conversation, drawn on the server."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialens.base import number
from dialens.workbench import Column

WIDTH, HEIGHT = 340, 132
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 24
_MOST_DOTS = 160


@dataclass(frozen=True)
class Dot:
    """A value at its place."""

    turn: int
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Tick:
    """A number on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class TurnChart:
    """What the template draws.

    Attributes:
        line: Points of the line, as SVG writes them.
        dots: Values to point at; none where there would be too many.
        rows: Ticks of the values, from the top.
        turns: Ticks of the turns.
        last: Number of the turn at the right end; the first is at the left.
        words: What the chart shows, in a sentence.
        scale: Where the scale comes from.
    """

    line: str
    dots: tuple[Dot, ...]
    rows: tuple[Tick, ...]
    turns: tuple[Tick, ...]
    last: int
    words: str
    scale: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def turn_chart(
    column: Column,
    values: Sequence[tuple[int, float]],
    last: int,
    bounds: tuple[float, float] | None,
) -> TurnChart | None:
    """A chart of values by turn; None where there are none.

    Args:
        column: What is drawn.
        values: Turns with their values, in order.
        last: Number of the last turn.
        bounds: Lowest and highest value of the whole folder, so that conversations share a scale.
    """
    if not values:
        return None
    seen = [value for _, value in values]
    low, high = bounds or (min(seen), max(seen))
    low, high = min(low, *seen), max(high, *seen)
    span = (high - low) or 1.0
    steps = max(last, 1)
    places = [
        (
            turn,
            round(_LEFT + (WIDTH - _LEFT - _RIGHT) * turn / steps, 1),
            round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / span, 1),
            number(value, percent=column.percent),
        )
        for turn, value in values
    ]
    few = len(places) <= _MOST_DOTS
    ends = [(_TOP, high), (HEIGHT - _BOTTOM, low)] if high > low else [(_TOP, high)]
    return TurnChart(
        line=" ".join(f"{x:g},{y:g}" for _, x, y, _ in places),
        dots=tuple(Dot(*place) for place in places) if few else (),
        rows=tuple(Tick(place, number(value, percent=column.percent)) for place, value in ends),
        turns=tuple(
            Tick(round(_LEFT + (WIDTH - _LEFT - _RIGHT) * turn / steps, 1), str(turn))
            for turn in sorted({0, last // 2, last})
        ),
        last=steps,
        words=_words(column, values),
        scale="The scale is that of all turns of this folder.",
    )


def _words(column: Column, values: Sequence[tuple[int, float]]) -> str:
    def said(value: float) -> str:
        return number(value, percent=column.percent)

    (first, begin), (last, end) = values[0], values[-1]
    if len(values) == 1:
        return f"{column.label} is {said(begin)} at turn {first}, the only one with a value."
    top = max(values, key=lambda one: one[1])
    least = min(values, key=lambda one: one[1])
    return (
        f"{column.label} is {said(begin)} at turn {first} and {said(end)} at turn {last}; "
        f"highest {said(top[1])} at turn {top[0]}, lowest {said(least[1])} at turn {least[0]}."
    )
