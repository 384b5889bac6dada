"""Messages and replies in the database: each once, whoever asks, whoever dies."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from dialens.studies import ANSWERED, FAILED, GIVEN_UP, WAITING, Side, Talk
from dialens.studies.store import (
    EXCHANGES,
    LEASE_S,
    AgentFailure,
    AgentReply,
    ConversationStore,
    Lease,
    ParticipantMessage,
    Policy,
    SessionOver,
    Store,
    UnknownSession,
    replies_by_agent,
)
from dialens.studies.store._frames import FAILURES
from tests.studies.store.conftest import KEY
from tests.studies.store.older import take_back
from tests.studies.store.people import NOON, SECOND, arrive, given, register

LATER = NOON + timedelta(seconds=LEASE_S)


ADA = Side("chat-001", "bots", "ada")
TALK = Talk((ADA,), most=2)
OTHER = Talk((Side("chat-002", "bots", "ada"),), most=2)


def message(number: int, text: str = "Hello", key: str = "", **changes: Any) -> ParticipantMessage:
    told: dict[str, Any] = {
        "talk": TALK,
        "index": 0,
        "number": number,
        "text": text,
        "key": key or f"k{number}",
    }
    return ParticipantMessage(**(told | changes))


def say(talking: ConversationStore, token: str, number: int, **changes: Any) -> Lease:
    outcome, leases = talking.say(token, message(number, **changes), server="one", now=NOON)
    assert outcome == "stored"
    (lease,) = leases
    return lease


def states(talking: ConversationStore, token: str) -> list[str]:
    return [one.state for one in talking.exchanges(token)]


def test_a_database_from_before_conversations_is_brought_up_to_date(url: str) -> None:
    with Store.open(url, secrets=KEY) as store:
        came = arrive(store, register(store))
        store.submit(came.token, given(0), now=NOON)
        take_back(store.database, "0001")
    with Store.open(url, secrets=KEY) as store:
        assert store.answers_frame("hash-of-tea").height == 2
        assert store.session(came.token).language is None
        talking = ConversationStore(store.database)
        say(talking, came.token, 1, index=1)
        assert states(talking, came.token) == [WAITING]


def test_a_conversation_is_kept_as_it_was(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    lease = say(talking, came.token, 1, text="Tea\x00 or coffee? \U0001f375")
    assert lease.before == ()
    assert talking.store_reply(
        lease, AgentReply("Tea. \ud83d", 1.5, 2, 10, 3, 0.25), now=NOON + SECOND
    )
    lease = say(talking, came.token, 2)
    assert [one.reply for one in lease.before] == ["Tea. ?"]
    one, two = talking.exchanges(came.token)
    assert (one.said, one.reply, one.seconds) == ("Tea or coffee? \U0001f375", "Tea. ?", 1.5)
    assert (one.requests, one.tokens_in, one.tokens_out, one.cost) == (2, 10, 3, 0.25)
    assert (one.said_at, one.replied_at) == (NOON, NOON + SECOND)
    assert (two.state, two.reply) == (WAITING, None)
    frame = talking.exchanges_frame("hash-of-tea")
    assert frame.schema == EXCHANGES
    assert frame["rater"].unique().to_list() == [came.participant]


def test_the_first_message_in_a_place_counts(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    say(talking, came.token, 1, text="First")
    for again, outcome in (
        (message(1, "First"), "repeated"),
        (message(1, "Other", key="other"), "answered_before"),
        (message(2, "Too early"), "elsewhere"),
        (message(3, "Far"), "elsewhere"),
        (message(1, "No", talk=OTHER, index=5), "elsewhere"),
    ):
        assert talking.say(came.token, again, server="one", now=NOON) == (outcome, ())
    assert [one.said for one in talking.exchanges(came.token)] == ["First"]


def test_no_more_is_said_than_the_study_wants(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    for number in (1, 2):
        talking.store_reply(say(talking, came.token, number), AgentReply("Yes.", 1.0), now=NOON)
    assert talking.say(came.token, message(3), server="one", now=NOON) == ("elsewhere", ())


def test_who_has_gone_on_says_nothing_more(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    store.submit(came.token, given(0), now=NOON)
    assert talking.say(came.token, message(1), server="one", now=NOON) == ("elsewhere", ())


def test_a_session_that_is_over_is_told_so(store: Store) -> None:
    study = register(store, policy=Policy(stale_after_s=60))
    came, talking = arrive(store, study), ConversationStore(store.database)
    store.expire(study.hash, now=NOON + timedelta(minutes=5))
    with pytest.raises(SessionOver):
        talking.say(came.token, message(1), server="one", now=NOON)
    with pytest.raises(UnknownSession):
        talking.say("nobody's", message(1), server="one", now=NOON)


def test_talking_is_a_sign_of_life(store: Store) -> None:
    study = register(store, policy=Policy(stale_after_s=60))
    came, talking = arrive(store, study), ConversationStore(store.database)
    talking.say(came.token, message(1), server="one", now=NOON + timedelta(seconds=50))
    assert store.expire(study.hash, now=NOON + timedelta(seconds=100)) == 0


def test_what_a_server_holds_is_its_own_for_a_while(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    lease = say(talking, came.token, 1)
    take: dict[str, Any] = {"talk": TALK, "side": ADA, "number": 1, "server": "two"}
    assert talking.take_over(came.token, **take, now=LATER - SECOND) is None
    talking.renew_leases("one", now=LATER - SECOND)
    assert talking.take_over(came.token, **take, now=LATER) is None
    taken = talking.take_over(came.token, **take, now=LATER + timedelta(seconds=LEASE_S))
    assert taken is not None
    assert taken.exchange.tries == 2
    # Only the reply of who holds it counts, and only the first.
    assert not talking.store_reply(lease, AgentReply("Too late.", 1.0), now=LATER)
    assert not talking.store_failure(
        lease, AgentFailure("timeout", "x", 1.0, final=True), now=LATER
    )
    assert talking.store_reply(taken, AgentReply("In time.", 1.0), now=LATER)
    assert not talking.store_reply(taken, AgentReply("Twice.", 1.0), now=LATER)
    assert [one.reply for one in talking.exchanges(came.token)] == ["In time."]
    assert talking.failures_frame("hash-of-tea").height == 0


def test_a_server_that_stops_lets_go(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    say(talking, came.token, 1)
    talking.release_leases("one", now=NOON)
    taken = talking.take_over(came.token, TALK, ADA, 1, server="two", now=NOON)
    assert taken is not None


def test_failures_are_kept_and_may_be_tried_again(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    lease = say(talking, came.token, 1)
    talking.store_failure(lease, AgentFailure("busy", "503\x00", 0.5, final=False), now=NOON)
    assert states(talking, came.token) == [FAILED]
    # Looking is not asking.
    assert talking.take_over(came.token, TALK, ADA, 1, server="one", now=LATER) is None
    again = talking.take_over(came.token, TALK, ADA, 1, server="one", now=LATER, again=True)
    assert again is not None
    talking.store_failure(again, AgentFailure("timeout", "60 s", 60.0, final=True), now=LATER)
    assert states(talking, came.token) == [GIVEN_UP]
    assert talking.take_over(came.token, TALK, ADA, 1, server="one", now=LATER, again=True) is None
    assert talking.say(came.token, message(2), server="one", now=LATER) == ("elsewhere", ())
    kept = talking.failures_frame("hash-of-tea")
    assert kept.schema == FAILURES
    assert kept.select("asked", "reason", "told", "seconds").rows() == [
        (1, "busy", "503", 0.5),
        (2, "timeout", "60 s", 60.0),
    ]
    (row,) = replies_by_agent(talking.exchanges_frame("hash-of-tea"), kept)
    assert row["failures"] == {"busy": 1, "timeout": 1}
    assert (row["replies"], row["given_up"], row["median_seconds"]) == (0, 1, None)


def test_medians_are_of_replies_alone(store: Store) -> None:
    talking, study = ConversationStore(store.database), register(store)
    for seconds in (1.0, 2.0, 9.0):
        came = arrive(store, study, f"worker-{seconds}")
        talking.store_reply(say(talking, came.token, 1), AgentReply("Yes.", seconds), now=NOON)
    frame = talking.exchanges_frame(study.hash)
    (row,) = replies_by_agent(frame, talking.failures_frame(study.hash))
    assert (row["median_seconds"], row["talks"], row["replies"]) == (2.0, 3, 3)


def test_many_at_once_store_one_message_and_one_reply(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    start = threading.Barrier(8)

    def one(number: int) -> str:
        start.wait()
        outcome, leases = talking.say(
            came.token, message(1, key=f"k{number}"), server=f"s{number}", now=NOON
        )
        kept = [talking.store_reply(one, AgentReply("Yes.", 1.0), now=NOON) for one in leases]
        return outcome if all(kept) else "lost"

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(one, range(8)))
    assert outcomes == ["answered_before"] * 7 + ["stored"]
    assert states(talking, came.token) == [ANSWERED]


def test_many_at_once_take_over_once(store: Store) -> None:
    came, talking = arrive(store, register(store)), ConversationStore(store.database)
    say(talking, came.token, 1)
    start = threading.Barrier(8)

    def one(number: int) -> bool:
        start.wait()
        return (
            talking.take_over(came.token, TALK, ADA, 1, server=f"s{number}", now=LATER) is not None
        )

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 1
