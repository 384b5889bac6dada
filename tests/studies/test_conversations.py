"""Studies with conversations: what a file may say, the plan, what is filled in, what comes out."""

from __future__ import annotations

import copy
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

from dialens.base import DialensError
from dialens.corpus import RATINGS, read
from dialens.studies import (
    ANSWERED,
    GIVEN_UP,
    Exchange,
    Study,
    codebook,
    codebook_markdown,
    estimate,
    filled,
    is_absent,
    preview,
    read_design,
    seen,
    study_of,
)
from dialens.studies.export import export
from dialens.studies.plan import plan
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import EXCHANGES, ConversationStore, Store
from dialens.studies.store._frames import FAILURES
from tests.studies.samples import load_template

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIKERT = {"kind": "likert", "points": 5}
TALK: dict[str, Any] = {
    "study": "talk",
    "title": "Talk",
    "conversations": {
        "agents": [
            {"name": "ada", "agent": "script:ada.txt"},
            {"name": "bea", "agent": "openai:gpt-4o-mini", "set": {"temperature": 0.7}},
            {"name": "cyd", "agent": "hred", "system": "house"},
        ],
        "exchanges": 3,
        "topics": ["The weather.", "Food."],
    },
    "qualities": {
        "relevance": {"level": "turn", "definition": "Fits.", "instrument": LIKERT},
        "grammar": {"level": "turn", "definition": "Correct.", "instrument": LIKERT},
        "overall": {"level": "dialogue", "definition": "Good.", "instrument": LIKERT},
    },
    "consent": {"text": "Contact: a@example.org"},
    "instructions": {"text": "Talk."},
    "targets": 4,
}


def talk(**changes: Any) -> dict[str, Any]:
    made = copy.deepcopy(TALK)
    made["conversations"] |= changes
    return made


def said(*replies: str | None, talk: str = "chat-001") -> tuple[Exchange, ...]:
    """A conversation; the last reply may have been given up."""
    return tuple(
        Exchange(talk, n, f"k{n}", f"m{n}", NOON, GIVEN_UP if reply is None else ANSWERED, 1, reply)
        for n, reply in enumerate(replies, start=1)
    )


def test_agents_are_the_cells_or_come_one_after_the_other() -> None:
    between = study_of(talk())
    assert between.targets == {"agent=ada": 4, "agent=bea": 4, "agent=cyd": 4}
    screens = plan(between, "agent=bea", 0)
    assert [screen.id for screen in screens] == [
        "consent",
        "instructions",
        "chat-001",
        "rate-001-t01",
        "rate-001-t02",
        "rate-001-t03",
        "rate-001-dialogue",
        "end",
    ]
    within = study_of(talk(assign="within"))
    assert list(within.targets) == ["all"]
    orders = Counter(
        tuple(s.state["agent"] for s in plan(within, "all", seed) if s.kind == "chat")
        for seed in range(6)
    )
    # Three agents have two Latin squares of three rows: each order once.
    assert len(orders) == 6
    places = [Counter(order[place] for order in orders) for place in range(3)]
    assert all(set(found.values()) == {2} for found in places)


def test_topics_are_crossed_with_participants() -> None:
    study = study_of(talk())
    topics = [plan(study, "agent=ada", seed)[2].body[0]["text"] for seed in range(4)]
    assert topics == ["The weather.", "Food.", "The weather.", "Food."]


def test_nothing_that_is_shown_tells_the_agent() -> None:
    study = study_of(talk())
    for agent in ("ada", "bea", "cyd"):
        for screen in plan(study, f"agent={agent}", 1):
            shown = seen(filled(screen, said("a", "b", "c")))
            text = json.dumps([list(map(dict, shown.body)), dict(shown.state)])
            text += json.dumps([dict(one.options) for one in shown.fields])
            assert not [word for word in ("ada", "bea", "cyd", "gpt", "house") if word in text]


def test_ratings_are_about_the_right_turns() -> None:
    for greeting, first in (("", 1), ("Hello!", 2)):
        screens = plan(study_of(talk(greeting=greeting)), "agent=cyd", 0)
        targets = [screen.fields[0].targets["1"] for screen in screens if screen.kind == "rating"]
        assert [target["turn"] for target in targets] == [first, first + 2, first + 4, None]
        assert [target["level"] for target in targets] == ["turn", "turn", "turn", "dialog"]
        assert {(target["system"], target["agent"]) for target in targets} == {("house", "cyd")}


def test_what_was_said_is_filled_in() -> None:
    screens = {s.id: s for s in plan(study_of(talk(greeting="Hello!")), "agent=ada", 0)}
    shown = filled(screens["rate-001-t02"], said("r1", "r2", "r3"))
    assert [turn["text"] for turn in shown.body[0]["turns"]] == ["Hello!", "m1", "r1", "m2"]
    assert shown.body[1]["text"] == "r2"
    whole = filled(screens["rate-001-dialogue"], said("r1", "r2", "r3"))
    assert [turn["text"] for turn in whole.body[0]["turns"]] == [
        "Hello!", "m1", "r1", "m2", "r2", "m3", "r3",
    ]  # fmt: skip
    assert filled(screens["consent"], said("r1")) is screens["consent"]


