"""Databases of earlier versions of the tables, with people in them, are brought up to date."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from dialens.studies import TEA, Study, load_study, study_of
from dialens.studies.store import OperationStore, Store
from dialens.studies.store._database import Database
from tests.studies.store.conftest import KEY
from tests.studies.store.older import take_back
from tests.studies.store.people import NOON
from tests.studies.test_translation import GERMAN, STUDY, written

OLD = TEA | {
    "targets": 7,
    "hypotheses": ["Warm replies win."],
    "limits": {"idle_minutes": 5.0},
    "recruiter": {"kind": "prolific", "reward": 2.0},
}


def whole(study: Study, code: str) -> dict[str, Any]:
    """A study as version 0005 kept it: everything in one, with one code for those who complete."""
    design = study.design.model_dump(mode="json", exclude_unset=True)
    if "completion" in design:
        design["completion"]["code"] = code
        del design["completion"]["codes"]
    return {"design": design}


def test_words_of_further_languages_and_the_code_are_taken_apart_too(tmp_path: Path) -> None:
    """What is left is what this version makes of the same files, to the last character."""
    closing = {"title": "Thanks", "message": "Good-bye.", "codes": {"completed": "DONE-1"}}
    written(
        tmp_path,
        GERMAN | {"completion": {"title": "Danke", "message": "Auf Wiedersehen."}},
        STUDY | {"completion": closing, "targets": 7, "recruiter": {"kind": "link", "fee": 0.1}},
    )
    study = load_study(tmp_path)
    old = json.loads(study.definition)
    old |= whole(study, "DONE-1")
    old["translations"]["de"] |= whole(study.said_in("de"), "DONE-1")
    assert "DONE-1" not in study.definition
    text = json.dumps(old, ensure_ascii=False, separators=(",", ":"))
    path = tmp_path / "study.db"
    database = Database.open(f"sqlite:///{path}", create=True)
    take_back(database, "0005")
    database.close()
    with sqlite3.connect(path) as plain:
        plain.execute(
            "INSERT INTO studies (hash, name, version, definition, resume, stale_after_s, "
            "registered_at) VALUES (?, 'tea', '1', ?, 'resume', 300, 0)",
            (hashlib.sha256(text.encode()).hexdigest(), text),
        )
    with Store.open(f"sqlite:///{path}", secrets=KEY) as store:
        (record,) = store.studies()
        assert (record.definition, record.hash) == (study.definition, study.hash)
        assert json.loads(record.operation) == json.loads(study.operation)
        taken = record.study
        assert taken.design.completion.codes.completed == "DONE-1"
        assert taken.design.completion.message == "Good-bye."
        assert taken.said_in("de").design.completion.message == "Auf Wiedersehen."
        assert set(taken.targets.values()) == {7}
        store.register(study, now=NOON)
        assert len(store.studies()) == 1
        assert OperationStore(store, "file").changes_frame(study.hash).is_empty()


def test_definitions_that_were_hashed_whole_are_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = study_of(OLD)
    kept = json.loads(study.definition) | {
        "design": study.design.model_dump(mode="json", exclude_unset=True)
    }
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
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
