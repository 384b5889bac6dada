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
from tests.corpus.test_nested import ASKED, REPLIED, SHAPES, column, frame, openai, said

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
