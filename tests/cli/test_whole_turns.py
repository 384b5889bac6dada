"""Replies that were cut off: told, and left out at every level on request."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.analysis.comparison import compare, open_run
from dialens.cli._score import score
from dialens.corpus import Corpus, Dialogue, Turn, batches, read, write_corpus
from dialens.metrics import Scores
from dialens.metrics import score as score_corpus

app = typer.Typer()
app.command("score")(score)
WHOLE, PART = "Snow is fine.", "I do like the rain because it never"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def talk(agent: str, number: int, *, cut: bool) -> Dialogue:
    """Two replies, the first of which may have been cut off."""
    meta: dict[str, object] | None = {"finish": "length"} if cut else None
    turns = [
        Turn("U", "partner", f"Do you like rain {number}?"),
        Turn("B", "agent", PART, meta=meta),
        Turn("U", "partner", "Well, and snow?"),
        Turn("B", "agent", WHOLE if number % 2 else f"{WHOLE} Is it?"),
    ]
    return Dialogue("s", agent, f"{agent}{number}", turns)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Agent x is cut off in six of its sixteen replies, y in one of sixteen."""
    talks = [talk(name, n, cut=n < cut) for name, cut in (("x", 6), ("y", 1)) for n in range(8)]
    write_corpus(batches(talks), tmp_path / "talks", source={"name": "made"})
    return tmp_path / "talks"


def value(scores: Scores, metric: str, level: str, agent: str) -> dict[str, Any]:
    wanted = {"metric": metric, "level": level, "agent": agent}
    rows = scores.table.filter(*(pl.col(key) == given for key, given in wanted.items())).collect()
    (row,) = rows.rows(named=True)
    return row


def test_many_that_were_cut_off_are_told(corpus: Path, tmp_path: Path) -> None:
    done = run(corpus, "-o", tmp_path / "out", "-m", "length")
    assert "6 of 16 turns of x and 1 of 16 turns of y were cut off" in done.output
    assert "--whole-turns" in done.output
    assert value(Scores.open(tmp_path / "out"), "length", "agent", "x")["n"] == 16


def test_they_are_left_out_on_request(corpus: Path, tmp_path: Path) -> None:
    """By hand: 8 words in a part, 3 in a whole reply, 5 in every other; contexts stay as said."""
    done = run(corpus, "-o", tmp_path / "out", "-m", "length,question", "--whole-turns")
    assert "6 of 16 turns of x and 1 of 16 turns of y were cut off" in done.output
    assert "left out" in (tmp_path / "out" / "report.html").read_text()
    scores = Scores.open(tmp_path / "out")
    assert value(scores, "length", "agent", "x")["value"] == pytest.approx((2 * 8 + 4 * 8) / 10)
    assert value(scores, "length", "agent", "x")["n"] == 10
    table = scores.table.filter(pl.col("metric") == "length").collect()
    assert table.filter(pl.col("level") == "turn", pl.col("agent") == "x").height == 10
    one = table.filter(pl.col("level") == "dialog", pl.col("dialog") == "x1")
    assert one["value"].to_list() == [3.0]
    places = scores.positions.filter(pl.col("metric") == "length", pl.col("agent") == "x")
    assert dict(places.select("turn", "n").rows()) == {0: 2, 1: 8}
    assert json.loads((tmp_path / "out" / "run.json").read_text())["arguments"]["whole_turns"]


def test_conversations_that_are_compared_leave_them_out_too(corpus: Path) -> None:
    whole = open_run(corpus, metrics=["length"], whole_turns=True)
    assert value(whole, "length", "agent", "x")["n"] == 10
    assert value(open_run(corpus, metrics=["length"]), "length", "agent", "x")["n"] == 16


def test_a_left_out_reply_is_nobodys_words_and_keeps_pairs(corpus: Path) -> None:
    """It is no partner's side for style matching, and both agents answered the same prompts."""
    whole = score_corpus(read(corpus).whole_turns(), metrics=["language_style_matching", "length"])
    never = Corpus.of(
        Dialogue("s", "x", f"x{n}", _without_first(talk("x", n, cut=False), left_out=n < 6))
        for n in range(8)
    )
    plain = score_corpus(never, metrics=["language_style_matching"])
    name = "language_style_matching"
    assert value(whole, name, "agent", "x")["value"] == pytest.approx(
        value(plain, name, "agent", "x")["value"]
    )
    table = compare(whole).filter(pl.col("metric") == "length", pl.col("level") == "agent")
    assert table["paired"].to_list() == [True]


def _without_first(made: Dialogue, *, left_out: bool) -> list[Turn]:
    return [turn for place, turn in enumerate(made.turns) if not left_out or place != 1]


def openai_record(reason: str) -> dict[str, Any]:
    choice = {"finish_reason": reason, "message": {"role": "assistant", "content": "I thi"}}
    return {
        "request": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        "response": {"id": "r1", "object": "chat.completion", "model": "m", "choices": [choice]},
    }


def anthropic_record(reason: str) -> dict[str, Any]:
    reply = {"type": "message", "role": "assistant", "model": "m", "id": "r1"}
    return {
        "request": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        "response": {
            **reply,
            "content": [{"type": "text", "text": "I thi"}],
            "stop_reason": reason,
        },
    }


def responses_record(reason: str) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant"}
    return {
        "request": {"model": "m", "input": "Hi"},
        "response": {
            "object": "response",
            "id": "r1",
            "model": "m",
            "incomplete_details": {"reason": reason},
            "output": [{**said, "content": [{"type": "output_text", "text": "I thi"}]}],
        },
    }


def gemini_record(reason: str) -> dict[str, Any]:
    said = {"role": "model", "parts": [{"text": "I thi"}]}
    return {
        "request": {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        "response": {"candidates": [{"content": said, "finishReason": reason}]},
    }


def inspect_log(reason: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I thi"}]
    output = {"choices": [{"message": messages[1], "stop_reason": reason}]}
    sample = {"id": "s1", "epoch": 1, "messages": messages, "output": output}
    return {"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [sample]}


@pytest.mark.parametrize(
    ("record", "cut"),
    [
        (openai_record("length"), True),
        (openai_record("stop"), False),
        (anthropic_record("max_tokens"), True),
        (anthropic_record("end_turn"), False),
        (responses_record("content_filter"), True),
        (gemini_record("MAX_TOKENS"), True),
        (gemini_record("STOP"), False),
        (inspect_log("max_tokens"), True),
        (inspect_log("stop"), False),
    ],
)
def test_logs_say_what_was_cut_off(record: dict[str, Any], cut: bool, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(record) + "\n")
    corpus = read(path)
    assert corpus.turns.collect()["text"].to_list() == ["Hi", "I thi"]
    roles = corpus.whole_turns().turns.collect()["role"].to_list()
    assert roles == ["partner", "left_out" if cut else "agent"]
