"""Chat studies beyond one talk judged at its end: settings, plan, simulated people, analysis."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

from dialens.analysis.people import what_people_said
from dialens.base import DialensError
from dialens.corpus import read
from dialens.studies import (
    ANSWERED,
    Exchange,
    Side,
    Talk,
    TalkState,
    codebook,
    estimate,
    filled,
    is_absent,
    preview,
    read_design,
    seen,
    study_of,
    talk_at,
)
from dialens.studies.design import Pace
from dialens.studies.export import export
from dialens.studies.plan import plan
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import ConversationStore, Store
from tests.studies.samples import load_template
from tests.studies.test_conversations import LIKERT, NOON, TALK, said, talk

PAIRWISE = {"kind": "pairwise", "ties": True}


def arena(**changes: Any) -> dict[str, Any]:
    """Three agents, two at a time; the better reply is chosen as it comes."""
    study = talk(**{"side_by_side": True, "rate": "each_reply", "exchanges": 2} | changes)
    study["qualities"] = {
        "reply": {"level": "turn", "definition": "Better.", "instrument": PAIRWISE},
        "whole": {"level": "dialogue", "definition": "Better.", "instrument": PAIRWISE},
    }
    return study


def both(*replies: str, talk: str = "chat-001") -> tuple[Exchange, ...]:
    """A conversation with two sides; each reply is followed by the side's number."""
    return tuple(
        replace(one, talk=f"{talk}-{side}", reply=f"{one.reply}.{side}")
        for side in (1, 2)
        for one in said(*replies)
    )


ONLY_WHOLE = {"overall": {"level": "dialogue", "instrument": LIKERT}}
REFUSED: list[tuple[dict[str, Any], str]] = [
    (talk(rate="each_reply") | {"qualities": ONLY_WHOLE}, "no quality has `level: turn`"),
    (talk(least_exchanges=3), "least_exchanges is 3, but after 3"),
    (talk(minutes=0), "minutes"),
    (talk(pace={"seconds": -1}), "conversations.pace.seconds: has to be 0 or more"),
    (talk(pace="slow"), "conversations.pace: .*as_it_comes"),
    (talk(side_by_side=True, agents=TALK["conversations"]["agents"][:1]), "two agents"),
    (
        arena() | {"qualities": {"q": {"level": "turn", "instrument": "best_worst"}}},
        "side by side there are two",
    ),
    (talk() | {"qualities": {"q": {"level": "turn", "instrument": "pairwise"}}}, "side_by_side"),
    (
        arena() | {"factors": {"pair": [{"name": "x", "note": "y"}, {"name": "z", "note": "y"}]}},
        "`pair` is taken",
    ),
]


