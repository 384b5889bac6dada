"""Conversations in the database that end early, are held back, or have two sides."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from dialens.studies import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, Side, Talk, TalkState
from dialens.studies.store import (
    LEASE_S,
    AgentFailure,
    AgentReply,
    ConversationStore,
    Lease,
    ParticipantMessage,
    Store,
)
from tests.studies.store.conftest import KEY
from tests.studies.store.older import take_back
from tests.studies.store.people import NOON, SECOND, arrive, register

ONE = Talk((Side("chat-001", "bots", "ada"),), most=4, least=2, seconds=60)
PAIR = Talk((Side("chat-001-1", "bots", "ada"), Side("chat-001-2", "bots", "bea")), most=2)
YES = AgentReply("Yes.", 1.0)
GONE = AgentFailure("timeout", "60 s", 60.0, final=True)


def message(talk: Talk, number: int, key: str = "") -> ParticipantMessage:
    return ParticipantMessage(talk, 0, number, f"m{number}", key or f"k{number}")


def say(talking: ConversationStore, token: str, talk: Talk, number: int) -> tuple[Lease, ...]:
    outcome, leases = talking.say(token, message(talk, number), server="one", now=NOON)
    assert outcome == "stored"
    return leases


def endings(talking: ConversationStore, token: str) -> list[str | None]:
    return [one.ended for one in talking.exchanges(token)]


def test_the_participant_may_end_it_from_a_point_on(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    assert not talking.end(came.token, ONE, by_participant=True, now=NOON)
    for number in (1, 2):
        (lease,) = say(talking, came.token, ONE, number)
        # Neither before enough was said nor while a reply is under way.
        assert not talking.end(came.token, ONE, by_participant=True, now=NOON)
        talking.store_reply(lease, YES, now=NOON)
    assert endings(talking, came.token) == [None, None]
    assert talking.end(came.token, ONE, by_participant=True, now=NOON)
    assert talking.end(came.token, ONE, by_participant=True, now=NOON + timedelta(hours=1))
    assert endings(talking, came.token) == [None, "participant"]
    assert talking.say(came.token, message(ONE, 3), server="one", now=NOON) == ("elsewhere", ())
    frame = talking.exchanges_frame("hash-of-tea")
    assert frame["ended"].to_list() == ["participant"] * 2


def test_the_time_ends_it_but_not_a_reply_under_way(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    (lease,) = say(talking, came.token, ONE, 1)
    late = NOON + timedelta(seconds=61)
    assert not talking.end(came.token, ONE, by_participant=False, now=late)
    assert talking.store_reply(lease, YES, now=late)
    assert endings(talking, came.token) == [None]
    # Who sends another message learns that it is over; it is not stored.
    assert talking.say(came.token, message(ONE, 2), server="one", now=late) == ("elsewhere", ())
    assert endings(talking, came.token) == ["time"]
    assert [one.said for one in talking.exchanges(came.token)] == ["m1"]


def test_a_failure_is_not_tried_again_when_the_time_is_over(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    (lease,) = say(talking, came.token, ONE, 1)
    talking.store_failure(lease, replace(GONE, final=False), now=NOON)
    late = NOON + timedelta(seconds=61)
    assert talking.end(came.token, ONE, by_participant=False, now=late)
    taken = talking.take_over(came.token, ONE, ONE.sides[0], 1, server="one", now=late, again=True)
    assert taken is None
    assert endings(talking, came.token) == ["time"]


def test_a_message_is_said_to_both_sides_or_to_none(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    start = threading.Barrier(8)

    def one(number: int) -> tuple[str, int]:
        start.wait()
        told = message(PAIR, 1, key=f"k{number}")
        outcome, leases = talking.say(came.token, told, server=f"s{number}", now=NOON)
        return outcome, len(leases)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(one, range(8))) == [("answered_before", 0)] * 7 + [("stored", 2)]
    said = talking.exchanges(came.token)
    assert [(one.talk, one.state) for one in said] == [
        ("chat-001-1", WAITING),
        ("chat-001-2", WAITING),
    ]
    assert len({one.key for one in said}) == 1


def test_each_side_is_taken_over_by_itself(store: Store) -> None:
    """The server dies after one side has answered: the other is asked again, and only that."""
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    first, second = say(talking, came.token, PAIR, 1)
    assert talking.store_reply(first, YES, now=NOON)
    later = NOON + timedelta(seconds=LEASE_S)
    taken = [
        talking.take_over(came.token, PAIR, side, 1, server="two", now=later) for side in PAIR.sides
    ]
    assert taken[0] is None
    assert taken[1] is not None
    assert not talking.store_reply(second, AgentReply("Late.", 1.0), now=later)
    assert talking.store_reply(taken[1], AgentReply("No.", 1.0), now=later)
    assert [one.reply for one in talking.exchanges(came.token)] == ["Yes.", "No."]
    assert TalkState(PAIR, talking.exchanges(came.token), later).number == 2


def test_one_side_that_is_given_up_ends_it_for_both(store: Store) -> None:
    talking, study = ConversationStore(store.database), register(store)
    for order in ((0, 1), (1, 0)):  # whichever is through first
        came = arrive(store, study, f"worker-{order}")
        leases = say(talking, came.token, PAIR, 1)
        for place in order:
            if place == 0:
                assert talking.store_failure(leases[0], GONE, now=NOON)
            else:
                assert talking.store_reply(leases[1], YES, now=NOON)
        said = talking.exchanges(came.token)
        assert [one.state for one in said] == [GIVEN_UP, ANSWERED]
        assert endings(talking, came.token) == ["agent", "agent"]
        outcome = talking.say(came.token, message(PAIR, 2), server="one", now=NOON)
        assert outcome == ("elsewhere", ())


def test_the_last_reply_of_one_side_does_not_end_it_for_the_other(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    for lease in say(talking, came.token, PAIR, 1):
        talking.store_reply(lease, YES, now=NOON)
    first, second = say(talking, came.token, PAIR, 2)
    talking.store_reply(first, YES, now=NOON)
    talking.store_failure(second, replace(GONE, final=False), now=NOON)
    state = TalkState(PAIR, talking.exchanges(came.token), NOON)
    assert (state.state, state.ended, state.number) == (FAILED, None, 2)
    again = talking.take_over(
        came.token, PAIR, PAIR.sides[1], 2, server="one", now=NOON, again=True
    )
    assert again is not None
    talking.store_failure(again, replace(GONE, final=False), now=NOON)
    # The time ends it for both sides alike.
    timed = replace(PAIR, seconds=60)
    assert talking.end(came.token, timed, by_participant=False, now=NOON + timedelta(minutes=2))
    assert [one.ended for one in talking.exchanges(came.token) if one.number == 2] == ["time"] * 2


def test_both_sides_stored_at_once_do_not_wait_for_each_other(store: Store) -> None:
    """Each changes the other's row: a fixed order of locks, so no deadlock, while leases renew."""
    talking, study = ConversationStore(store.database), register(store)
    held = AgentReply("Yes.", 1.0, due_at=NOON + 5 * SECOND)
    for number in range(6):
        came = arrive(store, study, f"worker-{number}")
        leases = say(talking, came.token, PAIR, 1)
        start = threading.Barrier(3)

        def store_one(lease: Lease, start: threading.Barrier = start) -> bool:
            start.wait()
            return talking.store_reply(lease, held, now=NOON)

        def renew(start: threading.Barrier = start) -> bool:
            start.wait()
            talking.renew_leases("one", now=NOON)
            return True

        with ThreadPoolExecutor(3) as pool:
            done = [pool.submit(store_one, lease) for lease in leases] + [pool.submit(renew)]
            assert all(one.result(timeout=30) for one in done)


