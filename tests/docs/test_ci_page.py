"""The page on continuous integration: a real workflow, and commands with the options they name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dialens.analysis.gating import parse_rule
from dialens.cli._app import app


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "ci.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_commands_have_the_options_that_they_name(page: str) -> None:
    text = " ".join([*blocks(page, "sh"), *blocks(page, "yaml")])
    commands = set(re.findall(r"dialens (gate|compare|score)\b", text))
    assert commands == {"gate", "compare"}
    known = "".join(
        CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        for command in commands
    )
    ours = re.findall(r"dialens (?:gate|compare)[^\n]*(?:\n {10}--[^\n]*)*", text)
    options = {option for line in ours for option in re.findall(r"--[a-z-]+", line)}
    assert {"--baseline", "--rules", "--junit", "--markdown"} <= options
    assert not [option for option in options if option not in known]


def test_the_workflow_runs_the_gate_and_tells_the_pull_request(page: str) -> None:
    workflow, gitlab = (YAML(typ="safe").load(text) for text in blocks(page, "yaml"))
    steps = workflow["jobs"]["gate"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert any(run.startswith("dialens gate new.jsonl") and "\n" not in run.strip() for run in runs)
    assert workflow["permissions"]["pull-requests"] == "write"
    assert gitlab["gate"]["artifacts"]["reports"]["junit"] == "gate.xml"


def test_the_rules_can_be_read(page: str) -> None:
    (rules,) = (tomllib.loads(text) for text in blocks(page, "toml"))
    texts = [*rules["rules"], *re.findall(r"--rule '([^']+)'", page)]
    table = page.split("| rule | fails when |")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    texts += [text for row in rows for text in re.findall(r"`([^`\"]+)`", row)]
    assert len(texts) > 10
    for text in texts:
        parse_rule(text)
