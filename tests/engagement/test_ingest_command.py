"""`dialens engagement ingest` as a person runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.engagement._group import app
from dialens.engagement.curation import _work_folder as work_folder
from tests.engagement.dumps import comment, conversation, line_of, submission, write_dump
from tests.engagement.test_ingest import TORN, beginning


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["ingest", *map(str, arguments)], catch_exceptions=True)


@pytest.fixture
def dumps(tmp_path: Path) -> list[Path]:
    comments, submissions = conversation(seed=8, comments=200)
    return [
        write_dump(tmp_path / "RC_2006-01.zst", comments),
        write_dump(tmp_path / "RS_2006-01.bz2", submissions),
    ]


def test_ingest_says_what_it_did(dumps: list[Path], tmp_path: Path) -> None:
    result = run(*dumps, "-o", tmp_path / "work")
    assert result.exit_code == 0
    assert "200 comments and 10 submissions of 2 dumps in 2 shards" in result.stdout
    again = run(*dumps, "-o", tmp_path / "work")
    assert "RC_2006-01.zst: there already, not read again." in again.stdout
    record = json.loads((tmp_path / "work" / work_folder.INGEST_RECORD).read_bytes())
    assert record["counts"] == {"comments": 200, "submissions": 10, "rejects": 0, "shards": 2}
    assert [source["source"] for source in record["sources"]] == [
        "RC_2006-01.zst",
        "RS_2006-01.bz2",
    ]
    assert str(tmp_path) not in json.dumps(record)


def test_dry_run_writes_nothing(dumps: list[Path], tmp_path: Path) -> None:
    result = run(*dumps, "-o", tmp_path / "work", "--dry-run")
    assert result.exit_code == 0
    assert "About 210 rows" in result.stdout
    assert "Nothing was written." in result.stdout
    assert not (tmp_path / "work").exists()


def test_skipped_records_are_told(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment(), "{", submission()])
    stopped = run(dump, "-o", tmp_path / "work")
    assert isinstance(stopped.exception, DialensError)
    assert "line 2" in str(stopped.exception)
    result = run(dump, "-o", tmp_path / "work", "--on-error", "skip")
    assert "1 record was left out; see" in result.stdout
    planned = run(dump, "-o", tmp_path / "other", "--dry-run")
    assert "This would stop the run:" in planned.stdout
    planned = run(dump, "-o", tmp_path / "other", "--dry-run", "--on-error", "skip")
    assert "This would be left out:" in planned.stdout
    assert "--on-error" not in planned.stdout


@pytest.mark.parametrize(("line", "what"), TORN, ids=beginning)
def test_torn_lines_are_told_before_anything_is_read(
    tmp_path: Path, line: str | bytes, what: str
) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment(), line])
    planned = run(dump, "-o", tmp_path / "work", "--dry-run")
    assert planned.exit_code == 0
    assert what in " ".join(planned.stdout.split())


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    """An archive within which the first 150 of 200 lines are whole, and half of the next."""
    lines = [line_of(one) for one in conversation(seed=8, comments=200)[0]]
    whole = b"".join(lines[:150]) + lines[150][:40]
    packed = gzip.compress(whole, mtime=0)
    dump = tmp_path / "RC.gz"
    dump.write_bytes(packed[:-8])  # without its checksum: all content is there, its end is not
    stopped = run(dump, "-o", tmp_path / "work", "--dry-run")
    assert isinstance(stopped.exception, DialensError)
    planned = run(dump, "-o", tmp_path / "work", "--dry-run", "--on-error", "skip")
    assert planned.exit_code == 0
    assert "About 150 rows" in planned.stdout
    told = " ".join(planned.stdout.split())
    assert f"This would be left out: what {dump} holds after {len(whole):,} bytes" in told
    result = run(dump, "-o", tmp_path / "work", "--on-error", "skip")
    assert result.exit_code == 0
    assert "RC.gz is damaged and breaks off after line 150:" in result.stdout
    assert "left out" not in result.stdout


def test_an_archive_without_a_whole_line_may_be_skipped(tmp_path: Path) -> None:
    dump = tmp_path / "RC.zst"
    dump.write_bytes(b"\x28\xb5\x2f\xfd" + b"garbage" * 100)
    for more in ((), ("--dry-run",)):
        result = run(dump, "-o", tmp_path / "work", "--on-error", "skip", *more)
        assert result.exit_code == 0, result.exception
    assert "RC.zst is damaged and breaks off after line 0" in " ".join(
        run(dump, "-o", tmp_path / "work", "--on-error", "skip").stdout.split()
    )


def test_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    result = run(tmp_path / "RC_2099-01.zst", "-o", tmp_path / "work")
    assert isinstance(result.exception, DialensError)
    assert "RC_2099-01.zst cannot be read: No such file" in str(result.exception)


def test_help_has_examples() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "dialens engagement ingest RC_2006-0*.bz2" in result.stdout