def test_what_was_never_said_is_not_asked_about() -> None:
    screens = plan(study_of(talk()), "agent=ada", 0)
    absent = [screen.id for screen in screens if is_absent(screen, said("r1", None))]
    assert absent == ["rate-001-t02", "rate-001-t03"]
    absent = [screen.id for screen in screens if is_absent(screen, said(None))]
    assert absent == ["rate-001-t01", "rate-001-t02", "rate-001-t03", "rate-001-dialogue"]


def test_a_study_is_kept_and_read_back() -> None:
    study = study_of(talk())
    again = Study.from_definition(study.definition)
    assert again.hash == study.hash
    assert plan(again, "agent=ada", 3) == plan(study, "agent=ada", 3)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"items": {"inline": [{"id": "a", "context": ["x"], "responses": {"b": "y"}}]}}, "not both"),
    ({"qualities": {"q": {"instrument": LIKERT}}}, "needs `level`"),
    ({"qualities": {"q": {"level": "turn", "instrument": "pairwise"}}}, "one at a time"),
    ({"factors": {"anchor": ["none", "both"]}}, "cannot vary"),
    ({"factors": {"agent": [{"name": "x", "note": "y"}, {"name": "z", "note": "y"}]}}, "taken"),
    ({"presentation": {"anchor": "both"}}, "standard response"),
    ({"conversations": TALK["conversations"] | {"exchanges": 0}}, "exchanges"),
    ({"conversations": TALK["conversations"] | {"exchnages": 3}}, "Did you mean exchanges"),
    (
        {"conversations": {"agents": [{"name": "a", "agent": "hred"}] * 2}},
        "two agents are called a",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_does_not_go_together_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(talk() | changes, file)
    with pytest.raises(DialensError, match=message) as error:
        read_design(path)
    assert "study.yaml:" in str(error.value)


def test_a_study_without_anything_to_judge_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump({k: v for k, v in TALK.items() if k != "conversations"}, file)
    with pytest.raises(DialensError, match="items"):
        read_design(path)


def test_levels_are_for_conversations() -> None:
    from dialens.studies import TEA

    made = copy.deepcopy(TEA)
    made["qualities"]["coherence"]["level"] = "turn"
    with pytest.raises(ValueError, match="conversations"):
        study_of(made)


def test_simulated_people_talk_and_their_corpus_can_be_scored(tmp_path: Path) -> None:
    study = study_of(talk())
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        done = simulate_study(store, study, Population(), participants=12, now=NOON)
        assert done.outcomes == {"completed": 12}
        again = simulate_study(store, study, Population(), participants=12, now=NOON)
        assert again.known == 12
        made = export(store, study.hash, tmp_path / "export")
        rows = ConversationStore(store.database).exchanges_frame(study.hash)
    assert rows.height == 12 * 3
    # Three replies with two qualities each, and the whole.
    assert (made.conversations, made.ratings) == (12, 12 * 7)
    corpus = read(tmp_path / "export" / "conversations")
    turns, ratings = corpus.turns.collect(), corpus.ratings.collect()
    assert turns.group_by("dialog").len()["len"].unique().to_list() == [6]
    assert ratings.schema == RATINGS
    agents = turns.filter(pl.col("role") == "agent").select("dialog", "turn", "agent", "system")
    rated = ratings.filter(pl.col("level") == "turn").join(
        agents, on=["dialog", "turn", "agent", "system"], how="anti"
    )
    assert rated.height == 0
    assert ratings.filter(pl.col("level") == "dialog")["dialog"].n_unique() == 12
    card = (tmp_path / "export" / "card.md").read_text()
    assert "12 conversations" in card


def test_the_codebook_tells_agents_and_exchanges() -> None:
    study = study_of(talk())
    made = codebook(study)
    assert made["factors"]["agent"]["levels"]["bea"] == "openai:gpt-4o-mini of gpt-4o-mini"
    assert made["qualities"]["overall"]["level"] == "dialogue"
    text = codebook_markdown(study)
    assert "`tokens_out`" in text
    own = (
        "study",
        "version",
        "rater",
        "rater_kind",
        "attempt",
        "wave",
        "session_state",
        "cell",
        "language",
    )
    assert list(made["exchanges"]) == [name for name in EXCHANGES.names() if name not in own]
    known = {*own, "talk", "number", "system", "agent"}
    assert list(made["failures"]) == [name for name in FAILURES.names() if name not in known]


def test_a_colleague_can_look_at_it_before() -> None:
    study = study_of(talk())
    found = estimate(study)
    assert (found.participants, found.cells[0].ratings) == (12, 7)
    assert found.cells[0].minutes > 3 * 35 / 60
    text = "\n".join(preview(study, "agent=ada"))
    assert "(a conversation of 3 messages)" in text
    assert "Chatbot: " in text


def test_three_bots_is_the_design_of_the_corpus() -> None:
    """Three agents, 21 dialogues each, both levels, 1 to 5."""
    study = load_template("three-bots")
    assert list(study.targets.values()) == [21, 21, 21]
    levels = {name: quality.level for name, quality in study.design.qualities.items()}
    assert levels == {
        "appropriateness": "turn",
        "content_richness": "turn",
        "grammatical_correctness": "turn",
        "relevance": "turn",
        "coherence": "dialogue",
        "informativeness": "dialogue",
        "likability": "dialogue",
        "overall": "dialogue",
    }
    fields = [f for s in plan(study, study.cells[0], 0) for f in s.fields if f.quality]
    assert {f.options["points"] for f in fields} == {5}
    assert len(fields) == 6 * 4 + 4
