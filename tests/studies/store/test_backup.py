"""Backups while people take part, restored elsewhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.studies.store import KEY_VARIABLE, Store, back_up, restore
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, arrive, given, register


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here" / "study.db"


def test_a_live_database_is_copied_whole_and_goes_on_elsewhere(
    database: Path, tmp_path: Path
) -> None:
    with Store.open(f"sqlite:///{database}") as store:
        study = register(store)
        came = arrive(store, study, "anna")
        store.submit(came.token, given(0), now=NOON)
        # A plain copy of the file has nothing: everything is in the log beside it.
        shutil.copy(database, tmp_path / "plain.db")
        made = back_up(f"sqlite:///{database}", tmp_path / "copies" / "monday.db")
    assert made.key == Path(f"{database}.key")
    with sqlite3.connect(tmp_path / "plain.db") as plain, pytest.raises(sqlite3.Error):
        plain.execute("SELECT count(*) FROM answers")
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    there = tmp_path / "there" / "study.db"
    there.parent.mkdir()
    restore(made.file, there, key=made.key)
    with Store.open(f"sqlite:///{there}", create=False) as again:
        assert again.session(came.token).index == 1
        assert again.answers_frame(study.hash).height == 2
        assert again.worker(came.participant) == "anna"
        again.submit(came.token, given(1), now=NOON)


def test_while_writes_go_on(database: Path, tmp_path: Path) -> None:
    """Each copy is one moment: every acknowledged screen before it, and no half of one."""
    with Store.open(f"sqlite:///{database}") as store:
        study = register(store)
        came = [arrive(store, study, f"w{number}") for number in range(4)]
        acknowledged: list[int] = []
        stop = threading.Event()

        def write() -> None:
            for index in range(2_000):
                for one in came:
                    store.submit(one.token, given(index, key=f"k{index}"), now=NOON)
                    acknowledged.append(index)
                if stop.is_set():
                    return

        thread = threading.Thread(target=write)
        thread.start()
        seen = []
        try:
            for number in range(4):
                before = len(acknowledged)
                made = back_up(f"sqlite:///{database}", tmp_path / f"{number}.db")
                seen.append((made.file, before, len(acknowledged)))
        finally:
            stop.set()
            thread.join()
    for file, before, after in seen:
        with sqlite3.connect(file) as copy:
            (screens,) = copy.execute("SELECT count(*) FROM submissions").fetchone()
            (answers,) = copy.execute("SELECT count(*) FROM answers").fetchone()
            (steps,) = copy.execute("SELECT sum(position) FROM sessions").fetchone()
        assert before <= screens <= after + 1
        assert (answers, steps) == (2 * screens, screens)
    assert len(acknowledged) > seen[0][1]


def test_nothing_is_overwritten(database: Path, tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{database}") as store:
        register(store)
    copy = tmp_path / "copy.db"
    made = back_up(f"sqlite:///{database}", copy)
    with pytest.raises(DialensError, match="a backup is not overwritten"):
        back_up(f"sqlite:///{database}", copy)
    with pytest.raises(DialensError, match="people may be in it"):
        restore(copy, database, key=made.key)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_other_files_are_no_database(tmp_path: Path, content: bytes) -> None:
    odd = tmp_path / "odd.db"
    odd.write_bytes(content)
    with pytest.raises(DialensError):
        back_up(f"sqlite:///{odd}", tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_a_wrong_or_missing_key_is_told_before_anything_is_restored(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(f"sqlite:///{database}") as store:
        register(store)
    copy = back_up(f"sqlite:///{database}", tmp_path / "copy.db").file
    other = tmp_path / "other.key"
    other.write_text(KEY.to_text())
    there = tmp_path / "there.db"
    with pytest.raises(DialensError, match="key does not fit"):
        restore(copy, there, key=other)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(DialensError, match="--key FILE"):
        restore(copy, there, key=None)
    assert not list(tmp_path.glob("there.db*"))  # so that the next try finds nothing in its way
    monkeypatch.setenv(KEY_VARIABLE, Path(f"{database}.key").read_text())
    restore(copy, there, key=None)
    assert there.exists()


@pytest.mark.slow
def test_postgresql_is_dumped(cluster: Cluster, tmp_path: Path) -> None:
    url = cluster.schema()
    with Store.open(url, secrets=KEY) as store:
        study = register(store)
        store.submit(arrive(store, study, "anna").token, given(0), now=NOON)
        made = back_up(url, tmp_path / "study.dump")
    listing = subprocess.run(
        ["pg_restore", "--list", str(made.file)], capture_output=True, text=True, check=True
    )
    assert "TABLE DATA" in listing.stdout
    assert " answers " in listing.stdout


def test_without_pg_dump_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    with pytest.raises(DialensError, match="pg_dump, which comes with PostgreSQL"):
        back_up("postgresql://study@localhost/ratings", tmp_path / "study.dump")
