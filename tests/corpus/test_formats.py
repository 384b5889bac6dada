"""What is particular to each format of records: ratings, references, agents, what meta keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.corpus import convert, read
from tests.corpus.looking import given, metas, told
from tests.corpus.samples import array_of, lines_of
from tests.corpus.text_samples import SAMPLE

REQUEST = {
    "id": "chat-1",
    "model": "bot-1",
    "system": "You are terse.\nYou are kind.",
    "tools": [{"type": "function", "function": {"name": "look"}}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a dog"},
        {"role": "assistant", "content": "A dog.", "weight": 1},
        {"role": "user", "content": "Whose?", "name": "Ann"},
        {"role": "assistant", "content": None, "refusal": "I cannot say."},
        {"role": "developer", "content": "stop here"},
    ],
}


def test_openai_keeps_what_is_no_turn_and_its_writer_puts_it_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines_of([REQUEST]))
    corpus = read(path)
    assert told(corpus, "dialog", "agent", "speaker", "role", "text") == [
        ("chat-1", "bot-1", "user", "partner", "What"),
        ("chat-1", "bot-1", "assistant", "agent", "A dog."),
        ("chat-1", "bot-1", "Ann", "partner", "Whose?"),
        ("chat-1", "bot-1", "assistant", "agent", "I cannot say."),
    ]
    assert corpus.turns.collect()["system"].unique().to_list() == ["log"]
    summary = convert(path, tmp_path / "again.jsonl")
    assert summary.left_out == []
    again = json.loads((tmp_path / "again.jsonl").read_text())
    assert again.pop("metadata") == {"system": "log"}
    assert again == REQUEST
    third = convert(tmp_path / "again.jsonl", tmp_path / "third.jsonl")
    assert third.turns == 4
    assert (tmp_path / "third.jsonl").read_text() == (tmp_path / "again.jsonl").read_text()


@pytest.mark.parametrize(
    ("labels", "system"),
    [
        ({"id": "1", "model": "m", "system": "shop"}, "shop"),
        ({"system": "Be nice."}, "log"),
        ({"id": "1", "model": "m", "system": "Be nice.\nAlways."}, "log"),
        ({"metadata": {"system": "shop", "user": "7"}}, "shop"),
    ],
)
def test_openai_system_may_be_a_name_or_a_prompt(
    labels: dict[str, Any], system: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines_of([{**labels, "messages": [{"role": "assistant", "content": "x"}]}]))
    corpus = read(path)
    assert told(corpus, "system") == [(system,)]
    kept = (metas(corpus)[0] or {}).get("record", {})
    assert isinstance(kept, dict)
    assert ("system" in kept) == (system == "log")


def test_openai_reads_released_chat_logs(tmp_path: Path) -> None:
    path = tmp_path / "lmsys.jsonl"
    record = {
        "conversation_id": "abc",
        "model": "vicuna-13b",
        "conversation": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
        "language": "English",
    }
    path.write_bytes(lines_of([record]))
    assert told(read(path), "dialog", "agent", "text") == [
        ("abc", "vicuna-13b", "hi"),
        ("abc", "vicuna-13b", "yo"),
    ]


def test_sharegpt_keeps_prompts_and_tool_calls(tmp_path: Path) -> None:
    path = tmp_path / "share.json"
    record = {
        "id": "s1",
        "system": "Be brief.",
        "conversations": [
            {"from": "system", "value": "Be kind."},
            {"from": "human", "value": "weather?"},
            {"from": "function_call", "value": "{}"},
            {"from": "observation", "value": "sun"},
            {"from": "gpt", "value": "Sunny."},
        ],
    }
    path.write_bytes(array_of([record]))
    corpus = read(path)
    assert told(corpus, "role", "text") == [("partner", "weather?"), ("agent", "Sunny.")]
    first, second = metas(corpus)
    assert first == {
        "before": [{"role": "system", "content": "Be kind."}],
        "record": {"system": "Be brief."},
    }
    assert second is not None
    assert [kept["role"] for kept in second["before"]] == ["function_call", "observation"]


def test_dstc10_turns(tmp_path: Path) -> None:
    corpus = read(SAMPLE["dstc10-turn"].build(tmp_path)[0])
    rows = given(corpus, "study", "level", "agent", "dialog", "turn", "quality", "value")
    assert rows[:3] == [
        ("talks", "turn", "bot", "d1", 1, "overall", 3.0),
        ("talks", "turn", "bot", "d1", 1, "overall", 4.0),
        ("talks", "turn", "bot", "d1", 1, "relevance", 2.5),
    ]
    assert corpus.references.collect().rows()[1] == ("d2", 3, "Maybe.")
    assert told(corpus, "speaker")[2:6] == [("A",), ("B",), ("A",), ("bot",)]


def test_dstc10_dialogs_and_sets_without_annotations(tmp_path: Path) -> None:
    corpus = read(SAMPLE["dstc10-dialog"].build(tmp_path)[0])
    assert given(corpus, "level", "dialog", "turn", "quality", "value")[:2] == [
        ("dialog", "d1", None, "Overall", 3.0),
        ("dialog", "d1", None, "Overall", 4.0),
    ]
    test_set = tmp_path / "jsalt_eval.json"
    test_set.write_bytes(
        array_of([{"dialogue_id": "t-1", "context": "a\nb", "response": "c", "reference": "r"}])
    )
    bare = read(test_set)
    assert bare.ratings.collect().height == 0
    assert told(bare, "system", "agent", "role") == [
        ("jsalt", "jsalt_eval", "partner"),
        ("jsalt", "jsalt_eval", "partner"),
        ("jsalt", "jsalt_eval", "agent"),
    ]


def test_fed_turns_dialogues_and_answers_that_do_not_apply(tmp_path: Path) -> None:
    turn = {
        "context": "User: Hi!\nSystem: Hi: what's up?\nUser: Not much",
        "response": "System: Fine.",
        "system": "Meena",
        "annotations": {"Fluent": [2, 1], "Overall": [3, "N/A (cannot tell)"]},
    }
    whole = {
        "context": "User: Hi!\nSystem: Hi.\nstill me\nUser: Bye",
        "system": "Human",
        "annotations": {"Error recovery": ["N/A (no errors)", 1], "Consistent": [1, 0]},
    }
    path = tmp_path / "fed_data.json"
    path.write_bytes(array_of([turn, whole]))
    corpus = read(path)
    assert given(corpus, "level", "agent", "turn", "quality", "value", "scale") == [
        ("turn", "Meena", 3, "Fluent", 2.0, "[0,2]"),
        ("turn", "Meena", 3, "Fluent", 1.0, "[0,2]"),
        ("turn", "Meena", 3, "Overall", 3.0, "[0,4]"),
        ("dialog", "Human", None, "Error recovery", 1.0, "[0,2]"),
        ("dialog", "Human", None, "Consistent", 1.0, "[0,1]"),
        ("dialog", "Human", None, "Consistent", 0.0, "[0,1]"),
    ]
    assert told(corpus, "dialog", "role", "text") == [
        ("fed_data-1", "partner", "Hi!"),
        ("fed_data-1", "partner", "Hi: what's up?"),
        ("fed_data-1", "partner", "Not much"),
        ("fed_data-1", "agent", "Fine."),
        ("fed_data-2", "partner", "Hi!"),
        ("fed_data-2", "agent", "Hi.\nstill me"),
        ("fed_data-2", "partner", "Bye"),
    ]


def test_a_score_that_is_a_word_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "fed_data.json"
    entry = {"context": "User: a", "response": "b", "system": "x"}
    path.write_bytes(array_of([{**entry, "annotations": {"Fluent": [1, "good"]}}]))
    with pytest.raises(
        DialensError, match=r"`annotations.Fluent\[1\]` is not a number; seen: good"
    ):
        read(path)


def test_usr_one_dialogue_a_response(tmp_path: Path) -> None:
    entry = {
        "context": "hi\nhello\n",
        "fact": "your persona: i like dogs.\n",
        "annotators": ["r1", "r2"],
        "responses": [
            {"response": "bye\n", "model": "Original Ground Truth", "Overall": [5, 4]},
            {"response": "what\n", "model": "Seq2Seq", "Overall": [1, 2], "Natural": [3, 3]},
        ],
    }
    path = tmp_path / "pc_usr_data.json"
    path.write_bytes(array_of([entry]))
    corpus = read(path)
    assert given(corpus, "agent", "dialog", "rater", "turn", "quality", "value", "scale") == [
        ("Original Ground Truth", "pc_usr_data-1-1", "r1", 2, "Overall", 5.0, "[1,5]"),
        ("Original Ground Truth", "pc_usr_data-1-1", "r2", 2, "Overall", 4.0, "[1,5]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r1", 2, "Overall", 1.0, "[1,5]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r2", 2, "Overall", 2.0, "[1,5]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r1", 2, "Natural", 3.0, "[1,3]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r2", 2, "Natural", 3.0, "[1,3]"),
    ]
    assert corpus.references.collect().rows() == [("pc_usr_data-1-2", 2, "bye")]
    assert metas(corpus)[2] == {"context": "pc_usr_data-1", "fact": "your persona: i like dogs."}


def test_arena_is_a_preference_on_each_side(tmp_path: Path) -> None:
    corpus = read(SAMPLE["arena"].build(tmp_path)[0])
    columns = ("level", "agent", "dialog", "quality", "value", "rater", "rater_kind", "condition")
    assert given(corpus, *columns)[:2] == [
        ("dialog", "bot-1", "d1-a", "preference", 0.0, "arena_user_1", "human", "d1"),
        ("dialog", "bot-2", "d1-b", "preference", 1.0, "arena_user_1", "human", "d1"),
    ]
    row = corpus.ratings.collect().row(0, named=True)
    assert json.loads(row["factors"]) == {"side": "a", "against": "bot-2", "verdict": "model_b"}
    assert row["answered_at"].isoformat() == "2023-04-24T15:53:11.500000+00:00"


@pytest.mark.parametrize(
    ("verdict", "values"),
    [("model_a", [1, 0]), ("tie", [0.5, 0.5]), ("tie (bothbad)", [0.5, 0.5]), (None, [])],
)
def test_arena_verdicts_and_repeated_questions(
    verdict: str | None, values: list[float], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    battle = {
        "question_id": 81,
        "model_a": "x",
        "model_b": "y",
        "winner": verdict,
        "judge": ["gpt-4", "pair-v2"],
        "conversation_a": said,
        "conversation_b": said,
    }
    path = tmp_path / "mt.jsonl"
    path.write_bytes(lines_of([battle, battle]))
    corpus = read(path)
    assert corpus.turns.collect()["dialog"].n_unique() == 4
    assert corpus.ratings.collect()["value"].to_list() == values * 2
    assert corpus.ratings.collect()["rater_kind"].unique().to_list() == (["llm"] if values else [])
    battle["winner"] = "nobody"
    path.write_bytes(lines_of([battle]))
    with pytest.raises(DialensError, match="`winner` is not a verdict; seen: nobody"):
        read(path)


def test_rated_units_without_a_transcript_keep_their_ratings(tmp_path: Path) -> None:
    unit = {"dataset": "d", "unit_id": "u", "level": "dialog", "system": "bot", "context": []}
    path = tmp_path / "units.jsonl"
    path.write_bytes(lines_of([{**unit, "ratings": {"kind": [1]}}]))
    corpus = read(path)
    assert told(corpus, "speaker", "role", "text") == [("bot", "agent", "")]
    assert given(corpus, "dialog", "level", "turn") == [("u", "dialog", None)]


def test_parlai_keeps_acts_context_and_metadata(tmp_path: Path) -> None:
    record = {
        "dialog": [
            [
                {"id": "human_evaluator", "text": "hi", "episode_done": False},
                {"id": "TransformerGenerator_bot", "text": "hello"},
            ]
        ],
        "context": [{"id": "context", "text": "your persona: i ski"}],
    }
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines_of([record]))
    (tmp_path / "chat.metadata").write_text(
        json.dumps({"date": "today", "self_chat": False, "opt": {"task": "c", "big": "x"}})
    )
    corpus = read(path)
    assert told(corpus, "agent", "role") == [
        ("TransformerGenerator_bot", "partner"),
        ("TransformerGenerator_bot", "agent"),
    ]
    assert metas(corpus)[0] == {
        "act": {"episode_done": False},
        "record": {
            "context": [{"id": "context", "text": "your persona: i ski"}],
            "metadata": {"date": "today", "self_chat": False, "task": "c"},
        },
    }


def test_parlai_acts_without_exchanges(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    acts = [{"id": "HUMAN_1", "text": "hi"}, {"id": "blender", "text": "hello"}]
    path.write_bytes(lines_of([{"dialog": acts}]))
    assert told(read(path), "agent", "role") == [("blender", "partner"), ("blender", "agent")]


def test_convokit_threads_times_and_metadata(tmp_path: Path) -> None:
    corpus = read(SAMPLE["convokit"].build(tmp_path)[0])
    turns = corpus.turns.collect()
    assert turns["agent"].unique().to_list() == ["helpbot"]
    assert turns["reply_to"].to_list()[:3] == [None, "d1", None]
    assert turns["created_at"][0].isoformat() == "2023-04-24T15:53:11+00:00"
    assert metas(corpus)[:2] == [
        {"utterance_id": "d1", "mood": "fine", "conversation": {"title": "Greetings"}},
        {"utterance_id": "d1.1", "mood": "fine"},
    ]


def test_convokit_of_old_in_one_array_sorted_by_time(tmp_path: Path) -> None:
    old = [
        {"id": "b", "user": "Eve", "root": "a", "reply-to": "a", "timestamp": "20", "text": "two"},
        {"id": "a", "user": "Bob", "root": "a", "reply-to": None, "timestamp": "10", "text": "one"},
    ]
    (tmp_path / "utterances.json").write_text(json.dumps(old))
    (tmp_path / "users.json").write_text("{}")
    corpus = read(tmp_path)
    assert told(corpus, "text", "speaker", "agent", "reply_to") == [
        ("one", "Bob", tmp_path.name, None),
        ("two", "Eve", tmp_path.name, "a"),
    ]
    (tmp_path / "utterances.json").write_text(json.dumps([*old, {**old[0], "text": 3}]))
    with pytest.raises(DialensError, match=r"utterances\.json, record 3: field `text`"):
        read(tmp_path)
