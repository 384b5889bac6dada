"""How long a reply takes: the same distribution for all agents, drawn from the exchange."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from scipy import stats

from dialens.studies import Side, due_at, estimate, study_of
from dialens.studies.design import Conversations, TalkingAgent
from dialens.studies.store import AgentFailure, AgentReply, ConversationStore, Store
from tests.studies.store.conftest import KEY
from tests.studies.store.older import take_back
from tests.studies.store.people import NOON, SECOND, arrive, register
from tests.studies.store.test_talking_ways import ONE, PAIR, say
from tests.studies.test_conversations import talk

AGENTS = [TalkingAgent(name=name, agent="hred") for name in ("ada", "bea")]
TALKS = Conversations(agents=AGENTS, pace={"seconds": 2.0, "spread": 0.3, "at_most": 60})  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: object) -> object:
    with Store.open(f"sqlite:///{tmp_path}/s.db", secrets=KEY) as opened:
        yield opened


def test_draws_belong_to_the_exchange_and_have_the_spread(store: Store) -> None:
    session = arrive(store, register(store))
    (lease,) = say(ConversationStore(store.database), session.token, ONE, 1)
    seconds = []
    for number in range(2_000):
        place = replace(lease, exchange=replace(lease.exchange, number=number))
        due = due_at(TALKS, "x" * 80, place, session)
        assert due is not None
        assert due == due_at(TALKS, "x" * 80, place, session)
        # The agent has no part in it.
        other = replace(place, side=Side("chat-001", "other", "bea"))
        assert due == due_at(TALKS, "x" * 80, other, session)
        seconds.append((due - NOON).total_seconds())
    logs = np.log(seconds) - math.log(2.0 + 80 / 40)
    expected = stats.truncnorm(-2, 2, scale=0.3)
    assert stats.kstest(logs, expected.cdf).pvalue > 0.01
    assert np.ptp(logs) <= 4 * 0.3


def test_both_sides_have_the_same_draw(store: Store) -> None:
    session = arrive(store, register(store))
    first, second = say(ConversationStore(store.database), session.token, PAIR, 1)
    assert due_at(TALKS, "Yes.", first, session) == due_at(TALKS, "Yes.", second, session)


def test_a_server_that_takes_over_shows_it_when_it_was_due(store: Store) -> None:
    session, talking = arrive(store, register(store)), ConversationStore(store.database)
    (lease,) = say(talking, session.token, ONE, 1)
    later = NOON + timedelta(seconds=10)  # the lease has run out
    taken = talking.take_over(session.token, ONE, ONE.sides[0], 1, server="two", now=later)
    assert taken is not None
    assert due_at(TALKS, "Yes.", taken, session) == due_at(TALKS, "Yes.", lease, session)
    talking.store_failure(taken, AgentFailure("busy", "", 1.0, final=False), now=later)
    again = talking.take_over(
        session.token, ONE, ONE.sides[0], 1, server="two", now=later + 9 * SECOND, again=True
    )
    assert again is not None
    assert again.since == later + 9 * SECOND


def test_replies_from_before_say_nothing_of_a_pace(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    with Store.open(url, secrets=KEY) as store:
        talking = ConversationStore(store.database)
        session = arrive(store, register(store))
        (lease,) = say(talking, session.token, ONE, 1)
        talking.store_reply(lease, AgentReply("Yes.", 1.0, due_at=NOON + SECOND), now=NOON)
        take_back(store.database, "0009")
    with Store.open(url, secrets=KEY) as store:
        frame = ConversationStore(store.database).exchanges_frame("hash-of-tea")
    assert frame.select("waited", "held_ms", "over_pace").row(0) == (1.0, None, None)


def test_the_check_warns_where_speed_tells_agents_apart() -> None:
    words = "speed tells agents apart"
    assert not any(words in one for one in estimate(study_of(talk())).warnings)
    told = estimate(study_of(talk(pace="as_it_comes"))).warnings
    assert any(words in one for one in told)


def test_one_agent_is_shown_as_it_comes() -> None:
    assert Conversations(agents=AGENTS[:1]).common_pace is None
    assert Conversations(agents=AGENTS).common_pace is not None
