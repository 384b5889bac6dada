"""Tables with a conversation a row: every shape in every kind of file reads alike."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dialens.corpus import read
from tests.corpus.nested_samples import (
    ASKED,
    FILES,
    REPLIED,
    SHAPES,
    array,
    column,
    jsonl,
    openai,
    parquet,
    said,
)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_in_every_file(shape: str, file: str, tmp_path: Path) -> None:
    corpus = read(FILES[file](SHAPES[shape], tmp_path))
    assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * 2
    assert len(column(corpus, "dialog")) == 2


AGENTS = {
    "LMSYS-Chat-1M": ["vicuna-13b"],
    "WildChat": ["gpt-3.5-turbo"],
    "UltraFeedback": ["a", "b"],
    "prompt and response": ["m0", "m1"],
    "DPO": ["chosen", "rejected"],
    "binarised": ["chosen", "rejected"],
    "TRL": ["chosen", "rejected"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_agent_is_called_by_its_model_or_else_its_file(shape: str, tmp_path: Path) -> None:
    corpus = read(parquet(SHAPES[shape], tmp_path))
    assert column(corpus, "agent") == AGENTS.get(shape, ["chats"])
    assert column(corpus, "system") == ["chats"]


@pytest.mark.parametrize(
    ("shape", "ids"),
    [
        ("LMSYS-Chat-1M", ["c0", "c1"]),
        ("WildChat", ["h", "h-2"]),
        ("UltraChat-200k", ["p0", "p1"]),
        ("speakers", ["0", "1"]),
        ("question and answer", ["0", "1"]),
        ("DailyDialog", ["chats-1", "chats-2"]),
        ("several responses", ["chats-1-1", "chats-1-2"]),
        ("DPO", ["chats-1-chosen", "chats-1-rejected"]),
    ],
)
def test_ids(shape: str, ids: list[str], tmp_path: Path) -> None:
    assert column(read(parquet(SHAPES[shape], tmp_path)), "dialog") == ids


def test_plain_columns_stay_with_the_first_turn(tmp_path: Path) -> None:
    lmsys = json.loads(read(parquet(SHAPES["LMSYS-Chat-1M"], tmp_path)).turns.collect()["meta"][0])
    assert lmsys == {"record": {"turn": 1, "language": "English", "redacted": False}}
    wild = read(parquet(SHAPES["WildChat"], tmp_path)).turns.collect()["meta"]
    first, second = json.loads(wild[0]), json.loads(wild[1])
    assert first["message"]["country"] == "US"
    assert first["message"]["header"] == {"accept-language": "en", "user-agent": "Mozilla"}
    assert first["record"] == {"timestamp": "2023-04-09 00:02:53+00", "turn": 1}
    assert "country" not in second["message"]
    share = json.loads(read(parquet(SHAPES["ShareGPT"], tmp_path)).turns.collect()["meta"][0])
    assert share["before"] == [{"role": "system", "content": "Be kind."}]


def test_the_same_question_answered_by_two_models_is_two_dialogues(tmp_path: Path) -> None:
    rows = [{"id": 1, "model": m, "prompt": "Hi", "response": m} for m in ("x", "y", "y")]
    corpus = read(jsonl(rows, tmp_path))
    assert column(corpus, "dialog") == ["1", "1-y", "1-2"]
    assert column(corpus, "agent") == ["x", "y"]


def test_an_instruction_with_an_input_is_one_prompt(tmp_path: Path) -> None:
    rows = [
        {"instruction": "Translate.", "input": "Hund", "output": "dog"},
        {"instruction": "Say hi.", "input": "", "output": "Hi."},
    ]
    assert said(read(jsonl(rows, tmp_path))) == [
        ("partner", "Translate.\n\nHund"),
        ("agent", "dog"),
        ("partner", "Say hi."),
        ("agent", "Hi."),
    ]


def test_what_was_said_before_comes_before_the_prompt(tmp_path: Path) -> None:
    rows = [{"history": [["a", "b"]], "instruction": "c", "output": "d"}]
    assert [text for _, text in said(read(array(rows, tmp_path)))] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("file", ["parquet", "jsonl", "csv_of_pandas", "saved"])
def test_human_and_assistant_in_one_text(file: str, tmp_path: Path) -> None:
    start = "\n\nHuman: Hi\n\nAssistant: Hello.\n\nIt is late.\n\nHuman: So?\n\nAssistant:"
    rows = [{"chosen": f"{start} Good.", "rejected": f"{start} Bad."}]
    corpus = read(FILES[file](rows, tmp_path))
    shared = [("partner", "Hi"), ("partner", "Hello.\n\nIt is late."), ("partner", "So?")]
    assert said(corpus) == [*shared, ("agent", "Good."), *shared, ("agent", "Bad.")]
    guanaco = [{"text": "### Human: Hi\n### Assistant: Hello"}]
    assert said(read(jsonl(guanaco, tmp_path))) == [("partner", "Hi"), ("agent", "Hello")]


def test_a_preference_is_kept_as_the_arena_keeps_it(tmp_path: Path) -> None:
    rows = [
        {
            "id": "q1",
            "prompt": "Hi",
            "chosen": "Hello!",
            "rejected": "What.",
            "chosen_model": "kind",
            "rejected_model": "curt",
        }
    ]
    corpus = read(parquet(rows, tmp_path))
    assert column(corpus, "agent") == ["kind", "curt"]
    ratings = corpus.ratings.select("dialog", "quality", "level", "value", "condition", "factors")
    first, second = ratings.collect().rows()
    assert first[:5] == ("q1-chosen", "preference", "dialog", 1.0, "q1")
    assert second[:5] == ("q1-rejected", "preference", "dialog", 0.0, "q1")
    assert json.loads(first[5]) == {"side": "chosen", "against": "curt", "verdict": "chosen"}


@pytest.mark.parametrize("file", FILES)
def test_battles_of_the_arena_in_tables(file: str, tmp_path: Path) -> None:
    rows = [
        {
            "question_id": "b1",
            "model_a": "x",
            "model_b": "y",
            "winner": "model_b",
            "judge": "arena_user_1",
            "conversation_a": openai("Hi", "Yes."),
            "conversation_b": openai("Hi", "Hello."),
            "turn": 1,
            "anony": True,
            "tstamp": 1682351591.5,
        }
    ]
    corpus = read(FILES[file](rows, tmp_path))
    assert column(corpus, "dialog") == ["b1-a", "b1-b"]
    assert corpus.ratings.select("agent", "value").collect().rows() == [("x", 0.0), ("y", 1.0)]


@pytest.mark.parametrize(
    ("content", "dialogs"),
    [
        (openai(), 1),
        ([{"role": "developer", "content": "Be kind."}, *openai()], 1),
        ([openai(), openai()], 2),
        ([[ASKED, REPLIED], [ASKED, REPLIED]], 2),
        ({"messages": openai()}, 1),
        ([{"messages": openai()}, {"messages": openai()}], 2),
        ({"conversations": [{"id": 1, "messages": openai()}, {"id": 2, "messages": openai()}]}, 2),
        ([{"from": "human", "value": ASKED}, {"from": "gpt", "value": REPLIED}], 1),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_lists_of_messages(content: Any, dialogs: int, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(content, indent=indent))
    corpus = read(path)
    assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * dialogs
    assert len(column(corpus, "dialog")) == dialogs
    assert said(read(content)) == said(corpus)


def test_a_list_a_line_is_a_conversation_a_line(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(f"{json.dumps(openai())}\n{json.dumps(openai())}\n")
    assert column(read(path), "dialog") == ["chats-1", "chats-2"]
    path.write_text("".join(f"{json.dumps(message)}\n" for message in openai()))
    assert said(read(path)) == [("partner", ASKED), ("agent", REPLIED)]


@pytest.mark.parametrize("orient", ["columns", "split", "table"])
def test_data_frames_as_pandas_writes_them_to_json(tmp_path: Path, orient: Any) -> None:
    rows = [{"conversation": openai(), "model": "m1"}, {"conversation": openai(), "model": "m2"}]
    path = tmp_path / "chats.json"
    for frame in (pd.DataFrame(rows), pd.DataFrame(rows, index=[4, 9])):
        frame.to_json(path, orient=orient)
        corpus = read(path)
        assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * 2
        assert column(corpus, "agent") == ["m1", "m2"]
    turns = pd.DataFrame(
        [(chat, who, text) for chat in "cd" for who, text in (("user", ASKED), ("bot", REPLIED))],
        columns=["chat_id", "sender", "message"],
    )
    turns.to_json(path, orient=orient)
    corpus = read(path)
    assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * 2
    assert column(corpus, "dialog") == ["c", "d"]
