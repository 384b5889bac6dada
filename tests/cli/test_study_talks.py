"""A study in which people talk with agents, by its commands, from the template to scores."""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.cli._app import app


def run(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.slow
def test_three_bots_in_one_go(tmp_path: Path) -> None:
    folder, export = tmp_path / "bots", tmp_path / "export"
    said = run("study", "new", "--template", "three-bots", "-o", str(folder))
    assert "conversations of 6 messages with 3 agents" in said
    # Scripts stand in for the agents that ship, which need not be there.
    file = folder / "study.yaml"
    text = file.read_text()
    for name in ("seq2seq", "hred", "thred"):
        (folder / f"{name}.txt").write_text(f"I am {name}.\nIs that so?\n")
        text = text.replace(f"agent: {name}}}", f'agent: "script:{name}.txt"}}')
    file.write_text(text)
    assert "seq2seq (script:seq2seq.txt)" in run("study", "check", str(folder))
    assert "9 completed" in run("study", "simulate", str(folder), "-n", "9")
    database = f"sqlite:///{folder / 'simulated.db'}"
    said = run("study", "status", str(folder), "--db", database)
    assert "hred: 3 conversations, 18 replies, median 2.0 s; no failures" in said
    said = run("study", "export", str(folder), "--db", database, "-o", str(export))
    assert "9 conversations, 0 failures of agents" in said
    run("score", str(export / "conversations"), "-o", str(tmp_path / "scores"), "-m", "emotion")
    scores = pl.read_parquet(tmp_path / "scores" / "scores.parquet")
    turns = scores.filter(pl.col("level") == "turn")
    assert turns.filter(pl.col("agent").is_in(["seq2seq", "hred", "thred"])).height >= 9 * 6
    who = pl.read_parquet(export / "ratings.parquet")["rater"][0]
    said = run("study", "forget", who, "--study", str(folder), "--db", database)
    assert "6 messages" in said
