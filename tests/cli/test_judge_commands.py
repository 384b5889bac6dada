"""The four commands of the page on judges, as a researcher gives them: real ones, in order.

In every run with a stand-in endpoint, and offline with a real language model where one is there.
What a model says is its own affair: what is asserted holds whatever it says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dialens.cli.study._group import app
from dialens.studies.judges import Ledger
from tests.agents.endpoint import Endpoint
from tests.agents.small_model import MODEL, here

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "COLUMNS": "200"}


Command = Callable[..., str]


def by_process(*words: str) -> str:
    """What a command of its own says, on one line."""
    done = subprocess.run(
        [sys.executable, "-m", "dialens", "study", *words],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def here_and_now(*words: str) -> str:
    """The same in this process, which is quicker."""
    done = CliRunner(env=ENVIRONMENT).invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


class Words(HTMLParser):
    """What a page says, without its scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.silent += tag in ("script", "style", "head")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in ("script", "style", "head")

    def handle_data(self, data: str) -> None:
        if not self.silent and data.strip():
            self.said.append(data.strip())


def page(path: Path) -> str:
    reader = Words()
    reader.feed(path.read_text("utf-8"))
    return " ".join(" ".join(reader.said).split())


def four_commands(
    study: Command, judge: Mapping[str, Any], *, items: int, **settings: Any
) -> tuple[str, dict[str, Any]]:
    """From the template to the report; gives the report's words and `analysis.json`."""
    study("new", "--template", "judge-bias", "-o", "s")
    file = Path("s/study.yaml")
    design = YAML(typ="safe").load(file.read_text("utf-8"))
    design["items"]["sample"] = {"count": items, "by": "study"}
    file.write_text(json.dumps(design), "utf-8")
    Path("s/judges.yaml").write_text(json.dumps({"judges": [judge], **settings}), "utf-8")

    told = study("judge", "s", "--dry-run")
    found = re.search(r"([\d,]+) screens to answer, for which ([\d,]+) requests?", told)
    assert found, told
    screens = int(found[1].replace(",", ""))
    assert told.endswith("Nobody was asked.")
    assert not Path("s/judges.db").exists()

    told = study("judge", "s", "--at-once", "1")
    assert f"{judge['name']} (" in told
    assert f" of {screens:,} screens answered, " in told
    before = _ledger()
    assert before.height == screens
    for row in before.iter_rows(named=True):
        if row["state"] == "answered":
            assert row["answers"] is not None
        else:  # missing, with a reason, and nothing in its place
            assert row["state"] in ("refused", "malformed")
            assert row["reason"]
            assert row["answers"] is None

    again = study("judge", "s", "--at-once", "1")
    assert "Of these, an earlier run had " in again  # answered, refused or malformed
    assert "; 0 requests," in again
    assert _ledger().equals(before)

    study("analyze", "s", "--resamples", "100")
    analysis = json.loads(Path("s/analysis/analysis.json").read_text("utf-8"))
    said = page(Path("s/analysis/report.html"))
    assert f"Judged by {judge['name']} and by no person. " in said[:200]
    assert "What people said" not in said
    assert "people took part" not in said
    assert {row["judge"] for row in analysis["judges"]} == {judge["name"]}
    assert {row["quality"] for row in analysis["judges"]} == {"helpfulness", "overall"}
    for row in analysis["judges"]:
        assert row["r"] is None
        assert "r, r_corrected, ceiling, saving, saving_most: no people rated this" in row["reason"]
    return said, analysis


def _ledger() -> pl.DataFrame:
    with Ledger.open(Path("s/judges.db")) as ledger:
        return ledger.frame()


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)


def test_with_a_stand_in() -> None:
    with Endpoint() as endpoint:
        judge = {"name": "mini", "agent": "openai:judge", "set": {"endpoint": endpoint.url}}
        said, analysis = four_commands(here_and_now, judge, items=4, repeats=2)
        assert len(endpoint.requests) == 4 * 2 * 2  # items, orders, repeats
    rows = {row["quality"]: row for row in analysis["judges"]}
    assert 0 <= rows["overall"]["flip_rate"] <= 1
    assert rows["helpfulness"]["test_retest"] is not None
    assert "mini changes its verdict on overall in" in said


@here
@pytest.mark.slow
def test_offline_with_a_real_small_model() -> None:
    judge = {
        "name": "smollm2",
        "agent": f"llama:{MODEL}",
        "set": {"threads": 1, "context": 2048, "max_tokens": 80},
    }
    said, _ = four_commands(by_process, judge, items=3, temperatures=0.7, repeats=2)
    assert "smollm2" in said
