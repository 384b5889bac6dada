"""Every reader does what a reader must. A new one only needs a sample in `text_samples.py`."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

from dialens.base import DialensError
from dialens.corpus import Corpus, Intake, OnError, Source, convert, formats, json_records, read
from dialens.corpus._reading import Reader, choose
from dialens.corpus.readers import READERS, readers
from dialens.testing import check_reader
from tests.corpus import text_samples
from tests.corpus.export_samples import EXPORT_SAMPLES
from tests.corpus.samples import TALKS, Break, Sample
from tests.corpus.text_samples import PARQUET, corpus_folder
from tests.corpus.trace_samples import TRACE_SAMPLES

TEXT_SAMPLES = (*text_samples.TEXT_SAMPLES, *EXPORT_SAMPLES, *TRACE_SAMPLES)
SAMPLES = (*text_samples.SAMPLES, *EXPORT_SAMPLES, *TRACE_SAMPLES)
NO_TEXT_FILE = ("corpus", "convokit", "parquet", "files", "parts", "slack")
ONE_DOCUMENT = ("telegram", "discord", "messenger")
"""Formats in which a file is one JSON value, where a stray line leaves nothing to read."""
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.name)
def sample(request: pytest.FixtureRequest) -> Sample:
    return request.param


@pytest.fixture(params=TEXT_SAMPLES, ids=lambda sample: sample.name)
def text_sample(request: pytest.FixtureRequest) -> Sample:
    return request.param


def spoken(corpus: Corpus) -> list[tuple[str, str]]:
    return corpus.turns.select("role", "text").collect().rows()


def expected(sample: Sample) -> list[tuple[str, str]]:
    """A battle holds every conversation twice."""
    twice = 2 if sample.twice else 1
    return [row for talk in TALKS for _ in range(twice) for row in sample.expected((talk,))]


def tables(corpus: Corpus) -> list[pl.DataFrame]:
    return [frame.collect() for frame in (corpus.turns, corpus.ratings, corpus.references)]


def test_every_format_has_a_sample() -> None:
    # A file of subtitles is one conversation; tests/corpus/test_subtitles.py has its own.
    others = {"corpus", "subtitles"}
    assert {sample.name for sample in SAMPLES} | others == {entry.name for entry in formats()}


@pytest.mark.parametrize(
    "reader",
    [reader for reader in readers() if reader.name not in NO_TEXT_FILE],
    ids=lambda reader: reader.name,
)
def test_the_example_shown_to_users_keeps_every_promise(reader: Reader) -> None:
    check_reader(reader)


def test_every_reader_keeps_its_promises(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    check_reader(READERS[sample.name], source)


def test_the_reader_of_our_own_folder_keeps_its_promises(tmp_path: Path) -> None:
    check_reader(READERS["corpus"], corpus_folder(tmp_path))


def test_content_alone_shows_the_format(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    assert choose(Source(source), None, readers()).name == sample.name


def test_turns_are_read_in_any_script_and_even_if_empty(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    corpus = read(source)
    assert spoken(corpus) == expected(sample)
    assert (
        corpus.turns.collect()
        .select(pl.all().exclude("created_at", "reply_to", "meta"))
        .select(pl.any_horizontal(pl.all().is_null()).any())
        .item()
        is False
    )


def test_ids_come_from_the_source_or_its_name(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    ids = read(source).turns.collect()["dialog"].unique(maintain_order=True).to_list()
    if sample.ids is not None:
        assert tuple(ids) == sample.ids
    elif sample.twice:
        assert ids == [f"{talk.id}-{side}" for talk in TALKS for side in "ab"]
    elif sample.has_ids:
        assert ids == [talk.id for talk in TALKS]
    else:
        stem = source.name.split(".")[0]
        assert all(name.startswith(f"{stem}-{number}") for number, name in enumerate(ids, 1))


def test_explicit_format_reads_the_same(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    assert spoken(read(source, format=sample.name)) == expected(sample)


@pytest.mark.parametrize("target", ["corpus", "csv", "convokit"])
def test_written_and_read_again_it_is_the_same(sample: Sample, target: str, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    out = tmp_path / ("out.csv" if target == "csv" else "out")
    summary = convert(source, out, to=target)
    before, after = tables(read(source)), tables(read(out))
    assert summary.left_out == []
    assert summary.turns == before[0].height
    for one, other in zip(before, after, strict=True):
        assert_frame_equal(one, other)


def test_spooled_and_held_are_the_same(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.build(tmp_path)
    spooled = read(source, spool=tmp_path / "spool")
    for one, other in zip(tables(read(source)), tables(spooled), strict=True):
        assert_frame_equal(one, other)


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_unpacked(text_sample: Sample, packing: str, tmp_path: Path) -> None:
    source, file = text_sample.build(tmp_path)
    file.write_bytes(PACKINGS[packing](file.read_bytes()))
    assert spoken(read(source)) == expected(text_sample)


def test_byte_order_mark_and_carriage_returns_do_not_matter(
    text_sample: Sample, tmp_path: Path
) -> None:
    source, file = text_sample.build(tmp_path)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert spoken(read(source)) == expected(text_sample)


def test_a_missing_line_end_at_the_end_does_not_matter(text_sample: Sample, tmp_path: Path) -> None:
    source, file = text_sample.build(tmp_path)
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    assert spoken(read(source)) == expected(text_sample)


def all_breaks() -> list[object]:
    return [
        pytest.param(sample, broken, id=f"{sample.name}-{kind}".replace(" ", "-"))
        for sample in SAMPLES
        for kind, broken in sample.breaks.items()
    ]


@pytest.mark.parametrize(("sample", "broken"), all_breaks())
def test_a_broken_record_is_named(
    sample: Sample, broken: Callable[[], Break], tmp_path: Path
) -> None:
    case = broken()
    source, file = sample.place(tmp_path, case.data)
    with pytest.raises(DialensError) as caught:
        read(source, format=sample.name, intake=Intake())
    said = str(caught.value)
    unit = "row" if sample is PARQUET else "line"
    assert said.startswith(f"{file}, {unit} {case.line}: ")
    assert f"`{case.field}" in said if case.field else "cells" in said
    assert "--on-error skip" in said


@pytest.mark.parametrize(("sample", "broken"), all_breaks())
def test_a_broken_record_can_be_left_out(
    sample: Sample, broken: Callable[[], Break], tmp_path: Path
) -> None:
    case = broken()
    source, file = sample.place(tmp_path, case.data)
    intake = Intake(OnError.SKIP)
    corpus = read(source, format=sample.name, intake=intake)
    twice = 2 if sample.twice else 1
    assert corpus.turns.collect()["dialog"].n_unique() == twice * case.survive
    assert intake.rejected == 1
    (reject,) = intake.rejects
    assert (reject.file, reject.line) == (str(file), case.line)
    assert reject.field.startswith(case.field)
    assert reject.reason
    assert corpus.manifest["counts"]["rejected"] == 1


STRAY = (
    "2026-01-01 12:00:00 INFO saved",
    "INFO: started",
    "[INFO] started",
    "[2026-01-01] started",
    "Traceback (most recent call last):",
    "true story",
    '"half',
    "null",
    "[1, 2]",
    "}",
    '{"messages": ' * 50_000,
)


def json_samples() -> list[object]:
    return [
        pytest.param(reader, id=reader.name)
        for reader in readers()
        if reader.example.lstrip()[:1] in ("{", "[") and reader.name not in ONE_DOCUMENT
    ]


@pytest.mark.parametrize("stray", STRAY, ids=lambda line: line[:12])
@pytest.mark.parametrize("reader", json_samples())
def test_a_stray_line_is_a_record_that_cannot_be_read(
    reader: Reader, stray: str, tmp_path: Path
) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text(reader.example)
    records = [
        json.dumps(json.loads(record.raw), ensure_ascii=False)
        for record in json_records(Source(path))
    ]
    for place in {0, 1, len(records)}:
        path.write_text("\n".join([*records[:place], stray, *records[place:]]) + "\n")
        intake = Intake(OnError.SKIP)
        assert read(path, intake=intake).turns.collect().height > 0
        assert [(reject.line, intake.rejected) for reject in intake.rejects] == [(place + 1, 1)]
        with pytest.raises(DialensError, match=rf"talks\.jsonl, line {place + 1}: "):
            read(path)


def test_a_stray_line_in_a_convokit_folder_is_a_record_that_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    convert(corpus_folder(tmp_path), folder, to="convokit")
    said = folder / "utterances.jsonl"
    before = read(folder).turns.collect().height
    said.write_text(said.read_text() + "2026-01-01 12:00:00 INFO saved\n")
    intake = Intake(OnError.SKIP)
    assert read(folder, intake=intake).turns.collect().height == before
    assert intake.rejected == 1
    with pytest.raises(DialensError, match="is not valid JSON"):
        read(folder)


def test_bytes_that_are_not_utf8_are_named(text_sample: Sample, tmp_path: Path) -> None:
    source, file = text_sample.build(tmp_path)
    data = file.read_bytes()
    at = data.index(b"A little.")
    file.write_bytes(data[:at] + b"\xff\xfe" + data[at:])
    # In a transcript the record is a conversation, named by its first line.
    whole = text_sample.name == "transcript"
    line = data.count(b"\n", 0, data.rindex(b"---\n", 0, at) if whole else at) + 1 + whole
    with pytest.raises(DialensError, match=rf"{file}, line {line}: .*UTF-8"):
        read(source)
    intake = Intake(OnError.SKIP)
    read(source, intake=intake)
    assert intake.rejected == 1


@pytest.mark.parametrize(
    "text_sample",
    [sample for sample in TEXT_SAMPLES if sample.truncation_shows],
    ids=lambda sample: sample.name,
)
def test_a_cut_off_file_is_noticed(text_sample: Sample, tmp_path: Path) -> None:
    source, file = text_sample.build(tmp_path)
    data = file.read_bytes().rstrip()
    file.write_bytes(data[: data.rindex(b"Say nothing") + 4])
    with pytest.raises(DialensError, match=rf"^{file}, line \d+"):
        read(source)
    intake = Intake(OnError.SKIP)
    corpus = read(source, intake=intake)
    assert intake.rejected >= 1
    if text_sample.name != "convokit":  # whose conversations go on to the end of the file
        assert spoken(corpus)[:2] == expected(text_sample)[:2]


def test_a_cut_off_archive_is_noticed(text_sample: Sample, tmp_path: Path) -> None:
    source, file = text_sample.build(tmp_path)
    packed = gzip.compress(file.read_bytes(), mtime=0)
    file.write_bytes(packed[:-12])
    with pytest.raises(DialensError, match="damaged"):
        read(source, format=text_sample.name)


@pytest.mark.parametrize(
    "sample",
    [s for s in SAMPLES if s.has_ids and s.name != "turns"],
    ids=lambda sample: sample.name,
)
def test_an_id_met_twice_is_named(sample: Sample, tmp_path: Path) -> None:
    source, file = sample.build(tmp_path, (TALKS[0], TALKS[1], TALKS[0]))
    with pytest.raises(DialensError) as caught:
        read(source)
    said = str(caught.value)
    assert said.startswith(f"{file}, ")
    assert "d1" in said
    assert any(word in said for word in ("duplicate", "out of sequence"))


def test_an_empty_file_is_named(sample: Sample, tmp_path: Path) -> None:
    source, _ = sample.place(tmp_path, b"")
    for chosen in (None, sample.name):
        with pytest.raises(DialensError, match=str(source)):
            read(source, format=chosen)


def test_empty_array_or_header_only_holds_no_conversation(tmp_path: Path) -> None:
    for name, data in {"a.json": b"[]\n", "a.csv": b"dialog,role,text\n"}.items():
        (tmp_path / name).write_bytes(data)
        chosen = "csv" if name.endswith("csv") else "openai"
        with pytest.raises(DialensError, match="holds no conversation"):
            read(tmp_path / name, format=chosen)


def test_nothing_left_is_an_error_that_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"messages": 1}\n{"messages": 2}\n')
    with pytest.raises(DialensError, match="2 records were left out"):
        read(path, format="openai", on_error="skip")


def test_a_source_that_is_not_there_or_not_known(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="does not exist"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(DialensError, match="does not exist"):
        read(tmp_path / "nowhere.csv", format="csv")
    (tmp_path / "poem").write_text("Two roads diverged in a yellow wood\nAnd sorry I could not\n")
    with pytest.raises(DialensError, match=r"in no format that dialens recognises.*Two roads"):
        read(tmp_path / "poem")
    with pytest.raises(DialensError, match=r"no format 'opnai'.*Did you mean openai"):
        read(tmp_path / "poem", format="opnai")


def test_our_own_folder(tmp_path: Path) -> None:
    folder = corpus_folder(tmp_path)
    assert choose(Source(folder), None, readers()).name == "corpus"
    assert spoken(read(folder)) == SAMPLES[0].expected()
    with (folder / "turns.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(
        DialensError, match=r"turns\.parquet is not the file its manifest describes"
    ):
        read(folder)
    (folder / "turns.parquet").unlink()
    with pytest.raises(DialensError, match=r"turns\.parquet is missing"):
        read(folder)


def test_a_corpus_among_other_files(tmp_path: Path) -> None:
    folder = corpus_folder(tmp_path / "logs")
    (folder.parent / "b.txt").write_text("User: hi\nBot: ho\n")
    corpus = read(tmp_path / "logs")
    assert corpus.turns.collect()["dialog"].unique(maintain_order=True).to_list() == [
        "b-1",
        *(talk.id for talk in TALKS),
    ]
