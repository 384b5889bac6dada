"""Databases of earlier versions of the tables, with people in them, are brought up to date."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

from dialens.studies import TEA, study_of
from dialens.studies.store import Store
from dialens.studies.store._database import Database
from tests.studies.store.conftest import KEY
from tests.studies.store.older import take_back
from tests.studies.store.people import NOON

OLD = TEA | {
    "targets": 7,
    "hypotheses": ["Warm replies win."],
    "limits": {"idle_minutes": 5.0},
    "recruiter": {"kind": "prolific", "reward": 2.0},
}


def test_definitions_that_were_hashed_whole_are_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = study_of(OLD)
    whole = json.loads(study.definition) | {
        "design": study.design.model_dump(mode="json", exclude_unset=True)
    }
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    old_hash = hashlib.sha256(text.encode()).hexdigest()
    database = Database.open(f"sqlite:///{path}", create=True)
    take_back(database, "0002")
    database.close()
    with sqlite3.connect(path) as plain:
        plain.execute(
            "INSERT INTO studies (hash, name, version, definition, resume, stale_after_s, "
            "registered_at) VALUES (?, 'tea', '1', ?, 'resume', 300, 0)",
            (old_hash, text),
        )
        plain.execute("INSERT INTO settings VALUES (?, '[]')", (f"simulations {old_hash[:40]}",))
    with Store.open(f"sqlite:///{path}", secrets=KEY) as store:
        (record,) = store.studies()
        assert record.hash == study.hash
        assert json.loads(record.operation) == json.loads(study.operation)
        assert set(record.study.targets.values()) == {7}
        assert store.register(study, now=NOON).hash == study.hash
    with sqlite3.connect(path) as plain:
        names = [row[0] for row in plain.execute("SELECT name FROM settings")]
    assert f"simulations {study.hash[:40]}" in names
