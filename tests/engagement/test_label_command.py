"""`dialens engagement label` on the command line: what it says, what it refuses, kill -9."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.base import DialensError, check_java
from dialens.cli._app import app
from dialens.engagement.curation import EngineOptions, LabelOptions, Models, label, read_subreddits
from dialens.engagement.curation._shard_scoring import ModelScorer, ShardPlan, cut, score_shards
from tests.engagement.hand_made import (
    COMMENTS,
    SUBMISSIONS,
    Written,
    comment,
    submission,
    write_work,
)

NEITHER = ["--emotion", "none", "--toxicity", "none"]


@pytest.fixture
def work(tmp_path):
    return write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)


def run(*arguments: object):
    return CliRunner().invoke(app, ["engagement", "label", *map(str, arguments)])


def refused(*arguments: object) -> str:
    """What the command says when it stops; a user's error, never a traceback."""
    result = run(*arguments)
    assert result.exit_code != 0
    if isinstance(result.exception, DialensError):
        return str(result.exception)
    assert isinstance(result.exception, SystemExit)
    return result.output


def test_the_command_writes_everything_and_says_so(work, tmp_path):
    red = tmp_path / "red"
    result = run(work, "-o", red, "--kappa", 0.5, "--emotion", "lexicon", "--toxicity", "none")
    assert result.exit_code == 0, result.output
    assert "left out, no reply in the data: 16" in result.output
    names = {str(path.relative_to(red)) for path in red.rglob("*") if ".work" not in path.parts}
    assert names == {
        ".dialens.json",
        "posts.parquet",
        "train.parquet",
        "validation.parquet",
        "rejected",
        "rejected/part-00000.parquet",
        "card.md",
        "card.json",
        "run.json",
    }
    assert (
        "earlier run"
        in run(work, "-o", red, "--kappa", 0.5, "--emotion", "lexicon", "--toxicity", "none").output
    )


def test_dry_run_prints_the_steps_and_writes_nothing(work, tmp_path):
    result = run(work, "-o", tmp_path / "red", "--dry-run")
    assert result.exit_code == 0
    assert "comment_reactions" in result.output
    assert "05" in result.output
    assert not (tmp_path / "red").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kappa", -1], "--kappa must be a number from 0"),
        (["--weights", "xe=1"], "--weights takes NAME=NUMBER"),
        (["--weights", "re=0,ae=0"], "re and ae are both 0"),
        (["--weights", "re=many"], "'many' of re is no number"),
        (["--memory", "lots"], "--memory takes a size such as 4GB"),
        (["--memory", "1MB"], "too little"),
        (["--threads", 0], "--threads must be 1 or more"),
        (["--min-replies", 0], "--min-replies must be 1 or more"),
        (["--toxic-above", 2], "--toxic-above is from 0 to 1"),
        (["--validation-share", 1], "--validation-share is at least 0 and less than 1"),
        (["--master", "local[2]"], "goes with --engine spark"),
        (["--engine", "dask"], "dask"),
        (["--emotion", "emotoin"], "emotoin"),
    ],
)
def test_bad_options(work, tmp_path, arguments, said):
    given = [*NEITHER, *arguments] if "--emotion" not in arguments else [*arguments, *NEITHER[2:]]
    assert said in " ".join(refused(work, "-o", tmp_path / "red", *given).split())


def test_subreddits_from_a_file(tmp_path):
    path = tmp_path / "subreddits.txt"
    path.write_text("# mine\nr/Books\n/r/films  # too\n\nbooks\n")
    assert read_subreddits(path) == ("books", "films")
    path.write_text("books\nno name\n")
    with pytest.raises(DialensError, match=r"subreddits\.txt:2: 'no name' is no name"):
        read_subreddits(path)
    path.write_text("# none\n")
    with pytest.raises(DialensError, match="names no subreddit"):
        read_subreddits(path)
    with pytest.raises(DialensError, match="cannot be read"):
        read_subreddits(tmp_path / "missing")


def test_what_is_no_work_folder_is_refused(work, tmp_path):
    red = tmp_path / "red"
    assert "is no folder" in refused(tmp_path / "nowhere", "-o", red, *NEITHER)
    (tmp_path / "other").mkdir()
    assert "was not made by" in refused(tmp_path / "other", "-o", red, *NEITHER)
    shard = next((work / "comments").iterdir())
    shard.rename(shard.with_suffix(".gone"))
    assert "is missing or not whole" in refused(work, "-o", red, *NEITHER)
    (work / "ingest.json").unlink()
    assert "did not finish" in refused(work, "-o", red, *NEITHER)


def test_only_submissions_are_refused(tmp_path):
    work = write_work(tmp_path / "work", [], SUBMISSIONS)
    assert "holds no comment, only 6 submissions" in refused(work, "-o", tmp_path / "r", *NEITHER)


