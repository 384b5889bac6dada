"""A histogram as SVG, made on the server: bars, what is chosen of them, and an axis."""

from markupsafe import Markup, escape

from dialens.base import number
from dialens.workbench import Column, Histogram, Range

WIDTH, HEIGHT = 640, 80
_AXIS = 1


def histogram_chart(found: Histogram, column: Column, chosen: Range | None = None) -> Markup:
    """Bars of a column's values; those outside a range are pale.

    The elements have classes and no styles, so that the page's policy holds.
    """
    most = max(found.counts) or 1
    step = WIDTH / len(found.counts)
    width = (found.high - found.low) / len(found.counts)
    low = found.low if chosen is None or chosen.low is None else chosen.low
    high = found.high if chosen is None or chosen.high is None else chosen.high
    bars = []
    for place, count in enumerate(found.counts):
        start = found.low + place * width
        inside = start + width > low and start <= high
        tall = (HEIGHT - _AXIS) * count / most
        if count:
            tall = max(tall, 1.0)
        label = f"{_shown(start, column)} to {_shown(start + width, column)}: {count:,}"
        bars.append(
            f'<rect class="{"bar-in" if inside else "bar-out"}" x="{place * step + 0.5:.1f}" '
            f'y="{HEIGHT - _AXIS - tall:.1f}" width="{max(step - 1, 0.5):.1f}" '
            f'height="{tall:.1f}"><title>{escape(label)}</title></rect>'
        )
    middle = (found.low + found.high) / 2
    ticks = "".join(
        f"<span>{escape(_shown(value, column))}</span>" for value in (found.low, middle, found.high)
    )
    total = sum(found.counts)
    label = (
        f"Histogram of {column.label}: {total:,} values from {_shown(found.low, column)} to "
        f"{_shown(found.high, column)}, mean {_shown(found.mean, column)}"
    )
    return Markup(
        f'<svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(label)}" preserveAspectRatio="none">{"".join(bars)}'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT - _AXIS}" y2="{HEIGHT - _AXIS}"/>'
        f'</svg><div class="ticks" aria-hidden="true">{ticks}</div>'
    )


def _shown(value: float, column: Column) -> str:
    return number(value, percent=column.percent)
