"""The command reference is what the commands say."""

import re
from pathlib import Path

from typer.testing import CliRunner

from dialens.cli._app import app
from scripts import command_reference


def test_the_command_reference_is_current(repository: Path) -> None:
    written = (repository / "docs" / "commands.md").read_text("utf-8")
    assert written == command_reference.page(), "run: python scripts/command_reference.py"


def test_every_option_that_help_shows_is_there() -> None:
    page = command_reference.page()
    for path in ("score", "study simulate", "engagement label"):
        shown = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "200"})
        options = set(re.findall(r"--[a-z][a-z-]+", shown.output)) - {"--help"}
        section = page.partition(f" dialens {path}\n")[2].partition("\n#")[0]
        assert options
        assert not [option for option in options if option not in section]
