"""The page that leads through a study: its commands exist, with the options that they are given."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from dialens.cli._app import app

OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def test_the_commands_have_the_options_that_they_name(repository: Path) -> None:
    page = (repository / "docs" / "study_day.md").read_text("utf-8")
    shown = re.findall(r"^\$ dialens (.*)$", page, re.MULTILINE)
    told = re.findall(r"`dialens ([^`]*)`", page)
    names = set()
    for line in (*shown, *told):
        words = line.split()
        name = tuple(words[: 2 if words[0] == "study" else 1])
        names.add(name)
        known = CliRunner().invoke(app, [*name, "--help"], env={"COLUMNS": "200"})
        assert known.exit_code == 0, line
        options = OPTION.findall(re.sub(r'"[^"]*"', "", line))
        assert set(options) <= set(OPTION.findall(known.output)), line
    # Every step of the table leads to a heading, and its commands are shown.
    table = page.split("| step |")[1].split("\n\n")[0]
    headings = {line.lstrip("# ").lower() for line in page.splitlines() if line.startswith("#")}
    for step, anchor in re.findall(r"\[([^]]+)\]\(#([^)]+)\)", table):
        assert step.lower() in headings
        assert anchor == step.lower().replace(" ", "-")
    for command in re.findall(r"`(study [a-z]+|power)`", table):
        assert tuple(command.split()) in names, command
