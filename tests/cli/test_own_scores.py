"""`dialens validate --scores`: somebody's own scores as metrics beside ours."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from scipy import stats
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._validate import validate

FEW = ("--resamples", "100", "--level", "turn")


def run(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(validate)
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """Rated units of one bot, and the mean rating and two scores of each."""
    rng = np.random.default_rng(5)
    corpus = tmp_path_factory.mktemp("own") / "rated.jsonl"
    lines, rows = [], []
    for unit in range(30):
        like = rng.normal(3, 1)
        given = [round(float(like + rng.normal(0, 0.3)), 3) for _ in range(3)]
        line = {
            "dataset": "made",
            "unit_id": f"u{unit}",
            "level": "turn",
            "system": "bot",
            "context": [{"speaker": "A", "text": f"Question {unit}?"}],
            "response": "Well.",
            "ratings": {"engaging": given},
            "raters": ["r1", "r2", "r3"],
        }
        lines.append(line)
        rows.append((f"u{unit}", 1, like + rng.normal(0, 0.5), rng.normal(), np.mean(given)))
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    names = ["dialog", "turn", "judge", "noise", "mean"]
    return corpus, pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_scores_of_ones_own_are_metrics(
    rated: tuple[Path, pl.DataFrame], tmp_path: Path, ending: str
) -> None:
    corpus, table = rated
    mine = tmp_path / f"mine.{ending}"
    write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}[ending]
    getattr(table.drop("mean"), write)(mine)
    ran = run(corpus, "--scores", mine, "-o", tmp_path / "out", *FEW)
    assert ran.exit_code == 0, ran.output
    found = json.loads((tmp_path / "out" / "validation.json").read_text())
    assert found["automatic"] == ["judge", "noise"]
    pooled = {r["metric"]: r for r in found["correlations"] if r["scope"] == "pooled"}
    for name in ("judge", "noise"):
        expected = stats.pearsonr(table[name], table["mean"]).statistic
        assert pooled[name]["pearson"] == pytest.approx(expected)
        assert pooled[name]["n"] == 30
    assert "judge" in ran.output
    assert "2 metrics (judge and noise)" in ran.output
    assert "judge" in (tmp_path / "out" / "report.html").read_text()


def test_rows_of_metric_and_value_and_scores_of_dialogues(
    rated: tuple[Path, pl.DataFrame], tmp_path: Path
) -> None:
    corpus, table = rated
    long = table.select("dialog", pl.lit("judge").alias("metric"), pl.col("judge").alias("value"))
    long.write_csv(tmp_path / "mine.csv")
    ran = run(corpus, "--scores", tmp_path / "mine.csv", "-o", tmp_path / "out", *FEW)
    assert isinstance(ran.exception, DialensError)
    assert "No rated turn has a score" in str(ran.exception), "dialogues were scored, turns rated"


def test_what_is_not_in_the_corpus_is_named(
    rated: tuple[Path, pl.DataFrame], tmp_path: Path
) -> None:
    corpus, table = rated
    mine = tmp_path / "mine.csv"
    extra = pl.concat([table, table.head(2).with_columns(dialog=pl.lit("x") + pl.col("dialog"))])
    extra.write_csv(mine)
    ran = run(corpus, "--scores", mine, "-o", tmp_path / "out", *FEW)
    assert isinstance(ran.exception, DialensError)
    text = str(ran.exception)
    assert "2 dialogues of mine.csv are not in the corpus: xu0 and xu1" in text
    assert "line 32" in text
    assert "u0, u1 and u2" in text
    ran = run(corpus, "--scores", mine, "-o", tmp_path / "out", "--on-error", "skip", *FEW)
    assert ran.exit_code == 0, ran.output
    assert "2 dialogues of mine.csv are not in the corpus" in ran.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dialog,turn,x\nu0,7,1\n", "dialogue u0 has no turn 7 .turns are counted from 0"),
        ("dialog,turn,x\nu0,1,1\nu1,1,high\nu2,1,3\n", "line 3: x is 'high', no number"),
        ("dialog,turn,x\nu0,1,1\nu0,1,2\n", "x of u0, turn 1 stands there more than once"),
        ("name,x\nu0,1\n", "no column says which dialogue"),
        ("dialog,turn,x\nu0,1,\n", "no column of numbers"),
    ],
)
def test_tables_that_cannot_be_scores(
    rated: tuple[Path, pl.DataFrame], tmp_path: Path, content: str, message: str
) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text(content)
    ran = run(rated[0], "--scores", mine, "-o", tmp_path / "out", *FEW)
    assert isinstance(ran.exception, DialensError)
    with pytest.raises(DialensError, match=message):
        raise ran.exception


def test_nothing_to_validate(rated: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    ran = run(rated[0], "-o", tmp_path / "out")
    assert "--scores FILE" in str(ran.exception)
    (tmp_path / "mine.csv").write_text("dialog,x\n")
    ran = run(rated[0], tmp_path / "mine.csv", "-o", tmp_path / "out")
    assert "--scores" in str(ran.exception)
