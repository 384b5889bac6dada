"""Places given out by precision, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dialens.studies import TEA, Field, Screen, study_of
from dialens.studies.store import OperationStore, Session, Store, StudyFull, StudyRecord, Submission
from tests.studies.store.people import NOON, seeds

LIKERT = {"points": 7, "first": 1}
WANTED = {"kind": "precision", "quality": "warmth", "half_width": 0.6, "at_least": 5}


def registered(store: Store, **wanted: Any) -> StudyRecord:
    changes = {
        "qualities": {"warmth": {"instrument": {"kind": "likert", "points": 7}}},
        "factors": {"layout": {"levels": ["together", "separate"]}},
        "presentation": {"anchor": "none"},
        "targets": 100,
        "allocation": WANTED | wanted,
    }
    return store.register(study_of(TEA | changes), now=NOON)


def come(store: Store, study: StudyRecord, number: int) -> Session:
    source = seeds(number)
    came = store.begin(
        study.hash, recruiter="link", worker=f"w{number}", now=NOON, seed_source=source
    )
    return store.admit(came.token, now=NOON, seed_source=source)


def take(store: Store, study: StudyRecord, number: int, narrow: Sequence[int]) -> Session:
    """Somebody takes part; people in the cell `together` vary little, others much."""
    session = come(store, study, number)
    wide = {4: 1, 5: 7}
    for place in range(2):
        field = Field(
            "warmth-1",
            "likert",
            "warmth",
            "c1",
            "warm",
            LIKERT,
            targets={"1": {"agent": "warm", "response": "warm"}},
        )
        screen = Screen(f"rate-{place}", "rating", "Rate", fields=(field,))
        value = narrow[number % len(narrow)]
        if session.cell.endswith("separate"):
            value = wide[value]
        answers = {"warmth-1": value}
        store.submit(session.token, Submission(screen, place, answers, f"k{place}"), now=NOON)
    store.complete(session.token, screens=2, now=NOON)
    return session


def counts(store: Store, study: StudyRecord) -> list[int]:
    return [cell.completed for cell in store.progress(study.hash)]


def test_the_wider_cell_gets_more_people_and_the_most_end_it(store: Store) -> None:
    study = registered(store, half_width=0.1, at_most=40)
    for number in range(10):
        take(store, study, number, (4, 5, 5))
    assert counts(store, study) == [5, 5]  # evenly until each has enough
    for number in range(10, 40):
        take(store, study, number, (4, 5, 5))
    together, separate = counts(store, study)
    assert together + separate == 40
    assert separate > 2 * together
    with pytest.raises(StudyFull):
        come(store, study, 99)
    found = store.precision(study.hash)
    assert found is not None
    assert found.stopped == "at_most"


def test_it_stops_when_it_is_precise_and_goes_on_when_it_is_not(store: Store) -> None:
    study = registered(store, half_width=1.2)
    taken = []
    for number in range(12):
        taken.append(take(store, study, number, (4, 4, 4, 5)))
        cell = taken[-1].cell
        assert cell
    found = store.precision(study.hash)
    assert found is not None
    while found.stopped is None:
        taken.append(take(store, study, len(taken), (4, 4, 4, 5)))
        found = store.precision(study.hash)
        assert found is not None
    assert found.stopped == "precise"
    assert max(one.half_width for one in found.comparisons) <= 1.2
    with pytest.raises(StudyFull):
        come(store, study, 500)
    steering = OperationStore(store, "command")
    steering.operate(study.hash, {"allocation": {"half_width": 0.3}}, now=NOON)
    come(store, study, 501)
    assert "allocation.half_width" in steering.changes_frame(study.hash)["what"].to_list()


def test_an_exclusion_counts_at_once(store: Store) -> None:
    study = registered(store, half_width=0.1, at_most=14)
    people = [take(store, study, number, (4, 5)) for number in range(14)]
    with pytest.raises(StudyFull):
        come(store, study, 20)
    OperationStore(store, "command").exclude(people[0].participant, "no attention", now=NOON)
    found = store.precision(study.hash)
    assert found is not None
    assert sum(found.people.values()) == 13
    assert come(store, study, 21).state == "live"


def test_even_studies_know_nothing_of_it(store: Store) -> None:
    study = store.register(study_of(TEA), now=NOON)
    assert store.precision(study.hash) is None
