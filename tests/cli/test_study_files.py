"""`dialens study new`, `check` and `schema` as a person uses them."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study import _check as study_check
from dialens.cli.study import _new as study_new
from dialens.cli.study import _schema as study_schema

app = typer.Typer()
app.command("new")(study_new.new)
app.command("check")(study_check.check)
app.command("schema")(study_schema.schema)


def run(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def test_new_then_check(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    assert "50 items, 4 cells" in run("new", "--template", "anchoring2020", "-o", str(folder))
    assert sorted(path.name for path in folder.iterdir()) == [
        ".dialens.json",
        "items.yaml",
        "study.schema.json",
        "study.yaml",
    ]
    said = run("check", str(folder), "--cell", "anchor=both,layout=separate", "--screens", "9")
    assert "80 participants in 4 cells, 24,000" in said
    assert "PLEASE FILL IN" in said
    assert "rate-001-readability" in said
    assert "Standard reply:" in said


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "answers.db").write_text("precious")
    with pytest.raises(DialensError, match="not an empty folder"):
        run("new", "-o", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["answers.db"]


def test_templates_are_listed() -> None:
    assert "engagement-labels" in run("new", "--list")


def test_a_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    run("new", "--template", "likert", "-o", str(tmp_path / "s"))
    path = tmp_path / "s" / "study.yaml"
    path.write_text(path.read_text().replace("points: 5", "pionts: 5"))
    wrong = path.read_text().split("\n").index("      pionts: 5") + 1
    with pytest.raises(DialensError, match=rf"study.yaml:{wrong}: .*Did you mean points"):
        run("check", str(path))


def test_cost_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    run("new", "--template", "pairwise", "-o", str(tmp_path / "s"))
    path = tmp_path / "s" / "study.yaml"
    paid = "recruiter: {kind: prolific, reward: 2}"
    path.write_text(path.read_text().replace("recruiter: {kind: link}", paid))
    assert "cost 80.00 GBP" in run("check", str(path))  # 30 · 2 · (1 + 1/3)


def test_the_schema_is_printed_or_written(tmp_path: Path) -> None:
    printed = json.loads(run("schema"))
    run("schema", "-o", str(tmp_path / "schema.json"))
    assert json.loads((tmp_path / "schema.json").read_text()) == printed


def test_new_says_how_to_go_on(tmp_path: Path) -> None:
    said = run("new", "-o", str(tmp_path / "s"))
    assert said.rstrip().endswith(f"dialens study preview {tmp_path / 's'}")