def test_somebody_elses_folder_is_not_written_into(work, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    assert "was not written by" in refused(work, "-o", tmp_path / "mine", *NEITHER)
    assert "is a file" in refused(work, "-o", tmp_path / "mine" / "diary.txt", *NEITHER)


def test_no_post_left_says_what_took_them(work, tmp_path):
    path = tmp_path / "subreddits.txt"
    path.write_text("knitting")
    said = refused(work, "-o", tmp_path / "red", "--subreddits", path, *NEITHER)
    assert "No post is left of 37 comments" in said
    assert "no reply in the data: 16; subreddit not chosen: 16" in said


def test_equal_scores_and_an_empty_class(work, tmp_path):
    red = tmp_path / "red"
    said = refused(work, "-o", red, "--min-replies", 2, *NEITHER)  # leaves a alone
    assert "All 1 posts have the same score" in said
    assert "No post is engaging" in refused(work, "-o", red, "--kappa", 9, *NEITHER)


def test_fewer_replies_than_asked_for(tmp_path):
    submissions = [submission("s1"), submission("s2", score=9)]
    comments = [comment("a", "s1"), comment("b", "s2"), comment("c", "s2"), comment("c1", "c")]
    comments += [comment(f"{post}{n}", post, score=n) for post in "ab" for n in (1, 2)]
    work = write_work(tmp_path / "work", comments, submissions)
    run(work, "-o", tmp_path / "red", "--min-replies", 2, "--kappa", 0.5, *NEITHER)
    reasons = dict(pl.read_parquet(tmp_path / "red" / "rejected" / "*.parquet").iter_rows())
    assert reasons.pop("c") == "fewer than 2 replies"
    assert set(reasons.values()) == {"no reply in the data"}


def test_spark_without_java_or_pyspark(work, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(DialensError, match="needs Java 17 or later; JAVA_HOME is"):
        check_java("--engine duckdb")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DialensError, match="no java on the PATH"):
        check_java("--engine duckdb")
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    with pytest.raises(DialensError, match="is Java 11"):
        check_java("--engine duckdb")
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    said = refused(work, "-o", tmp_path / "red", "--engine", "spark", *NEITHER)
    assert "pip install 'dialens[spark]'" in said


# The models over shards


def test_shards_are_scored_once_and_by_several_processes(tmp_path):
    texts = pl.DataFrame(
        {"text_key": [f"{n:03x}" for n in range(64)], "text": [f"p{n}" for n in range(64)]}
    )
    seen: list[int] = []
    batches = [texts[:5], texts[5:40], texts[40:]]
    first = score_shards(cut(batches, 2), Written("p"), tmp_path, processes=2, advance=seen.append)
    assert sum(seen) == 64
    assert len(first) == 4
    times = [path.stat().st_mtime_ns for path in first]
    again = score_shards(cut([texts], 2), Written("p"), tmp_path, processes=1, advance=seen.append)
    assert again == first
    assert [path.stat().st_mtime_ns for path in again] == times
    found = pl.concat([pl.read_parquet(path) for path in first])
    assert found["micro"].to_list() == [10_000 * n for n in range(64)]
    other = score_shards(cut([texts], 2), Written("t"), tmp_path, processes=1, advance=seen.append)
    assert set(other).isdisjoint(first)


@pytest.mark.parametrize(
    ("texts", "digits"), [(0, 0), (1_024, 0), (1_025, 1), (131_072, 1), (131_073, 2)]
)
def test_shards_hold_about_eight_thousand_texts(texts, digits):
    assert ShardPlan.of(texts).digits == digits


def test_a_scorer_that_breaks_its_promise_is_named(work, tmp_path):
    models = Models(Written("p"), _Wild("t"))
    with pytest.raises(DialensError, match="written:t gave 0 to 1200000; micro-units"):
        label(work, tmp_path / "red", models=models)


class _Wild(Written):
    def __call__(self, texts):
        made = super().__call__(texts)
        made[made > 0] = 1_200_000
        return made


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(DialensError, match="is no model"):
        _ = ModelScorer(str(tmp_path), "toxicity", ("toxic",)).signature


# kill -9


@pytest.mark.slow
def test_killed_and_run_again_gives_the_same_bytes(tmp_path):
    work = write_work(tmp_path / "work", *forest(3_000), shards=3)
    options = ["--emotion", "lexicon", "--toxicity", "none", "--kappa", "0.5", "--threads", "1"]
    command = [sys.executable, "-m", "dialens", "engagement", "label", str(work), *options, "-o"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    for marker in ("reacted.json", "emotion_texts.json", "numbers.json"):
        _kill_at(killed / ".work" / "duckdb" / marker, [*command, str(killed)])
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    record = json.loads((killed / "run.json").read_text())
    reused = {name for name, step in record["steps"].items() if step["reused"]}
    assert {"comment_reactions", "emotion_texts", "emotion_scores", "numbers"} <= reused
    assert record["outputs"] == json.loads((whole / "run.json").read_text())["outputs"]


def _kill_at(marker: Path, command: list[str]) -> None:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not marker.exists():
            assert running.poll() is None, "it ended before it could be killed"
            time.sleep(0.0005)
        os.kill(running.pid, signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL


def forest(size: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Many small threads whose posts differ in everything that counts."""
    submissions = [submission(f"s{n}", score=n % 7) for n in range(size // 10)]
    comments: list[dict[str, Any]] = []
    for n in range(size):
        own = n // 10
        parent = f"s{own}" if n % 10 < 2 else f"k{own * 10 + (n * 7) % (n % 10)}"
        comments.append(
            comment(
                f"k{n}",
                parent,
                thread=f"s{own}",
                score=(n * 13) % 11 - 2,
                edited=n % 17 == 0,
                content_words=1 + (n * 5) % 23,
                text=f"thanks a lot for number {n}" if n % 3 else f"sad about number {n}",
                deleted=n % 29 == 0,
            )
        )
    return comments, submissions


@pytest.mark.slow
def test_memory_and_threads_change_no_byte(tmp_path):
    work = write_work(tmp_path / "work", *forest(3_000), shards=3)
    made = []
    for number, (memory, threads) in enumerate(((300 * 2**20, 1), (2**30, 2))):
        done = label(
            work,
            tmp_path / f"red{number}",
            models=Models(Written("p"), None),
            options=LabelOptions(kappa=0.5),
            engine=EngineOptions(memory=memory, threads=threads),
        )
        made.append(json.loads((done.folder / "run.json").read_text())["outputs"])
    assert made[0] == made[1]
