"""Messages and replies over HTTP: nothing lost, nothing doubled, nobody kept waiting."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from dialens.studies import Side, Talk
from dialens.studies.store import LEASE_S, AgentReply, ConversationStore, Lease, StoreUnavailable
from dialens.studies.store import ParticipantMessage as Sent
from tests.web.conftest import Make
from tests.web.people import Person
from tests.web.talks import (
    SCRIPT,
    Scripted,
    Visiting,
    exchanges,
    talk,
)


def test_a_message_counts_once_however_often_it_is_sent(make: Make, talker: Visiting) -> None:
    gate = threading.Event()
    agent = Scripted(wait=gate)
    site = make(talk("", "echo"), agents={"bot-1": agent})
    person = talker(site)
    page = person.begin()
    with ThreadPoolExecutor(6) as pool:
        sent = [pool.submit(person.say, page, "Hello") for _ in range(6)]
        while not agent.asked:
            time.sleep(0.01)
        gate.set()
        told = [one.result() for one in sent]
    assert {one[-1]["text"] for one in told} == {"Yes."}
    assert len(agent.asked) == 1
    assert exchanges(site).select("said", "reply", "tries").rows() == [("Hello", "Yes.", 1)]


def test_of_two_tabs_the_first_counts(make: Make, talker: Visiting) -> None:
    agent = Scripted()
    site = make(talk("", "echo"), agents={"bot-1": agent})
    person = talker(site)
    page = person.begin()
    person.say(page, "From the first tab")
    # The other tab is told to look at the page, which shows what counts.
    assert person.say(page, "From the second", key="another") == [{"next": "/study"}]
    assert exchanges(site)["said"].to_list() == ["From the first tab"]
    assert "From the first tab" in person.here().html


def test_a_reply_is_kept_when_nobody_listens(make: Make, talker: Visiting) -> None:
    """The page is closed in the middle: the reply comes all the same, and is there later."""
    gate = threading.Event()
    agent = Scripted(["Here I am."], wait=gate)
    site = make(talk("", "echo"), agents={"bot-1": agent})
    person = talker(site)
    page = person.begin()
    form = page.hidden | {"do": "say", "text": "Hello"}
    leaving = threading.Thread(
        target=lambda: person.client.post("/chat", data=form, headers=SCRIPT), daemon=True
    )
    leaving.start()
    while not agent.asked:
        time.sleep(0.01)
    waiting = person.here()
    assert 'data-state="waiting"' in waiting.html
    gate.set()
    assert person.again(waiting, "follow")[-1]["text"] == "Here I am."
    assert "Here I am." in person.here().html
    assert len(agent.asked) == 1
    leaving.join()


def test_when_a_server_is_gone_the_next_one_asks(make: Make, talker: Visiting) -> None:
    """What a dead server lease is asked for again, after a while and once."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    clock = [now]
    agent = Scripted(["Late, but here."])
    site = make(talk("", "echo"), agents={"bot-1": agent}, clock=lambda: clock[0])
    person = talker(site)
    page = person.begin()
    session = Person(site, person.client).session
    screen = site.screens(session)[session.index]
    talking = ConversationStore(site.store.database)
    side = Side(screen.id, "s", "bot-1")
    here = Talk((side,), most=2)
    message = Sent(here, session.index, 1, "Hello", "k")
    outcome, (lease,) = talking.say(session.token, message, server="a dead one", now=now)
    assert outcome == "stored"
    assert talking.take_over(session.token, here, side, 1, server="next", now=now) is None
    clock[0] = now + timedelta(seconds=LEASE_S + 1)
    assert person.again(page, "follow")[-1]["text"] == "Late, but here."
    # If the dead one comes back after all, its reply does not count.
    assert not talking.store_reply(lease, AgentReply("Too late.", 1.0), now=clock[0])
    assert exchanges(site)["reply"].to_list() == ["Late, but here."]


def test_a_reply_is_not_lost_when_the_database_is_away_for_a_moment(
    make: Make, talker: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = [StoreUnavailable("The database restarts.")] * 2

    class Restarting(ConversationStore):
        """A database that does not answer twice."""

        def store_reply(self, lease: Lease, reply: AgentReply, *, now: datetime) -> bool:
            if away:
                raise away.pop()
            return super().store_reply(lease, reply, now=now)

    monkeypatch.setattr("dialens.web._replies._TICK_S", 0.02)
    agent = Scripted()
    site = make(talk("", "echo"), agents={"bot-1": agent})
    assert site.replies is not None
    site.replies.conversations = Restarting(site.store.database)
    person = talker(site)
    assert person.say(person.begin(), "Hello")[-1]["text"] == "Yes."
    assert len(agent.asked) == 1


def test_replies_do_not_keep_ratings_waiting(make: Make, talker: Visiting) -> None:
    """More people wait for slow agents than there are threads that make pages."""
    gate = threading.Event()
    agent = Scripted(wait=gate)
    site = make(talk("", "echo"), agents={"bot-1": agent})
    people = [talker(site) for _ in range(12)]
    pages = [one.begin(f"/?participant=p{number}") for number, one in enumerate(people)]
    with ThreadPoolExecutor(12) as pool:
        sent = [
            pool.submit(one.say, page, "Hello") for one, page in zip(people, pages, strict=True)
        ]
        while len(agent.asked) < 12:
            time.sleep(0.01)
        other = talker(site)
        assert other.begin("/?participant=other").hidden["screen"] == "chat-001"
        gate.set()
        assert {one.result()[-1]["text"] for one in sent} == {"Yes."}
