"""Every kind of report, seen by axe: as it opens, and with all that is folded away unfolded."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialens import Corpus, compare, score
from dialens.analysis.bias import Resampling, SimulatedStudy, analyse_study, study_data
from dialens.metrics import metrics
from dialens.report import write_comparison
from dialens.report.bias import write_study
from tests.accessibility import USUAL, Inspection
from tests.cli.test_agreement import run as agreement
from tests.cli.test_agreement import table
from tests.cli.test_validate import rated, run
from tests.report.conftest import Visitor
from tests.report.material import FLAT, talk

__all__ = ["rated", "table"]  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESK, PHONE = USUAL[:1], USUAL[1:]
_UNFOLD = """() => document.querySelectorAll("details").forEach((one) => { one.open = true; })"""


def seen(visit: Visitor, path: Path, name: str) -> Inspection:
    """Look at a report."""
    look, visited = Inspection(), visit(path)
    visited.drawn()
    look(visited.page, name, DESK)
    visited.page.evaluate(_UNFOLD)
    visited.drawn()
    look(visited.page, f"{name}-unfolded", PHONE)
    return look


def test_scores(two_agents_report: Path, visit: Visitor) -> None:
    look = seen(visit, two_agents_report, "report-score")
    page = visit(two_agents_report).page
    page.locator(".item").nth(2).click()
    page.locator(".turn.own summary").first.click()
    look(page, "report-dialogue")
    look.done()


def test_a_comparison(tmp_path: Path, visit: Visitor) -> None:
    agents = enumerate(("one", "two", "three"), 1)
    talks = [talk(agent, n, FLAT[:k]) for k, agent in agents for n in range(9)]
    found = compare(score(Corpus.of(talks)))
    write_comparison(found, tmp_path / "c.html", cards=metrics(), title="Three agents")
    seen(visit, tmp_path / "c.html", "report-compare").done()


def test_the_analysis_of_a_study(tmp_path: Path, visit: Visitor) -> None:
    study = SimulatedStudy(raters=12, items=12, dropout=0.1, speeders=0.1, straight_liners=0.05)
    analysis = analyse_study(study_data(*study.run(1)), draws=Resampling(resamples=200))
    write_study(analysis, tmp_path / "study", title="A study")
    seen(visit, tmp_path / "study" / "report.html", "report-study").done()


def test_validation_and_power(rated: tuple[Path, Path], tmp_path: Path, visit: Visitor) -> None:
    run("validate", *rated, "-o", tmp_path / "v", "--resamples", 200)
    run("power", "--residual-sd", 1, "--effect", 0.5, "-o", tmp_path / "p", "--simulations", 100)
    for folder, name in (("v", "report-validate"), ("p", "report-power")):
        seen(visit, tmp_path / folder / "report.html", name).done()


def test_agreement(table: Path, tmp_path: Path, visit: Visitor) -> None:
    assert agreement(table, "--by", "condition", "-o", tmp_path / "a").exit_code == 0
    seen(visit, tmp_path / "a" / "agreement.html", "report-agreement").done()
