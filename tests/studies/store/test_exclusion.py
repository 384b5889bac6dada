"""Somebody is left out, and somebody else takes the place; data stay."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dialens.analysis.bias import read_study
from dialens.base import DialensError
from dialens.studies import TEA, Study, study_of
from dialens.studies.export import export
from dialens.studies.store import OperationStore, Session, Store, StudyFull, UnknownParticipant
from tests.studies.store.people import NOON, seeds
from tests.studies.store.test_export import take

WHY = "Failed both checks"


@pytest.fixture
def study(store: Store) -> Study:
    made = study_of(TEA | {"factors": {}, "targets": 3})
    store.register(made, now=NOON)
    return made


@pytest.fixture
def people(store: Store, study: Study) -> list[Session]:
    """Three people, who are all that is wanted."""
    return [take(store, study, worker) for worker in ("anna", "ben", "cleo")]


@pytest.fixture
def operating(store: Store) -> OperationStore:
    return OperationStore(store, "command")


def test_the_place_is_open_again_and_the_same_order_is_shown(
    store: Store, study: Study, people: list[Session], operating: OperationStore
) -> None:
    with pytest.raises(StudyFull):
        take(store, study, "dora")
    operating.exclude(people[1].participant, WHY, now=NOON)
    (cell,) = store.progress(study.hash)
    assert (cell.target, cell.completed, cell.live, cell.excluded) == (3, 2, 0, 1)
    instead = take(store, study, "dora")
    # The seed decides the order: who takes the place takes the order, so that it stays balanced.
    assert (instead.cell, instead.seed) == (people[1].cell, people[1].seed)
    (cell,) = store.progress(study.hash)
    assert (cell.completed, cell.excluded) == (3, 1)
    with pytest.raises(StudyFull):
        take(store, study, "emil")


def test_it_is_logged_and_can_be_undone(
    store: Store, study: Study, people: list[Session], operating: OperationStore
) -> None:
    operating.exclude(people[0].participant, f" {WHY} ", now=NOON)
    operating.include(people[0].participant, now=NOON)
    log = operating.changes_frame(study.hash).select("what", "rater", "before", "after", "why")
    assert log.rows() == [
        ("excluded", people[0].participant, "false", "true", WHY),
        ("excluded", people[0].participant, "true", "false", None),
    ]
    assert store.progress(study.hash)[0].completed == 3
    with pytest.raises(StudyFull):
        take(store, study, "dora")


def test_data_stay_and_the_analysis_leaves_them_out(
    store: Store, study: Study, people: list[Session], operating: OperationStore, tmp_path: Path
) -> None:
    gone = people[2].participant
    operating.exclude(gone, WHY, now=NOON)
    done = export(store, study.hash, tmp_path / "e")
    assert (done.participants, done.ratings, done.excluded) == (3, 3 * 36, 1)
    ratings = pl.read_parquet(tmp_path / "e" / "ratings.parquet")
    assert ratings.filter("excluded")["rater"].unique().to_list() == [gone]
    table = pl.read_parquet(tmp_path / "e" / "participants.parquet").filter("excluded")
    assert table.select("rater", "excluded_why").rows() == [(gone, WHY)]
    told: list[str] = []
    data = read_study(tmp_path / "e", say=told.append)
    assert gone not in data.raters["rater"]
    assert data.raters.height == 2
    assert told == ["excluded participants: 1 person and 36 ratings are left out."]
    assert read_study(tmp_path / "e", with_excluded=True).raters.height == 3
    # The same from the table as text.
    assert read_study(tmp_path / "e" / "csv" / "ratings.csv").raters.height == 2


def test_who_is_under_way_may_finish(store: Store, study: Study, operating: OperationStore) -> None:
    came = take(store, study, "anna", screens=2)
    operating.exclude(came.participant, WHY, now=NOON)
    again = store.begin(study.hash, recruiter="mturk", worker="anna", now=NOON, seed_source=seeds())
    assert (again.participant, again.index) == (came.participant, 2)


def test_mistakes_are_named(people: list[Session], operating: OperationStore) -> None:
    with pytest.raises(DialensError, match="needs a reason"):
        operating.exclude(people[0].participant, "  ", now=NOON)
    with pytest.raises(UnknownParticipant, match="no participant 'nobody'"):
        operating.exclude("nobody", WHY, now=NOON)


def test_who_is_forgotten_is_not_in_the_log(
    store: Store, study: Study, people: list[Session], operating: OperationStore
) -> None:
    operating.exclude(people[0].participant, WHY, now=NOON)
    store.forget(people[0].participant)
    assert operating.changes_frame(study.hash).height == 0
