"""The chart of a column along the turns: places by hand."""

from __future__ import annotations

from dialens.web.workbench._turn_chart import turn_chart
from dialens.workbench import Column

COLUMN = Column("m", "Warmth", "metric", "g", "m0")
SHARE = Column("m", "Warmth", "metric", "g", "m0", percent=True)


def test_values_lie_on_the_scale_of_the_folder() -> None:
    chart = turn_chart(COLUMN, [(0, 0.0), (2, 1.0), (4, 0.5)], 4, (0.0, 2.0))
    assert chart is not None
    height, width = chart.bottom - chart.top, chart.right - chart.left
    assert [(dot.x, dot.y) for dot in chart.dots] == [
        (chart.left, chart.bottom),
        (chart.left + width / 2, chart.top + height / 2),
        (chart.right, round(chart.top + 0.75 * height, 1)),
    ]
    assert chart.words == (
        "Warmth is 0.00 at turn 0 and 0.50 at turn 4; highest 1.0 at turn 2, lowest 0.00 at turn 0."
    )
    assert [tick.text for tick in chart.turns] == ["0", "2", "4"]


def test_one_value_none_and_very_many() -> None:
    assert turn_chart(COLUMN, [], 4, None) is None
    one = turn_chart(SHARE, [(0, 0.25)], 0, None)
    assert one is not None
    assert one.words == "Warmth is 25 % at turn 0, the only one with a value."
    many = turn_chart(COLUMN, [(turn, float(turn)) for turn in range(2000)], 1999, (0.0, 9.0))
    assert many is not None
    assert many.dots == ()
    assert many.rows[0].text == "1,999"  # what lies outside the bounds is drawn all the same
    assert len(many.line.split()) == 2000
