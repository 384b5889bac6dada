"""Which metrics come first, and how the values of a metric are written."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dialens.base import number
from dialens.metrics import MetricCard
from dialens.metrics import headline_metrics as headline_metrics


@dataclass(frozen=True)
class Scale:
    """How the values of one metric are written and where they lie on its axis.

    Attributes:
        percent: Whether values are shares, written in percent.
        decimals: As many as the intervals allow to be told apart.
        low: Left end of the axis.
        high: Right end.
    """

    percent: bool
    decimals: int
    low: float
    high: float

    @classmethod
    def of(
        cls,
        card: MetricCard,
        bounds: Iterable[tuple[float | None, float | None, float | None]],
        band: Sequence[float] = (),
    ) -> "Scale":
        """The scale for rows of value, low and high.

        The axis spans what people score, if that is known, else what the metric can take, so that
        a small difference does not look like a large one; and all values in any case.

        Args:
            card: The metric.
            bounds: Values with their intervals.
            band: Values between which people lie, from the lowest.

        Examples:
            >>> from dialens.metrics import metrics
            >>> scale = Scale.of(metrics()["question"], [(0.4, 0.35, 0.45)])
            >>> scale.text(0.4), scale.interval(0.35, 0.45)
            ('40.0 %', '35.0 to 45.0')
            >>> scale.low, scale.high
            (0.0, 1.0)
        """
        rows = list(bounds)
        percent = card.percent
        seen = [end for row in rows for end in row if end is not None]
        low, high = _axis(card, seen, band)
        widths = sorted(r[2] - r[1] for r in rows if r[1] is not None and r[2] is not None)
        width = (widths[len(widths) // 2] if widths else 0.0) * (100 if percent else 1)
        needed = 1 - math.floor(math.log10(width / 2)) if width > 0 else 2
        least, most = (1, 2) if percent else (1 if high > 5 else 2, 3)
        return cls(percent, min(max(needed - 1, least), most), low, high)

    def number(self, value: float) -> str:
        """The value without its unit; a true minus sign, no negative zero."""
        return number(value, self.decimals, percent=self.percent).removesuffix(" %")

    def text(self, value: float | None) -> str:
        """The value with its unit, or a dash."""
        return number(value, self.decimals, percent=self.percent)

    def interval(self, low: float | None, high: float | None) -> str:
        """Both ends in words."""
        if low is None or high is None:
            return ""
        return f"{self.number(low)} to {self.number(high)}"

    def place(self, value: float) -> float:
        """Where a value lies on the axis, in percent of its length."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(100 * min(max(share, 0.0), 1.0), 1)


def _axis(card: MetricCard, seen: Sequence[float], band: Sequence[float]) -> tuple[float, float]:
    """Both ends of the axis: people's values, else the metric's range, else those at hand."""
    least, most = card.range
    bounded = least is not None and most is not None
    known = [*seen, *(band if band else (least, most) if bounded else ())]
    ends = [end for end in known if end is not None]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    if not band and not bounded and least is not None:
        low = min(low, least)
    margin = (high - low) * 0.06 or abs(high) * 0.05 or 0.5
    return (
        low - margin if least is None else max(low - margin, least),
        high + margin if most is None else min(high + margin, most),
    )
