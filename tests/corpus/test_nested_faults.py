"""Tables with a conversation a row that cannot be read: named, or left out where that is asked."""

from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, read
from tests.corpus.nested_samples import (
    FILES,
    SHAPES,
    arrow_file,
    arrow_stream,
    column,
    openai,
    parquet,
    said,
)


@pytest.mark.parametrize("file", ["parquet", "arrow_stream", "jsonl", "csv_of_json"])
def test_columns_that_hold_no_conversation_are_named(file: str, tmp_path: Path) -> None:
    path = FILES[file]([{"colour": "red", "size": 3}], tmp_path)
    with pytest.raises(DialensError, match=r"(?s)Columns: colour, size\..*prompt"):
        read(path)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"messages": None}, "row 2: field `messages` is empty"),
        ({"messages": []}, "row 2: field `messages` holds no message"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, r"row 2: .*is not a known role"),
        ({"messages": [{"role": "system", "content": "x"}]}, "row 2: .*no message of a user"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_or_left_out(
    row: dict[str, Any], what: str, tmp_path: Path
) -> None:
    path = parquet([{"messages": openai()}, row, {"messages": openai()}], tmp_path)
    with pytest.raises(DialensError, match=what):
        read(path)
    intake = Intake(OnError.SKIP)
    assert column(read(path, intake=intake), "dialog") == ["chats-1", "chats-3"]
    assert intake.rejected == 1


@pytest.mark.parametrize("file", ["parquet", "arrow_stream", "arrow_file"])
def test_a_file_that_was_cut_off(file: str, tmp_path: Path) -> None:
    path = FILES[file](SHAPES["LMSYS-Chat-1M"], tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DialensError, match="is not a whole"):
        read(path)


def test_an_array_that_numpy_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chats.csv"
    path.write_text("id,dialog\n1,\"['a' 'b']\"\n2,\"['a' 'b' ... 'y' 'z']\"\n")
    with pytest.raises(DialensError, match=r"line 3: field `dialog` is neither JSON nor a whole"):
        read(path)


def test_a_table_with_a_turn_a_row_stays_one(tmp_path: Path) -> None:
    rows = [{"dialog": "d", "role": "user", "text": "Human: hi"}]
    for file in (parquet, arrow_stream, arrow_file):
        assert said(read(file(rows, tmp_path))) == [("partner", "Human: hi")]
    with pytest.raises(DialensError, match=r"plainly speaker or role\. Columns: dialog, text"):
        read(parquet([{"dialog": "d", "text": "hi"}], tmp_path), format="parquet")
