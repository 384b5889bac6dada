"""Agreement in charts: intervals by group, reliability by number of raters, raters in a row."""

import altair as alt
import polars as pl

from dialens.base import counted, interval, number
from dialens.report._charts import Chart, named, specification
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report.agreement._words import place

_MOST_ROWS = 40
_MOST_RATERS = 150
_MOST_LINES = 6
_FURTHEST = 60
_CHANCE = {"": [0.0]}
_AT_ODDS = "at odds with the rest"
_COLOURS = {"agrees with the rest": "var(--accent)", _AT_ODDS: "var(--focus)"}


def statistic_chart(rows: pl.DataFrame, statistic: str) -> Chart:
    """One statistic for every quality and group, with the interval to report."""
    every = rows.filter(pl.col("statistic") == statistic)
    known = every.filter(pl.col("value").is_not_null())
    marks = [
        Mark(
            place(row["quality"], row["group"]),
            row["value"],
            row["low"],
            row["high"],
            details={"Interval from": row["interval"] or row["reason"] or "–"},
        )
        for row in known.head(_MOST_ROWS).iter_rows(named=True)
    ]
    note = "Dots are estimates, lines 95 % intervals; the dashed line is chance."
    rest = every.height - len(marks)
    if rest:
        note += f" {counted(rest, 'group')} without a value, or beyond the first {_MOST_ROWS}."
    also = str(known["also"][0]) if known.height else statistic
    title = statistic if statistic.startswith("ICC") else also
    return interval_chart(
        marks,
        axis=title,
        alt_text=f"{title} for {counted(len(marks), 'group')} of ratings with 95 % intervals.",
        row="Ratings",
        value=title,
        note=note,
        lines=_CHANCE,
        write=lambda value: number(value, 3),
        write_ends=lambda low, high: interval(low, high, 3),
    )


def rater_chart(raters: pl.DataFrame, where: str) -> Chart:
    """Every rater's correlation with the mean of the others, lowest first."""
    known = raters.filter(pl.col("agreement").is_not_null())
    fair = next(iter(_COLOURS))
    marks = [
        Mark(
            row["rater"],
            row["agreement"],
            row["low"],
            row["high"],
            _AT_ODDS if row["at_odds"] else fair,
            details={"Items shared": f"{row['n_items']:,}"},
        )
        for row in known.head(_MOST_RATERS).iter_rows(named=True)
    ]
    odd = sum(mark.series == _AT_ODDS for mark in marks)
    note = f"One line a rater, the one who agrees least on top; {odd} at odds with the rest."
    rest = raters.height - len(marks)
    if rest:
        note += f" {counted(rest, 'rater')} with too few items, or beyond the first {_MOST_RATERS}."
    return interval_chart(
        marks,
        axis="Correlation with the mean of the others",
        alt_text=f"Agreement of {counted(len(marks), 'rater')} with the rest, {where}.",
        row="Rater",
        value="Correlation",
        note=note,
        names="none",
        lines=_CHANCE,
        colours=_COLOURS,
        write=lambda value: number(value, 3),
        write_ends=lambda low, high: interval(low, high, 3),
    )


def panel_chart(panel: pl.DataFrame, basis: str) -> Chart:
    """Reliability of an item's mean by how many ratings it is the mean of."""
    groups = panel.filter((pl.col("basis") == basis) & (pl.col("single") > 0)).unique(
        ["quality", "group"], maintain_order=True
    )
    drawn = groups.head(_MOST_LINES)
    furthest = _furthest(panel.filter(pl.col("basis") == basis), drawn)
    lines = [
        {
            "name": place(row["quality"], row["group"]),
            "m": m,
            "x": m * row["single"] / (1 + (m - 1) * row["single"]),
        }
        for row in drawn.iter_rows(named=True)
        for m in range(1, furthest + 1)
    ]
    now = [
        {"name": place(row["quality"], row["group"]), "m": row["now"], "x": row["reliability_now"]}
        for row in drawn.iter_rows(named=True)
        if row["now"] <= furthest
    ]
    x = alt.X(
        "m:Q",
        axis=alt.Axis(title="Ratings an item", tickMinStep=1, format="d"),
        scale=alt.Scale(domain=[1, max(2, furthest)], nice=False, zero=False),
    )
    y = alt.Y(
        "x:Q", axis=alt.Axis(title="Reliability", format="~g"), scale=alt.Scale(domain=[0, 1])
    )
    tooltip = [
        alt.Tooltip("name:N", title="ratings"),
        alt.Tooltip("m:Q", title="ratings an item"),
        alt.Tooltip("x:Q", title="reliability", format=".3~f"),
    ]
    legend = None if drawn.height == 1 else alt.Legend(columns=2)
    colour = alt.Color("name:N", sort=None, legend=legend)
    curve = (
        alt.Chart(named("lines")).mark_line(strokeWidth=2.5).encode(x, y, colour, tooltip=tooltip)
    )
    dots = (
        alt.Chart(named("now"))
        .mark_point(size=90, filled=True, opacity=1)
        .encode(x, y, colour, tooltip=tooltip)
    )
    wanted = [{"x": target} for target in sorted(set(panel["target"]))]
    marks = alt.Chart(named("wanted")).mark_rule(style="zero")
    rest = groups.height - drawn.height
    note = "Dashed lines are the wanted reliabilities"
    note += "; dots are where the data stand now." if now else "; the data stand beyond the right."
    if rest:
        note += f" The first {_MOST_LINES} groups of {groups.height}."
    return Chart(
        specification(alt.layer(marks.encode(y=y), curve, dots).properties(height=280)),
        {"lines": lines, "now": now, "wanted": wanted},
        f"Reliability by number of ratings for {counted(drawn.height, 'group')}.",
        ("Ratings", "One rating", "Now", "Reliability now"),
        [
            (
                place(row["quality"], row["group"]),
                number(row["single"], 3),
                f"{row['now']:,.3g}",
                number(row["reliability_now"], 3),
            )
            for row in drawn.iter_rows(named=True)
        ],
        note,
    )


def _furthest(panel: pl.DataFrame, drawn: pl.DataFrame) -> int:
    """As far as the wanted reliabilities lie, within reason."""
    needed = panel.join(drawn, on=["quality", "group"], how="semi")["needed"].drop_nulls()
    wanted = int(needed.max() or 10) if len(needed) else 10  # type: ignore[arg-type]
    return max(4, min(_FURTHEST, wanted + 2))
