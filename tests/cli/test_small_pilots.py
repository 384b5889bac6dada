"""A pilot of two people, as many studies begin."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.cli._app import app


@pytest.mark.slow
def test_a_pilot_of_two_careless_people_is_analysed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flags leave fewer than two raters, and there is no factor: this ended in an IndexError."""
    monkeypatch.chdir(tmp_path)
    for command in (
        "study new --template likert -o s",
        "study simulate s -n 2 --inattentive 1",
        "study analyze s --resamples 100",
    ):
        done = CliRunner(env={"COLUMNS": "120"}).invoke(app, command.split())
        assert done.exit_code == 0, done.output
    assert Path("s/analysis/report.html").stat().st_size > 10_000
