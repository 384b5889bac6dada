"""Conversations that are already in Python."""

from datetime import datetime
from typing import Any, Self

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

import dialens
from dialens.base import DialensError
from dialens.corpus import Corpus, read
from tests.corpus.nested_samples import ASKED, REPLIED, SHAPES, column, frame, openai, said

CHAT = openai()
BOTH = [("partner", ASKED), ("agent", REPLIED)]


class DatasetOfTests:
    """What `datasets.Dataset` offers, over a table of pyarrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.column_names = table.column_names

    def __len__(self) -> int:
        return self.table.num_rows

    def __iter__(self) -> Any:
        raise AssertionError("rows are slow: batches are asked for")

    def with_format(self, kind: str) -> Self:
        assert kind == "arrow"
        return self

    def iter(self, batch_size: int) -> Any:
        for start in range(0, len(self), batch_size):
            yield self.table.slice(start, batch_size)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "held",
    [
        lambda rows: rows,
        lambda rows: iter(rows),
        frame,
        lambda rows: frame(rows).lazy(),
        pd.DataFrame,
        lambda rows: frame(rows).to_arrow(),
        lambda rows: frame(rows).to_pandas(),
        lambda rows: DatasetOfTests(frame(rows).to_arrow()),
        lambda rows: {"train": DatasetOfTests(frame(rows).to_arrow())},
    ],
    ids=["rows", "iterator", "polars", "lazy", "pandas", "arrow", "arrays", "dataset", "split"],
)
def test_every_shape_from_every_holder(held: Any, shape: str) -> None:
    assert said(read(held(SHAPES[shape]))) == BOTH * 2


def test_names_without_a_file() -> None:
    corpus = read([CHAT, CHAT])
    assert column(corpus, "system") == ["conversations"]
    assert column(corpus, "agent") == ["assistant"]
    assert column(corpus, "dialog") == ["conversations-1", "conversations-2"]
    splits = {name: frame(SHAPES["LMSYS-Chat-1M"]) for name in ("train", "test")}
    assert column(read(splits), "dialog") == ["train/c0", "train/c1", "test/c0", "test/c1"]


def test_one_record() -> None:
    corpus = read({"id": "d1", "model": "m", "messages": CHAT})
    assert (column(corpus, "dialog"), column(corpus, "agent")) == (["d1"], ["m"])


def test_messages_as_clients_give_them() -> None:
    class Message(BaseModel):
        role: str
        content: str | None
        tool_calls: list[dict[str, str]] | None = None

    called = Message(role="assistant", content=None, tool_calls=[{"id": "1"}])
    assert said(read([CHAT[0], called, Message(role="assistant", content=REPLIED)])) == BOTH


@pytest.mark.parametrize("made", [pl.DataFrame, pd.DataFrame, lambda rows: rows])
def test_a_turn_a_row(made: Any) -> None:
    rows = [
        {"dialog": "d", "speaker": "Ann", "text": "Hi", "created_at": datetime(2024, 5, 1)},
        {"dialog": "d", "speaker": "Bot", "text": "Hello", "created_at": datetime(2024, 5, 1)},
    ]
    corpus = read(made(rows))
    assert corpus.turns.select("agent", "role", "text").collect().rows() == [
        ("Bot", "partner", "Hi"),
        ("Bot", "agent", "Hello"),
    ]


def test_it_can_be_scored() -> None:
    corpus = dialens.read(frame([{"prompt": "Hi", "response": "Well, hello!", "model": "m"}]))
    assert isinstance(corpus, Corpus)
    assert dialens.score(corpus, metrics=["length"]).wide("agent")["length"].item() == 2.0


def test_missing_values_of_pandas_are_missing() -> None:
    table = pd.DataFrame(
        {
            "prompt": [ASKED, ASKED],
            "response": [REPLIED, REPLIED],
            "model": [None, "m"],
            "score": [float("nan"), 2.0],
            "when": [pd.NaT, pd.Timestamp("2024-05-01")],
        }
    )
    corpus = read(table)
    assert column(corpus, "agent") == ["assistant", "m"]
    assert corpus.turns.collect()["meta"].to_list() == [
        None,
        None,
        '{"record":{"score":2.0,"when":"2024-05-01T00:00:00"}}',
        None,
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ([], "The list is empty"),
        (7, "cannot be read from int"),
        (["hi", "hello"], "A list of str is no conversation"),
        (pl.DataFrame({"x": [1], "y": [2]}), r"DataFrame: no column .*; seen: x, y\."),
        ([{"x": 1}], r"list: no column holds a conversation; seen: x\."),
        ([[{"role": "narrator", "content": "x"}]], "list, row 1: field `messages.0..role` is not"),
        ([{"messages": CHAT}, 5], "list, row 2: is wrong: expected an object; seen: 5"),
        (pl.DataFrame({"prompt": ["a", None], "response": ["b", "c"]}), "row 2: field `prompt` is"),
        (
            pl.DataFrame(schema={"prompt": pl.String, "response": pl.String}),
            "holds no conversation",
        ),
    ],
)
def test_what_is_no_conversation(data: Any, what: str) -> None:
    with pytest.raises(DialensError, match=what):
        read(data)


def test_a_format_is_of_files() -> None:
    with pytest.raises(DialensError, match="is of files"):
        read([CHAT], format="openai")


class MessageOfLangChain:
    """What a message of LangChain offers."""

    def __init__(self, type: str, content: object, **more: object) -> None:
        self.type, self.content, self.more = type, content, more

    def model_dump(self) -> dict[str, Any]:
        return {"type": self.type, "content": self.content, "id": None, **self.more}


class OlderMessageOfLangChain:
    def __init__(self, type: str, content: object, **more: object) -> None:
        self.type, self.content = type, content
        self.__dict__.update(more)


@pytest.mark.parametrize("kind", [MessageOfLangChain, OlderMessageOfLangChain])
@pytest.mark.parametrize(
    "held", [lambda talk: talk, lambda talk: [talk], lambda talk: {"messages": talk}]
)
def test_messages_of_langchain(kind: type[MessageOfLangChain], held: Any) -> None:
    talk = [
        kind("system", "Be nice."),
        kind("human", ASKED),
        kind("ai", "", tool_calls=[{"name": "look", "args": {}, "id": "1"}]),
        kind("tool", "42", tool_call_id="1"),
        kind("ai", [{"type": "text", "text": REPLIED}], response_metadata={"model_name": "m-1"}),
    ]
    corpus = read(held(talk))
    assert said(corpus) == BOTH
    assert column(corpus, "agent") == ["m-1"]


TURNS = [
    {"conversation_id": name, "sender": who, "message": text}
    for name in ("a", "b")
    for who, text in (("customer", ASKED), ("Shoppy", REPLIED))
]


@pytest.mark.parametrize("held", [list, iter, pl.DataFrame, pd.DataFrame])
def test_turns_with_other_names_as_on_the_command_line(held: Any) -> None:
    corpus = read(held(TURNS))
    assert said(corpus) == BOTH * 2
    assert column(corpus, "dialog") == ["a", "b"]
    assert column(corpus, "agent") == ["Shoppy"]
    (note,) = corpus.manifest["notes"]
    assert "'conversation_id' for dialog" in note
    assert "1 note in" in repr(corpus)


def test_rows_that_name_their_conversation_are_no_messages_of_one() -> None:
    rows = [
        {"session_id": name, "role": role, "content": text}
        for name in ("a", "b")
        for role, text in (("user", ASKED), ("assistant", REPLIED))
    ]
    corpus = read(rows)
    assert said(corpus) == BOTH * 2
    assert column(corpus, "dialog") == ["a", "b"]
    assert column(corpus, "agent") == ["assistant"]


def test_names_columns_and_roles_as_arguments() -> None:
    rows = [
        {"Fall": 1, "Wer": "Kim", "Inhalt": ASKED},
        {"Fall": 1, "Wer": "Lee", "Inhalt": REPLIED},
    ]
    names = {"dialog": "Fall", "speaker": "Wer", "text": "Inhalt"}
    corpus = read(rows, columns=names, roles={"Lee": "agent"}, system="shop", agent="v2")
    assert said(corpus) == BOTH
    assert (column(corpus, "system"), column(corpus, "agent")) == (["shop"], ["v2"])


@pytest.mark.parametrize(
    ("data", "more", "remedy"),
    [
        ([{"a": 1, "b": 2}], {}, 'columns={"prompt": "…", "response": "…"}'),
        ([{"messages": [{"role": "narrator", "content": "x"}]}], {}, 'on_error="skip"'),
        (TURNS[:1] * 2, {"roles": {"Zoe": "agent"}}, r"nobody is called 'Zoe'"),
        ([{**row, "sender": row["message"]} for row in TURNS], {}, 'roles={"'),
    ],
)
def test_messages_speak_of_arguments_not_of_options(
    data: Any, more: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(DialensError) as caught:
        read(data, **more)
    assert remedy in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_row_of_turns_that_is_no_row_is_refused_not_passed_over() -> None:
    with pytest.raises(DialensError, match="list, row 5: is wrong"):
        read([*TURNS, 7])
