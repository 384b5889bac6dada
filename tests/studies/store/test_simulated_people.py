"""Simulated participants come into either database, and what was put in stays with the data."""

from __future__ import annotations

from dialens.studies import attendance, study_of
from dialens.studies._participation import note, noted
from dialens.studies.simulation import Population, simulate_study, simulations
from dialens.studies.store import Store
from tests.studies.store.people import NOON
from tests.studies.store.test_export import DESIGN


def test_a_crowd_on_either_database(store: Store) -> None:
    study = study_of(DESIGN | {"targets": 3})
    people = Population(dropout=0.25, speeders=0.2, inattentive=0.2)
    done = simulate_study(store, study, people, participants=8, now=NOON)
    again = simulate_study(store, study, people, participants=8, now=NOON)
    assert (again.known, again.outcomes) == (8, done.outcomes)
    assert attendance(store, study.hash) == {"simulated": 8}
    assert [one.population for one in simulations(store, study.hash)] == [people]
    assert sum(cell.completed for cell in store.progress(study.hash)) == done.outcomes["completed"]
    assert sum(cell.live for cell in store.progress(study.hash)) == 0


def test_notes_are_kept_and_replaced(store: Store) -> None:
    assert noted(store, "weather") is None
    note(store, "weather", {"sky": "blue"})
    note(store, "weather", {"sky": "grey ☁"})
    assert noted(store, "weather") == {"sky": "grey ☁"}


def test_people_wait_for_the_disk_again_afterwards(store: Store) -> None:
    simulate_study(store, study_of(DESIGN), Population(), participants=1, now=NOON)
    if store.database.is_sqlite:
        with store.database.reading() as connection:
            level = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
        assert level == 2  # FULL, see https://sqlite.org/pragma.html#pragma_synchronous
