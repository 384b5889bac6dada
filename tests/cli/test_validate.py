"""`dialens validate` and `dialens power` as a user runs them."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._power import power
from dialens.cli._score import score
from dialens.cli._validate import validate

app = typer.Typer()
app.command("score")(score)
app.command("validate")(validate)
app.command("power")(power)

WORDS = ["happy", "sad", "angry", "what", "why", "you", "the", "of", "and", "joy", "fear", "tea"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Twenty contexts, four bots, three raters who like long answers; and their scores."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("rated")
    lines = []
    for context in range(20):
        said = " ".join(rng.choice(WORDS, 6))
        for bot in range(4):
            response = " ".join(rng.choice(WORDS, rng.integers(3, 20)))
            like = 1 + len(response) / 30 + rng.normal(0, 0.5, 3)
            lines.append(
                {
                    "dataset": "made",
                    "unit_id": f"u{context}-{bot}",
                    "dialog_id": f"c{context}",
                    "level": "turn",
                    "system": f"bot{bot}",
                    "context": [{"speaker": "A", "text": f"{said}?"}],
                    "response": response,
                    "ratings": {"good & <b>bold</b>": like.round(2).tolist(), "calm": [1, 2, 3]},
                    "raters": ["r1", "r2", "r3"],
                }
            )
    corpus = folder / "made.jsonl"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    scored = folder / "scores"
    assert run("score", corpus, "-o", scored, "--models", "none").exit_code == 0
    return corpus, scored


def test_validate_writes_everything(rated, tmp_path: Path) -> None:
    done = run("validate", *rated, "-o", tmp_path / "v", "--resamples", 200)
    assert done.exit_code == 0
    assert "corrected over" in done.output
    assert len(done.stdout.splitlines()) <= 24  # a screen
    assert "goes most closely with" in done.stdout.splitlines()[0]
    files = {path.name for path in (tmp_path / "v").iterdir()}
    assert files == {
        ".dialens.json",
        "validation.json",
        "best.csv",
        "best.tex",
        "accuracies.csv",
        "accuracies.tex",
        "correlations.csv",
        "differences.csv",
        "incremental.csv",
        "correlations.tex",
        "incremental.tex",
        "report.html",
        "run.json",
        "text.md",
    }
    made = json.loads((tmp_path / "v" / "validation.json").read_text())
    wanted = {"metric", "quality", "level", "n", "n_missing", "pearson", "pearson_low"}
    wanted |= {
        "pearson_high",
        "spearman",
        "spearman_low",
        "kendall",
        "ceiling",
        "pearson_corrected",
        "scope",
        "headline",
    }
    assert wanted <= made["correlations"][0].keys()
    wanted = {"dataset", "automatic", "psychological", "r2_a", "r2_p", "r2_pa", "p", "p_adjusted"}
    assert wanted | {"cv_r2_a", "cv_r2_p", "cv_r2_pa"} <= made["incremental"][0].keys()
    table = pl.read_csv(tmp_path / "v" / "correlations.csv")
    assert table.height == len(made["correlations"])
    assert {"within", "pooled", "between"} == set(table["scope"])
    length = table.filter(
        pl.col("metric") == "length",
        pl.col("level") == "turn",
        pl.col("quality") != "calm",
        "headline",
    )
    assert length["pearson"].item() > 0.8
    assert length["n_clusters"].item() == 20
    calm = table.filter(pl.col("quality") == "calm", pl.col("level") == "turn")
    assert set(calm["reason"]) == {"no variance: all units have the same value"}


def test_the_page_needs_nothing_and_escapes_names(rated, tmp_path: Path) -> None:
    run("validate", *rated, "-o", tmp_path / "v", "--resamples", 200, "--level", "turn")
    page = (tmp_path / "v" / "report.html").read_text()
    assert "<b>bold</b>" not in page
    assert "good &amp; &lt;b&gt;bold&lt;/b&gt;" in page
    assert not re.search(r'(src|href)="https?://', page)
    assert re.search(r"family of \d+ tests", page)
    tex = (tmp_path / "v" / "incremental.tex").read_text()
    assert r"good \& $<$b$>$bold$<$/b$>$" in tex
    assert tex.count(r"\begin{table}") == tex.count(r"\end{table}") == 2


def test_charts_are_files_where_asked_for(rated, tmp_path: Path) -> None:
    run("validate", *rated, "-o", tmp_path / "v", "--resamples", 200, "--figures", "svg")
    drawn = list((tmp_path / "v" / "figures").glob("*.svg"))
    assert any(path.stem.startswith("matrix") for path in drawn)
    assert all("var(--" not in path.read_text(encoding="utf-8") for path in drawn)


def test_the_same_command_gives_the_same_numbers(rated, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run("validate", *rated, "-o", tmp_path / name, "--resamples", 200, "--seed", 4)
    a, b = ((tmp_path / name / "validation.json").read_text() for name in ("a", "b"))
    assert a == b


def test_validate_refuses_what_it_cannot_do(rated, tmp_path: Path) -> None:
    corpus, scores = rated
    with pytest.raises(DialensError, match="holds no scores"):
        run("validate", corpus, tmp_path, "-o", tmp_path / "v")
    with pytest.raises(DialensError, match="Nobody rated 'speed'"):
        run("validate", corpus, scores, "-o", tmp_path / "v", "-q", "speed")
    with pytest.raises(DialensError, match="--raters takes"):
        run("validate", corpus, scores, "-o", tmp_path / "v", "--raters", "robots")
    with pytest.raises(DialensError):  # the scores themselves must survive
        run("validate", corpus, scores, "-o", scores)
    assert (scores / "scores.parquet").exists()


@pytest.mark.browser
def test_charts_are_drawn_without_complaint(rated, tmp_path: Path, chromium) -> None:
    run("validate", *rated, "-o", tmp_path / "v", "--resamples", 200)
    run("power", "--residual-sd", 1, "--effect", 0.5, "-o", tmp_path / "p", "--simulations", 100)
    for folder, figures in (("v", 4), ("p", 1)):
        page = chromium.new_page()
        complaints: list[str] = []
        page.on("console", lambda message, seen=complaints: seen.append(message.text))
        page.on("pageerror", lambda error, seen=complaints: seen.append(str(error)))
        page.goto((tmp_path / folder / "report.html").as_uri())
        page.wait_for_function(f"document.querySelectorAll('.drawing svg').length >= {figures}")
        assert complaints == []
        page.close()


def test_power_from_stated_variances(tmp_path: Path) -> None:
    done = run(
        "power", "--item-sd", 0.5, "--dialog-sd", 0.4, "--residual-sd", 0.8, "--effect", "0.5",
        "--raters", "1,3", "--items", "10,100", "--simulations", 200, "-o", tmp_path / "p",
    )  # fmt: skip
    assert done.exit_code == 0
    assert "A difference of 0.5 between two agents is seen with a power of 0.9" in done.output
    made = json.loads((tmp_path / "p" / "power.json").read_text())
    assert len(made["rows"]) == 4
    for row in made["rows"]:
        assert row["power_low"] - 0.03 <= row["power_exact"] <= row["power_high"] + 0.03
    assert (tmp_path / "p" / "report.html").stat().st_size > 10_000


def test_power_from_ratings(rated, tmp_path: Path) -> None:
    done = run(
        "power", rated[0], "-q", "good & <b>bold</b>", "--width", 0.5, "--raters", 3, "--items",
        "20,80", "--simulations", 100, "-o", tmp_path / "p",
    )  # fmt: skip
    assert done.exit_code == 0
    made = json.loads((tmp_path / "p" / "power.json").read_text())
    assert made["fitted"]["n"] == 240
    assert made["parts"]["residual"] == pytest.approx(0.5, abs=0.1)
    assert "no wider than 0.5" in done.output or "No design" in done.output


def test_power_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    for arguments, message in (
        ((), "state variances"),
        (("--residual-sd", 1, "--effect", "much"), "--effect takes numbers"),
        (("--residual-sd", 1, "--items", "2.5"), "whole numbers"),
        (("--residual-sd", 1, "--scale", "5"), "LOW,HIGH"),
    ):
        with pytest.raises(DialensError, match=message):
            run("power", *arguments, "-o", tmp_path / "p")
