"""The report of a rating study: sentences, then charts and tables; and the files beside it."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import atomic_file
from dialens.report._charts import CONFIG, Chart
from dialens.report._shell import write_page
from dialens.report.bias._charts import (
    agreement_chart,
    differences_chart,
    effects_chart,
    means_chart,
    ranking_chart,
    robustness_chart,
    variance_chart,
)
from dialens.report.bias._findings import Finding, findings, headline
from dialens.report.bias._methods import CODEBOOK, methods
from dialens.report.bias._remarks import Remark, all_simulated, who_rated
from dialens.report.bias._tables import Shown, shown_tables

ANALYSIS = "analysis.json"


@dataclass(frozen=True)
class StudySummary:
    """What an analysis shows, for a few lines on a terminal.

    Attributes:
        folder: Where everything is.
        headline: How large the study is, and how many effects stand out.
        findings: The sentences.
        size: Bytes of the report.
        remarks: What has to be known before the first number.
    """

    folder: Path
    headline: str
    findings: tuple[Finding, ...]
    size: int
    remarks: tuple[Remark, ...] = ()

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        above = [line for remark in self.remarks for line in remark.lines()]
        return [*above, f"{self.headline}.", *(f"  {found.text}" for found in self.findings)]


@dataclass(frozen=True)
class _Plot:
    """A chart and where it stands."""

    place: str
    title: str
    charts: Mapping[str, Chart]
    what: str = ""
    open: bool = True

    @property
    def picks(self) -> list[tuple[str, str]] | None:
        """What can be chosen, where there are several charts."""
        return [(name, name) for name in self.charts] if self.what else None


@dataclass(frozen=True)
class _Section:
    """A part of the page."""

    id: str
    title: str
    lead: str = ""
    findings: Sequence[Finding] = ()
    plots: Sequence[_Plot] = ()
    tables: Sequence[Shown] = field(default_factory=list)


def write_study(
    analysis: StudyAnalysis,
    folder: Path,
    *,
    title: str,
    remarks: Sequence[Remark] = (),
    put_in: Sequence[str] = (),
) -> StudySummary:
    """Write analysis.json, tables as CSV and LaTeX, and report.html into a folder.

    Args:
        analysis: What `analyse_study` gives.
        folder: Where; made if it is not there.
        title: Heading of the report.
        remarks: What else has to be known before the first number.
        put_in: What is known of how raters were simulated, one line each.
    """
    above = (*who_rated(analysis.data, put_in), *remarks)
    if all_simulated(analysis.data):
        title = f"{title} (simulated data)"
    told = findings(analysis)
    tables = shown_tables(analysis)
    head = headline(analysis)
    _write_json(analysis, told, above, folder / ANALYSIS)
    for key, table in tables.items():
        if table.data.height:
            with atomic_file(folder / "tables" / f"{key}.csv") as scratch:
                _flat(table.data).write_csv(scratch)
            with atomic_file(folder / "tables" / f"{key}.tex") as scratch:
                scratch.write_text(table.latex(), encoding="utf-8")
    sections = list(_sections(analysis, told, tables))
    plots = [plot for section in sections for plot in section.plots]
    size = write_page(
        "bias.html.j2",
        folder / "report.html",
        {
            "config": CONFIG,
            "figures": {
                plot.place: {name: chart.to_dict() for name, chart in plot.charts.items()}
                for plot in plots
            },
        },
        title=title,
        headline=head,
        remarks=above,
        sections=sections,
        methods=methods(analysis),
        codebook=CODEBOOK,
    )
    return StudySummary(folder, head, tuple(told), size, above)


def _write_json(
    analysis: StudyAnalysis, told: Sequence[Finding], above: Sequence[Remark], path: Path
) -> None:
    content = {
        "headline": headline(analysis),
        "remarks": [vars(remark) for remark in above],
        "findings": [
            {"topic": f.topic, "claim": f.claim, "numbers": f.numbers, "clear": f.clear}
            for f in told
        ],
        **analysis.to_dict(),
        "methods": methods(analysis),
        "codebook": CODEBOOK,
    }
    with atomic_file(path) as scratch:
        text = json.dumps(_finite(content), ensure_ascii=False, indent=1, default=str)
        scratch.write_text(text + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """Numbers that are none become null, however deep.

    Examples:
        >>> _finite({"a": [1.0, float("nan")]})
        {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    nested = [n for n, dtype in table.schema.items() if isinstance(dtype, pl.List | pl.Struct)]
    return table.drop(nested)


def _sections(
    analysis: StudyAnalysis, told: Sequence[Finding], tables: dict[str, Shown]
) -> Iterator[_Section]:
    def about(topic: str) -> list[Finding]:
        return [found for found in told if found.topic == topic]

    def chosen(*keys: str) -> list[Shown]:
        return [table for key, table in tables.items() if key in keys and table.rows]

    values = analysis.data.ratings["anchor_value"].drop_nulls().unique().to_list()
    anchor = float(values[0]) if len(values) == 1 else None
    drawn = list(_effect_plot(analysis))
    yield _Section(
        "design",
        "What the design did",
        "" if drawn else "The ratings carry no factor with two levels, so nothing can be compared.",
        about("design"),
        drawn,
        chosen("effects", "split_effects"),
    )
    yield _Section(
        "ratings",
        "Ratings by condition",
        "",
        (),
        list(_mean_plots(analysis, anchor)),
        chosen("table2", "table3", "table4"),
    )
    yield _agreement_section(analysis, about("agreement"), tables)
    yield _Section("pushes", "What else pushed raters", "", about("pushes"), (), chosen("pushes"))
    robust = robustness_chart(analysis)
    yield _Section(
        "raters",
        "Raters to look at twice",
        "Nobody was removed. The chart repeats the main effects without those who stand out.",
        about("raters"),
        [_Plot("robustness", "Main effects without them", {"": robust})] if robust else [],
        chosen("raters", "robustness"),
    )
    ranked = analysis.table("figure9")
    opinions = [_Plot("ranking", "Importance of qualities", {"": ranking_chart(ranked)})]
    if about("opinions"):
        yield _Section(
            "opinions",
            "What participants said",
            "",
            about("opinions"),
            opinions if ranked.height else (),
            chosen("figure9", "preferred"),
        )
    shares = analysis.variance.drop_nulls("share")
    yield _Section(
        "variance",
        "Where the variance lies",
        "",
        (),
        [_Plot("variance", "Shares by level", {"": variance_chart(shares)})]
        if shares.height
        else [],
        chosen("variance"),
    )
    if analysis.notes:
        rows = [(note.part, note.reason) for note in analysis.notes]
        empty = pl.DataFrame()
        gone = Shown("notes", "Parts and reasons", ("Part", "Reason"), rows, "", empty)
        yield _Section("notes", "What could not be computed", tables=[gone])


def _effect_plot(analysis: StudyAnalysis) -> Iterator[_Plot]:
    rows = analysis.effects.filter(pl.col("unit") == "points").drop_nulls("value")
    scopes = [q for q in ("all", *analysis.data.qualities) if q in rows["quality"]]
    if scopes:
        charts = {scope: effects_chart(analysis, scope) for scope in scopes}
        yield _Plot("effects", "Every effect in points", charts, "Quality")


def _mean_plots(analysis: StudyAnalysis, anchor: float | None) -> Iterator[_Plot]:
    for made in analysis.paper:
        if not made.key.startswith("figure") or "mean" not in made.table.columns:
            continue
        if made.key == "figure5":
            chart = means_chart(made.table, title="Minutes", what="Minutes spent by condition")
        else:
            chart = means_chart(
                made.table, title="Mean rating", what=made.title, anchor_value=anchor
            )
        first = made.key in ("figure3", "figure4")
        yield _Plot(made.key, f"{made.label}. {made.title}", {"": chart}, open=first)


def _agreement_section(
    analysis: StudyAnalysis, told: Sequence[Finding], tables: dict[str, Shown]
) -> _Section:
    plots = []
    if analysis.table("table5").drop_nulls("value").height:
        chart = agreement_chart(analysis.table("table5"))
        plots.append(_Plot("agreement", "Agreement in each condition", {"": chart}))
    rows = analysis.consistency_differences.drop_nulls("value")
    forms = [form for form in ("ICC(3,1)", "ICC(2,1)", "ICC(2,k)") if form in rows["form"]]
    if forms:
        charts = {form: differences_chart(analysis, form) for form in forms}
        plots.append(_Plot("differences", "Differences of agreement", charts, "Form"))
    keys = ("categories", "labels", "table5", "table6", "table7", "table8", "icc_differences")
    return _Section(
        "agreement",
        "Agreement between raters",
        "ICC(2,k) is the reliability of the mean over a condition’s raters. ICC(3,1) is that of "
        "one rating, free of raters’ levels: the fair one for comparing conditions.",
        told,
        plots,
        [tables[key] for key in keys if key in tables and tables[key].rows],
    )
