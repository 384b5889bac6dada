"""Judges that refuse: the analysis says how much, and where."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._group import app
from dialens.cli.study._judges_missing import judges_missing
from tests.agents.endpoint import Endpoint


def told(folder: Path, cells: dict[str, list[str]]) -> list[str]:
    rows = [
        {"judge": "mini", "condition": cell, "state": state}
        for cell, states in cells.items()
        for state in states
    ]
    pl.DataFrame(rows).write_parquet(folder / "judges.parquet")
    return [f"{one.title}: {one.text}" for one in judges_missing(folder)]


def test_what_is_missing_is_told_by_condition(tmp_path: Path) -> None:
    answered, refused = ["answered"] * 2, ["refused", "malformed"]
    assert told(tmp_path, {"a": answered, "b": answered}) == []
    assert told(tmp_path, {"a": answered, "b": refused}) == [
        "Judge mini: 2 of 4 screens have no answer (1 refused and 1 malformed), not evenly: "
        "b 2 of 2. Conditions differ in what was judged at all."
    ]
    even = told(tmp_path, {"a": [*answered, "refused"], "b": [*answered, "refused"]})
    assert even == [
        "Judge mini: 2 of 6 screens have no answer (2 refused), as many in every condition."
    ]
    nothing = told(tmp_path, {"a": refused})
    assert nothing[0].endswith("nothing is known of this judge.")


def test_a_study_whose_judges_refused_everything_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={"COLUMNS": "160"})
    assert runner.invoke(app, ["new", "--template", "likert", "-o", "s"]).exit_code == 0
    with Endpoint() as endpoint:
        judge = {"name": "mini", "agent": "openai:judge-sorry", "set": {"endpoint": endpoint.url}}
        Path("s/judges.yaml").write_text(json.dumps({"judges": [judge]}))
        assert runner.invoke(app, ["judge", "s"]).exit_code == 0
    failed = runner.invoke(app, ["analyze", "s"])
    assert isinstance(failed.exception, DialensError)
    said = str(failed.exception)
    assert "Judge mini: 5 of 5 screens have no answer (5 refused)" in said
    assert "0 people began it" in said


def test_a_judge_that_refuses_on_one_level_within_participants_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={"COLUMNS": "160"})
    assert runner.invoke(app, ["new", "--template", "turn-by-turn", "-o", "s"]).exit_code == 0
    design = YAML(typ="safe").load(Path("s/study.yaml").read_text())
    levels = [{"name": name, "note": f"It may be {name}."} for name in ("plain", "rude")]
    design["factors"] = {"tone": {"levels": levels, "assign": "within"}}
    Path("s/study.yaml").write_text(json.dumps(design))
    with Endpoint() as endpoint:
        judge = {"name": "mini", "agent": "openai:judge", "set": {"endpoint": endpoint.url}}
        judges = {"judges": [judge], "participations": 2}
        Path("s/judges.yaml").write_text(json.dumps(judges))
        done = runner.invoke(app, ["judge", "s"])
        assert "18 of 18 screens answered" in done.output.replace("\n", " "), done.output
        with sqlite3.connect("s/judges.db") as connection:
            changed = "UPDATE asks SET state = 'refused' WHERE sent LIKE '%rude%'"
            assert connection.execute(changed).rowcount == 9
        told = runner.invoke(app, ["judge", "s"]).output
    assert "an earlier run had 9 answered and 9 refused" in told
    rows = [line.split()[1:4] for line in told.splitlines() if line.strip().startswith("mini  ")]
    assert sorted(rows) == [["tone=plain", "9", "0"], ["tone=rude", "9", "9"]]
    assert runner.invoke(app, ["export", "s", "-o", "export"]).exit_code == 0
    (remark,) = judges_missing(Path("export"))
    assert "not evenly: tone=rude 9 of 9." in remark.text
