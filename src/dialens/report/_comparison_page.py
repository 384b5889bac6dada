"""Agents or systems side by side: sentences, differences with intervals, and every test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from dialens.report._charts import CONFIG, Chart, named, specification
from dialens.report._shell import write_page
from dialens.report._wording import (
    Scale,
    cards,
    counted,
    family_label,
    headline_metrics,
    higher,
    is_baseline,
    long_label,
)
from dialens.statistics import few_units_note

ALPHA = 0.05
_MOST_ROWS = 30
_OPEN = 3


@dataclass(frozen=True)
class ComparisonSummary:
    """What a comparison shows, for a few lines on a terminal.

    Attributes:
        path: Where it is.
        headline: What was compared, and how many tests that made.
        sentences: One a metric on which a difference survives the correction.
        size: Bytes.
    """

    path: Path
    headline: str
    sentences: tuple[str, ...]
    size: int

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        return [self.headline, *(f"  {sentence}" for sentence in self.sentences)]


@dataclass(frozen=True)
class _Row:
    """One comparison, ready to be printed; numbers are those of the table."""

    metric: str
    label: str
    a: str
    b: str
    value_a: str
    value_b: str
    difference: str
    interval: str
    p: str
    adjusted: str
    family: int | None
    n: str
    paired: str
    reason: str
    told: bool
    sort: Mapping[str, Any]


def write_comparison(table: pl.DataFrame, path: Path, *, title: str) -> ComparisonSummary:
    """Write a comparison into one HTML file that needs nothing else.

    Args:
        table: What `dialens.compare` gives (columns of `dialens.analysis.COMPARISONS`).
        path: The file; it appears whole or not at all.
        title: Heading of the page.
    """
    table = _short_names(table)
    metrics = table["metric"].unique(maintain_order=True).to_list()
    compared = table.filter(pl.col("difference").is_not_null())["metric"]
    first = headline_metrics(compared.unique(maintain_order=True).to_list() or metrics)
    ordered = [*first, *(name for name in metrics if name not in first)]
    scales = {name: _scale(table.filter(pl.col("metric") == name), name) for name in ordered}
    told = _told(table, first, scales)
    head = _headline(table, metrics)
    rows = [_row(row, scales[row["metric"]]) for row in table.iter_rows(named=True)]
    known = cards(ordered)
    groups = {long_label(name): [name] for name in first}
    for name in ordered[len(first) :]:
        family = known[name].family if name in known else "other"
        groups.setdefault(family_label(family), []).append(name)
    plots = [
        {
            "place": f"plot-{number}",
            "label": group,
            "picks": [(name, long_label(name)) for name in names] if len(names) > 1 else None,
            "meaning": known[names[0]].meaning if names[0] in known and len(names) == 1 else "",
            "open": number < _OPEN,
            "found": sum(row.told for row in rows if row.metric in names),
        }
        for number, (group, names) in enumerate(groups.items())
    ]
    forests = {name: _forest(table, name, scales[name]).to_dict() for name in ordered}
    size = write_page(
        "comparison.html.j2",
        path,
        {
            "config": CONFIG,
            "figures": {
                plot["place"]: {name if plot["picks"] else "": forests[name] for name in names}
                for plot, names in zip(plots, groups.values(), strict=True)
            },
        },
        title=title,
        headline=head,
        sentences=told,
        method=_method(table),
        plots=plots,
        rows=rows,
    )
    sentences = tuple(f"{claim}: {numbers}" for claim, numbers in told)
    return ComparisonSummary(path, f"{head}.", sentences, size)


def _short_names(table: pl.DataFrame) -> pl.DataFrame:
    """Without the system's name where all share it.

    Examples:
        >>> names = pl.DataFrame({"a": ["s / x"], "b": ["s / y"], "level": ["agent"]})
        >>> _short_names(names).select("a", "b").row(0)
        ('x', 'y')
    """
    names = pl.concat([table["a"], table["b"]])
    if not table.height or table["level"][0] != "agent":
        return table
    prefix = names[0].split(" / ")[0] + " / "
    if not names.str.starts_with(prefix).all():
        return table
    return table.with_columns(pl.col("a", "b").str.strip_prefix(prefix))


def _scale(rows: pl.DataFrame, name: str) -> Scale:
    return Scale.of(name, rows.select("difference", "low", "high").iter_rows())


def _headline(table: pl.DataFrame, metrics: Sequence[str]) -> str:
    units = pl.concat([table["a"], table["b"]]).n_unique()
    level = str(table["level"][0]) if table.height else "agent"
    pairs = table.select("a", "b").n_unique()
    tests = int(table["p_adjusted"].is_not_null().sum())
    below = int((table["p_adjusted"] < ALPHA).sum())
    return (
        f"{counted(units, level)}, {counted(pairs, 'pair')}, {counted(len(metrics), 'metric')}: "
        f"{below:,} of {counted(tests, 'test')} {'has' if below == 1 else 'have'} a corrected p "
        f"below {ALPHA:g}"
    )


def _method(table: pl.DataFrame) -> str:
    paired = table.filter("paired")["n_shared"]
    families = table["family"].drop_nulls().unique().sort().to_list()
    family = " or ".join(f"{number:,}" for number in families) or "no"
    how = (
        "Where both answered the same contexts, contexts are drawn and the comparison is paired"
        if len(paired)
        else "The dialogues of each are drawn by themselves: no two answered the same contexts"
    )
    note = f"{few} " if (few := few_units_note(table)) else ""
    return (
        f"Intervals are 95 % bootstrap intervals over dialogues. {how}. {note}P-values are "
        f"corrected after Benjamini and Hochberg over the whole family of {family} tests on "
        "this page; a corrected p below 0.05 means that among all differences so marked no more "
        "than about one in twenty is expected to be chance. A difference says nothing about which "
        "side is better."
    )


def _told(
    table: pl.DataFrame, names: Sequence[str], scales: Mapping[str, Scale]
) -> list[tuple[str, str]]:
    """For every headline metric its largest difference that survives the correction."""
    sentences = []
    for name in names:
        below = table.filter(
            pl.col("metric") == name, pl.col("p_adjusted") < ALPHA, pl.col("difference") != 0
        )
        if not below.height or is_baseline(name):
            continue
        row = below.sort(pl.col("difference").abs(), descending=True).row(0, named=True)
        others = below.height - 1
        more = (
            f" {counted(others, 'other pair has', 'other pairs have')} such a p here."
            if others
            else ""
        )
        claim, numbers = _sentence(row, scales[name])
        sentences.append((claim, numbers + more))
    return sentences


def _sentence(row: Mapping[str, Any], scale: Scale) -> tuple[str, str]:
    """A claim, and the numbers it rests on."""
    up = row["difference"] > 0
    a, b = (row["a"], row["b"]) if up else (row["b"], row["a"])
    values = (row["value_a"], row["value_b"]) if up else (row["value_b"], row["value_a"])
    low, high = (row["low"], row["high"]) if up else (-row["high"], -row["low"])
    points = " points" if scale.percent else ""
    return (
        f"{a} {higher(row['metric'])} than {b}",
        f"{scale.text(values[0])} against "
        f"{scale.text(values[1])}, difference {scale.number(abs(row['difference']))}{points} "
        f"(95 % interval {scale.interval(low, high)}), corrected p {_p(row['p_adjusted'], '= ')}, "
        f"family of {counted(row['family'], 'test')}.",
    )


def _p(value: float | None, equals: str = "") -> str:
    """A p-value in words.

    Examples:
        >>> _p(0.0001), _p(0.0321), _p(None)
        ('< 0.001', '0.032', '–')
    """
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{equals}{value:.3f}"


def _row(row: Mapping[str, Any], scale: Scale) -> _Row:
    told = row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA
    return _Row(
        metric=row["metric"],
        label=long_label(row["metric"]),
        a=row["a"],
        b=row["b"],
        value_a=scale.text(row["value_a"]),
        value_b=scale.text(row["value_b"]),
        difference="–" if row["difference"] is None else scale.number(row["difference"]),
        interval=scale.interval(row["low"], row["high"]) or "–",
        p=_p(row["p"]),
        adjusted=_p(row["p_adjusted"]),
        family=row["family"],
        n=f"{row['n_a']:,} and {row['n_b']:,}",
        paired=f"{row['n_shared']:,} shared" if row["paired"] else "no",
        reason=row["reason"] or "",
        told=told,
        sort={key: row[key] for key in ("value_a", "value_b", "difference", "p", "p_adjusted")},
    )


def _forest(table: pl.DataFrame, name: str, scale: Scale) -> Chart:
    """Differences with their intervals, the largest first, on an axis of the metric's own."""
    rows = (
        table.filter(pl.col("metric") == name, pl.col("difference").is_not_null())
        .sort(pl.col("difference").abs(), descending=True, maintain_order=True)
        .head(_MOST_ROWS)
    )
    shown = [
        {
            "row": number,
            "pair": f"{row['a']} − {row['b']}",
            "x": row["difference"],
            "low": row["low"],
            "high": row["high"],
            "told": row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA,
            "p": _p(row["p_adjusted"]),
            "family": row["family"],
        }
        for number, row in enumerate(rows.iter_rows(named=True))
    ]
    count = max(1, len(shown))
    y = alt.Y(
        "row:Q", axis=None, scale=alt.Scale(domain=[count - 0.5, -0.75], nice=False, zero=False)
    )
    x = alt.X(
        "x:Q",
        axis=alt.Axis(
            title=f"Difference in {long_label(name).lower()}",
            format="+%" if scale.percent else "~g",
            tickCount=6,
        ),
        scale=alt.Scale(zero=True),
    )
    colour = alt.condition("datum.told", alt.value("var(--accent)"), alt.value("var(--quiet)"))
    fill = alt.condition("datum.told", alt.value("var(--accent)"), alt.value("var(--surface)"))
    tooltip = [
        alt.Tooltip("pair:N", title="difference"),
        alt.Tooltip("x:Q", title="estimate", format=".3~f"),
        alt.Tooltip("low:Q", title="from", format=".3~f"),
        alt.Tooltip("high:Q", title="to", format=".3~f"),
        alt.Tooltip("p:N", title="corrected p"),
        alt.Tooltip("family:Q", title="tests in the family"),
    ]
    base = alt.Chart(named("rows")).encode(y=y)
    zero = alt.Chart(named("zero")).mark_rule(style="zero").encode(x=x)
    line = base.mark_rule(strokeWidth=3, strokeCap="round").encode(
        x=alt.X("low:Q"), x2="high:Q", color=colour, tooltip=tooltip
    )
    dot = base.mark_point(size=80, strokeWidth=2, opacity=1).encode(
        x=x, stroke=colour, fill=fill, tooltip=tooltip
    )
    name_of_row = base.mark_text(
        align="left", baseline="bottom", dy=-9, fontSize=12, color="var(--ink)", limit=330
    ).encode(text="pair:N", x=alt.value(0))
    chart = alt.layer(zero, line, dot, name_of_row).properties(height=44 * count + 14)
    rest = table.filter(pl.col("metric") == name).height - len(shown)
    note = f"Filled dots: corrected p below {ALPHA:g}. Hollow dots: not."
    if rest:
        note += f" The {counted(rest, 'pair')} not drawn stand in the table."
    return Chart(
        specification(chart),
        {"rows": shown, "zero": [{"x": 0}]},
        f"Differences in {long_label(name).lower()} between {counted(len(shown), 'pair')}, with "
        "95 % intervals, the largest first. The numbers stand in the table below the chart.",
        ("Pair", "Difference", "95 % interval", "Corrected p", "Family"),
        [
            (
                row["pair"],
                scale.number(row["x"]),
                scale.interval(row["low"], row["high"]) or "–",
                row["p"],
                f"{row['family']} tests" if row["family"] else "not tested",
            )
            for row in shown
        ],
        note,
    )
