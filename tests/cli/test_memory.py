"""`--memory`: checked first, noted in the run record, without effect on values."""

import json
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli._compare import compare
from dialens.cli._score import score
from dialens.corpus import demo_path

app = typer.Typer()
app.command("score")(score)
app.command("compare")(compare)
PLAIN = ("--models", "none", "--no-report", "--quiet")


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_it_changes_no_value_and_is_noted(tmp_path: Path) -> None:
    for size in ("1GB", "4GB"):
        run("score", demo_path(), "-o", tmp_path / size, "--memory", size, *PLAIN)
        run("compare", tmp_path / size, "--memory", size, "--quiet", "--no-report")
    for table in ("scores", "states", "dialogs", "comparison"):
        small, large = (
            pl.read_parquet(tmp_path / size / f"{table}.parquet") for size in ("1GB", "4GB")
        )
        assert small.equals(large)
    record = json.loads((tmp_path / "1GB" / "run.json").read_text("utf-8"))
    assert record["arguments"]["memory"] == 10**9


@pytest.mark.parametrize(
    ("size", "said"),
    [("100MB", "100MB is too little; give 1GB or more"), ("much", "a size such as 4GB")],
)
def test_too_little_and_no_size_are_refused(tmp_path: Path, size: str, said: str) -> None:
    with pytest.raises(DialensError, match=said):
        run("score", demo_path(), "-o", tmp_path / "out", "--memory", size, *PLAIN)
    assert not (tmp_path / "out").exists()
