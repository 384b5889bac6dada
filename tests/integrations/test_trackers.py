"""Scores as the trackers themselves read them back.

The trackers are no part of the development install; where one is missing its test is skipped, and
`pip install 'dialens[mlflow,wandb]'` runs it.
"""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import dialens
from dialens.corpus import Dialogue, Turn
from dialens.integrations import log_to_mlflow, log_to_wandb, tracked_values


def _scores(*agents: tuple[str, str], metrics: tuple[str, ...] = ("length", "question")):
    talks = [
        Dialogue("s", agent, f"d{place}", [Turn("B", "agent", text)])
        for place, (agent, text) in enumerate(agents)
    ]
    return dialens.score(dialens.Corpus.of(talks), metrics=list(metrics))


def test_one_agent_is_tracked_by_the_metric_alone() -> None:
    assert tracked_values(_scores(("bot", "Why is that?"))) == {"length": 3.0, "question": 1.0}


def test_some_metrics_can_be_chosen() -> None:
    assert tracked_values(_scores(("bot", "Why?")), ["length"]) == {"length": 1.0}


def test_agents_of_several_systems_are_told_apart() -> None:
    talks = [Dialogue(name, "bot", name, [Turn("B", "agent", "Why?")]) for name in ("v1", "v2")]
    scores = dialens.score(dialens.Corpus.of(talks), metrics=["length"])
    assert tracked_values(scores) == {"v1/bot/length": 1.0, "v2/bot/length": 1.0}


def test_names_that_would_become_one_are_refused() -> None:
    with pytest.raises(dialens.DialensError, match="b_t/length"):
        tracked_values(_scores(("b:t", "Hi"), ("b;t", "Hi")))


def test_a_missing_value_is_not_a_zero() -> None:
    scores = _scores(("bot", "Why?"), metrics=("length", "language_style_matching"))
    assert tracked_values(scores) == {"length": 1.0}


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_package_that_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    log = {"mlflow": log_to_mlflow, "wandb": log_to_wandb}[name]
    with pytest.raises(dialens.DialensError, match=rf"dialens\[{name}\]"):
        log(_scores(("bot", "Why?")))


@pytest.mark.filterwarnings("ignore")
def test_mlflow_reads_back_what_was_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    metrics = ("length", "question", "language_style_matching")
    scores = _scores(("plain:1", "I see."), ("warm", "How are you today?"), metrics=metrics)
    with mlflow.start_run() as run:
        log_to_mlflow(scores)
    logged = mlflow.get_run(run.info.run_id)
    assert logged.data.metrics == {
        "plain_1/length": 2.0,
        "plain_1/question": 0.0,
        "warm/length": 4.0,
        "warm/question": 1.0,
    }
    text = mlflow.artifacts.load_text(f"{logged.info.artifact_uri}/dialens/scores.csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 6
    assert all(row["reason"] for row in rows if not row["value"])


@pytest.mark.filterwarnings("ignore")
def test_wandb_keeps_what_was_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    scores = _scores(("plain", "I see."), ("warm", "How are you today?"))
    with wandb.init(project="dialens", dir=tmp_path) as run:
        log_to_wandb(scores, run=run)
        summary = dict(run.summary)
    assert summary["plain/length"] == 2.0
    assert summary["warm/question"] == 1.0
    (table,) = tmp_path.rglob("dialens/scores*.table.json")
    content = json.loads(table.read_text("utf-8"))
    assert len(content["data"]) == 4
    assert content["columns"][:3] == ["metric", "system", "agent"]
    with pytest.raises(dialens.DialensError, match=r"wandb\.init"):
        log_to_wandb(scores)