def test_replies_that_are_held_back_are_shown_together(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    quick, slow = say(talking, came.token, PAIR, 1)
    talking.store_reply(quick, AgentReply("Yes.", 0.5, due_at=NOON + 2 * SECOND), now=NOON)
    talking.store_reply(
        slow, AgentReply("No.", 8.0, due_at=NOON + 3 * SECOND), now=NOON + 8 * SECOND
    )
    said = talking.exchanges(came.token)
    assert {one.shown_at for one in said} == {NOON + 8 * SECOND}
    assert [one.seconds for one in said] == [0.5, 8.0]
    frame = talking.exchanges_frame("hash-of-tea")
    assert frame["waited"].to_list() == [8.0, 8.0]


def test_a_reply_that_is_held_back_is_waited_for(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    (lease,) = say(talking, came.token, ONE, 1)
    talking.store_reply(lease, AgentReply("Yes.", 1.0, due_at=NOON + 3 * SECOND), now=NOON)
    said = talking.exchanges(came.token)
    soon = TalkState(ONE, said, NOON + SECOND)
    assert (soon.state, soon.last[0].reply, soon.held_s) == (WAITING, None, 2.0)
    assert talking.say(came.token, message(ONE, 2), server="one", now=NOON) == ("elsewhere", ())
    then = TalkState(ONE, said, NOON + 3 * SECOND)
    assert (then.state, then.last[0].reply, then.number) == (ANSWERED, "Yes.", 2)


def test_a_clock_that_is_late_hides_nothing() -> None:
    """A reply that another server stored a moment ahead of this server's clock is there."""
    one = Exchange("chat-001", 1, "k", "Hi", NOON, ANSWERED, 1, "Yes.")
    ahead = replace(one, replied_at=NOON + SECOND, shown_at=NOON + SECOND)
    assert TalkState(ONE, [ahead], NOON).state == ANSWERED


@pytest.mark.parametrize(("number", "ended"), [(1, None), (2, "exchanges")])
def test_the_last_message_ends_it(store: Store, number: int, ended: str | None) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    for one in range(1, number + 1):
        for lease in say(talking, came.token, PAIR, one):
            talking.store_reply(lease, YES, now=NOON)
    assert {one.ended for one in talking.exchanges(came.token) if one.number == number} == {ended}


def test_conversations_from_before_say_how_they_ended(url: str) -> None:
    with Store.open(url, secrets=KEY) as store:
        talking, study = ConversationStore(store.database), register(store)
        answered, given_up = (arrive(store, study, name) for name in ("a", "b"))
        talking.store_reply(say(talking, answered.token, ONE, 1)[0], YES, now=NOON + SECOND)
        talking.store_failure(say(talking, given_up.token, ONE, 1)[0], GONE, now=NOON)
        take_back(store.database, "0006")
    with Store.open(url, secrets=KEY) as store:
        frame = ConversationStore(store.database).exchanges_frame("hash-of-tea")
        assert frame.sort("state").select("state", "waited", "ended").rows() == [
            ("answered", 1.0, None),
            ("given_up", None, "agent"),
        ]
