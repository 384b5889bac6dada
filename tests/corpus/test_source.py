"""Bytes to records: any packing, any chunk size, any length of line."""

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, RecordError, Source, json_records, read
from dialens.corpus import _source as source
from dialens.corpus import _unpacking as unpacking
from dialens.corpus._source import lines

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\[]{}\n,é👋'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=5)


class _Memory(Source):
    """A source whose bytes come in pieces of a given size."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(Path("memory"))
        self.data: bytes
        self.size: int
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "size", size)

    is_folder = False

    @property
    def head(self) -> bytes:
        return self.data

    def chunks(self) -> Iterator[bytes]:
        return (self.data[n : n + self.size] for n in range(0, len(self.data), self.size))


@settings(max_examples=150, deadline=None)
@given(RECORDS, st.integers(1, 12), st.sampled_from([None, 1]), st.booleans())
def test_an_array_falls_into_its_elements_whatever_the_chunks(
    records: list[Any], size: int, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(records, indent=indent, ensure_ascii=ascii_only).encode()
    found = list(json_records(_Memory(data, size)))
    assert [json.loads(record.raw) for record in found] == records
    assert [record.number for record in found] == list(range(1, len(records) + 1))
    at = 0
    for record in found:
        at = data.index(record.raw, at)
        assert record.line == data.count(b"\n", 0, at) + 1
        at += len(record.raw)


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.integers(1, 12), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_lines_are_records_whatever_the_chunks(records: list[Any], size: int, end: str) -> None:
    data = "".join(json.dumps(record) + end for record in records).encode()
    found = list(json_records(_Memory(data, size)))
    assert [json.loads(record.raw) for record in found] == records
    step = 2 if end == "\n\n" else 1
    assert [record.line for record in found] == [1 + step * n for n in range(len(records))]


@given(st.binary(max_size=200), st.integers(1, 7))
def test_nothing_in_a_file_makes_splitting_fail(data: bytes, size: int) -> None:
    for record in json_records(_Memory(data, size)):
        assert record.line >= 1
    for record in json_records(_Memory(b"[" + data, size)):
        assert record.line >= 1


def test_one_object_over_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    path.write_text(json.dumps({"messages": messages}, indent=2))
    assert read(path).turns.collect()["text"].to_list() == ["hi", "ho"]


@pytest.mark.parametrize("array", [False, True])
def test_a_record_too_long_is_not_held(
    array: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_RECORD_BYTES", 300)
    monkeypatch.setattr(unpacking, "_UNPACKED", 100)
    talk = '{"id": "%s", "messages": [{"role": "assistant", "content": "%s"}]}'
    talks = [
        talk % ("a", "x"),
        talk % ("b", "y" * 1000),
        talk % ("c", "z"),
        talk % ("d", "w" * 250),
    ]
    path = tmp_path / "a.json"
    path.write_text("[\n" + ",\n".join(talks) + "\n]" if array else "\n".join(talks))
    line = 3 if array else 2
    with pytest.raises(DialensError, match=rf"{path}, line {line}: holds a record of more than"):
        read(path)
    intake = Intake(OnError.SKIP)
    assert read(path, intake=intake).turns.collect()["dialog"].to_list() == ["a", "c"]
    assert [reject.line for reject in intake.rejects] == [line, line + 2]


def test_a_csv_line_and_a_transcript_too_long_are_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dialens.corpus.readers import _transcript as transcript

    monkeypatch.setattr(source, "MAX_RECORD_BYTES", 300)
    monkeypatch.setattr(transcript, "MAX_RECORD_BYTES", 300)
    monkeypatch.setattr(unpacking, "_UNPACKED", 100)
    table = tmp_path / "a.csv"
    table.write_text("dialog,role,text\nd,user,x\ne,user," + "y" * 1000 + "\nf,user,z\n")
    with pytest.raises(DialensError, match=rf"{table}, line 3: holds a record of more than"):
        read(table)
    intake = Intake(OnError.SKIP)
    assert read(table, intake=intake).turns.collect()["dialog"].to_list() == ["d", "f"]
    text = tmp_path / "a.txt"
    text.write_text("A: x\nB: y\n---\nA: z\n" + "and on\n" * 100 + "---\nA: end\n")
    with pytest.raises(DialensError, match=rf"{text}, line 4: holds a record of more than"):
        read(text, format="transcript")
    assert read(text, format="transcript", on_error="skip").turns.collect()["text"].to_list() == [
        "x",
        "y",
        "end",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt"])
def test_a_line_of_200_megabytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    opening = {
        "a.jsonl": b'{"messages": [{"role": "assistant", "content": "',
        "a.json": b'[{"messages": [{"role": "assistant", "content": "',
        "a.csv": b"dialog,role,text\nd,user,",
        "a.txt": b"Bot: ",
    }
    with path.open("wb") as file:
        file.write(opening[name])
        for _ in range(200):
            file.write(b"x" * 2**20)
    with pytest.raises(DialensError, match=r"line [12]: holds a record of more than 64 MiB"):
        read(path)


def test_lines_that_never_end_have_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"short\n" + b"x" * 50)
    records = list(lines(Source(path)))
    assert [record.problem for record in records] == [None, None]
    assert not any(isinstance(record.problem, RecordError) for record in records)


def test_a_first_record_that_is_broken_does_not_hide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = '{"messages": [{"role": "assistant", "content": "x"}]}\n'
    path.write_text('{"messages": [\n' + good)
    with pytest.raises(DialensError, match=rf"{path}, line 1: "):
        read(path)
    path.write_text('{"messages": [{"role": "assistant", "content": "\\ud83d"}]}\n' + good)
    with pytest.raises(DialensError, match=rf"{path}, line 1: holds half of a surrogate pair"):
        read(path)
    path.write_text('{"messages": nonsense}\n')
    with pytest.raises(DialensError, match=rf"{path}, line 1: is not valid JSON"):
        read(path)


@pytest.mark.parametrize("packing", ["zst", "gz", "bz2", "xz"])
def test_a_cut_off_archive_is_not_read_as_whole(packing: str, tmp_path: Path) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {
        "zst": zstandard.compress,
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
    }
    path = tmp_path / f"a.jsonl.{packing}"
    packed = packers[packing](random.Random(0).randbytes(200_000))
    path.write_bytes(packed)
    assert sum(map(len, Source(path).chunks())) == 200_000
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DialensError, match="damaged after"):
        list(Source(path).chunks())
