"""The recipe of the reference values: whose turns are read, and that no text is kept."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.metrics import PEOPLE, SYSTEMS
from recipes.reference import build, score
from recipes.reference.sources import SOURCES, Source


def write(place: Path, rows: list[dict[str, Any]]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(place, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def comment(name: str, parent: str, author: str, body: str = "Well, I see it differently.") -> Any:
    return {"id": name, "parent_id": parent, "author": author, "body": body}


def source(name: str) -> Source:
    return next(each for each in SOURCES if each.name == name)


def test_two_people_who_reply_to_each_other(tmp_path: Path) -> None:
    rows = [
        comment("a", "t3_x", "someone else"),
        comment("b", "t1_a", "ann"),
        comment("c", "t1_b", "bob"),
        comment("d", "t1_c", "ann"),
        comment("e", "t1_d", "bob"),
        comment("f", "t1_d", "bob", "Another branch of what was counted already."),
        comment("g", "t3_x", "ann"),
        comment("h", "t1_g", "bob"),
    ]
    write(tmp_path / "reddit" / "praw_complete_threads_comments.jsonl.gz", rows)
    first, second = source("reddit_threads").dialogues(tmp_path, seed=0)
    assert [turn.role for turn in first.turns] == ["agent", "partner", "agent", "partner"]
    assert [turn.role for turn in second.turns] == ["partner", "agent", "partner", "agent"]
    assert {turn.speaker for turn in (*first.turns, *second.turns)} == {"agent", "partner"}


def judged(system: str, number: int, speakers: tuple[str, str], text: str) -> dict[str, Any]:
    context = [{"speaker": speakers[place % 2], "text": f"{text} {place}?"} for place in range(6)]
    return {
        "system": system,
        "dialog_id": f"{system}-{number}",
        "context": context,
        "response": "",
    }


def test_from_conversations_to_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [
        judged("convai2/human", n, ("entity0", "entity1"), "Secret words of ours")
        for n in range(40)
    ]
    write(tmp_path / "human_judgements" / "spot_the_bot.jsonl.gz", people)
    bots = [judged("Pink", n, ("user", "system"), "Beep boop") for n in range(70)]
    write(tmp_path / "human_judgements" / "ieval.jsonl.gz", bots)
    chosen = (source("convai2"), source("ieval"))
    for module in (score, build):
        monkeypatch.setattr(module, "SOURCES", chosen)
    work, out = tmp_path / "work", tmp_path / "out"
    arguments = ["--data", str(tmp_path), "--work", str(work), "--metrics", "question,length"]
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", ["score", *arguments])
        score.main()
    assert "convai2: 80 speakers, 240 turns" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["build", "--work", str(work), "--out", str(out)])
    build.main()
    table = pl.read_parquet(out / "quantiles.parquet")
    assert set(table["group"]) == {PEOPLE, SYSTEMS, "convai2", "ieval"}
    asked = table.filter(
        pl.col("metric") == "question", pl.col("level") == "dialog", pl.col("band") == "all"
    )
    assert dict(asked.select("group", "n").iter_rows())[PEOPLE] == 80
    assert asked["mean"].to_list() == [1.0] * 4
    for file in (*work.iterdir(), *out.iterdir()):
        assert b"Secret" not in file.read_bytes()
    card = json.loads((out / "card.json").read_text("utf-8"))
    assert [each["speakers"] for each in card["sources"]] == [80, 60]
    monkeypatch.setattr(sys, "argv", ["build", "--work", str(work), "--out", str(out), "--add"])
    build.main()
    assert pl.read_parquet(out / "quantiles.parquet").sort(pl.all()).equals(table.sort(pl.all()))
