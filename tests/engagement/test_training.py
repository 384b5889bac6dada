"""Training in miniature on the CPU: it learns, repeats, goes on after a kill, and ships."""

import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError, open_state
from dialens.cli.engagement._train import seed_numbers, train
from dialens.engagement import (
    Recipe,
    TrainingData,
    TrainingPlan,
    check_encoder,
    require_training,
    summarise,
    train_seeds,
)
from dialens.engagement._labelled import with_earlier
from dialens.engagement._training import SeedResult
from dialens.models import load
from tests.engagement.red import make_posts, tiny_encoder, write_red

app = typer.Typer()
app.command("train")(train)
QUICK = ("--epochs", 3, "--rate", 3e-3, "--batch", 16)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads that wait for each other cost more than a miniature does, on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("training")
    return write_red(folder / "red"), tiny_encoder(folder / "encoder")


@pytest.fixture(scope="module")
def trained(material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    red, encoder = material
    out = tmp_path_factory.mktemp("models") / "mine"
    run(red, "-o", out, "--encoder", encoder, *QUICK, "--seeds", "0,1")
    return out


def weights(folder: Path) -> str:
    return hashlib.sha256((folder / "weights.bin").read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_model_that_learned_runs_by_its_folder(trained):
    model = load(trained)
    good, bad = ("what is this ?", "so i love you"), ("what is this ?", "so i hate this")
    scores = model.predict([good, bad])[:, 0]
    assert scores[0] > scores[1]
    close = load(trained, precision="fp32").predict([good, bad])[:, 0]
    np.testing.assert_allclose(scores, close, atol=0.05)
    assert not trained.with_name("mine.training").exists()


@pytest.mark.slow
def test_the_card_says_what_was_done(trained, material):
    card = json.loads((trained / "card.json").read_text())
    told = json.loads((trained / "training.json").read_text())
    assert card["name"] == "mine"
    assert card["context_turns"] == 1
    assert card["base_model"] == "encoder"
    assert [one["seed"] for one in told["seeds"]] == [0, 1]
    best = max(told["seeds"], key=lambda one: one["measures"]["validation AUC"])
    assert card["seed"] == best["seed"]
    assert best["measures"]["validation AUC"] > 0.9
    metrics = card["tasks"]["engagement"]["metrics"]
    exact = metrics["this seed, before quantisation"]["validation AUC"]
    assert metrics["validation AUC, int8"] == pytest.approx(exact, abs=0.03)
    file = material[0] / "train.parquet"
    assert card["data"][0]["sha256"]["train"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert str(material[0]) not in (trained / "card.json").read_text()
    auc = [one["measures"]["validation AUC"] for one in told["seeds"]]
    row = told["summary"][0]
    assert row["measure"] == "validation AUC"
    assert row["mean"] == pytest.approx(statistics.mean(auc))
    assert row["sd"] == pytest.approx(statistics.stdev(auc))
    assert row["best"] == max(auc)


@pytest.mark.slow
def test_the_same_command_gives_the_same_weights(trained, material, tmp_path):
    red, encoder = material
    posts = pl.read_parquet(red / "train.parquet").sample(fraction=1.0, shuffle=True, seed=1)
    moved = tmp_path / "moved"
    moved.mkdir()
    posts.write_parquet(moved / "train.parquet")
    pl.read_parquet(red / "validation.parquet").write_parquet(moved / "validation.parquet")
    out = tmp_path / "again"
    run(moved, "-o", out, "--encoder", encoder, *QUICK, "--seeds", "0-1")
    assert weights(out) == weights(trained)
    run(red, "-o", tmp_path / "other", "--encoder", encoder, *QUICK, "--seeds", "7")
    assert weights(tmp_path / "other") != weights(trained)


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_alike(material, tmp_path):
    red, encoder = material
    posts = make_posts(150)
    red = write_red(tmp_path / "red", posts)
    options = ["--encoder", encoder, "--epochs", 6, "--rate", 1e-3, "--batch", 4, "--seeds", "0-1"]
    code = (
        "import sys, typer; from dialens.cli.engagement._train import train; "
        "app = typer.Typer(); app.command()(train); app(sys.argv[1:])"
    )
    out = tmp_path / "killed"
    command = [sys.executable, "-c", code, str(red), "-o", str(out), *map(str, options)]
    child = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    state = tmp_path / "killed.training"
    while child.poll() is None and not (state / "seed0" / "checkpoint.pt").exists():
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not out.exists()
    assert (state / "state.json").exists()
    shown = run(red, "-o", out, *options)
    assert "Resuming" in shown.output
    run(red, "-o", tmp_path / "whole", *options)
    assert weights(out) == weights(tmp_path / "whole")
    pair = [
        json.loads((folder / "training.json").read_text())["summary"]
        for folder in (out, tmp_path / "whole")
    ]
    assert pair[0] == pair[1]


@pytest.mark.slow
def test_negatives_contexts_and_ratings_together(material, tmp_path):
    red, encoder = material
    generator = np.random.default_rng(0)
    lines = []
    for unit in range(30):
        love = bool(generator.integers(2))
        lines.append(
            {
                "dataset": "made",
                "unit_id": f"u{unit}",
                "level": "turn",
                "system": "bot",
                "context": [{"speaker": "A", "text": "what is this ?"}],
                "response": f"so i {'love you' if love else 'hate this'} {unit}",
                "ratings": {"Engaging": [4 + love, 3.5 + love]},
            }
        )
    corpus = tmp_path / "rated.jsonl"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "model"
    shown = run(
        *(red, "-o", out, "--encoder", encoder, *QUICK, "--context-turns", 2),
        *("--negatives", "paper", "--random", "--share", 0.5, "--corpus", corpus),
    )
    assert "rated: Engaging, pearson" in shown.output
    card = json.loads((out / "card.json").read_text())
    assert card["context_turns"] == 2
    assert card["training"]["plan"]["negatives"]["rules"][-1] == "random"
    measures = json.loads((out / "training.json").read_text())["seeds"][0]["measures"]
    assert measures["rated: Engaging, pearson"] > 0.5
    assert {"validation AUC, real negatives", "validation AUC, made negatives"} <= set(measures)


def test_contexts_reach_back_through_posts():
    posts = pl.DataFrame(
        {
            "id": ["b", "c", "loop"],
            "parent_id": ["a", "b", "loop"],
            "context": ["first", "second", "round"],
        }
    )
    table = pl.DataFrame({"parent_id": ["c", "loop"], "context": ["third", "end"]})
    assert with_earlier(table, posts, 1) == ["third", "end"]
    assert with_earlier(table, posts, 3) == ["first\nsecond\nthird", "round\nround\nend"]
    assert with_earlier(table, posts, 9)[0] == "first\nsecond\nthird"


def test_summary_over_seeds():
    values = [0.61, 0.72, 0.68]
    results = [SeedResult(s, 1, 0, (), {"x": v}, 0.0) for s, v in enumerate(values)]
    row = summarise(results).row(0, named=True)
    assert row["mean"] == pytest.approx(statistics.mean(values))
    assert row["sd"] == pytest.approx(statistics.stdev(values))
    assert (row["best"], row["seeds"]) == (0.72, 3)
    assert summarise(results[:1]).row(0, named=True)["sd"] is None


def test_seeds_as_people_write_them():
    assert seed_numbers(["3", "0-2,2"]) == [3, 0, 1, 2]
    for wrong in ("a", "1-", "-1"):
        with pytest.raises(DialensError, match="whole numbers"):
            seed_numbers([wrong])
    with pytest.raises(DialensError, match="holds no number"):
        seed_numbers(["5-3"])


def test_without_the_extra_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DialensError, match=r"Training needs torch.*dialens\[train\]"):
        require_training()


def test_encoders_that_cannot_be_trained(tmp_path):
    folder = tiny_encoder(tmp_path / "odd", width=96)
    with pytest.raises(DialensError, match="blocks of 64"):
        check_encoder(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(DialensError, match="does not describe an encoder"):
        check_encoder(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DialensError, match=r"no tokenizer.json"):
        check_encoder(folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "--epochs is 0"),
        ({"context_turns": 0}, "--context-turns is 0"),
        ({"rate": 0.0}, "--rate is 0"),
    ],
)
def test_plans_that_make_no_sense(options, message):
    with pytest.raises(DialensError, match=message):
        TrainingPlan(**options)


def test_states_are_not_mixed_up(tmp_path):
    state = tmp_path / "m.training"
    plan = TrainingPlan(negatives=Recipe())
    assert not open_state(state, {"plan": plan.epochs, "seeds": (0, 1)})
    assert open_state(state, {"plan": plan.epochs, "seeds": (0, 1)})
    with pytest.raises(DialensError, match=r"differs in seeds.*--restart"):
        open_state(state, {"plan": plan.epochs, "seeds": (0,)})
    assert not open_state(state, {"plan": plan.epochs, "seeds": (0,)}, restart=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(DialensError, match="holds other files"):
        open_state(tmp_path / "other", {}, restart=True)


def test_longer_contexts_need_the_posts(material, tmp_path):
    red, encoder = material
    learn, check = (pl.read_parquet(red / f"{n}.parquet") for n in ("train", "validation"))
    with pytest.raises(DialensError, match=r"needs posts.parquet"):
        train_seeds(
            TrainingData(learn, check), encoder, TrainingPlan(context_turns=2), [0], tmp_path
        )


def test_what_is_not_ours_is_not_replaced(material, tmp_path):
    red, encoder = material
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter.txt").write_text("mine")
    with pytest.raises(DialensError, match="was not written by dialens"):
        run(red, "-o", out, "--encoder", encoder)
    assert not (tmp_path / "thesis.training").exists()
