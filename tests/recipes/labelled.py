"""Labelled datasets in miniature: a made-up dump through the real `ingest` and `label`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dialens.cli._app import app
from tests.engagement.dumps import write_dump


def make_red(
    folder: Path,
    comments: Sequence[Mapping[str, Any]],
    submissions: Sequence[Mapping[str, Any]],
    *options: str,
) -> Path:
    """Return the RED folder that the commands make of some records."""
    folder.mkdir(parents=True)
    dumps = [
        write_dump(folder / "RC_2006-01.zst", comments),
        write_dump(folder / "RS_2006-01.zst", submissions),
    ]
    work, red = folder / "work", folder / "red"
    run("ingest", *dumps, "-o", work)
    run("label", work, "-o", red, "--toxicity", "none", *options)
    return red


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, ["engagement", *map(str, arguments)])
    assert result.exit_code == 0, result.output