@pytest.mark.parametrize(("study", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_does_not_go_together_is_refused_with_the_line(
    study: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(study, file)
    with pytest.raises(DialensError, match=words) as error:
        read_design(path)
    assert "study.yaml:" in str(error.value)


def test_the_line_of_the_setting_is_named(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(talk(rate="each_reply") | {"qualities": ONLY_WHOLE}, file)
    line = 1 + path.read_text().split("\n").index("  rate: each_reply")
    with pytest.raises(DialensError, match=f"study.yaml:{line}: conversations.rate"):
        read_design(path)


def test_messages_and_ratings_take_turns() -> None:
    screens = plan(study_of(talk(rate="each_reply", exchanges=2)), "agent=ada", 0)
    assert [screen.id for screen in screens] == [
        "consent",
        "instructions",
        "chat-001-t01",
        "rate-001-t01",
        "chat-001-t02",
        "rate-001-t02",
        "rate-001-dialogue",
        "end",
    ]
    assert {s.state["talk"] for s in screens if s.kind in ("chat", "rating")} == {"chat-001"}
    one, two = (screen for screen in screens if screen.kind == "chat")
    texts = [turn["text"] for turn in filled(two, said("r1")).body[-1]["turns"]]
    assert texts == ["m1", "r1"]
    # The first screen stays as it was, though more was said later.
    texts = [turn["text"] for turn in filled(one, said("r1", "r2")).body[-1]["turns"]]
    assert texts == ["m1", "r1"]


def test_after_its_end_nothing_more_is_asked() -> None:
    screens = plan(study_of(talk(rate="each_reply")), "agent=ada", 0)
    ended = [replace(said("r1")[0], ended="participant")]
    absent = [screen.id for screen in screens if is_absent(screen, ended)]
    assert absent == ["chat-001-t02", "rate-001-t02", "chat-001-t03", "rate-001-t03"]
    assert [s.id for s in screens if is_absent(s, said("r1"))] == ["rate-001-t02", "rate-001-t03"]


def test_every_pair_is_a_cell_and_each_agent_is_first_equally_often() -> None:
    study = study_of(arena())
    assert list(study.targets) == ["pair=ada-vs-bea", "pair=ada-vs-cyd", "pair=bea-vs-cyd"]
    firsts = Counter(plan(study, "pair=ada-vs-cyd", seed)[2].state["agent-1"] for seed in range(12))
    assert firsts == {"ada": 6, "cyd": 6}
    within = study_of(arena(assign="within"))
    places: Counter[tuple[Any, ...]] = Counter()
    for seed in range(12):
        chats = [s for s in plan(within, "all", seed) if s.id.endswith("-t01") and s.kind == "chat"]
        assert len(chats) == 3
        places.update((s.state["agent-1"], s.state["agent-2"]) for s in chats)
    assert len(places) == 6  # each pair both ways
    assert set(places.values()) == {6}


def test_both_sides_are_shown_and_neither_is_named() -> None:
    study = study_of(arena(greeting="Hello!"))
    screens = {s.id: s for s in plan(study, "pair=ada-vs-bea", 1)}
    rate = filled(screens["rate-001-t02"], both("r1", "r2"))
    turns = [(turn.get("slot"), turn["text"]) for turn in rate.body[1]["turns"]]
    assert turns == [
        ("1", "Hello!"), ("2", "Hello!"), (None, "m1"), ("1", "r1.1"), ("2", "r1.2"), (None, "m2"),
    ]  # fmt: skip
    assert [(b["label"], b["text"]) for b in rate.body if b["kind"] == "response"] == [
        ("Chatbot 1", "r2.1"),
        ("Chatbot 2", "r2.2"),
    ]
    (asked,) = rate.fields
    assert [choice["label"] for choice in asked.options["choices"]] == ["Chatbot 1", "Chatbot 2"]
    # Two turns each, and the greeting, before the second reply.
    assert [target["turn"] for target in asked.targets.values()] == [4, 4]
    assert {t["agent"] for t in asked.targets.values()} == {"ada", "bea"}
    for screen in screens.values():
        shown = seen(filled(screen, both("r1", "r2")))
        text = json.dumps([list(map(dict, shown.body)), dict(shown.state)])
        assert not [word for word in ("ada", "bea", "gpt") if word in text]


def test_a_reply_without_its_counterpart_is_not_asked_about() -> None:
    screens = plan(study_of(arena()), "pair=ada-vs-bea", 1)
    half = [one for one in both("r1", "r2") if one.talk != "chat-001-2" or one.number == 1]
    assert [s.id for s in screens if is_absent(s, half)] == ["rate-001-t02"]
    alone = [one for one in half if one.talk == "chat-001-1"]
    absent = [s.id for s in screens if s.kind == "rating" and is_absent(s, alone)]
    assert absent == ["rate-001-t01", "rate-001-t02", "rate-001-dialogue"]


def test_other_qualities_are_asked_of_each_side() -> None:
    study = arena()
    study["qualities"]["warm"] = {"level": "dialogue", "instrument": LIKERT}
    screen = next(
        s for s in plan(study_of(study), "pair=ada-vs-bea", 0) if s.id == "rate-001-dialogue"
    )
    assert [one.name for one in screen.fields] == ["warm-1", "warm-2", "whole"]
    shown = filled(screen, both("r1", "r2"))
    assert [b["text"] for b in shown.body if b["kind"] == "response"] == [None, None]


def test_replies_may_be_shown_as_markdown() -> None:
    study = study_of(talk() | {"presentation": {"render": "markdown"}})
    screens = {s.id: s for s in plan(study, "agent=ada", 0)}
    (turns,) = (b["turns"] for b in filled(screens["chat-001"], said("*r1*")).body if "turns" in b)
    assert [turn.get("render") for turn in turns] == [None, "markdown"]  # not what people write
    rate = filled(screens["rate-001-t01"], said("*r1*"))
    assert rate.body[1]["render"] == "markdown"
    varied = study_of(talk() | {"factors": {"render": ["plain", "markdown"]}})
    assert len(varied.cells) == 6


def test_the_pace_knows_no_agent() -> None:
    pace = Pace(seconds=1.0, characters_per_second=40.0, spread=0.3, at_most=15.0)
    assert pace.delay("x" * 100) == 1.0 + 100 / 40
    assert pace.delay("x" * 100, -1.0) == pytest.approx(3.5 * math.exp(-0.3))
    assert pace.delay("x" * 8_000, 2.0) == 15.0


def test_the_time_runs_from_the_first_message() -> None:
    one = Talk((Side("chat-001", "s", "ada"),), most=3, least=1, seconds=120)
    assert TalkState(one, [], NOON).seconds_left is None
    first = Exchange("chat-001", 1, "k", "Hi", NOON, ANSWERED, 1, "Hello")
    state = TalkState(one, [first], NOON + timedelta(seconds=50))
    assert (state.seconds_left, state.ended, state.may_end) == (70.0, None, True)
    late = TalkState(one, [first], NOON + timedelta(seconds=120))
    assert (late.ended, late.may_end) == ("time", False)
    waiting = replace(first, number=2, state="waiting", reply=None)
    assert TalkState(one, [first, waiting], NOON + timedelta(hours=1)).ended is None


def test_simulated_people_end_their_conversations(tmp_path: Path) -> None:
    study = study_of(talk(rate="each_reply", least_exchanges=1, pace={"seconds": 30, "spread": 0}))
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        done = simulate_study(store, study, Population(), participants=12, now=NOON)
        assert done.outcomes == {"completed": 12}
        made = export(store, study.hash, tmp_path / "export")
        rows = ConversationStore(store.database).exchanges_frame(study.hash)
    written = rows.group_by("rater", "ended").len()
    assert set(written["ended"]) == {"participant", "exchanges"}
    assert set(written.filter(pl.col("ended") == "exchanges")["len"]) == {3}
    assert written.filter(pl.col("ended") == "participant")["len"].max() < 3
    # Two qualities of each reply that came, and the whole.
    assert made.ratings == 2 * rows.height + 12
    assert rows["seconds"].unique().to_list() == [2.0]
    assert rows["waited"].min() >= 15.0  # at most what `at_most` says, longer than the agent took
    exported = pl.read_parquet(tmp_path / "export" / "exchanges.parquet")
    assert {"ended", "waited", "shown_at"} <= set(exported.columns)
    assert {"ended", "waited", "shown_at"} <= set(codebook(study)["exchanges"])
    turns = read(tmp_path / "export" / "conversations").turns.collect()
    assert turns["meta"].str.contains('"ended"').sum() == 12


def test_simulated_people_run_out_of_time(tmp_path: Path) -> None:
    study = study_of(talk(exchanges=20, minutes=1.0, pace="as_it_comes"))
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        done = simulate_study(store, study, Population(), participants=3, now=NOON)
        rows = ConversationStore(store.database).exchanges_frame(study.hash)
    assert done.outcomes == {"completed": 3}
    assert set(rows["ended"]) == {"time"}
    # A message takes them 14 seconds, a reply 2: those after the first fit into a minute.
    assert rows.group_by("rater").len()["len"].to_list() == [4, 4, 4]


def test_the_winner_of_a_simulated_arena_is_found(tmp_path: Path) -> None:
    study = load_template("arena")
    known = Population(preferences={"helpful": 30.0}, agent_spread=0.0)
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        done = simulate_study(store, study, known, participants=36, seed=3, now=NOON)
        assert done.outcomes == {"completed": 36}
        made = export(store, study.hash, tmp_path / "export")
    ratings = pl.read_parquet(tmp_path / "export" / "ratings.parquet")
    assert made.ratings == ratings.height
    pairs = ratings.group_by("rater", "screen", "quality").agg(
        pl.col("value").sum(), pl.col("agent").n_unique(), pl.col("position").sort()
    )
    assert pairs["value"].unique().to_list() == [1.0]
    assert pairs["agent"].unique().to_list() == [2]
    assert pairs["position"].unique().to_list() == [[0, 1]]
    said = what_people_said(ratings)
    for quality in ("better_answer", "better_chatbot"):
        agents = said.agents.filter(pl.col("quality") == quality).sort("rank")
        assert agents["agent"][0] == "helpful"
    # Who won how often, counted by hand.
    answers = ratings.filter(pl.col("quality") == "better_answer")
    for row in said.wins.filter(pl.col("quality") == "better_answer").iter_rows(named=True):
        duel = {row["first"], row["second"]}
        level = next(name for name in set(answers["pair"]) if set(name.split("-vs-")) == duel)
        own = answers.filter(pl.col("pair") == level, pl.col("agent") == row["first"])
        assert own["value"].sum() == row["wins"] + 0.5 * row["ties"]
        assert own.height == row["n"]
    dialogs = set(read(tmp_path / "export" / "conversations").turns.collect()["dialog"])
    assert set(ratings["dialog"]) <= dialogs
    assert all(name.endswith(("-1", "-2")) for name in dialogs)


def test_a_colleague_can_look_at_an_arena_before() -> None:
    study = load_template("arena")
    found = estimate(study)
    assert (found.participants, found.cells[0].ratings) == (60, 6)
    text = "\n".join(preview(study, "pair=curious-vs-brief"))
    assert "(message 1 of a conversation)" in text
    assert "Chatbot 2: " in text
    told = codebook(study)["factors"]["pair"]["levels"]["curious-vs-brief"]
    assert told == "script:curious.txt of curious against script:brief.txt of brief"
    chat = plan(study, "pair=curious-vs-brief", 0)[2]
    assert study.design.conversations is not None
    assert talk_at(chat, study.design.conversations).names == ("chat-001-1", "chat-001-2")
