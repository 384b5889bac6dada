"""The report of a rating study: what the design did, what raters said, how far they agree."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.analysis.people import Participants, RatedQuality
from dialens.base import atomic_file, counted
from dialens.report._apa import agreement_apa, difference_apa, paper_text
from dialens.report._handover import scale_labels, write_models_handover
from dialens.report._page import (
    Block,
    Fact,
    Facts,
    Finding,
    Findings,
    Fold,
    Page,
    Plot,
    Remark,
    Section,
    Summary,
    Text,
    folded,
    write_page,
)
from dialens.report._table import Table
from dialens.report.bias._charts import (
    agreement_chart,
    differences_chart,
    effects_chart,
    means_chart,
    ranking_chart,
    robustness_chart,
    variance_chart,
)
from dialens.report.bias._drift import (
    drift_findings,
    drift_remarks,
    drift_section,
    drift_tables,
)
from dialens.report.bias._findings import answer, findings, scope
from dialens.report.bias._judge_designs import design_findings, design_section, design_tables
from dialens.report.bias._judged_agents import (
    judged_agent_findings,
    judged_agent_section,
    judged_agent_tables,
)
from dialens.report.bias._judges import (
    judge_findings,
    judge_remarks,
    judge_section,
    judge_tables,
    only_judges,
)
from dialens.report.bias._leanings import leaning_findings, leaning_tables
from dialens.report.bias._methods import CODEBOOK, methods
from dialens.report.bias._remarks import all_simulated, how_taken, rater_subject, who_rated
from dialens.report.bias._tables import study_tables
from dialens.report.bias._wording import below_zero, no_agreement
from dialens.report.people import (
    one_agent_answer,
    people_answer,
    people_sections,
    people_tables,
    said,
    some,
)

ANALYSIS = "analysis.json"
PAPER = "text.md"
_FEW = 5


def write_study(
    analysis: StudyAnalysis,
    folder: Path,
    *,
    title: str,
    remarks: Sequence[Remark] = (),
    put_in: Sequence[str] = (),
    participants: Participants | None = None,
    stopping: str = "",
) -> Summary:
    """Write analysis.json, tables as CSV and LaTeX, and report.html into a folder.

    Args:
        analysis: What `analyse_study` gives.
        folder: Where; created if it does not exist.
        title: Heading of the report.
        remarks: What else has to be known before the first number.
        put_in: What is known of how raters were simulated, one line each.
        participants: Who took part, where that is known.
        stopping: How it was decided that enough people had come, where that followed the data.
    """
    told = [*methods(analysis), *([stopping] if stopping else [])]
    report = _Report(analysis, None if only_judges(analysis) else participants, told)
    page = Page(
        f"{title} (simulated data)" if all_simulated(analysis.data) else title,
        _answer(analysis, report.findings),
        scope(analysis),
        list(report.sections()),
        (
            *who_rated(analysis.data, put_in),
            *how_taken(analysis.data),
            *judge_remarks(analysis),
            *drift_remarks(analysis),
            *remarks,
        ),
    )
    _write_json(analysis, page, report.findings, told, folder / ANALYSIS)
    for table in report.tables.values():
        table.write(folder / "tables")
    _hand_over(analysis, page, told, folder)
    return write_page(page, folder / "report.html")


def _hand_over(analysis: StudyAnalysis, page: Page, told: Sequence[str], folder: Path) -> None:
    """Sentences for a paper, and the ratings with scripts for R and SPSS."""
    tested = said(analysis.people)
    agreement = analysis.table("table5")
    forms = []
    if agreement.height:
        main = agreement.filter(pl.col("form") == "ICC(2,k)").drop_nulls("value")
        for row in main.iter_rows(named=True):
            where = ", ".join([row["quality"], *(row[k] for k in ("anchor", "layout") if row[k])])
            if below_zero(row):
                forms.append(f"{where}: no agreement can be seen ({no_agreement(row)})")
            else:
                forms.append(f"{where}: {agreement_apa({**row, 'statistic': row['form']})}")
    parts = {
        "Differences between agents": [
            difference_apa(one.row)
            + (", by the model: nobody compared them directly" if one.modelled else "")
            for one in tested
        ],
        "Agreement": forms,
    }
    text = paper_text(page.title, parts, [f"{page.answer}.", *told])
    (folder / PAPER).write_text(text, encoding="utf-8")
    rated = [one for one in analysis.people.rated if one.ratings.height]
    if rated:
        table = pl.concat(
            one.ratings.select(
                pl.lit(one.quality).alias("quality"),
                "rater",
                pl.col("dialog").alias("item"),
                "response",
                "agent",
                "value",
            )
            for one in rated
        )
        designs = {one.quality: (one.scale.kind, _terms(one)) for one in rated}
        scales = analysis.data.ratings
        told = scales["scale"].unique().to_list() if "scale" in scales.columns else []
        write_models_handover(table, designs, folder, scale_labels(told))


def _terms(quality: RatedQuality) -> list[str]:
    """Random terms of a model as R names them; a response that is its item and agent comes once."""
    table = quality.ratings
    same = table.select("dialog", "agent").n_unique() == table["response"].n_unique()
    kept = [term for term in quality.random if term != "response" or not same]
    return [term.replace("dialog", "item") for term in kept]


def _answer(analysis: StudyAnalysis, findings: Sequence[Finding]) -> str:
    """Which agent people preferred; else what the design did; else how the one agent was rated.

    Where nobody but judges rated, the first sentence says so and names them.
    """
    who = rater_subject(analysis.data)
    found = people_answer(analysis.people, who)
    if found is None and not analysis.effects.height:
        found = one_agent_answer(analysis.people, who)
    judges = only_judges(analysis)
    lead = f"Judged by {some(judges)} and by no person. " if judges else ""
    return lead + (found or answer(findings))


def _write_json(
    analysis: StudyAnalysis,
    page: Page,
    findings: Sequence[Finding],
    told: Sequence[str],
    path: Path,
) -> None:
    content = {
        "answer": page.answer,
        "headline": page.scope,
        "remarks": [vars(remark) for remark in page.remarks],
        "findings": [
            {"topic": f.topic, "claim": f.claim, "numbers": f.numbers, "clear": f.clear}
            for f in findings
        ],
        **_with_apa(analysis.to_dict()),
        "methods": list(told),
        "codebook": CODEBOOK,
    }
    with atomic_file(path) as scratch:
        text = json.dumps(_finite(content), ensure_ascii=False, indent=1, default=str)
        scratch.write_text(text + "\n", encoding="utf-8")


def _with_apa(content: dict[str, Any]) -> dict[str, Any]:
    """The same, every difference between agents also as it stands in a paper."""
    rows = [row | {"apa": difference_apa(row) or None} for row in content["agent_differences"]]
    return content | {"agent_differences": rows}


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


def _why_no_chart(analysis: StudyAnalysis) -> str:
    """Why no effect of the design is there: no factor, or none that could be estimated."""
    whys = analysis.effects["reason"].drop_nulls().unique(maintain_order=True).to_list()
    if not analysis.data.factors or not whys:
        return "No factor of the design has two levels, so nothing can be compared."
    return f"No effect of the design could be estimated: {'; '.join(w.rstrip('.') for w in whys)}."


class _Report:
    """The parts of the page, from one analysis."""

    def __init__(
        self, analysis: StudyAnalysis, participants: Participants | None, told: Sequence[str]
    ) -> None:
        self.analysis = analysis
        self.told = told
        self.participants = participants
        self.findings = [
            *judged_agent_findings(analysis),
            *findings(analysis),
            *leaning_findings(analysis),
            *judge_findings(analysis),
            *design_findings(analysis),
            *drift_findings(analysis),
        ]
        self.tables: Mapping[str, Table] = {
            **people_tables(analysis.people),
            **study_tables(analysis),
            **leaning_tables(analysis),
            **judge_tables(analysis),
            **judged_agent_tables(analysis),
            **drift_tables(analysis),
            **design_tables(analysis),
        }

    def sections(self) -> Iterator[Section]:
        yield from people_sections(
            self.analysis.people, self.participants, judged=bool(only_judges(self.analysis))
        )
        yield self._design()
        yield from judged_agent_section(self.analysis, self.tables)
        yield from judge_section(self.analysis, self.tables)
        yield from design_section(self.analysis, self.tables)
        yield from drift_section(self.analysis, self.tables)
        yield Section(
            "ratings",
            "Ratings by condition",
            [*self._means(), *self._folded("table2", "table3", "table4")],
        )
        yield from self._agreement()
        biases = [*self._found("pushes"), *self._folded("leanings", "equal_length", "pushes")]
        if biases:
            yield Section("biases", "What else biased ratings", biases)
        yield self._raters()
        yield from self._opinions()
        yield from self._rest()

    def _found(self, topic: str) -> Iterator[Block]:
        """What was found on a topic: sentences for what is clear, one table for the rest."""
        found = [finding for finding in self.findings if finding.topic == topic]
        clear = [finding for finding in found if finding.clear]
        rest = [finding for finding in found if not finding.clear]
        if clear:
            yield Findings(clear)
        if rest:
            rows = [(finding.claim, finding.numbers) for finding in rest]
            title = f"No clear effect: {counted(len(rest), 'test')}"
            table = Table(f"unclear_{topic}", title, ("What", "Numbers"), rows)
            yield folded(table, open=not clear and len(rest) <= _FEW)

    def _folded(self, *keys: str) -> list[Fold]:
        tables = [self.tables[key] for key in keys if key in self.tables]
        return [folded(table) for table in tables if table.rows]

    def _design(self) -> Section:
        rows = self.analysis.effects.filter(pl.col("unit") == "points").drop_nulls("value")
        qualities = ["all", *self.analysis.data.qualities]
        charts = {q: effects_chart(self.analysis, q) for q in qualities if q in rows["quality"]}
        blocks: list[Block] = []
        if charts:
            blocks = [Plot("effects", charts, "Quality", title="Every effect in points")]
        elif not self.analysis.effects.drop_nulls("value").height:
            blocks = [Text(_why_no_chart(self.analysis))]
        return Section(
            "design",
            "What the design did",
            [*self._found("design"), *blocks, *self._folded("effects", "split_effects")],
        )

    def _means(self) -> Iterator[Block]:
        values = self.analysis.data.ratings["anchor_value"].drop_nulls().unique().to_list()
        anchor = float(values[0]) if len(values) == 1 else None
        for figure in self.analysis.paper:
            if not figure.key.startswith("figure") or "mean" not in figure.table.columns:
                continue
            if not figure.table.drop_nulls("mean").height:
                continue
            if figure.key == "figure5":
                what = "Minutes spent by condition"
                chart = means_chart(figure.table, title="Minutes", what=what)
            else:
                chart = means_chart(
                    figure.table, title="Mean rating", what=figure.title, anchor_value=anchor
                )
            title = figure.title
            if figure.key in ("figure3", "figure4"):
                yield Plot(figure.key, {"": chart}, title=title)
            else:
                yield Fold(title, [Plot(figure.key, {"": chart})])

    def _agreement(self) -> Iterator[Section]:
        plots = []
        table = self.analysis.table("table5")
        if table.drop_nulls("value").height:
            logs = set(self.analysis.data.normalise.values()) == {"log"}
            chart = agreement_chart(table, normalised=logs)
            plots.append(Plot("agreement", {"": chart}, title="Agreement in each condition"))
        rows = self.analysis.consistency_differences.drop_nulls("value")
        forms = [form for form in ("ICC(3,1)", "ICC(2,1)", "ICC(2,k)") if form in rows["form"]]
        if forms:
            charts = {form: differences_chart(self.analysis, form) for form in forms}
            plots.append(Plot("differences", charts, "Form", title="Differences of agreement"))
        lead = Text(
            "ICC(2,k) is the reliability of the mean over a condition’s raters. ICC(3,1) is that "
            "of one rating, free of raters’ levels: the fair one for comparing conditions."
        )
        tables = (
            "table5",
            "table6",
            "table7",
            "table8",
            "icc_differences",
            "agreement_differences",
        )
        keys = ("retest", "categories", "labels", "label_raters", *tables)
        blocks: list[Block] = [*self._found("agreement"), *plots, *self._folded(*keys)]
        if blocks:
            yield Section("agreement", "Agreement between raters", [lead, *blocks])

    def _raters(self) -> Section:
        chart = robustness_chart(self.analysis)
        plots = (
            [Plot("robustness", {"": chart}, title="Main effects without them")] if chart else []
        )
        lead = Text(
            "Nobody was removed. The chart repeats the main effects without those who stand out."
        )
        blocks: list[Block] = [
            lead,
            *self._found("raters"),
            *plots,
            *self._folded("raters", "robustness"),
        ]
        return Section("raters", "Raters to look at twice", blocks)

    def _opinions(self) -> Iterator[Section]:
        found = list(self._found("opinions"))
        if not found:
            return
        ranked = self.analysis.table("figure9")
        plots = (
            [Plot("ranking", {"": ranking_chart(ranked)}, title="Importance of qualities")]
            if ranked.height
            else []
        )
        blocks: list[Block] = [*found, *plots, *self._folded("figure9", "preferred")]
        yield Section("opinions", "What participants said", blocks)

    def _rest(self) -> Iterator[Section]:
        shares = self.analysis.variance.drop_nulls("share")
        plots = (
            [Plot("variance", {"": variance_chart(shares)}, title="Shares by level")]
            if shares.height
            else []
        )
        blocks: list[Block] = [*plots, *self._folded("variance")]
        if blocks:
            yield Section("variance", "Where the variance lies", blocks)
        if self.analysis.notes:
            rows = [(note.part, note.reason) for note in self.analysis.notes]
            missing = Table("notes", "Parts and reasons", ("Part", "Reason"), rows)
            yield Section("notes", "What could not be computed", [folded(missing, open=True)])
        yield Section(
            "methods",
            "Methods, for a paper",
            [Text(paragraph, soft=False) for paragraph in self.told],
            "Methods",
        )
        lead = Text("Columns of the CSV files beside this page and of analysis.json.")
        facts = Facts([Fact(name, meaning) for name, meaning in CODEBOOK.items()])
        yield Section("codebook", "Codebook", [lead, facts])
