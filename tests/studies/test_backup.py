"""Backups while people take part, restored elsewhere; damaged ones are refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.studies import load_study
from dialens.studies.backup import Backup, back_up, restore, study_files
from dialens.studies.store import KEY_VARIABLE, Session, Store
from tests.cli.test_study_data import STUDY
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY, cluster  # noqa: F401
from tests.studies.store.people import NOON, arrive, given


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "study.yaml").write_text(STUDY)
    return tmp_path / "here"


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'study.db'}"


def begun(store: Store, folder: Path, worker: str = "anna") -> Session:
    """Somebody who has answered the first screen."""
    study = store.register(load_study(folder), now=NOON)
    came = arrive(store, study, worker)
    store.submit(came.token, given(0), now=NOON)
    return came


def taken(folder: Path, target: Path) -> Backup:
    with Store.open(url_of(folder)) as store:
        begun(store, folder)
    return back_up(folder, url_of(folder), target, now=NOON)


def test_a_live_study_is_copied_whole_and_goes_on_elsewhere(here: Path, tmp_path: Path) -> None:
    with Store.open(url_of(here)) as store:
        came = begun(store, here)
        # A plain copy of the file has nothing: everything is in the log beside it.
        shutil.copy(here / "study.db", tmp_path / "plain.db")
        made = back_up(here, url_of(here), tmp_path / "copies" / "monday", now=NOON)
    with sqlite3.connect(tmp_path / "plain.db") as plain, pytest.raises(sqlite3.Error):
        plain.execute("SELECT count(*) FROM answers")
    assert (made.participants, made.answers, made.with_key) == (1, 2, True)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in made.folder.rglob("*")}
    assert modes == {0o600, 0o700}
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
    shutil.rmtree(here)
    there = tmp_path / "there"
    done = restore(made.folder, there)
    assert (done.participants, done.answers, done.aside) == (1, 2, ())
    assert load_study(there).name == "tea"
    assert stat.S_IMODE((there / "study.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((there / "study.db.key").stat().st_mode) == 0o600
    with Store.open(url_of(there), create=False) as again:
        assert again.session(came.token).index == 1
        assert again.worker(came.participant) == "anna"
        again.submit(came.token, given(1), now=NOON)


def test_while_writes_go_on(here: Path, tmp_path: Path) -> None:
    """Each copy is one moment: every acknowledged screen before it, and no half of one."""
    with Store.open(url_of(here)) as store:
        study = store.register(load_study(here), now=NOON)
        came = [arrive(store, study, f"w{number}") for number in range(2)]
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
            for number in range(3):
                before = len(acknowledged)
                made = back_up(here, url_of(here), tmp_path / str(number), now=NOON)
                seen.append((made.folder / "study.db", before, len(acknowledged)))
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


@pytest.mark.parametrize("name", ["study.db", "study.db.key", "study/study.yaml", "backup.json"])
def test_one_damaged_byte_is_refused(here: Path, tmp_path: Path, name: str) -> None:
    made = taken(here, tmp_path / "monday")
    damaged = bytearray((made.folder / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (made.folder / name).write_bytes(damaged)
    with pytest.raises(DialensError, match="is not as it was when the backup was taken") as refused:
        restore(made.folder, tmp_path / "there", force=True)
    assert str(made.folder / name) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "there").exists()


def test_a_list_that_leads_elsewhere_is_refused(here: Path, tmp_path: Path) -> None:
    made = taken(here, tmp_path / "monday")
    from dialens.studies.backup._contents import _hash

    said = json.loads((made.folder / "backup.json").read_text())
    said.pop("sha256")
    said["files"]["study/../../evil"] = said["files"].pop("study/study.yaml")
    (made.folder / "backup.json").write_text(json.dumps(said | {"sha256": _hash(said)}))
    with pytest.raises(DialensError, match="nothing is restored"):
        restore(made.folder, tmp_path / "there")


def test_a_file_that_is_missing_is_named(here: Path, tmp_path: Path) -> None:
    made = taken(here, tmp_path / "monday")
    (made.folder / "study.db.key").unlink()
    with pytest.raises(DialensError, match=r"study\.db\.key is not as it was"):
        restore(made.folder, tmp_path / "there")
    with pytest.raises(DialensError, match="is not a backup"):
        restore(tmp_path, tmp_path / "there")


def test_nothing_is_overwritten(here: Path, tmp_path: Path) -> None:
    made = taken(here, tmp_path / "monday")
    with pytest.raises(DialensError, match="a backup is not overwritten"):
        back_up(here, url_of(here), made.folder, now=NOON)
    before = (here / "study.db").read_bytes()
    with pytest.raises(DialensError, match="people may be in there"):
        restore(made.folder, here)
    assert (here / "study.db").read_bytes() == before
    done = restore(made.folder, here, force=True)
    assert done.aside == (str(here / "study.db.1"),)  # the study file and the key are the same


def test_a_database_in_use_is_not_moved_away(here: Path, tmp_path: Path) -> None:
    made = taken(here, tmp_path / "monday")
    with Store.open(url_of(here)) as store:
        came = begun(store, here, "ben")
        with pytest.raises(DialensError, match="is in use"):
            restore(made.folder, here, force=True)
        store.submit(came.token, given(1), now=NOON)
    with Store.open(url_of(here)) as store:
        assert store.session(came.token).index == 2


@pytest.mark.parametrize(
    "content", [b"name: tea\n", b"rater,worker\np7,anna\n", b"\x89PNG\r\n\xff\xfe", b"", b"QUJD"]
)
def test_a_file_that_is_no_key_is_told_as_such(here: Path, tmp_path: Path, content: bytes) -> None:
    made = taken(here, tmp_path / "monday")
    other = tmp_path / "ids.csv"
    other.write_bytes(content)
    told = r"ids\.csv does not hold a study's key: that is one line of 44 letters"
    with pytest.raises(DialensError, match=told):
        restore(made.folder, tmp_path / "there", key=other)


def test_a_wrong_or_missing_key_is_told_before_anything_is_restored(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = taken(here, tmp_path / "monday")
    other = tmp_path / "other.key"
    other.write_text(KEY.to_text())
    there = tmp_path / "there"
    with pytest.raises(DialensError, match="key does not fit"):
        restore(made.folder, there, key=other)
    apart = back_up(here, url_of(here), tmp_path / "apart", now=NOON, with_key=False)
    with pytest.raises(DialensError, match="--key FILE"):
        restore(apart.folder, there)
    assert not there.exists()
    monkeypatch.setenv(KEY_VARIABLE, (here / "study.db.key").read_text())
    assert restore(apart.folder, there).participants == 1
    monkeypatch.setenv(KEY_VARIABLE, KEY.to_text())
    with pytest.raises(DialensError, match="--without-key"):
        back_up(here, url_of(here), tmp_path / "third", now=NOON)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_other_files_are_no_database(here: Path, tmp_path: Path, content: bytes) -> None:
    (here / "study.db").write_bytes(content)
    with pytest.raises(DialensError):
        back_up(here, url_of(here), tmp_path / "copy", now=NOON)
    assert not (tmp_path / "copy").exists()


def test_what_a_study_needs_to_go_on(here: Path, tmp_path: Path) -> None:
    (here / "pictures").mkdir()
    (here / "pictures" / "cup.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    entry = {
        "id": "a",
        "responses": {"x": "Tea.", "y": "Milk."},
        "media": [{"file": "pictures/cup.png", "alt": "A cup"}],
    }
    (here / "items.jsonl").write_text(json.dumps(entry) + "\n")
    (here / "judges.yaml").write_text("judges: {}\n")
    (here / "notes.txt").write_text("of somebody's own")
    text = STUDY[: STUDY.index("items:")] + "items: {file: items.jsonl}\n"
    rest = STUDY[STUDY.index("items:") :].split("\n")[1:]
    text += "\n".join(rest[next(n for n, line in enumerate(rest) if line[:1].isalpha()) :])
    (here / "study.yaml").write_text(text)
    inside, outside = study_files(load_study(here), here / "study.yaml")
    assert inside == ["items.jsonl", "judges.yaml", "pictures/cup.png", "study.yaml"]
    assert outside == []


@pytest.mark.slow
def test_postgresql_goes_on_in_another_database(
    cluster: Cluster,  # noqa: F811
    here: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY.to_text())
    url, other, there = cluster.database(), cluster.database(), tmp_path / "there"
    with Store.open(url) as store:
        came = begun(store, here)
        made = back_up(here, url, tmp_path / "monday", now=NOON)
        assert (made.participants, made.answers) == (1, 2)
        with pytest.raises(DialensError, match="Name a database for it"):
            restore(made.folder, there)
        with pytest.raises(DialensError, match="holds a study, and people may be in it"):
            restore(made.folder, there, url=url)
        assert not there.exists()
    done = restore(made.folder, there, url=other)
    assert (done.participants, done.answers, done.with_key) == (1, 2, True)
    assert done.key is None  # the environment has it, where a server looks for it
    monkeypatch.delenv(KEY_VARIABLE)
    third = restore(made.folder, tmp_path / "third", url=cluster.database())
    assert third.key is not None
    assert third.key.read_text().strip() == KEY.to_text()
    monkeypatch.setenv(KEY_VARIABLE, KEY.to_text())
    with Store.open(other, create=False) as again:
        assert again.worker(came.participant) == "anna"
        again.submit(came.token, given(1), now=NOON)
        assert again.session(came.token).index == 2
        begun(again, there, "ben")
    assert restore(made.folder, there, url=other, force=True).participants == 1
    damaged = bytearray((made.folder / "study.dump").read_bytes())
    damaged[-100] ^= 1
    (made.folder / "study.dump").write_bytes(damaged)
    with pytest.raises(DialensError, match="is not as it was"):
        restore(made.folder, tmp_path / "third", url=cluster.database())


def test_without_pg_dump_it_is_said(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DialensError, match="pg_dump, which comes with PostgreSQL"):
        back_up(here, "postgresql://study@localhost/ratings", tmp_path / "copy", now=NOON)
