"""The run record: complete, readable, without a name of the machine."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from dialens import Resources, score
from dialens.base import DialensError, Recorder, RunRecord
from dialens.report import run_facts
from tests.report.material import two_agents


@pytest.fixture
def ticks() -> Iterator[float]:
    return iter(float(second) for second in count())


def test_steps_are_timed_and_add_up(ticks: Iterator[float]) -> None:
    recorder = Recorder("score", timer=lambda: next(ticks))
    with recorder.step("read"):
        pass
    with recorder.step("score"), recorder.step("inner"):
        pass
    with recorder.step("read"):
        pass
    assert recorder.record().seconds == {"read": 2.0, "inner": 1.0, "score": 3.0}


def test_a_step_that_fails_is_timed_too(ticks: Iterator[float]) -> None:
    recorder = Recorder("score", timer=lambda: next(ticks))
    with pytest.raises(ValueError, match="no"), recorder.step("read"):
        raise ValueError("no")
    assert recorder.record().seconds == {"read": 1.0}


def test_finish_writes_the_whole_record(tmp_path: Path) -> None:
    corpus, resources = two_agents(3), Resources(prompt="last", seed=4)
    scores = score(corpus, metrics=["question", "length"], resources=resources)
    moments = iter([datetime(2030, 1, 1, 9, tzinfo=UTC), datetime(2030, 1, 1, 10, tzinfo=UTC)])
    recorder = Recorder(
        "score",
        {"corpus": Path("talks.jsonl"), "levels": ("turn", "agent")},
        seed=4,
        now=lambda: next(moments),
    )
    recorder.observe(**run_facts(corpus=corpus, scores=scores, resources=resources))
    recorder.observe(rejected=["is not text", "is not text", "is a duplicate"])
    done = recorder.finish(tmp_path / "run.json")

    written = json.loads((tmp_path / "run.json").read_text())
    assert written["arguments"] == {"corpus": "talks.jsonl", "levels": ["turn", "agent"]}
    assert (written["started"], written["ended"]) == (
        "2030-01-01T09:00:00.000+00:00",
        "2030-01-01T10:00:00.000+00:00",
    )
    assert written["counts"] == {
        "turns": 24,
        "agent_turns": 12,
        "rejected": 3,
        "systems": 1,
        "agents": 2,
        "dialogs": 6,
        "scores": 42,
        "metrics": 2,
    }
    assert written["rejected"] == {"is not text": 2, "is a duplicate": 1}
    assert written["prompt"] == "last"
    assert written["lexicons"]["emotion"]["sha256"] == resources.emotion.sha256
    assert written["lexicons"]["style"]["licence"] == "Apache-2.0"
    assert written["signatures"] == scores.signatures
    assert {"polars", "numpy", "scipy", "altair"} <= set(written["packages"])
    assert RunRecord.open(tmp_path / "run.json") == done
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_the_record_does_not_name_the_machine() -> None:
    written = Recorder("score").record().to_json()
    assert f'"{platform.node()}"' not in written
    assert platform.node() not in Recorder("score").record().platform.split()


def test_source_and_hash_come_from_the_manifest(tmp_path: Path) -> None:
    from dialens import read

    path = tmp_path / "talk.txt"
    path.write_text("A: hello\nB: hello to you\n")
    data = Recorder("score").observe(**run_facts(corpus=read(path))).record().data
    assert data["name"] == "talk.txt"
    assert len(data["sha256"]) == 64


def test_what_only_one_command_records_stands_beside_the_other_keys(tmp_path: Path) -> None:
    done = (
        Recorder("engagement label")
        .observe(counts={"posts": 4}, packages={"duckdb": "1"}, details={"outputs": {"a": "b"}})
        .observe(counts={"train": 2}, details={"identity": "x"})
        .finish(tmp_path / "run.json")
    )
    written = json.loads((tmp_path / "run.json").read_text())
    assert written["outputs"] == {"a": "b"}
    assert written["identity"] == "x"
    assert "details" not in written
    assert written["counts"] == {"posts": 4, "train": 2}
    assert written["packages"]["duckdb"] == "1"
    assert RunRecord.open(tmp_path / "run.json") == done


@pytest.mark.parametrize("content", ["[]", "{}", "[" * 5000, "{", '{"command": "score"}'])
def test_an_odd_record_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(DialensError, match=r"run\.json is not the record of a run"):
        RunRecord.open(path)
