"""Conversations that do not come to their end: kept, marked with a reason, told by agent."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.agents import AgentError
from dialens.analysis.bias import LEFT_OUT, LOST, read_study
from dialens.corpus import read
from dialens.studies.export import export
from dialens.studies.store import EXCHANGES, lost_by_agent, partial_sentences
from dialens.studies.store._partial import with_partial
from tests.web.conftest import Make
from tests.web.talks import Scripted, Visiting, exchanges, talk

REFUSED = AgentError("Wrong key.", "refused", lasting=True)


def row(talk: str, state: str, **changes: Any) -> dict[str, Any]:
    usual = {"rater": "p", "attempt": 1, "number": 1, "session_state": "expired", "ended": None}
    return usual | {"talk": talk, "state": state, "reason": None} | changes


CASES: list[tuple[list[dict[str, Any]], list[str | None]]] = [
    ([row("chat-001", "answered")], ["left"]),
    ([row("chat-001", "waiting")], ["left"]),
    ([row("chat-001", "answered", session_state="live")], ["under_way"]),
    ([row("chat-001", "answered", session_state="restarted")], ["begun_anew"]),
    ([row("chat-001", "failed", reason="busy")], ["left_after_failure"]),
    ([row("chat-001", "answered", ended="time")], [None]),
    ([row("chat-001", "answered", ended="participant", session_state="live")], [None]),
    ([row("chat-001", "given_up", ended="agent", reason="timeout")], ["agent_failed"]),
    ([row("chat-001", "given_up", ended="agent", reason="ended")], [None]),
    (
        [
            row("chat-001-1", "answered", ended="agent"),
            row("chat-001-2", "given_up", ended="agent", reason="refused"),
        ],
        ["other_agent_failed", "agent_failed"],
    ),
    (
        [row("chat-001", "answered", number=2, reason=None), row("chat-001", "failed", reason="b")],
        ["left", "left"],
    ),
]


@pytest.mark.parametrize(("rows", "reasons"), CASES, ids=[str(why) for _, why in CASES])
def test_why_a_conversation_is_partial(
    rows: list[dict[str, Any]], reasons: list[str | None]
) -> None:
    kinds = dict.fromkeys(("ended", "reason"), pl.String)
    marked = with_partial(pl.DataFrame(rows, schema_overrides=kinds))
    assert marked["partial_reason"].to_list() == reasons
    assert marked["partial"].to_list() == [why is not None for why in reasons]


def talks(agent: str, begun: int, lost: int) -> list[dict[str, Any]]:
    return [
        {
            "rater": f"{agent}-{n}",
            "attempt": 1,
            "talk": "chat-001",
            "agent": agent,
            "partial": n < lost,
            "partial_reason": "left" if n < lost else None,
        }
        for n in range(begun)
    ]


def test_an_agent_that_loses_more_is_told() -> None:
    rows = [*talks("ada", 20, 1), *talks("bea", 20, 9)]
    said = pl.DataFrame(rows, schema=EXCHANGES)
    table = lost_by_agent(said)
    assert table.select("agent", "begun", "lost").rows() == [("ada", 20, 1), ("bea", 20, 9)]
    # Fisher's exact test: tables with 10 lost of 40 that are no likelier than the observed one.
    ways = [math.comb(20, k) * math.comb(20, 10 - k) for k in range(11)]
    p = sum(one for one in ways if one <= ways[1]) / math.comb(40, 10)
    assert table["p"].to_list() == pytest.approx([p, p])
    lines = partial_sentences(said)
    assert lines[:2] == [
        "ada: 1 of 20 conversations is partial (1 × the participant left).",
        "bea: 9 of 20 conversations are partial (9 × the participant left).",
    ]
    assert lines[2].startswith("bea loses more conversations than the others, 45 % against 5 % (p")
    alike = pl.DataFrame([*talks("ada", 20, 3), *talks("bea", 20, 4)], schema=EXCHANGES)
    assert len(partial_sentences(alike)) == 2


def test_partial_conversations_are_kept_and_left_out_where_wholes_are_judged(
    make: Make, talker: Visiting, tmp_path: Path
) -> None:
    clock = [datetime(2026, 1, 1, 12, tzinfo=UTC)]
    agents = {"bot-1": Scripted(["Yes."]), "bot-2": Scripted(["No.", REFUSED, "No.", REFUSED])}
    study = talk("", "echo", "echo") | {"targets": 2}
    site = make(study, agents=agents, clock=lambda: clock[0])
    for number in range(4):
        person = talker(site)
        page = person.begin()
        person.say(page, "Hello")
        if number == 3:
            break  # in the middle of it
        person.say(person.here(), "And you?")
        page = person.onward(person.here())
        while "the-code" not in page.html:
            page = person.rate(page)
    clock[0] += timedelta(days=2)
    site.store.expire(site.study.hash, now=clock[0])
    rows = exchanges(site)
    left = rows["rater"].to_list()[-1]
    reasons = {
        (one["agent"], one["partial_reason"]): one["len"]
        for one in rows.unique(["rater", "talk"])
        .group_by("agent", "partial_reason")
        .len()
        .to_dicts()
    }
    whole = reasons[("bot-1", None)]
    assert sum(reasons.values()) == 4
    assert reasons[("bot-2", "agent_failed")] + whole == 3
    assert rows.filter(rater=left)["partial_reason"].to_list() == ["left"]
    export(site.store, site.study.hash, tmp_path / "export")
    marked = pl.read_parquet(tmp_path / "export" / "exchanges.parquet")
    assert marked.schema == EXCHANGES
    turns = read(tmp_path / "export" / "conversations").turns.collect()
    metas = [json.loads(meta) for meta in turns["meta"].drop_nulls()]
    kept = [meta["reason"] for meta in metas if meta.get("partial")]
    assert sorted(kept) == sorted(["left", *["agent_failed"] * (3 - whole)])
    ratings = pl.read_parquet(tmp_path / "export" / "ratings.parquet")
    partial = ratings.filter("partial", level="dialog")
    assert partial.height == 3 - whole
    data = read_study(tmp_path / "export")
    assert data.ratings.height == ratings.height - partial.height
    notes = {note.part: note.reason for note in data.notes}
    assert "of whole conversations that are partial" in notes[LEFT_OUT]
    assert "bot-2: " in notes[LOST]
    every = read_study(tmp_path / "export", with_partial=True)
    assert every.ratings.height == ratings.height
    assert "1 × the participant left" in (tmp_path / "export" / "card.md").read_text()
