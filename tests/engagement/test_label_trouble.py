"""What may happen to labelling from outside: processes killed, full disks, damaged markers."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.engagement.curation import LabelOptions, Models, label
from dialens.engagement.curation._shard_scoring import cut, score_shards
from tests.engagement.hand_made import Written, write_work
from tests.engagement.test_label_command import forest

PATIENCE_S = 60
SMALL = 8_000
"""Bytes: no table of the forest fits, markers do."""

SCORING = """
import fcntl
import os
import sys
import time
from pathlib import Path

import polars as pl

from dialens.engagement.curation._shard_scoring import cut, score_shards

class Waits:
    signature = "waits"

    def __call__(self, texts):
        held = open(f"{os.getpid()}.held", "w")
        fcntl.flock(held, fcntl.LOCK_EX)
        os.replace(held.name, f"{os.getpid()}.scores")
        time.sleep(600)

if __name__ == "__main__":
    texts = pl.DataFrame({"text_key": ["00", "10"], "text": ["a", "b"]})
    score_shards(cut([texts], 1), Waits(), Path("scores"), processes=2, advance=lambda _: None)
"""


# Processes


class _Killed(Written):
    """Goes the way of a process for which there is no memory left, at one text."""

    def __call__(self, texts):
        if "p63" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(texts)


@pytest.mark.slow
def test_a_killed_worker_is_told_and_finished_shards_are_kept(tmp_path):
    texts = pl.DataFrame(
        {"text_key": [f"{n:03x}" for n in range(64)], "text": [f"p{n}" for n in range(64)]}
    )
    with pytest.raises(DialensError, match=r"was killed.*fewer --threads.*shards are kept"):
        score_shards(cut([texts], 2), _Killed("p"), tmp_path, processes=2, advance=lambda _: None)
    kept = len(list(tmp_path.glob("*.parquet")))
    assert kept < 4
    found = score_shards(
        cut([texts], 2), Written("p"), tmp_path, processes=1, advance=lambda _: None
    )
    assert len(found) == 4


@pytest.mark.slow
def test_workers_end_with_a_run_that_was_killed(tmp_path):
    """Each holds a lock, which the system takes back when it ends."""
    script = tmp_path / "scoring.py"
    script.write_text(SCORING, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], cwd=tmp_path) as running:
        workers = _waited_for(lambda: list(tmp_path.glob("*.scores")), 2)
        os.kill(running.pid, signal.SIGKILL)
    try:
        _waited_for(lambda: [one for one in workers if _is_free(one)], 2)
    finally:
        for one in workers:
            if not _is_free(one):
                os.kill(int(one.stem), signal.SIGKILL)


def _waited_for(found, number):
    deadline = time.monotonic() + PATIENCE_S
    while len(found()) < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found()


def _is_free(path: Path) -> bool:
    with path.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


# Disks and markers


@pytest.fixture
def unfinished(tmp_path):
    """A folder and its dataset of which all steps are done, and nothing could be written."""
    work = write_work(tmp_path / "work", *forest(3_000), shards=3)
    red = tmp_path / "red"
    (red / ".work").mkdir(parents=True)
    (red / "posts.parquet").mkdir()
    with pytest.raises(DialensError, match="Is a directory"):
        labelled(work, red)
    (red / "posts.parquet").rmdir()
    return work, red


def labelled(work: Path, red: Path) -> dict[str, Any]:
    label(work, red, models=Models(None, None), options=LabelOptions(kappa=0.5))
    return json.loads((red / "run.json").read_text())


def on_a_small_disk(work: Path, red: Path) -> str:
    """What the command says where no file may be larger than a little."""
    options = ["--emotion", "none", "--toxicity", "none", "--kappa", "0.5"]
    done = subprocess.run(
        [sys.executable, "-m", "dialens", "engagement", "label", work, "-o", red, *options],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    return " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("again", "why"),
    [(None, "File too large"), ("places", "the end of a file found no room")],
)
def test_a_full_disk_at_the_end(unfinished, again, why):
    """For the tables of the dataset, or for a step that Polars writes."""
    work, red = unfinished
    if again is not None:
        (red / ".work" / "duckdb" / f"{again}.json").unlink()
    said = on_a_small_disk(work, red)
    assert f"cannot be written to: {why}. Make room" in said
    assert said.endswith("Make room, and run the same command again: finished steps are kept.")
    assert not (red / "run.json").exists()
    steps = labelled(work, red)["steps"]
    assert {name for name, step in steps.items() if not step["reused"]} == {again} - {None}


@pytest.mark.parametrize("damage", [b"", b"[]", b"\xff\xfe"])
def test_a_damaged_marker_stands_for_nothing(unfinished, tmp_path, damage):
    work, red = unfinished
    (red / ".work" / "duckdb" / "related.json").write_bytes(damage)
    record = labelled(work, red)
    assert {name for name, step in record["steps"].items() if not step["reused"]} == {"related"}
    assert record["outputs"] == labelled(work, tmp_path / "whole")["outputs"]
