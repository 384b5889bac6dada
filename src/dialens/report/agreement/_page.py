"""The page on agreement: sentences, pictures, every number, every rater, and how it was done."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dialens.report._charts import CONFIG, Chart
from dialens.report._shell import write_page
from dialens.report.agreement._charts import interval_chart, panel_chart, rater_chart
from dialens.report.agreement._words import headline, method, number, place, sentences, span
from dialens.statistics.agreement import Agreement

_MOST_RATERS = 400
_FIRST = ("ICC(2,k)", "ICC(2,1)", "ICC(1,k)", "ICC(1,1)", "alpha_ordinal", "alpha_interval")
_BASES = {
    "g_absolute": "Raters crossed with items, absolute agreement",
    "g_relative": "Raters crossed with items, consistency",
    "spearman_brown": "Other raters for every item (Spearman–Brown)",
}


@dataclass(frozen=True)
class AgreementSummary:
    """What a page says, for a few lines on a terminal.

    Attributes:
        path: Where it is.
        headline: How much was measured.
        sentences: One a quality and group.
        size: Bytes.
    """

    path: Path
    headline: str
    sentences: tuple[str, ...]
    size: int


def write_agreement(
    found: Agreement,
    path: Path,
    *,
    title: str,
    normalise: str | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> AgreementSummary:
    """Write agreement into one HTML file that needs nothing else.

    Args:
        found: What `measure_agreement` gives.
        path: The file; it appears whole or not at all.
        title: Heading of the page.
        normalise: How ratings were normalised, for the methods paragraph.
        resamples: Of the bootstrap, for the methods paragraph.
        seed: Of the bootstrap, for the methods paragraph.
    """
    rows = found.rows
    told, more = sentences(rows, found.panel, found.raters)
    head = headline(rows)
    plots, figures = _plots(found)
    size = write_page(
        "agreement.html.j2",
        path,
        {"config": CONFIG, "figures": figures},
        title=title,
        headline=head,
        sentences=told,
        more=more,
        notes=found.notes,
        plots=plots,
        heads=_HEADS,
        rows=[_row(row) for row in rows.iter_rows(named=True)],
        raters=[_rater(row) for row in found.raters.head(_MOST_RATERS).iter_rows(named=True)],
        rater_heads=_RATER_HEADS,
        about_raters=_ABOUT_RATERS,
        raters_left=(
            f"The first {_MOST_RATERS:,} of {found.raters.height:,} rows; all of them are in "
            "raters.json."
            if found.raters.height > _MOST_RATERS
            else ""
        ),
        method=method(rows, normalise=normalise, resamples=resamples, seed=seed),
    )
    return AgreementSummary(path, head, tuple(f"{a} {b}" for a, b in told), size)


_HEADS = [
    ("Quality", "text"),
    ("Statistic", "text"),
    ("Value", "number"),
    ("95 % interval", None),
    ("Over items", None),
    ("Over raters", None),
    ("Over both", None),
    ("Items differ", None),
    ("Ratings", None),
]
_RATER_HEADS = [
    ("Rater", "text"),
    ("Ratings of", "text"),
    ("Items shared", "number"),
    ("Agreement with the rest", "number"),
    ("95 % interval", None),
    ("Rates higher by", "number"),
    ("Alpha without", None),
    ("Corrected p", None),
    ("", None),
]
_ABOUT_RATERS = (
    "Agreement is the correlation of a rater’s ratings with the mean of all others on the items "
    "both judged. “Rates higher by” is the mean difference from the others. “Alpha without” is "
    "Krippendorff’s alpha (interval) of the others by themselves. At odds: less agreement than the "
    "spread of the other raters lets expect, corrected over the raters of the group."
)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    test = p = ""
    if row["f"] is not None:
        test = f"F({row['df1']:g}, {row['df2']:g}) = {row['f']:.2f}"
    elif row["p"] is not None:
        test = f"χ², {row['df1']:g} df"
    if row["p_adjusted"] is not None:
        shown = "< 0.001" if row["p_adjusted"] < 0.001 else f"= {row['p_adjusted']:.3f}"
        p = f"corrected p {shown}"
    raters = "raters unknown" if row["n_raters"] is None else f"{row['n_raters']:,} raters"
    reason = row["reason"]
    return {
        "quality": row["quality"],
        "group": "" if row["group"] == "all" else row["group"],
        "statistic": row["statistic"] if row["statistic"].startswith("ICC") else row["also"],
        "also": row["also"] if row["statistic"].startswith("ICC") else "",
        "value": number(row["value"], 3),
        "sort": row["value"],
        "interval": span(row["low"], row["high"], 3) or "–",
        "basis": row["interval"] or "",
        "over_items": span(row["items_low"], row["items_high"]) or "–",
        "over_raters": span(row["raters_low"], row["raters_high"]) or "–",
        "over_both": span(row["both_low"], row["both_high"]) or "–",
        "test": test or "–",
        "p": p,
        "n": f"{row['n_ratings']:,}",
        "counts": f"{row['n_items']:,} items, {raters}, {row['n_missing']:,} cells empty",
        "reason": f"{reason[0].upper()}{reason[1:]}." if reason else "",
    }


def _rater(row: Mapping[str, Any]) -> dict[str, Any]:
    p = row["p_adjusted"]
    reason = row["reason"]
    return {
        "rater": row["rater"],
        "where": place(row["quality"], row["group"]),
        "n": row["n_items"],
        "agreement": number(row["agreement"]),
        "sort": row["agreement"],
        "interval": span(row["low"], row["high"]) or "–",
        "offset": number(row["offset"]),
        "offset_sort": row["offset"],
        "without": number(row["alpha_without"]),
        "p": "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}",
        "verdict": "at odds" if row["at_odds"] else "",
        "reason": f"{reason[0].upper()}{reason[1:]}." if reason else "",
    }


def _plots(found: Agreement) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """What is drawn, and the drawings."""
    there = found.rows.filter(pl.col("value").is_not_null())
    named = dict(there.select("statistic", "also").unique(maintain_order=True).iter_rows())
    first = [name for name in _FIRST if name in named]
    order = [*first, *(name for name in named if name not in first)]
    plots: list[dict[str, Any]] = []
    figures: dict[str, dict[str, Any]] = {}
    if order:
        _add(
            plots,
            figures,
            "Agreement with intervals",
            "One row a quality and group. 0 is what chance gives, 1 perfect agreement.",
            "Statistic",
            {
                name: (
                    f"{name} · {named[name]}" if name.startswith("ICC") else named[name],
                    interval_chart(found.rows, name),
                )
                for name in order
            },
        )
    bases = [
        b
        for b in _BASES
        if found.panel.filter((pl.col("basis") == b) & (pl.col("single") > 0)).height
    ]
    if bases:
        _add(
            plots,
            figures,
            "How many raters are enough",
            "The reliability of an item’s mean rating, by how many ratings it is the mean of.",
            "Reading",
            {basis: (_BASES[basis], panel_chart(found.panel, basis)) for basis in bases},
        )
    charts = {}
    for (quality, group), part in found.raters.group_by("quality", "group", maintain_order=True):
        where = place(str(quality), str(group))
        if part["agreement"].is_not_null().any():
            charts[f"{quality}/{group}"] = (where, rater_chart(part, where))
    if charts:
        _add(
            plots,
            figures,
            "Raters against the rest",
            "How far each rater goes along with the mean of all others.",
            "Ratings of",
            charts,
        )
    return plots, figures


def _add(
    plots: list[dict[str, Any]],
    figures: dict[str, dict[str, Any]],
    label: str,
    meaning: str,
    what: str,
    charts: Mapping[str, tuple[str, Chart]],
) -> None:
    spot = f"plot-{len(plots)}"
    several = len(charts) > 1
    picks = [(name, text) for name, (text, _) in charts.items()] if several else None
    plots.append({"place": spot, "label": label, "meaning": meaning, "what": what, "picks": picks})
    figures[spot] = {name if several else "": c.to_dict() for name, (_, c) in charts.items()}
