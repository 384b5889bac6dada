"""SQLite's file is deleted, moved or replaced while it is open: nothing more is acknowledged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dialens.studies.store import DatabaseFileGone, PendingSubmission, Receipt, Store
from dialens.studies.store._database_file import DatabaseFile
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, SECOND, arrive, given, register

LOGS = ("", "-wal", "-shm")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def move(path: Path, target: Path) -> None:
    """As `mv study.db* elsewhere` does it."""
    for log in LOGS:
        if Path(f"{path}{log}").exists():
            Path(f"{path}{log}").rename(f"{target}{log}")


def test_answers_into_a_deleted_file_are_not_acknowledged(path: Path) -> None:
    with Store.open(f"sqlite:///{path}", secrets=KEY) as store:
        study = register(store)
        people = [arrive(store, study, f"worker {number}") for number in range(3)]
        assert isinstance(store.submit(people[0].token, given(0), now=NOON), Receipt)
        for log in LOGS:
            Path(f"{path}{log}").unlink(missing_ok=True)
        with pytest.raises(DatabaseFileGone, match="deleted or moved"):
            store.submit(people[1].token, given(0), now=NOON)
        group = [PendingSubmission(one.token, given(1), NOON + SECOND) for one in people]
        assert {type(one) for one in store.submit_together(group)} == {DatabaseFileGone}
        with pytest.raises(DatabaseFileGone):
            store.database.try_writing()
        # Nor is an empty one made in its place, by another connection either.
        store.database.engine.dispose()
        with pytest.raises(DatabaseFileGone):
            store.studies()
    assert not path.exists()


def test_with_the_file_back_in_its_place_it_goes_on(path: Path, tmp_path: Path) -> None:
    away = tmp_path / "away.db"
    with Store.open(f"sqlite:///{path}", secrets=KEY) as store:
        study = register(store)
        person = arrive(store, study, "worker")
        move(path, away)
        with pytest.raises(DatabaseFileGone, match="Move it back"):
            store.submit(person.token, given(0), now=NOON)
        move(away, path)
        # Whoever tries again is told the same as after an answer that was lost on its way.
        assert store.submit(person.token, given(0), now=NOON).index == 1
    with Store.open(f"sqlite:///{path}", secrets=KEY, create=False) as store:
        assert store.answers_frame(study.hash)["rater"].unique().to_list() == [person.participant]


def test_another_file_in_its_place_needs_a_restart(path: Path, tmp_path: Path) -> None:
    away = tmp_path / "away.db"
    with Store.open(f"sqlite:///{path}", secrets=KEY) as store:
        study = register(store)
        person = arrive(store, study, "worker")
        store.database.scrub()
        before = shutil.copy(path, tmp_path / "backup.db")
        move(path, away)
        Path(before).rename(path)
        for _ in range(2):
            with pytest.raises(DatabaseFileGone, match="Restart the server"):
                store.submit(person.token, given(0), now=NOON)
        store.database.engine.dispose()  # new connections find the other file, and do not take it
        with pytest.raises(DatabaseFileGone, match="Restart the server"):
            store.submit(person.token, given(0), now=NOON)
    with Store.open(f"sqlite:///{path}", secrets=KEY, create=False) as store:
        assert store.answers_frame(study.hash).is_empty()
        assert store.submit(person.token, given(0), now=NOON).outcome == "stored"


@pytest.mark.parametrize("name", ["my study?.db", "100%25 #1.db", "ümlaut.db"])
def test_any_name_of_a_file_is_opened_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    connection = DatabaseFile(tmp_path / name, wait_s=1).connect()
    connection.execute("CREATE TABLE tea (id INTEGER)")
    connection.close()
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).stat().st_size > 0
