"""A database that is only looked into: read while it is written, never changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from dialens.base import DialensError
from dialens.studies import TEA, study_of
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import (
    Store,
    StoreUnavailable,
    UnknownParticipant,
    answered,
    events_of,
    look_into,
)

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def test_what_is_stored_is_seen_at_once_and_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = study_of(TEA)
    with Store.open(f"sqlite:///{path}") as store:
        store.register(study, now=NOW)
        (tmp_path / "study.db.key").unlink()
        with look_into(path) as looked:
            assert answered(looked) == {}
            simulate_study(store, study, Population(), participants=1, seed=1, now=NOW)
            rows = store.answers_frame(study.hash)
            assert looked.answers_frame(study.hash).equals(rows)
            assert answered(looked) == {study.hash: (rows.height, rows["answered_at"].max())}
            person = rows["rater"][0]
            kinds = [event.kind for event in events_of(looked, person, attempt=1)]
            assert kinds.count("submitted") == rows["screen"].n_unique() + 1  # the instructions
            with pytest.raises(UnknownParticipant):
                events_of(looked, "nobody", attempt=1)
            with pytest.raises(StoreUnavailable, match="readonly"):
                looked.expire(study.hash, now=NOW)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["study.db"]
    with look_into(path) as looked:
        assert looked.answers_frame(study.hash).equals(rows)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["study.db"]


def test_what_is_no_study_of_today_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with pytest.raises(DialensError, match="does not exist"):
        look_into(path)
    path.write_bytes(b"no database")
    with pytest.raises(DialensError, match="not an SQLite database"):
        look_into(path)
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table t (x)")
    with pytest.raises(DialensError, match="another version of dialens"):
        look_into(path)
    path.unlink()
    with Store.open(f"sqlite:///{path}") as store, store.database.writing() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(DialensError, match="another version of dialens"):
        look_into(path)
