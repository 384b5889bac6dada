"""Conversations over HTTP: had and judged, balanced, and every failure told to both."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.agents import AgentError
from dialens.base import DialensError
from dialens.studies import simulate_over_http, study_of
from dialens.studies.simulation import Population
from dialens.studies.store import ConversationStore
from dialens.studies.texts import Texts
from dialens.web import open_agents
from dialens.web._chat_state import FAILURES
from tests.agents.endpoint import Endpoint
from tests.web.conftest import PASSWORD, Hosting, Make, kept, log_in
from tests.web.people import Person
from tests.web.talks import (
    Scripted,
    Visiting,
    exchanges,
    failures,
    said,
    talk,
)


def test_a_conversation_is_had_and_judged(make: Make, talker: Visiting, endpoint: Endpoint) -> None:
    site = make(talk(endpoint.url, "echo", greeting="Good day!"))
    person = talker(site)
    page = person.begin()
    assert "Good day!" in page.html
    assert '<div role="log"' in page.html  # a list stays a list
    assert '<ol class="talk log" id="log" data-called' in page.html
    told = person.say(page, "Hello")
    assert told[0] == {"stored": 1}
    assert said(told) == told[-1]["text"] == "You said: Hello (None)"
    assert (told[-1]["state"], told[-1]["over"], told[-1]["left"]) == ("answered", False, 1)
    told = person.say(person.here(), "Bye")
    assert told[-1]["over"] is True
    # The agent hears everything from the greeting on, in its own and its partner's role; it was
    # asked to begin, since some models refuse to have spoken first.
    last = endpoint.requests[-1]["messages"]
    assert [(one["role"], one["content"]) for one in last] == [
        ("user", "Please begin the conversation."),
        ("assistant", "Good day!"),
        ("user", "Hello"),
        ("assistant", "You said: Hello (None)"),
        ("user", "Bye"),
    ]
    page = person.onward(person.here())
    assert "You said: Hello" in page.html
    for _ in range(3):
        page = person.rate(page)
    assert "the-code" in page.html


def test_one_cannot_go_on_before_it_is_over(
    make: Make, talker: Visiting, endpoint: Endpoint
) -> None:
    person = talker(make(talk(endpoint.url, "echo")))
    page = person.begin()
    assert person.onward(page).hidden["screen"] == "chat-001"
    person.say(page, "Hello")
    assert person.onward(page).hidden["screen"] == "chat-001"


KINDS = {
    "status-500": "failed",
    "status-503": "busy",
    "status-401": "refused",
    "status-429": "busy",
    "quota": "refused",
    "cut": "unreachable",
    "cut-clean": "unreachable",
    "bad-json": "malformed",
    "html": "malformed",
    "error-event": "failed",
    "empty": "empty",
    "blank": "empty",
    "long-100000": "too_long",
    "silent": "timeout",
    "drip-0.05": "timeout",
}
"""What goes wrong at the endpoint, and what the record calls it."""


@pytest.mark.parametrize("scenario", KINDS)
def test_every_failure_is_told_to_both(
    scenario: str, make: Make, talker: Visiting, endpoint: Endpoint
) -> None:
    study = talk(endpoint.url, scenario, tries=2)
    if KINDS[scenario] == "timeout":
        study["conversations"]["agents"][0]["set"] |= {"read_timeout": 0.4, "total_timeout": 0.6}
    if scenario == "status-429":  # which is waited for as long as there is time
        study["conversations"]["agents"][0]["set"] |= {"total_timeout": 1}
    site = make(study)
    person = talker(site)
    last = person.say(person.begin(), "Hello")[-1]
    row = exchanges(site).row(0, named=True)
    assert row["reason"] in FAILURES or row["reason"] == "failed"
    final = row["state"] == "given_up"
    assert last["sorry"].startswith(Texts.of("en").say(f"chat_{row['reason']}"))
    assert "bot-1" not in last["sorry"]
    if not final:
        last = person.again(person.here())[-1]
    assert last["over"] is True
    assert exchanges(site)["state"].to_list() == ["given_up"]
    kept_rows = failures(site)
    assert kept_rows.height == (1 if final else 2)
    assert set(kept_rows["reason"]) == {KINDS[scenario]}
    assert all(kept_rows["told"])
    # The participant goes on, and is asked for nothing that was never said.
    page = person.onward(person.here())
    assert "the-code" in page.html
    home = log_in(Person(site, person.client)).get("/researcher").text
    assert kept_rows["told"][0].partition("'")[0][:40] in home.replace("&#39;", "'")


def test_a_reply_of_many_characters_may_be_allowed(
    make: Make, talker: Visiting, endpoint: Endpoint
) -> None:
    study = talk(endpoint.url, "long-99999", max_reply_characters=120_000)
    study["conversations"]["agents"][0]["set"]["longest_reply"] = 120_000
    site = make(study)
    person = talker(site)
    told = person.say(person.begin(), "Hello")
    assert len(said(told)) == len(told[-1]["text"]) == 99_999
    assert exchanges(site)["reply"].str.len_chars().to_list() == [99_999]


def test_an_agent_with_a_bug_is_a_failure_like_others(make: Make, talker: Visiting) -> None:
    broken = Scripted([ZeroDivisionError("oh"), "Better now."])
    site = make(talk("", "echo"), agents={"bot-1": broken})
    person = talker(site)
    assert person.say(person.begin(), "Hello")[-1]["state"] == "failed"
    assert failures(site)["told"].to_list() == ["ZeroDivisionError: oh"]
    assert person.again(person.here())[-1]["text"] == "Better now."


def test_what_is_no_use_is_not_tried_again(make: Make, talker: Visiting) -> None:
    agent = Scripted([AgentError("Wrong key.", "refused", lasting=True)])
    person = talker(make(talk("", "echo"), agents={"bot-1": agent}))
    assert person.say(person.begin(), "Hello")[-1]["over"] is True
    assert len(agent.asked) == 1


def test_an_agent_may_end_the_conversation(make: Make, talker: Visiting) -> None:
    agent = Scripted(["Hello.", AgentError("The end.", "ended")])
    site = make(talk("", "echo", exchanges=4), agents={"bot-1": agent})
    person = talker(site)
    person.say(person.begin(), "Hello")
    last = person.say(person.here(), "More?")[-1]
    assert (last["over"], last["sorry"]) == (
        True,
        "The chatbot has ended the conversation. Please go on.",
    )
    # One reply to judge, then the whole.
    page = person.onward(person.here())
    assert page.hidden["screen"] == "rate-001-t01"
    page = person.rate(page)
    assert page.hidden["screen"] == "rate-001-dialogue"
    assert "the-code" in person.rate(page).html


def test_an_agent_that_hangs_is_ended_by_the_study(make: Make, talker: Visiting) -> None:
    never = threading.Event()
    agent = Scripted(wait=never)
    site = make(talk("", "echo", reply_seconds=0.3, tries=1), agents={"bot-1": agent})
    person = talker(site)
    last = person.say(person.begin(), "Hello")[-1]
    assert (last["state"], last["over"]) == ("given_up", True)
    assert failures(site)["reason"].to_list() == ["timeout"]
    # What it says after all finds the exchange over.
    never.set()
    time.sleep(0.3)
    assert exchanges(site)["reply"].to_list() == [None]


def test_agents_are_balanced_like_any_factor(
    make: Make, talker: Visiting, endpoint: Endpoint
) -> None:
    site = make(talk(endpoint.url, "echo", "told", "words-3"))
    for number in range(6):
        page = talker(site).begin(f"/?participant=p{number}")
        assert "bot-" not in page.html
    assert {c.cell: c.live for c in site.store.progress(site.study.hash)} == {
        "agent=bot-1": 2,
        "agent=bot-2": 2,
        "agent=bot-3": 2,
    }


def test_everybody_talks_with_all_agents(make: Make, talker: Visiting, endpoint: Endpoint) -> None:
    site = make(talk(endpoint.url, "echo", "words-3", assign="within", exchanges=1))
    firsts = []
    for number in range(2):
        person = talker(site)
        page = person.begin(f"/?participant=p{number}")
        for _ in range(2):
            person.say(page, "Hello")
            page = person.onward(person.here())
            for _ in range(2):
                page = person.rate(page)
        assert "the-code" in page.html
        firsts.append(exchanges(site).filter(pl.col("talk") == "chat-001")["agent"].to_list())
    # Who comes first turns with the participant.
    assert sorted(firsts[-1]) == ["bot-1", "bot-2"]


def test_simulated_people_take_part_over_http(host: Hosting, endpoint: Endpoint) -> None:
    study = talk(endpoint.url, "echo", "flaky-1", targets=4)
    del study["conversations"]["targets"]
    served = host(study)
    went = simulate_over_http(
        served.url, study_of(study), Population(), participants=4, password=PASSWORD, at_once=2
    )
    assert went.outcomes == {"completed": 4}
    with kept(served) as store:
        found = ConversationStore(store.database).exchanges_frame(store.studies()[0].hash)
    assert found["rater_kind"].unique().to_list() == ["simulated"]
    assert found.group_by("agent").len().sort("agent").rows() == [("bot-1", 4), ("bot-2", 4)]
    assert set(found["state"]) == {"answered"}


def test_an_agent_that_cannot_be_made_is_told_before_anybody_comes(tmp_path: Path) -> None:
    bad: dict[str, Any] = talk("", "echo")
    bad["conversations"]["agents"] = [{"name": "a", "agent": "scirpt:lines.txt"}]
    with pytest.raises(DialensError, match="Did you mean script"):
        open_agents(study_of(bad), tmp_path)
    bad["conversations"]["agents"] = [{"name": "a", "agent": "human"}]
    with pytest.raises(DialensError, match="cannot be talked with"):
        open_agents(study_of(bad), tmp_path)


def test_paths_of_agents_start_beside_the_study(tmp_path: Path) -> None:
    study: dict[str, Any] = talk("", "echo")
    study["conversations"]["agents"] = [{"name": "a", "agent": "script:lines.txt"}]
    (tmp_path / "lines.txt").write_text("Good day.\n")
    made = open_agents(study_of(study), tmp_path)
    assert made["a"].reply([]).text == "Good day."
    assert (made["a"].system, made["a"].name) == ("lines", "a")


def test_a_preview_shows_what_will_be(make: Make, talker: Visiting, endpoint: Endpoint) -> None:
    site = make(talk(endpoint.url, "echo"))
    person = talker(site)
    client = log_in(Person(site, person.client))
    screens = site.planner.screens("agent=bot-1", 0)
    for screen in screens:
        query = {"cell": "agent=bot-1", "screen": screen.id}
        page = client.get("/researcher/preview/screen", params=query)
        assert page.status_code == 200, screen.id
    assert endpoint.requests == []
    told = client.get(
        "/api/preview/agent=bot-1",
        params={"index": 3},
        headers={"authorization": f"Bearer {PASSWORD}"},
    ).json()
    assert [block["kind"] for block in told["body"]] == ["dialogue", "response", "definition"]
