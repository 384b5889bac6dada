"""The cache of results: what it keeps, through damage, other processes and sudden ends."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dialens.base import DialensError
from dialens.metrics import ResultCache, default_folder
from dialens.metrics._result_cache import FILE, content_key


def test_rows_come_back_to_the_last_digit(tmp_path: Path) -> None:
    rows = {bytes([n]): np.array([n / 3, np.nan, -0.0]) for n in range(5)}
    ResultCache(tmp_path / "new" / "folder").put(rows)
    found = ResultCache(tmp_path / "new" / "folder").get([*rows, b"unknown"])
    assert found.keys() == rows.keys()
    for key, row in rows.items():
        np.testing.assert_array_equal(found[key], row)


def test_more_keys_than_a_query_takes(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    rows = {n.to_bytes(4, "big"): np.array([float(n)]) for n in range(3_000)}
    cache.put(rows)
    assert len(cache.get(list(rows))) == 3_000


def test_without_a_folder_it_lasts_as_long_as_the_run() -> None:
    cache = ResultCache()
    cache.put({b"a": np.array([1.0])})
    assert cache.get([b"a"])[b"a"] == [1.0]
    cache.close()
    assert cache.get([b"a"]) == {}


def test_keys_tell_texts_apart() -> None:
    keys = {
        content_key("m", ["a", "b"]),
        content_key("m", ["b", "a"]),
        content_key("m", ["ab"]),
        content_key("m", ["a", "b", ""]),
        content_key("n", ["a", "b"]),
        content_key("ma", ["b"]),
        content_key("m", ["\ud800"]),
    }
    assert len(keys) == 7


@pytest.mark.parametrize("garbage", [b"not a database at all" * 100, None])
def test_a_damaged_file_is_set_aside(tmp_path: Path, garbage: bytes | None) -> None:
    cache = ResultCache(tmp_path)
    many = {n.to_bytes(4, "big"): np.full(40, float(n)) for n in range(2_000)}
    cache.put(many)
    cache.close()
    file = tmp_path / FILE
    data = bytearray(file.read_bytes())
    assert len(data) > 50_000
    if garbage is None:  # a header that is sound, and pages that are not
        data[4_096:] = os.urandom(len(data) - 4_096)
    else:
        data[:] = garbage
    file.write_bytes(bytes(data))
    with pytest.warns(UserWarning, match="damaged"):
        found = ResultCache(tmp_path).get(list(many))
    assert found == {}
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1
    again = ResultCache(tmp_path)
    again.put({b"x": np.array([2.0])})
    assert again.get([b"x"])[b"x"] == [2.0]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DialensError, match="--no-cache"):
        ResultCache(tmp_path / "file").put({b"x": np.array([1.0])})


def test_another_table_is_not_taken_for_ours(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("CREATE TABLE rows (name TEXT)")
    other.close()
    with pytest.raises(DialensError, match="no such column"):
        ResultCache(tmp_path).get([b"x"])


WRITER = """
import sys
import numpy as np
from pathlib import Path
from dialens.metrics import ResultCache
cache, who = ResultCache(Path(sys.argv[1])), sys.argv[2]
for n in range(int(sys.argv[3])):
    cache.put({f"{who}-{n}".encode(): np.array([float(n)])})
    print(n, flush=True)
"""


def writer(folder: Path, name: str, rows: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(rows)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_several_processes_write_at_once(tmp_path: Path) -> None:
    running = [writer(tmp_path, name, 60) for name in "abc"]
    for one in running:
        one.communicate(timeout=120)
        assert one.returncode == 0
    keys = [f"{name}-{n}".encode() for name in "abc" for n in range(60)]
    assert len(ResultCache(tmp_path).get(keys)) == 180


@pytest.mark.slow
def test_what_was_kept_survives_kill_9(tmp_path: Path) -> None:
    running = writer(tmp_path, "a", 100_000)
    assert running.stdout is not None
    for line in running.stdout:
        if int(line) >= 20:
            break
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    keys = [f"a-{n}".encode() for n in range(21)]
    assert len(ResultCache(tmp_path).get(keys)) == 21


def test_the_default_place_follows_the_users_wish(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "dialens"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == Path.home() / ".cache" / "dialens"
