"""`dialens validate --scores`: somebody's own scores as metrics beside ours."""

import json
import warnings
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
    assert "needs a column turn" in str(ran.exception)
    assert "--level dialog" in str(ran.exception)
    ran = run(corpus, "--scores", tmp_path / "mine.csv", "-o", tmp_path / "out", *FEW[:2])
    assert ran.exit_code == 0, ran.output
    assert "add a column turn to the scores" in ran.output
    found = json.loads((tmp_path / "out" / "validation.json").read_text())
    row = next(r for r in found["correlations"] if r["scope"] == "pooled")
    assert (row["level"], row["rated_at"], row["n"]) == ("dialog", "turn", 30)
    assert row["pearson"] == pytest.approx(stats.pearsonr(table["judge"], table["mean"]).statistic)


def test_a_metric_that_repeats_the_ratings_is_named(
    rated: tuple[Path, pl.DataFrame], tmp_path: Path
) -> None:
    corpus, table = rated
    table.drop("noise").write_csv(tmp_path / "mine.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ran = run(corpus, "--scores", tmp_path / "mine.csv", "-o", tmp_path / "out", *FEW)
    assert ran.exit_code == 0, ran.output
    assert "Engaging goes most closely with mean: over all units r = 1.00" in ran.output
    assert "mean goes with engaging perfectly (r = 1.00, 30 turns)" in ran.output
    assert "are these the same numbers" in ran.output


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
    chats = tmp_path / "chats.jsonl"
    chats.write_text(json.dumps({"id": "a", "messages": [{"role": "assistant", "content": "Hi."}]}))
    ran = run(chats, "-o", tmp_path / "out")
    assert "--ratings FILE" in str(ran.exception)
    (tmp_path / "mine.csv").write_text("dialog,x\n")
    ran = run(rated[0], tmp_path / "mine.csv", "-o", tmp_path / "out")
    assert "--scores" in str(ran.exception)


def conversations(path: Path, count: int) -> Path:
    rows = [
        {
            "id": f"u{n}",
            "messages": [
                {"role": "user", "content": f"Question {n}?"},
                {"role": "assistant", "content": "Well, " * (n % 5) + "yes."},
            ],
            "model": "bot",
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("turns", [False, True])
def test_ratings_in_a_table_of_their_own(
    rated: tuple[Path, pl.DataFrame], tmp_path: Path, *, turns: bool
) -> None:
    _, table = rated
    chats = conversations(tmp_path / "chats.jsonl", 31)
    table.select("dialog", "turn", "judge").write_csv(tmp_path / "mine.csv")
    answers = [
        {"Conv": row["dialog"], "turn": 1, "Who": who, "Score": row["mean"] + shift, "agent": "b2"}
        for row in [*table.iter_rows(named=True), {"dialog": "x1", "mean": 3.0}]
        for who, shift in (("anna", 0.1), ("ben", -0.1))
    ]
    frame = pl.DataFrame(answers)
    (frame if turns else frame.drop("turn")).write_csv(tmp_path / "ratings.csv")
    columns = [f"--column={name}" for name in ("item=Conv", "rater=Who", "value=Score")]
    ran = run(
        *(chats, "--scores", tmp_path / "mine.csv", "--ratings", tmp_path / "ratings.csv"),
        *(*columns, "-o", tmp_path / "out", *FEW[:2]),
    )
    assert ran.exit_code == 0, ran.output
    assert "ratings.csv: 60 ratings of 30 dialogues joined with the conversations" in ran.output
    assert "1 dialogue without ratings" in ran.output
    assert "2 ratings of ratings.csv left out: 1 dialogue not among the conversations" in ran.output
    assert "60 ratings of ratings.csv call the agent otherwise" in ran.output
    found = json.loads((tmp_path / "out" / "validation.json").read_text())
    row = next(r for r in found["correlations"] if r["scope"] == "pooled")
    assert (row["level"], row["n"]) == ("turn" if turns else "dialog", 30)
    assert row["pearson"] == pytest.approx(stats.pearsonr(table["judge"], table["mean"]).statistic)


def test_conversations_are_scored_on_the_way(tmp_path: Path) -> None:
    chats = conversations(tmp_path / "chats.jsonl", 20)
    rows = "".join(f"u{n},r{r},{n % 5 + r}\n" for n in range(20) for r in range(2))
    (tmp_path / "ratings.csv").write_text(f"item,rater,value\n{rows}")
    ran = run(
        *(chats, "--ratings", tmp_path / "ratings.csv", "-o", tmp_path / "out", "-m", "length"),
        *("--resamples", 100),
    )
    assert ran.exit_code == 0, ran.output
    assert "40 ratings of 20 dialogues joined" in ran.output
    assert json.loads((tmp_path / "out" / "validation.json").read_text())["best"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("item,value\nx1,3\nx2,4\n", "it names x1 and x2. The conversations are called u0, u1"),
        ("item,turn,value\nu0,7,3\n", "dialogue u0 has no turn 7 .turns are counted from 0"),
    ],
)
def test_ratings_of_something_else(tmp_path: Path, rows: str, message: str) -> None:
    chats = conversations(tmp_path / "chats.jsonl", 5)
    (tmp_path / "ratings.csv").write_text(rows)
    ran = run(chats, "--ratings", tmp_path / "ratings.csv", "-o", tmp_path / "out")
    assert isinstance(ran.exception, DialensError)
    with pytest.raises(DialensError, match=message):
        raise ran.exception


def test_options_of_ratings_need_ratings(tmp_path: Path) -> None:
    chats = conversations(tmp_path / "chats.jsonl", 5)
    ran = run(chats, "--column", "value=Score", "-o", tmp_path / "out")
    assert "--ratings FILE" in str(ran.exception)
