"""A second version of a study: who is let in, and what is exported together."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from dialens.studies import TEA, Study, study_of
from dialens.studies.export import export
from dialens.studies.store import Session, Store
from tests.studies.store.people import NOON, seeds
from tests.studies.store.test_export import take

FIRST = TEA | {"factors": {}}
SECOND = FIRST | {"version": 2, "title": "How good are these answers?"}


@pytest.fixture
def versions(store: Store) -> tuple[Study, Study]:
    made = study_of(FIRST), study_of(SECOND)
    for study in made:
        store.register(study, now=NOON)
    return made


def come(store: Store, study: Study, worker: str, kind: str = "human") -> Session:
    return store.begin(
        study.hash,
        recruiter="mturk",
        worker=worker,
        now=NOON,
        seed_source=seeds(),
        rater_kind=kind,
    )


def test_who_is_under_way_stays_in_their_version(
    store: Store, versions: tuple[Study, Study]
) -> None:
    first, second = versions
    began = take(store, first, "anna", screens=2)
    back = come(store, second, "anna")
    assert (back.study, back.participant, back.index) == (first.hash, began.participant, 2)


def test_who_completed_the_first_is_not_let_into_the_second(
    store: Store, versions: tuple[Study, Study]
) -> None:
    first, second = versions
    done = take(store, first, "anna")
    back = come(store, second, "anna")
    assert (back.state, back.code) == ("completed", store.session(done.token).code)
    assert sum(cell.live for cell in store.progress(second.hash)) == 0
    # Others come in; programs do not remember what they saw.
    assert come(store, second, "ben").study == second.hash
    take(store, first, "model-1")
    assert come(store, second, "model-1", kind="llm").study == second.hash


def test_unless_the_study_says_so(store: Store) -> None:
    first, second = study_of(FIRST), study_of(SECOND | {"admit_earlier": True})
    for study in (first, second):
        store.register(study, now=NOON)
    take(store, first, "anna")
    assert come(store, second, "anna").study == second.hash


def test_who_only_looked_is_new(store: Store, versions: tuple[Study, Study]) -> None:
    first, second = versions
    come(store, first, "anna")
    assert come(store, second, "anna").study == second.hash


def test_both_versions_together(
    store: Store, versions: tuple[Study, Study], tmp_path: Path
) -> None:
    first, second = versions
    for study, workers in ((first, ("anna", "ben")), (second, ("cleo", "dora", "emil"))):
        for worker in workers:
            take(store, study, worker)
    done = export(store, [first.hash, second.hash], tmp_path / "e")
    assert (done.participants, done.ratings) == (5, 5 * 36)
    for path in (tmp_path / "e").glob("*.parquet"):
        assert "version" in pl.read_parquet(path).columns, path.name
    people = pl.read_parquet(tmp_path / "e" / "participants.parquet")
    assert people["version"].to_list() == ["1", "1", "2", "2", "2"]
    ratings = pl.read_parquet(tmp_path / "e" / "ratings.parquet")
    counts = ratings.group_by("version").agg(pl.col("rater").n_unique()).sort("version")
    assert counts.rows() == [("1", 2), ("2", 3)]
    book = json.loads((tmp_path / "e" / "codebook.json").read_text("utf-8"))
    assert book["versions"] == {"1": first.hash, "2": second.hash}
    assert (tmp_path / "e" / "codebook-version-1.md").exists()
    card = (tmp_path / "e" / "card.md").read_text("utf-8")
    assert "| 1 | `all` | 20 | 2 |" in card
    assert "| 2 | `all` | 20 | 3 |" in card
