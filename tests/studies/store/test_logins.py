"""Wrong passwords are counted for all servers of a study together, on both databases."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import select

from dialens.studies.store import LoginTries, Store, TooManyTries
from dialens.studies.store._tables import mistakes
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, SECOND


def test_servers_that_are_asked_at_once_look_at_five_passwords_in_all(
    url: str, store: Store
) -> None:
    """Each process counted for itself: four of them gave four times the tries."""
    others = [store, *(Store.open(url, secrets=KEY) for _ in range(3))]
    seen: Counter[str] = Counter()
    lock, together = threading.Lock(), threading.Barrier(12)

    def attack(own: Store) -> None:
        tries = LoginTries(own.database, own.secrets, lambda: NOON)
        together.wait()
        try:
            tries.judged("192.0.2.1", lambda: None)
            outcome = "looked at"
        except TooManyTries:
            outcome = "refused"
        with lock:
            seen[outcome] += 1

    threads = [threading.Thread(target=attack, args=(others[n % 4],)) for n in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for own in others[1:]:
        own.close()
    assert seen == {"looked at": 5, "refused": 7}


def test_mistakes_are_forgotten_in_time_and_with_the_right_password(store: Store) -> None:
    now = [NOON]
    tries = LoginTries(store.database, store.secrets, lambda: now[0])

    def fail() -> None:
        assert tries.judged("192.0.2.1", lambda: None) is None

    for _ in range(4):
        fail()
    assert tries.judged("192.0.2.1", lambda: "owner") == "owner"
    for _ in range(5):
        fail()
    with pytest.raises(TooManyTries) as locked:
        tries.judged("192.0.2.1", lambda: "owner")
    assert locked.value.seconds == 300
    now[0] = NOON + timedelta(minutes=5) + SECOND
    fail()
    with store.database.reading() as connection:
        assert len(connection.execute(select(mistakes)).all()) == 1
    now[0] = NOON - timedelta(hours=3)  # the clock was set back
    fail()
    with store.database.reading() as connection:
        (kept,) = connection.execute(select(mistakes)).all()
    assert "192.0.2.1" not in kept.network
