"""One pace for all agents: the fast are held back, the slow are told, nothing is shown early."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from dialens.agents import AgentError, Message
from dialens.studies.store import pace_sentences
from tests.web.conftest import Make, log_in
from tests.web.people import Person
from tests.web.talks import Scripted, Visiting, arena, exchanges, said, talk

STEADY = {"characters_per_second": 10_000, "spread": 0}


@dataclass
class Late(Scripted):
    """An agent that takes its time."""

    seconds: float = 0.0

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, None]:
        time.sleep(self.seconds)
        yield from super().stream(history, seed=seed)


def within(make: Make, pace: dict[str, Any], **agents: Scripted) -> Any:
    """A site where everybody talks with both agents, one message each."""
    study = talk("", "echo", "echo", exchanges=1, assign="within", pace=STEADY | pace)
    return make(study, agents={f"bot-{n}": one for n, one in enumerate(agents.values(), start=1)})


def test_a_quick_and_a_slow_agent_take_the_same_time(make: Make, talker: Visiting) -> None:
    site = within(
        make, {"seconds": 1.5}, quick=Scripted(["Yes."]), slow=Late(["Yes."], seconds=0.4)
    )
    person = talker(site)
    page = person.begin()
    for _ in range(2):
        began = time.monotonic()
        told = person.say(page, "Hello")
        assert time.monotonic() - began >= 1.5
        assert said(told) == ""  # no piece of it is told before
        page = person.rate(person.rate(person.onward(person.here())))
    rows = exchanges(site).sort("agent")
    assert rows["waited"].to_list() == [1.5004, 1.5004]
    assert rows["over_pace"].to_list() == [0.0, 0.0]
    quick, slow = rows["held_ms"]
    assert quick > slow + 300
    assert pace_sentences(rows) == []


def test_an_agent_that_is_slower_than_the_pace_is_told(make: Make, talker: Visiting) -> None:
    site = within(
        make, {"seconds": 0.1}, quick=Scripted(["Yes."]), slow=Late(["Yes."], seconds=0.9)
    )
    person = talker(site)
    page = person.begin()
    for _ in range(2):
        person.say(page, "Hello")
        page = person.rate(person.rate(person.onward(person.here())))
    row = exchanges(site).filter(agent="bot-2").row(0, named=True)
    assert row["held_ms"] == 0
    assert row["over_pace"] >= 0.75
    assert row["waited"] == pytest.approx(row["over_pace"] + 0.1004)
    told = f"bot-2 was over the pace in 100 % of 1 reply, by {row['over_pace']:.1f} s at the median"
    assert told in " ".join(pace_sentences(exchanges(site)))
    assert told in log_in(Person(site, person.client)).get("/researcher").text


def test_sides_are_shown_together_also_to_who_looks_again(make: Make, talker: Visiting) -> None:
    gate = threading.Event()
    agents = {"bot-1": Scripted(["QUICK"]), "bot-2": Scripted(["SLOW"], wait=gate)}
    site = make(arena("", "echo", "echo", pace=STEADY | {"seconds": 0.1}), agents=agents)
    person = talker(site)
    page = person.begin()
    sending = threading.Thread(target=person.say, args=(page, "Hello"))
    sending.start()
    deadline = time.monotonic() + 30
    while "answered" not in exchanges(site)["state"].to_list():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)  # the quick one is due
    assert "QUICK" not in person.here().html
    gate.set()
    sending.join(30)
    html = person.here().html
    assert "QUICK" in html
    assert "SLOW" in html
    assert exchanges(site)["shown_at"].n_unique() == 1


def test_who_tries_again_waits_at_the_pace_again(make: Make, talker: Visiting) -> None:
    agent = Scripted([AgentError("Oh.", "busy"), "Yes."])
    site = make(talk("", "echo", pace=STEADY | {"seconds": 0.5}), agents={"bot-1": agent})
    person = talker(site)
    assert person.say(person.begin(), "Hello")[-1]["state"] == "failed"
    time.sleep(0.6)
    began = time.monotonic()
    assert person.again(person.here())[-1]["text"] == "Yes."
    assert time.monotonic() - began >= 0.5
    assert exchanges(site)["over_pace"].to_list() == [0.0]


def test_several_agents_have_a_pace_unless_told_otherwise(make: Make) -> None:
    study = talk("", "echo", "echo")
    del study["conversations"]["pace"]
    talks = make(
        study, agents={"bot-1": Scripted(), "bot-2": Scripted()}
    ).study.design.conversations
    assert talks is not None
    assert talks.common_pace is not None
    assert talks.common_pace.delay("x" * 80) == 3.0
