"""Runs cut short, repeated, spread over processes: the same bytes in the end."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard

from dialens.base import DialensError
from dialens.corpus import OnError
from dialens.engagement.curation import _ingest_shards as ingest_shards
from dialens.engagement.curation import _work_folder as work_folder
from dialens.engagement.curation import ingest, plan_ingest
from tests.engagement.dumps import comment, conversation, write_dump
from tests.engagement.test_ingest import bytes_of, comments_of

CHILD = """
import sys
from pathlib import Path
from dialens.engagement.curation import _ingest_shards as ingest_shards
from dialens.engagement.curation import ingest

ingest_shards.SHARD_BLOCKS = 1
if __name__ == "__main__":
    workers, work, *dumps = sys.argv[1:]
    ingest([Path(dump) for dump in dumps], Path(work), workers=int(workers))
"""


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block a shard, so that a dump that is quickly made has several."""
    monkeypatch.setattr(ingest_shards, "SHARD_BLOCKS", 1)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two dumps of comments, of several blocks each, and one of submissions."""
    folder = tmp_path_factory.mktemp("dumps")
    made = []
    comments, submissions = conversation(seed=5, comments=1_500)
    for name, times in (("RC_a.zst", 50), ("RC_b.gz", 20)):
        lines = [
            json.dumps({**one, "id": f"{k:x}{one['id']}"}) for k in range(times) for one in comments
        ]
        made.append(write_dump(folder / name, lines))
    made.append(write_dump(folder / "RS_a.bz2", submissions))
    return made


def _unzstd(packed: bytes) -> bytes:
    return zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj().decompress(packed)


def _ends_of_blocks(lines: list[bytes]) -> list[int]:
    """By the definition: the line that reaches 8 MiB, or the 20,000th."""
    ends, size, count = [], 0, 0
    for number, line in enumerate(lines, start=1):
        size, count = size + len(line), count + 1
        if size >= 8 * 1024 * 1024 or count == 20_000 or number == len(lines):
            ends.append(number)
            size = count = 0
    return ends


def test_shards_hold_what_their_markers_say(
    dumps: list[Path], tmp_path: Path, small_shards: None
) -> None:
    done = ingest(dumps, tmp_path / "work")
    assert done.total("comments") == 105_000
    for dump, unpack in zip(dumps, (_unzstd, gzip.decompress, bz2.decompress), strict=True):
        expected = _ends_of_blocks(unpack(dump.read_bytes()).splitlines(keepends=True))
        key = hashlib.sha256(dump.read_bytes()).hexdigest()[:12]
        markers = [
            json.loads(path.read_bytes())
            for path in sorted(
                (tmp_path / "work" / work_folder.DONE_FOLDER).glob(f"part-{key}-*.json")
            )
        ]
        assert [marker["last_line"] for marker in markers] == expected
        assert [marker["first_line"] for marker in markers] == [1, *(n + 1 for n in expected[:-1])]
    record = json.loads((tmp_path / "work" / work_folder.INGEST_RECORD).read_bytes())
    assert record["counts"]["comments"] == 105_000


def _start(work: Path, dumps: list[Path], workers: int, script: Path) -> subprocess.Popen[bytes]:
    script.write_text(CHILD, encoding="utf-8")
    arguments = [sys.executable, str(script), str(workers), str(work), *map(str, dumps)]
    return subprocess.Popen(arguments, stderr=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_runs_go_on_to_the_same_bytes(
    dumps: list[Path], tmp_path: Path, small_shards: None, workers: int
) -> None:
    ingest(dumps, tmp_path / "whole", workers=1)
    whole = bytes_of(tmp_path / "whole")
    work = tmp_path / "killed"
    seen = 0
    for _ in range(3):  # killed when one more shard is there, wherever it then is
        child = _start(work, dumps, workers, tmp_path / "child.py")
        while child.poll() is None and len(list(work.glob("done/part-*.json"))) <= seen:
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
        seen = len(list(work.glob("done/part-*.json")))
    (work / "comments" / ".part-0-00000.parquet.x.partial.parquet").write_bytes(b"half")
    done = ingest(dumps, work)
    assert bytes_of(work) == whole
    assert (work / work_folder.INGEST_RECORD).exists()
    assert done.total("comments") == 105_000


def test_finished_shards_are_not_made_again(
    dumps: list[Path], tmp_path: Path, small_shards: None
) -> None:
    work = tmp_path / "work"
    ingest(dumps, work)
    times = {path: path.stat().st_mtime_ns for path in work.rglob("*.parquet")}
    done = ingest(dumps, work)
    assert (done.read, done.known) == ([], ["RC_a.zst", "RC_b.gz", "RS_a.bz2"])
    lost = sorted(work.glob("comments/*.parquet"))[1]
    before = bytes_of(work)
    lost.unlink()
    assert len(ingest(dumps, work).read) == 1
    assert bytes_of(work) == before
    changed = [path for path, then in times.items() if path.stat().st_mtime_ns != then]
    assert changed == [lost]


@pytest.mark.slow
def test_workers_and_order_do_not_matter(dumps: list[Path], tmp_path: Path) -> None:
    ingest(dumps, tmp_path / "one", workers=1)
    ingest(dumps[::-1], tmp_path / "two", workers=2)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


@pytest.mark.slow
def test_an_error_in_one_process_is_told_and_stops_the_others(
    dumps: list[Path], tmp_path: Path
) -> None:
    broken = write_dump(tmp_path / "broken.jsonl", [comment(), "{"])
    with pytest.raises(DialensError, match=r"broken\.jsonl, line 2: is not JSON"):
        ingest([*dumps, broken], tmp_path / "work", workers=2)


@pytest.mark.slow
def test_a_damaged_archive_in_one_process_is_told(dumps: list[Path], tmp_path: Path) -> None:
    cut_off = tmp_path / "RS.bz2"
    cut_off.write_bytes(dumps[2].read_bytes()[:-4])
    with pytest.raises(DialensError, match=r"RS\.bz2 is damaged after [\d,]+ bytes"):
        ingest([*dumps[:2], cut_off], tmp_path / "work", workers=2)
    done = ingest([*dumps[:2], cut_off], tmp_path / "work", workers=2, on_error=OnError.SKIP)
    assert [bool(source["damaged"]) for source in done.sources] == [False, False, True]


def test_the_same_content_is_read_once(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment()])
    copy = tmp_path / "copy.gz"
    copy.write_bytes(dump.read_bytes())
    done = ingest([dump, copy], tmp_path / "work")
    assert (done.read, done.known, done.total("comments")) == (["RC.gz"], ["copy.gz"], 1)
    assert ingest([copy], tmp_path / "work").known == ["copy.gz"]


def test_dumps_may_be_added(tmp_path: Path) -> None:
    one, two = (write_dump(tmp_path / f"RC_{n}.gz", [comment(id=f"c{n}")]) for n in (1, 2))
    ingest([one], tmp_path / "apart")
    done = ingest([two], tmp_path / "apart")
    assert [source["source"] for source in done.sources] == ["RC_1.gz", "RC_2.gz"]
    ingest([one, two], tmp_path / "together")
    assert bytes_of(tmp_path / "apart") == bytes_of(tmp_path / "together")
    record = json.loads((tmp_path / "apart" / work_folder.INGEST_RECORD).read_bytes())
    assert record["counts"]["comments"] == 2


def test_an_unfinished_dump_may_not_be_left_behind(tmp_path: Path, small_shards: None) -> None:
    lines = [json.dumps(comment(id=f"c{n}")) for n in range(20_001)]
    broken = write_dump(tmp_path / "broken.jsonl", [*lines, "{"])
    with pytest.raises(DialensError, match="line 20002"):
        ingest([broken], tmp_path / "work")
    assert len(list((tmp_path / "work").glob("comments/*.parquet"))) == 1  # finished, and kept
    other = write_dump(tmp_path / "other.gz", [comment()])
    with pytest.raises(DialensError, match="unfinished dump"):
        ingest([other], tmp_path / "work")
    done = ingest([other, broken], tmp_path / "work", on_error=OnError.SKIP)
    assert (done.total("comments"), done.total("rejects")) == (20_002, 1)
    with pytest.raises(DialensError, match=r"1 records? were left out.*--on-error skip"):
        ingest([broken], tmp_path / "work")


def test_shards_of_another_version_do_not_mix(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment()])
    ingest([dump], tmp_path / "work")
    (marker,) = (tmp_path / "work" / work_folder.DONE_FOLDER).glob("part-*.json")
    marker.write_text(marker.read_text().replace("shards-4", "shards-0"))
    with pytest.raises(DialensError, match="another version"):
        ingest([dump], tmp_path / "work")


def test_damaged_markers_are_made_again(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment()])
    ingest([dump], tmp_path / "work")
    before = bytes_of(tmp_path / "work")
    for marker in (tmp_path / "work" / work_folder.DONE_FOLDER).iterdir():
        marker.write_text("{")
    assert ingest([dump], tmp_path / "work").read == ["RC.gz"]
    assert bytes_of(tmp_path / "work") == before


def test_a_stale_marker_lets_its_shard_be_made_again(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment()])
    ingest([dump], tmp_path / "work")
    before = bytes_of(tmp_path / "work")
    (marker,) = (tmp_path / "work" / work_folder.DONE_FOLDER).glob("part-*.json")
    marker.write_text(json.dumps(json.loads(marker.read_bytes()) | {"key": "of something else"}))
    assert ingest([dump], tmp_path / "work").read == ["RC.gz"]
    assert bytes_of(tmp_path / "work") == before


def test_order_of_lines_changes_no_row(tmp_path: Path) -> None:
    comments = conversation(seed=2, comments=200)[0]
    ingest([write_dump(tmp_path / "a.jsonl", comments)], tmp_path / "a")
    random.Random(1).shuffle(comments)
    ingest([write_dump(tmp_path / "b.jsonl", comments)], tmp_path / "b")
    assert comments_of(tmp_path / "a").equals(comments_of(tmp_path / "b"))


def test_records_of_one_id_are_all_kept(tmp_path: Path) -> None:
    twice = [comment(body="a"), comment(body="b"), comment(body="a")]
    ingest([write_dump(tmp_path / "a.jsonl", twice)], tmp_path / "work")
    assert comments_of(tmp_path / "work")["text"].to_list() == ["a", "a", "b"]


def test_plan_writes_nothing(dumps: list[Path], tmp_path: Path) -> None:
    ticks = iter(range(100))
    estimated = write_dump(tmp_path / "RC.bz2", conversation(seed=4, comments=30_000)[0])
    (one,) = plan_ingest([estimated], tmp_path / "work").dumps
    assert abs(one.rows - 30_000) < 3_000
    planned = plan_ingest(dumps, tmp_path / "work", workers=2, timer=lambda: float(next(ticks)))
    assert not (tmp_path / "work").exists()
    assert [one.kinds for one in planned.dumps] == ["comments", "comments", "submissions"]
    assert [one.packing for one in planned.dumps] == ["zstandard", "gzip", "bzip2"]
    assert planned.dumps[2].rows == 75
    assert planned.seconds >= max(one.seconds for one in planned.dumps)
    ingest(dumps[2:], tmp_path / "work")
    assert [one.known for one in plan_ingest(dumps, tmp_path / "work").dumps] == [
        False,
        False,
        True,
    ]


def test_plan_shows_what_would_stop_the_run(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment(), "{"])
    (planned,) = plan_ingest([dump], tmp_path / "work").dumps
    assert planned.problem is not None
    assert "line 2" in planned.problem


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_permissions(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "RC.gz", [comment()])
    dump.chmod(0)
    with pytest.raises(DialensError, match="Permission denied"):
        ingest([dump], tmp_path / "work")
