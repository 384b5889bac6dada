"""A study that stops when enough is known, on its pages, in the terminal and in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dialens.studies import study_of
from dialens.studies.simulation import Population, simulate_study
from tests.cli.test_study_day import ran
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.test_participation import NOON

WANTED = {"kind": "precision", "quality": "warmth", "half_width": 3.0, "at_least": 8}


def study(**wanted: Any) -> dict[str, Any]:
    return tea(
        qualities={"warmth": {"instrument": {"kind": "likert", "points": 7}}},
        factors={"layout": {"levels": ["together", "separate"]}},
        presentation={"anchor": "none"},
        allocation=WANTED | wanted,
    )


def test_newcomers_read_that_it_is_over_and_researchers_why(make: Make, visit: Visit) -> None:
    made = study_of(study())
    site = make(made)
    done = simulate_study(site.store, made, Population(), participants=30, now=NOON)
    assert done.outcomes["full"] > 0
    assert 16 <= done.outcomes["completed"] < 30
    late = visit(site)
    assert "closed" in late.begin().html
    home = log_in(visit(site)).get("/researcher").text
    assert "Everybody who is wanted has completed." in home
    assert "keep coming" not in home
    assert "which is enough: nobody new is let in" in home
    assert home.count('<span class="state closed">closed by precision</span>') == 2
    assert "95 % confidence sequence, valid however often one looks" in home


@pytest.mark.slow
def test_status_card_and_report_say_it(tmp_path: Path) -> None:
    with (tmp_path / "study.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(study(half_width=0.1, at_most=18), file)
    ran("simulate", tmp_path, "-n", "24")
    said = ran("status", tmp_path, "--db", f"sqlite:///{tmp_path / 'simulated.db'}")
    assert "and the most people that are wanted have come (18)" in said
    ran("analyze", tmp_path, "--resamples", "100")
    told = json.loads((tmp_path / "analysis" / "analysis.json").read_text("utf-8"))
    assert any("asymptotic confidence sequence" in part for part in told["methods"])
    remarks = [one for one in told["remarks"] if one["title"] == "Precision"]
    assert "together − separate" in str(remarks)
    assert "confidence sequence" in (tmp_path / "analysis" / "text.md").read_text("utf-8")
    assert "confidence sequence" in (tmp_path / "analysis" / "export" / "card.md").read_text()
