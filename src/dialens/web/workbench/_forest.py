"""The forest plot as rows of a table: each row draws its difference on an axis that all share.

Metrics have units of their own, so rows are drawn by the standard deviation of dialogues; the
numbers beside them are in the metric's unit. A table is read by screen readers as it is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from markupsafe import Markup, escape

from dialens.base import number

_WIDTH, _HEIGHT = 240, 20
_HEAD = 18
_USUAL, _WIDEST = 4.0, 8.0
_MARGIN = 8


@dataclass(frozen=True)
class Place:
    """A difference in standard deviations of dialogues, with the ends of its interval."""

    size: float
    low: float
    high: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Place | None":
        """Where a row of a comparison stands; None where it has no effect size.

        Examples:
            >>> row = {"difference": 4.0, "effect_size": 0.5, "low": 2.0, "high": 6.0}
            >>> Place.of(row)
            Place(size=0.5, low=0.25, high=0.75)
        """
        size, difference = row["effect_size"], row["difference"]
        if size is None or difference is None:
            return None
        low, high = row["low"], row["high"]
        if not difference or low is None or high is None:
            return cls(size, size, size)
        return cls(size, low * size / difference, high * size / difference)


@dataclass(frozen=True)
class Axis:
    """The axis of a plot: from −reach to reach."""

    reach: float

    @classmethod
    def of(cls, places: Iterable[Place | None]) -> "Axis":
        """As wide as the rows need, up to four standard deviations either way.

        Up to eight where a quarter of the rows lie beyond four.

        Examples:
            >>> Axis.of([Place(0.5, 0.2, 1.2)]), Axis.of([Place(9.0, 8.0, 10.0)])
            (Axis(reach=1.5), Axis(reach=8.0))
        """
        drawn = [place for place in places if place is not None]
        widest = max((abs(end) for p in drawn for end in (p.low, p.high, p.size)), default=1.0)
        far = sum(abs(place.size) > _USUAL for place in drawn)
        most = _WIDEST if 4 * far >= len(drawn) else _USUAL
        return cls(min(most, max(0.5, ceil(2 * widest) / 2)))

    def x(self, value: float) -> float:
        """Where a value stands, in units of the drawing; what is beyond stands at the edge."""
        share = (min(max(value, -self.reach), self.reach) + self.reach) / (2 * self.reach)
        return round(_MARGIN + share * (_WIDTH - 2 * _MARGIN), 1)

    def head(self) -> Markup:
        """The numbers along the axis."""
        values = (-self.reach, -self.reach / 2, 0.0, self.reach / 2, self.reach)
        words = "".join(
            f'<text x="{self.x(value)}" y="13" text-anchor="middle">'
            f"{escape(number(value, 0 if value == int(value) else 2))}</text>"
            for value in values
        )
        return Markup(
            f'<svg class="forest" viewBox="0 0 {_WIDTH} {_HEAD}" aria-hidden="true">{words}</svg>'
        )

    def draw(self, place: Place | None, *, clear: bool) -> Markup:
        """One row: a dot with its interval, filled if the difference is clear."""
        middle = _HEIGHT / 2
        parts = [f'<line class="zero" x1="{self.x(0)}" x2="{self.x(0)}" y1="0" y2="{_HEIGHT}"/>']
        if place is not None:
            parts.append(
                f'<line class="ends" x1="{self.x(place.low)}" x2="{self.x(place.high)}" '
                f'y1="{middle}" y2="{middle}"/>'
            )
            at = self.x(place.size)
            if abs(place.size) > self.reach:
                way = 5 if place.size > 0 else -5
                parts.append(
                    f'<path class="dot" d="M{at - way} {middle - 5}L{at + way} {middle}'
                    f'L{at - way} {middle + 5}Z"/>'
                )
            else:
                parts.append(f'<circle class="dot" cx="{at}" cy="{middle}" r="4.5"/>')
        return Markup(
            f'<svg class="forest{" clear" if clear else ""}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'aria-hidden="true">{"".join(parts)}</svg>'
        )
