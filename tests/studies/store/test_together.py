"""Submissions that share a transaction: each is told, and stored, as if it had come alone."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from sqlalchemy import text

from dialens.base import DialensError
from dialens.studies.store import (
    Event,
    EventError,
    PendingSubmission,
    Policy,
    Receipt,
    SessionOver,
    Store,
    StoreUnavailable,
    StudyRecord,
    Submission,
)
from dialens.studies.store._session import find
from dialens.studies.store._submission import add_events
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, SECOND, arrive, given, register

HOUR = timedelta(hours=1)
WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")


def waiting(token: str, index: int, key: str = "k", value: float = 50.0) -> PendingSubmission:
    return PendingSubmission(token, given(index, key, value), NOON + SECOND)


def told(store: Store, group: list[PendingSubmission]) -> list[str]:
    """What each is told, in a word or two."""
    return [
        f"{one.outcome} {one.index}" if isinstance(one, Receipt) else type(one).__name__
        for one in store.submit_together(group)
    ]


def kept(store: Store, study: StudyRecord) -> list[tuple[str, int, str]]:
    frame = store.answers_frame(study.hash).filter(pl.col("field") == "readability")
    return sorted(frame.select("rater", "index", "value").iter_rows())


def test_many_people_at_once(store: Store) -> None:
    study = register(store)
    people = [arrive(store, study) for _ in range(120)]
    for at in range(2):
        group = [waiting(one.token, at, value=n) for n, one in enumerate(people)]
        assert told(store, group) == [f"stored {at + 1}"] * 120
    expected = [(one.participant, at, str(n)) for n, one in enumerate(people) for at in range(2)]
    assert kept(store, study) == sorted(expected)
    assert store.answers_frame(study.hash).height == 120 * 2 * 2
    assert store.submit_together([]) == []


def test_clicks_tabs_and_strangers_in_one_group(store: Store) -> None:
    study = register(store, policy=Policy("resume", 1))
    gone, back = arrive(store, study), arrive(store, study)
    assert store.expire(study.hash, now=NOON + HOUR) == 2
    one, two, done = (arrive(store, study, f"w{n}", now=NOON + HOUR) for n in range(3))
    tab = arrive(store, study, "w1", now=NOON + HOUR)
    assert tab.participant == two.participant
    store.submit(done.token, given(0), now=NOON + HOUR)
    store.complete(done.token, screens=1, now=NOON + HOUR)
    store.forget(gone.participant)
    group = [
        waiting(one.token, 0, "a", 1),
        waiting(one.token, 0, "a", 1),  # a double click
        waiting(two.token, 0, "a", 2),
        waiting(tab.token, 0, "b", 3),  # a second tab, with a token of its own
        waiting(done.token, 0, "k", 4),  # the response to the last screen was lost
        waiting(done.token, 1, "k", 5),
        waiting(gone.token, 0, "k", 6),
        waiting("nobody's", 0, "k", 7),
        waiting(back.token, 0, "k", 8),  # was away, and has a place still
    ]
    assert told(store, group) == [
        "stored 1",
        "repeated 1",
        "stored 1",
        "answered_before 1",
        "repeated 1",
        "elsewhere 1",
        "UnknownSession",
        "UnknownSession",
        "stored 1",
    ]
    values = {rater: value for rater, _, value in kept(store, study)}
    assert values == {
        one.participant: "1",
        two.participant: "2",
        done.participant: "50.0",
        back.participant: "8",
    }


def test_the_order_of_a_session_is_kept(store: Store) -> None:
    study = register(store)
    one, two, other = (arrive(store, study) for _ in range(3))
    group = [
        waiting(one.token, 0),
        waiting(two.token, 1),
        waiting(other.token, 0),
        waiting(one.token, 1),
        waiting(two.token, 0),
        waiting(one.token, 2),
    ]
    expected = ["stored 1", "elsewhere 0", "stored 1", "stored 2", "stored 1", "stored 3"]
    assert told(store, group) == expected


def test_who_started_again_is_told_so_and_nobody_else(store: Store) -> None:
    study = register(store, policy=Policy("restart", 3600))
    first = arrive(store, study, "w")
    store.submit(first.token, given(0), now=NOON)
    second, other = arrive(store, study, "w"), arrive(store, study)
    group = [waiting(first.token, 1), waiting(second.token, 0), waiting(other.token, 0)]
    over, *stored = store.submit_together(group)
    assert isinstance(over, SessionOver)
    assert over.state == "restarted"
    assert stored == [Receipt(1, "stored")] * 2


def spoiled(index: int) -> list[tuple[Submission, type[Exception]]]:
    """Submissions that cannot be stored: seen before the database, when written, when sent."""
    sound = given(index)
    odd = Event("change", NOON, "page", 0, "half a pair: \ud800")
    return [
        (replace(sound, key="a b"), EventError),
        (replace(sound, answers={"taste": 1}), DialensError),
        (replace(sound, answers={"readability": float("nan")}), DialensError),
        (replace(sound, events=[odd]), UnicodeEncodeError),
    ]


@pytest.mark.parametrize("which", range(4))
def test_one_that_cannot_be_stored_does_not_spoil_the_others(store: Store, which: int) -> None:
    study = register(store)
    people = [arrive(store, study) for _ in range(5)]
    group = [waiting(one.token, 0) for one in people]
    bad, error = spoiled(0)[which]
    group[2] = PendingSubmission(people[2].token, bad, NOON)
    outcomes = store.submit_together(group)
    assert isinstance(outcomes.pop(2), error)
    assert outcomes == [Receipt(1, "stored")] * 4
    assert {rater for rater, *_ in kept(store, study)} == {
        one.participant for one in people if one is not people[2]
    }
    # Nothing is left of it, and it can be sent again, rightly.
    assert store.session(people[2].token).index == 0
    assert store.events_frame(study.hash).height == 0
    assert told(store, [waiting(people[2].token, 0)]) == ["stored 1"]


def test_times_and_events_are_those_of_a_submission_alone(store: Store) -> None:
    study = register(store)
    alone, shared, other = (arrive(store, study) for _ in range(3))
    end = NOON + 20 * SECOND
    sent = [Event("hidden", NOON + 5 * SECOND, "p", 1), Event("visible", end - 8 * SECOND, "p", 2)]
    answer = replace(
        given(0),
        shown_at=NOON + SECOND,
        submitted_at=end,
        events=[*sent, Event("change", end, "p", 3, "coherence", {"value": "é 😀"})],
    )
    for one in (alone, shared, other):  # sent before, and once more with the answer
        store.log_events(one.token, answer.screen.id, sent, now=NOON + 13 * SECOND)
    store.submit(alone.token, answer, now=end)
    store.submit_together([PendingSubmission(one.token, answer, end) for one in (shared, other)])
    # Visible from 1 to 5 s and from 12 to 20 s.
    frame = store.answers_frame(study.hash)
    assert frame["active_ms"].to_list() == [12_000] * 6
    for table in (frame, store.events_frame(study.hash)):
        own = table.drop("cell", "seed", strict=False)
        rows = own.partition_by("rater", include_key=False)
        assert len(rows) == 3
        assert rows[0].equals(rows[1])
        assert rows[0].equals(rows[2])


steps = st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("ab"))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@for_all(groups=st.lists(st.lists(steps, max_size=8), max_size=6))
def test_any_groups_end_as_if_each_had_come_alone(
    groups: list[list[tuple[int, int, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    stores = [Store.open(f"sqlite:///{folder / name}.db", secrets=KEY) for name in "xy"]
    results = []
    for store in stores:
        study = register(store)
        people = [arrive(store, study, f"w{n % 3}") for n in range(4)]  # one has two tokens
        seen: list[object] = []
        for group in groups:
            made = [waiting(people[who].token, at, key, at) for who, at, key in group]
            if store is stores[0]:
                seen += store.submit_together(made)
            else:
                seen += [store.submit(one.token, one.submission, now=one.now) for one in made]
        frame = store.answers_frame(study.hash).drop("rater")
        results.append((seen, frame.rows()))
        store.close()
    assert results[0] == results[1]


@pytest.mark.slow
def test_who_is_locked_elsewhere_keeps_nobody_waiting(cluster: Cluster) -> None:
    with Store.open(cluster.database(), secrets=KEY) as store, ThreadPoolExecutor(1) as pool:
        study = register(store)
        busy, free = arrive(store, study), arrive(store, study)
        with store.database.writing() as connection:
            find(connection, busy.token, lock=True)
            group = [waiting(busy.token, 0), waiting(free.token, 0)]
            outcomes = pool.submit(store.submit_together, group)
            while store.session(free.token).index == 0:
                time.sleep(0.005)
            assert not outcomes.done()
        assert outcomes.result() == [Receipt(1, "stored")] * 2


@pytest.mark.slow
def test_events_that_come_on_two_ways_do_not_lock_each_other_out(cluster: Cluster) -> None:
    with Store.open(cluster.database(), secrets=KEY) as store, ThreadPoolExecutor(1) as pool:
        study = register(store)
        one = arrive(store, study)
        seen = [Event("shown", NOON, "p", 0)]
        with store.database.writing() as connection:  # as a submission does it, step by step
            row = find(connection, one.token, lock=True)
            logged = pool.submit(store.log_events, one.token, "rate-000", seen, now=NOON)
            while not connection.execute(WAITING).scalar_one():
                time.sleep(0.005)
            add_events(connection, row.id, "rate-000", seen, NOON)
        logged.result()
        assert store.events_frame(study.hash).height == 1


@pytest.mark.slow
def test_a_database_that_dies_is_told_to_everybody(cluster: Cluster) -> None:
    url = cluster.database()
    with Store.open(url, secrets=KEY) as store:
        study = register(store)
        group = [waiting(arrive(store, study).token, 0) for _ in range(3)]
        cluster.kill()
        try:
            assert told(store, group) == ["StoreUnavailable"] * 3
        finally:
            cluster.start()
        assert told(store, group) == ["stored 1"] * 3
        # A connection that breaks in the middle: some may be stored, and all can be sent again.
        group = [replace(one, submission=given(1)) for one in group]
        with Store.open(url, secrets=KEY) as other, ThreadPoolExecutor(1) as pool:
            blocking = other.database.engine.connect()
            blocking.execute(text("LOCK TABLE answers"))
            outcomes = pool.submit(store.submit_together, group)
            while not blocking.execute(WAITING).scalar_one():
                time.sleep(0.005)
            for process in cluster.backends(url):
                os.kill(process, signal.SIGTERM)
            assert [type(one) for one in outcomes.result()] == [StoreUnavailable] * 3
            blocking.invalidate()
            blocking.close()
        assert told(store, group) == ["stored 2"] * 3
