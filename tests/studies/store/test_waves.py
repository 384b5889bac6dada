"""Coming back for a later wave, on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dialens.studies import TEA, Screen, study_of
from dialens.studies.store import (
    Ending,
    OperationStore,
    Session,
    SessionOver,
    Store,
    StudyRecord,
    Submission,
)
from tests.studies.store.people import NOON, seeds

LATER = {"after_hours": 24, "within_hours": 72, "items": "same"}
HOUR = timedelta(hours=1)


def registered(store: Store, **changes: Any) -> StudyRecord:
    study = {**TEA, "targets": 1, "waves": {"later": LATER, "last": LATER}, **changes}
    return store.register(study_of(study), now=NOON)


def arrive(store: Store, study: StudyRecord, worker: str, hours: float = 0.0) -> Session:
    """Somebody comes so many hours after noon, and agrees if they have not."""
    now = NOON + hours * HOUR
    source = seeds(hash(worker) % 1000)
    came = store.begin(study.hash, recruiter="link", worker=worker, now=now, seed_source=source)
    return store.admit(came.token, now=now, seed_source=source)


def complete(store: Store, session: Session, hours: float = 0.0) -> str:
    now = NOON + hours * HOUR
    screen = Screen("rate-001", "rating", "Rate")
    store.submit(session.token, Submission(screen, session.index, {}, key="k"), now=now)
    return store.complete(session.token, screens=session.index + 1, now=now)


def test_who_comes_in_time_gets_the_next_wave_with_cell_and_seed(store: Store) -> None:
    study = registered(store)
    first = arrive(store, study, "ada")
    code = complete(store, first)
    early = arrive(store, study, "ada", 23.9)
    assert (early.wave, early.state, early.code) == (1, "completed", code)
    second = arrive(store, study, "ada", 24)
    assert (second.wave, second.state, second.attempt, second.index) == (2, "live", 2, 0)
    assert (second.cell, second.seed) == (first.cell, first.seed)
    assert second.participant == first.participant
    assert second.placed_at is not None
    assert arrive(store, study, "ada", 24.1).wave == 2  # the same session, from another device
    other_code = complete(store, second, 24.2)
    assert other_code != code
    # The third is counted from the end of the second.
    assert arrive(store, study, "ada", 48).wave == 2
    assert arrive(store, study, "ada", 24.2 + 24).wave == 3


def test_who_comes_too_late_stays_where_they_were(store: Store) -> None:
    study = registered(store)
    code = complete(store, arrive(store, study, "ada"))
    late = arrive(store, study, "ada", 72)
    assert (late.wave, late.state, late.code) == (1, "completed", code)
    steering = OperationStore(store, "command")
    steering.operate(study.hash, {"waves": {"later": {"within_hours": 96}}}, now=NOON)
    assert arrive(store, study, "ada", 73).wave == 2


def test_later_waves_take_no_places(store: Store) -> None:
    study = registered(store, factors={}, presentation={"anchor": "none"}, targets=2)
    for worker in ("ada", "bob"):
        complete(store, arrive(store, study, worker))
    second = arrive(store, study, "ada", 24)
    (cell,) = store.progress(study.hash)
    assert (cell.completed, cell.live) == (2, 0)
    complete(store, second, 24)
    (cell,) = store.progress(study.hash)
    assert (cell.completed, cell.live, cell.target) == (2, 0, 2)
    OperationStore(store, "command").operate(study.hash, {"targets": 3}, now=NOON)
    third = arrive(store, study, "eve", 25)
    assert third.wave == 1
    assert third.seed == 2  # those of the first wave are taken


def test_a_session_of_a_later_wave_expires_and_goes_on(store: Store) -> None:
    study = registered(store, factors={}, presentation={"anchor": "none"})
    complete(store, arrive(store, study, "ada"))
    second = arrive(store, study, "ada", 24)
    assert store.expire(study.hash, now=NOON + 25 * HOUR) == 1
    assert store.come_back(second.token, now=NOON + 25 * HOUR).state == "live"
    store.expire(study.hash, now=NOON + 30 * HOUR)
    with pytest.raises(SessionOver):
        store.come_back(second.token, now=NOON + 30 * HOUR)


def test_beginning_again_stays_in_the_wave(store: Store) -> None:
    study = registered(store, resume="restart")
    complete(store, arrive(store, study, "ada"))
    second = arrive(store, study, "ada", 24)
    screen = Screen("rate-001", "rating", "Rate")
    store.submit(second.token, Submission(screen, 0, {}, key="k"), now=NOON + 24 * HOUR)
    again = arrive(store, study, "ada", 24.2)
    assert (again.wave, again.attempt, again.seed) == (2, 3, second.seed)


def test_who_is_excluded_is_not_let_into_later_waves(store: Store) -> None:
    study = registered(store)
    first = arrive(store, study, "ada")
    complete(store, first)
    steering = OperationStore(store, "command")
    steering.exclude(first.participant, "no attention", now=NOON)
    assert arrive(store, study, "ada", 30).wave == 1
    assert steering.returning(study.hash, 2, now=NOON) == ()
    assert store.waves(study.hash, now=NOON + 30 * HOUR)[0].awaited == 0


def test_who_may_come_back_is_counted_and_listed(store: Store) -> None:
    study = registered(store, targets=2)
    names = ("ada", "bob", "eve", "dan")
    sessions = {name: arrive(store, study, name) for name in names}
    for hours, name in enumerate(names[:3]):
        complete(store, sessions[name], hours * 0.4)
    begun = arrive(store, study, "ada", 24)
    now = NOON + 24.5 * HOUR
    (wave, last) = store.waves(study.hash, now=now)
    counts = (wave.awaited, wave.completed, wave.live, wave.open, wave.early, wave.late)
    assert (wave.number, wave.name, counts) == (2, "later", (3, 0, 1, 1, 1, 0))
    assert last.awaited == 0
    steering = OperationStore(store, "command")
    listed = steering.returning(study.hash, 2, now=now)
    assert [(one.worker, one.begun) for one in listed] == [
        ("ada", True),
        ("bob", False),
        ("eve", False),
    ]
    assert listed[1].wave.opens_at == NOON + 24.4 * HOUR
    logged = steering.changes_frame(study.hash)["what"].to_list()
    assert logged == ["identities exported for wave 2"]
    complete(store, begun, 24.6)
    (wave, last) = store.waves(study.hash, now=NOON + 100 * HOUR)
    assert (wave.completed, wave.late, last.awaited, last.late) == (1, 2, 1, 1)
    assert [one.worker for one in steering.returning(study.hash, 2, now=now)] == ["bob", "eve"]


def test_codes_of_every_wave_are_found_and_the_table_has_a_row_each(store: Store) -> None:
    study = registered(store)
    first = arrive(store, study, "ada")
    codes = [complete(store, first), complete(store, arrive(store, study, "ada", 24), 24)]
    steering = OperationStore(store, "command")
    for wave, code in enumerate(codes, start=1):
        (holder,) = steering.code_holders(code.lower())
        assert (holder.participant, holder.wave) == (first.participant, wave)
        assert steering.pseudonym(code) == first.participant
    table = steering.participants_frame(study.hash)
    assert table.select("wave", "code", "state").rows() == [
        (1, codes[0], "completed"),
        (2, codes[1], "completed"),
    ]
    assert store.completions(study.hash) == {first.participant: codes[0]}


def test_withdrawing_in_a_later_wave_keeps_the_first_or_deletes_all(store: Store) -> None:
    study = registered(store)
    for worker in ("ada", "bob"):
        complete(store, arrive(store, study, worker))
    kept, gone = (arrive(store, study, worker, 24) for worker in ("ada", "bob"))
    store.end(kept.token, Ending("withdrawn"), now=NOON + 24 * HOUR)
    store.depart(gone.token, "withdrawn")
    table = OperationStore(store, "command").participants_frame(study.hash)
    assert table.select("rater", "wave", "state").rows() == [
        (kept.participant, 1, "completed"),
        (kept.participant, 2, "withdrawn"),
    ]
