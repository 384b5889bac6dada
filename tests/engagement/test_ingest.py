"""Dumps to shards: every packing and style of dump, what is wrong in them, and going on."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import OnError
from dialens.engagement.curation import _work_folder as work_folder
from dialens.engagement.curation import ingest
from tests.engagement.dumps import (
    ABSENT,
    PACKINGS,
    comment,
    conversation,
    submission,
    thread_row,
    write_dump,
)


def comments_of(work: Path) -> pl.DataFrame:
    return _table(work / work_folder.COMMENTS_FOLDER, work_folder.COMMENTS)


def submissions_of(work: Path) -> pl.DataFrame:
    return _table(work / work_folder.SUBMISSIONS_FOLDER, work_folder.SUBMISSIONS)


def _table(folder: Path, schema: pl.Schema) -> pl.DataFrame:
    parts = [pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))]
    for part in parts:
        assert part.schema == schema
    return pl.concat([schema.to_frame(), *parts]).sort(schema.names())


def bytes_of(work: Path) -> dict[str, bytes]:
    """Everything but the record of the run, which has times in it."""
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted(work.rglob("*"))
        if path.is_file() and path.name != work_folder.INGEST_RECORD
    }


def ingested(tmp_path: Path, *records: Any) -> dict[str, Any]:
    """The row of the first comment in a dump of these records."""
    work = tmp_path / "work"
    ingest([write_dump(tmp_path / "RC.jsonl", records)], work)
    return comments_of(work).row(0, named=True)


@pytest.mark.parametrize("suffix", PACKINGS)
def test_every_packing_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    comments, submissions = conversation(seed=3, comments=300)
    files = [
        write_dump(tmp_path / f"RC{suffix}", comments),
        write_dump(tmp_path / f"RS{suffix}", submissions),
    ]
    done = ingest(files, tmp_path / "work")
    assert (done.total("comments"), done.total("submissions")) == (300, len(submissions))
    rows = comments_of(tmp_path / "work")
    assert sorted(rows["id"]) == sorted(record["id"] for record in comments)
    by_id = {row["id"]: row for row in rows.iter_rows(named=True)}
    for record in comments:
        row = by_id[record["id"]]
        assert row["parent_id"] == record["parent_id"][3:]
        assert row["parent_is_submission"] == record["parent_id"].startswith("t3_")
        assert row["thread"] == record["link_id"][3:]
        assert row["score"] == record["score"]
        assert row["controversial"] == bool(record["controversiality"])
        assert row["edited"] == (record["edited"] is not False)
        assert row["created"] == record["created_utc"]
        gone = record["body"] in ("[deleted]", "[removed]")
        assert row["deleted"] == (gone or record["author"] == "[deleted]")
        assert row["bot"] == (record["author"] == "helpful_bot")
        assert row["quote"] == record["body"].startswith("&gt;")
    roots = submissions_of(tmp_path / "work")
    assert sorted(roots["id"]) == sorted(record["id"] for record in submissions)


def test_packing_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    packed = write_dump(tmp_path / "a.zst", [comment()])
    named = packed.rename(tmp_path / "RC_2006-01.bz2")
    assert ingest([named], tmp_path / "work").total("comments") == 1


def test_archive_of_several_frames_is_read_to_its_end(tmp_path: Path) -> None:
    one, two = (write_dump(tmp_path / f"{n}.zst", [comment(id=f"c{n}")]) for n in (1, 2))
    both = tmp_path / "both.zst"
    both.write_bytes(one.read_bytes() + two.read_bytes())
    assert ingest([both], tmp_path / "work").total("comments") == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"edited": False}, {"edited": False}),
        ({"edited": True}, {"edited": True}),
        ({"edited": 1234567890.0}, {"edited": True}),
        ({"edited": 1234567890}, {"edited": True}),
        ({"edited": ABSENT}, {"edited": None}),
        ({"score": 7, "score_hidden": True}, {"score": None}),
        ({"score": 7, "score_hidden": False}, {"score": 7}),
        ({"score": -7}, {"score": -7}),
        ({"score": ABSENT}, {"score": None}),
        ({"score": None}, {"score": None}),
        ({"controversiality": 1}, {"controversial": True}),
        ({"controversiality": True}, {"controversial": True}),
        ({"controversiality": ABSENT}, {"controversial": None}),
        ({"created_utc": "1136074029"}, {"created": 1136074029}),
        ({"created_utc": 1136074029.0}, {"created": 1136074029}),
        ({"created_utc": ABSENT}, {"created": None}),
        ({"retrieved_on": ABSENT, "retrieved_utc": 1500000000}, {"retrieved": 1500000000}),
        ({"retrieved_on": ABSENT}, {"retrieved": None}),
        ({"parent_id": "t1_x"}, {"parent_id": "x", "parent_is_submission": False}),
        ({"parent_id": "t3_s1"}, {"parent_id": "s1", "parent_is_submission": True}),
        ({"parent_id": None}, {"parent_id": None, "parent_is_submission": False}),
        ({"id": "t1_c9"}, {"id": "c9"}),
        ({"body": "[deleted]"}, {"deleted": True, "text": "", "words": 0}),
        ({"body": " [removed]\n"}, {"deleted": True, "text": "", "words": 0}),
        ({"body": None}, {"deleted": True, "text": ""}),
        ({"author": "[deleted]"}, {"deleted": True, "text": "A comment of a few words."}),
        ({"author": None}, {"deleted": True}),
        ({"author": ABSENT}, {"deleted": False}),
        ({"author": "AutoModerator"}, {"bot": True}),
        ({"author": "gifbot"}, {"bot": True}),
        ({"author": "anna"}, {"bot": False}),
        ({"body": "I am a bot, and this was performed automatically."}, {"bot": True}),
        ({"body": "&gt; so he said\n\nNo."}, {"quote": True}),
        ({"body": "No.\n  > so he said"}, {"quote": True}),
        ({"body": "4 > 3"}, {"quote": False}),
        ({"body": "Das ist wirklich nicht so schwierig wie alle immer sagen"}, {"english": False}),
        ({"body": "Это не по-английски"}, {"english": False}),
        ({"body": "This is not as hard as everyone says it is"}, {"english": True}),
        ({"subreddit": None}, {"subreddit": None}),
    ],
)
def test_fields_are_read_as_every_source_writes_them(
    tmp_path: Path, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    row = ingested(tmp_path, comment(**fields))
    assert {name: row[name] for name in expected} == expected


def test_half_a_character_does_not_lose_the_comment(tmp_path: Path) -> None:
    line = json.dumps(comment(body="cut off: X")).replace("X", "\\ud83d")
    assert ingested(tmp_path, line)["text"] == "cut off: ?"


def test_words_are_counted_without_stop_words(tmp_path: Path) -> None:
    # it's, the, in are stop words; best, pizza, naples are not; "!" is no word.
    row = ingested(tmp_path, comment(body="It’s **the** best [pizza](http://x.org) in Naples!"))
    assert (row["text"], row["words"], row["content_words"]) == (
        "It’s the best pizza in Naples!",
        6,
        3,
    )


def test_submissions_have_title_and_text(tmp_path: Path) -> None:
    records = [
        submission(id="a", title="A &amp; B", selftext="*Really*?", score=5),
        submission(id="b", title="Link", hide_score=True, author="[deleted]"),
        submission(id="c", title="Kept", selftext="[removed]"),
        submission(id="d", title="Plain", created_utc=1479363164.0, selftext=ABSENT),
    ]
    ingest([write_dump(tmp_path / "RS.gz", records)], tmp_path / "work")
    rows = submissions_of(tmp_path / "work")
    assert rows["text"].to_list() == ["A & B Really?", "Link", "Kept", "Plain"]
    assert rows["score"].to_list() == [5, None, 1, 1]
    assert rows["deleted"].to_list() == [False, True, True, False]
    assert rows["created"].to_list() == [1136070000] * 3 + [1479363164]


def test_plain_threads_have_submissions_and_no_votes(tmp_path: Path) -> None:
    rows = [
        thread_row(id="r", thread="r"),
        thread_row(id="x", thread="r", parent_id="r", body="A reply"),
        thread_row(id="y", thread="r", parent_id="x", body="A reply to it"),
    ]
    ingest([write_dump(tmp_path / "threads.xz", rows)], tmp_path / "work")
    comments = comments_of(tmp_path / "work")
    assert comments["parent_id"].to_list() == ["r", "x"]
    assert comments["parent_is_submission"].to_list() == [True, False]
    assert comments["created"].to_list() == [1422835200] * 2  # 2015-02-02T00:00:00Z
    assert comments.select("score", "controversial", "edited").null_count().row(0) == (2, 2, 2)
    assert not comments["deleted"].any()
    assert submissions_of(tmp_path / "work").row(0, named=True)["text"] == "A title"


def test_kinds_may_be_mixed_in_a_file(tmp_path: Path) -> None:
    work = tmp_path / "work"
    done = ingest([write_dump(tmp_path / "RC.jsonl", [comment(), submission()])], work)
    assert (done.total("comments"), done.total("submissions")) == (1, 1)


def test_authors_are_in_no_output(tmp_path: Path) -> None:
    records = [comment(author="Karla_Kolumna"), comment(id="c2", author="Karla_Kolumna", score="x")]
    dump = write_dump(tmp_path / "RC.jsonl", [*records, submission(author="Karla_Kolumna")])
    ingest([dump], tmp_path / "work", on_error=OnError.SKIP)
    for path in (tmp_path / "work").rglob("*"):
        assert path.is_dir() or b"Karla" not in path.read_bytes()


BROKEN = [
    ('{"id": "c1", "body": ', "line 3", "not JSON"),
    ("[]", "line 3", "JSON array"),
    ("17", "line 3", "JSON int"),
    (json.dumps(comment(score="many")), "`score`", "wrong type"),
    (json.dumps(comment(score=2**80)), "`score`", "wrong type"),
    (json.dumps(comment(body=["a"])), "`body`", "wrong type"),
    (json.dumps(comment(id=12)), "`id`", "wrong type"),
    (json.dumps(comment(created_utc="yesterday")), "`created_utc`", "not a time"),
    (json.dumps(comment(created_utc=1e300)), "`created_utc`", "not a time"),
    (json.dumps(thread_row(date="someday")), "`date`", "not a time"),
    ('{"text": "hello", "label": 3}', "text, label", "neither a comment nor a submission"),
    (json.dumps(comment(link_id=ABSENT, parent_id="t1_b")), "line 3", "neither a comment"),
    (b'{"id": "c1", "link_id": "t3_s", "body": "\xff"}', "line 3", "not UTF-8"),
]


DEEP = 200_000
TORN = [
    ("[", "not JSON"),
    ('"id","body"', "not JSON"),
    ("5 apples", "not JSON"),
    ("true story", "not JSON"),
    ('37, "author": "x"}', "not JSON"),
    ("null}", "not JSON"),
    ('[{"id":"c"},', "not JSON"),
    (r'{"id":"c","body":"\ud83d"}', "its keys are id, body"),
    (r'{"id":"c","link_id":"t3_s","body":"\ud83d","score":"x"}', "wrong type"),
    (b'{"id":"c","kept":"\xff"}', "not UTF-8"),
    (b'"\xff"', "not UTF-8"),
    (b'["\xff"]', "not UTF-8"),
    ("[" * DEEP, "too deep"),
    (f'{{"id":"c","link_id":"t3_s","kept":{"[" * DEEP}{"]" * DEEP}}}', "too deep"),
    ('{"a":' * DEEP, "too deep"),
]
"""Parts of lines, and lines that trip a decoder before it has told what is wrong."""
BROKEN += [(line, "line 3", what) for line, what in TORN]


def beginning(value: str | bytes) -> str:
    """What a test is called by."""
    return str(value)[:24]


@pytest.mark.parametrize(("line", "place", "what"), BROKEN, ids=beginning)
def test_bad_lines_stop_the_run_with_their_place(
    tmp_path: Path, line: str | bytes, place: str, what: str
) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment(), "", line, comment(id="c2")])
    with pytest.raises(DialensError) as caught:
        ingest([dump], tmp_path / "work")
    for part in (str(dump), "line 3", place, what, "--on-error skip"):
        if part != "--on-error skip" or what not in ("JSON array", "JSON int"):
            assert part in str(caught.value)
    assert not (tmp_path / "work" / work_folder.INGEST_RECORD).exists()


@pytest.mark.parametrize(("line", "place", "what"), BROKEN, ids=beginning)
def test_bad_lines_may_be_skipped_and_are_listed(
    tmp_path: Path, line: str | bytes, place: str, what: str
) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment(), "", line, comment(id="c2")])
    done = ingest([dump], tmp_path / "work", on_error=OnError.SKIP)
    assert (done.total("comments"), done.total("rejects")) == (2, 1)
    (listed,) = (tmp_path / "work" / work_folder.REJECTS_FOLDER).glob("*.jsonl")
    reject = json.loads(listed.read_text(encoding="utf-8"))
    assert (reject["file"], reject["line"]) == ("RC.gz", 3)
    assert what in reject["reason"]


@pytest.mark.slow
def test_torn_lines_at_the_beginning_and_all_together(tmp_path: Path) -> None:
    """Where the first line tells how a block is read, and in processes of their own."""
    lines: list[Any] = [line for line, _ in TORN]
    dumps = [
        write_dump(tmp_path / "RC_1.gz", [*lines, comment()]),
        write_dump(tmp_path / "RC_2.gz", [comment(id="c2"), *lines]),
    ]
    done = ingest(dumps, tmp_path / "work", on_error=OnError.SKIP, workers=2)
    assert (done.total("comments"), done.total("rejects")) == (2, 2 * len(TORN))
    with pytest.raises(DialensError, match=r"RC_[12]\.gz, line [12]: is not JSON"):
        ingest(dumps, tmp_path / "other", workers=2)


@pytest.mark.parametrize("suffix", [".zst", ".bz2", ".gz", ".xz"])
def test_truncated_archive(tmp_path: Path, suffix: str) -> None:
    dump = write_dump(tmp_path / f"RC{suffix}", conversation(seed=1, comments=4_000)[0])
    dump.write_bytes(dump.read_bytes()[: dump.stat().st_size * 3 // 4])
    with pytest.raises(DialensError, match=r"damaged after .* bytes .*fetch it again"):
        ingest([dump], tmp_path / "work")
    done = ingest([dump], tmp_path / "work", on_error=OnError.SKIP)
    taken = done.total("comments")
    assert 0 < taken < 4_000
    assert done.total("rejects") == 0
    (source,) = done.sources
    assert source["damaged"]["after_line"] == source["lines"] == taken
    assert str(tmp_path) not in json.dumps(source)
    before = bytes_of(tmp_path / "work")
    next((tmp_path / "work" / work_folder.DONE_FOLDER).glob("source-*.json")).unlink()
    ingest([dump], tmp_path / "work", on_error=OnError.SKIP)  # its shards know, too
    assert bytes_of(tmp_path / "work") == before
    with pytest.raises(DialensError, match=rf"breaks off after line {taken:,}.*--on-error skip"):
        ingest([dump], tmp_path / "work")


def test_archive_that_is_not_what_its_magic_says(tmp_path: Path) -> None:
    dump = tmp_path / "RC.zst"
    dump.write_bytes(b"\x28\xb5\x2f\xfd" + b"garbage" * 100)
    with pytest.raises(DialensError, match="damaged after 0 bytes"):
        ingest([dump], tmp_path / "work")


@pytest.mark.parametrize("records", [[], ["", "  "]])
def test_empty_file(tmp_path: Path, records: list[str]) -> None:
    dump = write_dump(tmp_path / "RC.gz", records)
    with pytest.raises(DialensError, match="holds no record"):
        ingest([dump], tmp_path / "work")
    plain = tmp_path / "RC"
    plain.touch()
    with pytest.raises(DialensError, match="holds no record"):
        ingest([plain], tmp_path / "work2")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"nowhere\.zst cannot be read: No such file"):
        ingest([tmp_path / "nowhere.zst"], tmp_path / "work")
    with pytest.raises(DialensError, match="is a folder"):
        ingest([tmp_path], tmp_path / "work")


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment()])
    with pytest.raises(DialensError, match="is a file"):
        ingest([dump], dump)
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter1.tex").touch()
    with pytest.raises(DialensError, match="not written by"):
        ingest([dump], other)
    assert [path.name for path in other.iterdir()] == ["chapter1.tex"]


def test_full_disk_keeps_finished_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialens.engagement.curation._ingest_shards.SHARD_BLOCKS", 1)
    comments = conversation(seed=1, comments=21_000)[0]
    dump = write_dump(tmp_path / "RC.jsonl", [*reversed(comments[20_000:]), *comments])
    work = tmp_path / "work"
    size, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        with pytest.raises(DialensError, match=r"cannot be written to.*Make room"):
            ingest([dump], work)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    assert not list(work.glob("comments/*"))
    assert not list(work.glob("done/*"))
    assert ingest([dump], work).total("comments") == 22_000
