"""Automatic metrics as a user asks for them."""

import json
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._catalogues import metrics
from dialens.cli._score import score
from dialens.cli._validate import validate
from tests.metrics.automatic import checkpoints

app = typer.Typer()
app.command("score")(score)
app.command("metrics")(metrics)
app.command("validate")(validate)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing is left in the home of whoever runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dialens"


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten contexts, two bots, a reference each, and three raters."""
    lines = []
    for number in range(10):
        for bot, response in enumerate(("i am fine thanks", f"no {number} cats on the mat")):
            lines.append(
                {
                    "dataset": "made",
                    "unit_id": f"u{number}-{bot}",
                    "dialog_id": f"c{number}",
                    "level": "turn",
                    "system": f"bot{bot}",
                    "context": [{"speaker": "A", "text": f"how are {number} of you today?"}],
                    "response": f"{response} {'really ' * (number % 3)}",
                    "references": ["i am fine", f"{number} cats sat"],
                    "ratings": {"good": [bot + 1, number % 4 + 1, 3]},
                    "raters": ["r1", "r2", "r3"],
                }
            )
    file = tmp_path_factory.mktemp("rated") / "made.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_a_metric_without_values_for_dialogues_alone(rated: Path, tmp_path: Path) -> None:
    done = run("score", rated, "-o", tmp_path / "out", "-m", "mauve")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "report.html").exists()
    assert set(pl.read_parquet(tmp_path / "out/scores.parquet")["level"]) == {"agent", "system"}


def test_score_and_validate(rated: Path, tmp_path: Path, cache: Path) -> None:
    folder = checkpoints.bert(tmp_path / "tiny-bert")
    out, asked = tmp_path / "out", "overlap,bert_score,bleurt,emotional_entropy,length"
    made = run("score", rated, "-o", out, "-m", asked, "--weights", f"bert_score={folder}")
    assert made.exit_code == 0
    assert "No values for bleurt: give the weights" in made.output
    rows = pl.read_parquet(out / "scores.parquet").filter(pl.col("level") == "turn")
    values = dict(rows.group_by("metric").agg(pl.col("value").count()).iter_rows())
    assert values["bleu_4"] == values["bert_score_f1"] == 20
    assert values["bleurt"] == 0
    (signature,) = rows.filter(pl.col("metric") == "bert_score_f1")["signature"].unique()
    assert "tiny-bert@" in signature
    run_record = json.loads((out / "run.json").read_text())
    assert run_record["arguments"]["weights"] == {"bert_score": str(folder)}
    assert (cache / "scores.sqlite").is_file()
    page = run("validate", rated, out, "-o", tmp_path / "val", "--resamples", 100)
    assert page.exit_code == 0
    found = json.loads((tmp_path / "val" / "validation.json").read_text())
    assert "bleu_4" in found["automatic"]
    assert not {"length", "bleurt"} & set(found["automatic"])
    assert any("bleurt is left out" in note for note in found["notes"])
    increments = {row["automatic"] for row in found["incremental"]}
    assert {"bert_score_f1", "rouge_l", "all automatic"} <= increments


def test_nothing_is_kept_without_a_cache(rated: Path, tmp_path: Path, cache: Path) -> None:
    made = run("score", rated, "-o", tmp_path / "out", "-m", "bleu", "--no-cache")
    assert made.exit_code == 0
    assert not cache.exists()


def test_the_list_says_what_is_ready_and_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # nothing is broken over lines
    told = run("metrics")
    assert told.exit_code == 0
    assert "metrics are ready" in told.output
    assert "--weights bleurt=FOLDER" in told.output
    card = run("metrics", "bert_score_f1", "--weights", f"bert_score={tmp_path / 'nowhere'}")
    assert "nowhere" in card.output
    assert "--metric-option" in card.output
    folder = checkpoints.bert(tmp_path / "tiny-bert")
    card = run("metrics", "bert_score_f1", "--weights", f"bert_score={folder}")
    assert "ready" in card.output
    assert "no: give" not in card.output


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("--weights", "bert_score", "NAME=FOLDER"),
        ("--weights", "bertscore=x", "Did you mean bert_score"),
        ("--metric-option", "layer=5", "FAMILY.OPTION=VALUE"),
        ("--metric-option", "bert_score.lair=5", "Did you mean layer"),
        ("--device", "gpu", "auto, cpu or cuda"),
    ],
)
def test_mistakes_are_named(rated: Path, option: str, value: str, named: str) -> None:
    with pytest.raises(DialensError, match=named):
        run("score", rated, "-m", "bleu", option, value)


def test_a_cache_and_none_exclude_each_other(rated: Path, tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="exclude each other"):
        run("score", rated, "-m", "bleu", "--cache", tmp_path, "--no-cache")


@pytest.mark.parametrize(
    ("asked", "levels"),
    [
        ("corpus_bleu_4", ""),
        ("corpus_chrf", "agent"),
        ("corpus_bleu_4", "turn"),
        ("length", "agent"),
    ],
)
def test_any_choice_of_metrics_and_levels_ends_in_a_report(
    rated: Path, tmp_path: Path, asked: str, levels: str
) -> None:
    chosen = ["--levels", levels] if levels else []
    done = run("score", rated, "-o", tmp_path / "out", "-m", asked, *chosen)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "report.html").exists()


def test_metrics_of_all_replies_without_a_reference(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Hello!"}]
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"id": "d1", "model": "m", "messages": chat}) + "\n")
    done = run("score", file, "-o", tmp_path / "out", "-m", "mauve,corpus_bleu_4,corpus_chrf")
    assert done.exit_code == 0, done.output
    table = pl.read_parquet(tmp_path / "out/scores.parquet")
    assert table["value"].is_null().all()
    assert set(table["reason"]) == {"no reference"}
