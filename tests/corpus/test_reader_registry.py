"""Readers by name and in order: ours, and those that other packages bring."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dialens.base import DialensError, DialensWarning
from dialens.corpus import Dialogue, Record, RecordReader, Source, Turn, formats, read
from dialens.corpus.readers import READERS, readers

GROUP = "dialens.readers"
Install = Callable[..., None]


def lines(source: Source) -> Iterator[Record]:
    for number, line in enumerate(source.path.read_bytes().splitlines(), 1):
        yield Record(number, line)


def parse(record: Record, source: Source) -> Iterator[Dialogue]:
    asked, _, answer = record.raw.decode().partition(" => ")
    turns = [Turn("user", "partner", asked), Turn("bot", "agent", answer)]
    yield Dialogue("arrows", "bot", f"{source.label}-{record.line}", turns)


ARROWS = RecordReader(
    "arrows",
    "A question, an arrow, an answer on each line",
    "A: Is it raining? => B: A little.\nA: Shall we go? => B: Yes.\n",
    recognises=lambda source: b" => " in source.head,
    parse=parse,
    records=lines,
)
TAKEN = RecordReader("csv", "Mine", "", lambda source: False, parse)


def test_a_reader_of_another_package_recognises_its_files(
    installed: Install, tmp_path: Path
) -> None:
    path = tmp_path / "talks.txt"
    path.write_text(ARROWS.example)
    before = [reader.name for reader in readers()]
    assert read(path).manifest["source"]["format"] == "transcript"
    installed(GROUP, f"{__name__}:ARROWS")
    assert [reader.name for reader in readers()] == [*before[:-2], "arrows", *before[-2:]]
    assert read(path).turns.collect()["text"].to_list()[:2] == [
        "A: Is it raining?",
        "B: A little.",
    ]
    assert read(tmp_path).turns.collect().height == 4  # as one of the files of a folder
    assert "arrows" in [entry.name for entry in formats()]


def test_a_name_that_is_taken_is_refused(installed: Install) -> None:
    installed(GROUP, f"{__name__}:TAKEN")
    with pytest.warns(DialensWarning, match="The reader 'csv' is there twice"):
        assert TAKEN not in list(readers())


def test_what_is_no_reader_is_refused(installed: Install) -> None:
    installed(GROUP, f"{__name__}:lines")
    with pytest.warns(DialensWarning, match="gives function; it must give Reader"):
        readers()


def test_did_you_mean() -> None:
    with pytest.raises(DialensError, match=r"no reader 'opnai'\. Did you mean openai\?"):
        READERS["opnai"]
