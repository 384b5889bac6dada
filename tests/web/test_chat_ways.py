"""Over HTTP: replies judged as they come, conversations that end early, two agents at a time."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from sqlalchemy import select

from dialens.agents import AgentError
from dialens.studies import simulate_over_http, study_of
from dialens.studies.simulation import Population
from dialens.studies.store import ConversationStore
from dialens.studies.store._tables import submissions
from tests.agents.endpoint import Endpoint
from tests.web.conftest import PASSWORD, Hosting, Make, kept, log_in
from tests.web.people import Person
from tests.web.talks import Scripted, Visiting, arena, exchanges, said, talk

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_reply_is_judged_before_the_next_message(make: Make, talker: Visiting) -> None:
    site = make(talk("", "echo", rate="each_reply"), agents={"bot-1": Scripted(["One.", "Two."])})
    person = talker(site)
    page = person.begin()
    assert page.hidden["screen"] == "chat-001-t01"
    last = person.say(page, "Hello")[-1]
    assert (last["done"], last["over"], last["number"]) == (True, False, 2)
    # Without a script the page shows the reply, and has no place for another message.
    page = person.here()
    assert "One." in page.html
    assert "data-chat=" not in page.html
    page = person.onward(page)
    assert page.hidden["screen"] == "rate-001-t01"
    page = person.rate(page)
    assert page.hidden["screen"] == "chat-001-t02"
    # The first screen is over: a message sent from it (a second tab) is not taken.
    assert (
        "next"
        in person.client.post(
            "/chat",
            data=page.hidden | {"screen": "chat-001-t01", "do": "say", "text": "Again"},
            headers={"accept": "application/json"},
        ).json()
    )
    assert person.say(page, "Bye")[-1]["over"] is True
    page = person.rate(person.onward(person.here()))
    assert page.hidden["screen"] == "rate-001-dialogue"
    assert "the-code" in person.rate(page).html


def test_an_agent_that_fails_ends_what_is_judged_as_it_comes(make: Make, talker: Visiting) -> None:
    agent = Scripted(["One.", AgentError("Wrong key.", "refused", lasting=True)])
    site = make(talk("", "echo", rate="each_reply", exchanges=3), agents={"bot-1": agent})
    person = talker(site)
    person.say(person.begin(), "Hello")
    page = person.rate(person.onward(person.here()))
    assert person.say(page, "More?")[-1]["ended"] == "agent"
    page = person.onward(person.here())
    assert page.hidden["screen"] == "rate-001-dialogue"
    assert exchanges(site)["ended"].to_list() == ["agent"] * 2


def test_nobody_ends_it_too_early(make: Make, talker: Visiting) -> None:
    site = make(
        talk("", "echo", exchanges=4, least_exchanges=2), agents={"bot-1": Scripted(["Yes."])}
    )
    person = talker(site)
    page = person.begin()

    def end() -> str:
        form = person.here().hidden | {"do": "end"}
        return person.client.post("/chat", data=form).text

    assert "data-chat=" in end()
    assert person.say(page, "Hello")[-1]["may_end"] is False
    assert "data-chat=" in end()
    assert person.say(person.here(), "Bye")[-1]["may_end"] is True
    ended = end()
    assert "data-chat=" not in ended
    assert "The conversation is over" in ended
    page = person.onward(person.here())
    for screen in ("rate-001-t01", "rate-001-t02", "rate-001-dialogue"):
        assert page.hidden["screen"] == screen
        page = person.rate(page)
    assert "the-code" in page.html


def test_the_time_is_the_servers(make: Make, talker: Visiting) -> None:
    clock = [NOON]
    gate = threading.Event()
    agent = Scripted(["One.", "Two."])
    site = make(
        talk("", "echo", exchanges=9, minutes=2.0), agents={"bot-1": agent}, clock=lambda: clock[0]
    )
    person = talker(site)
    page = person.begin()
    clock[0] += timedelta(hours=0.2)  # before the first message no time runs
    last = person.say(person.here(), "Hello")[-1]
    assert last["seconds_left"] == 120.0
    clock[0] += timedelta(seconds=119)
    page, agent.wait = person.here(), gate
    assert "Time left: <b>0:01</b>" in page.html
    threading.Timer(0.3, gate.set).start()
    clock_later = threading.Timer(
        0.1, lambda: clock.__setitem__(0, clock[0] + timedelta(minutes=5))
    )
    clock_later.start()
    # The time is over while the reply is under way: it is stored, shown, and the last.
    last = person.say(page, "Just in time")[-1]
    assert (last["text"], last["ended"]) == ("Two.", "time")
    assert last["sorry"] == "The time for this conversation is over. Please go on."
    late = person.client.post("/chat", data=page.hidden | {"do": "say", "number": "3", "text": "x"})
    assert "The time for this conversation is over" in late.text
    page = person.onward(person.here())
    assert page.hidden["screen"] == "rate-001-t01"
    assert exchanges(site).select("said", "ended").rows() == [
        ("Hello", "time"),
        ("Just in time", "time"),
    ]


def test_the_time_ends_what_is_judged_as_it_comes(make: Make, talker: Visiting) -> None:
    clock = [NOON]
    site = make(
        talk("", "echo", exchanges=9, minutes=2.0, rate="each_reply"),
        agents={"bot-1": Scripted(["One."])},
        clock=lambda: clock[0],
    )
    person = talker(site)
    person.say(person.begin(), "Hello")
    page = person.onward(person.here())
    clock[0] += timedelta(minutes=3)
    page = person.rate(page)
    # They read why it does not go on, and then judge the whole.
    assert "The time for this conversation is over" in page.html
    page = person.onward(page)
    assert page.hidden["screen"] == "rate-001-dialogue"
    assert exchanges(site)["ended"].to_list() == ["time"]
    # The screen on which they read it was one; those after it were never seen.
    passed_over = select(submissions.c.screen).where(submissions.c.key == "passed-over")
    with site.store.database.reading() as connection:
        passed = set(connection.execute(passed_over).scalars())
    assert passed == {
        f"{kind}-001-t{number:02d}"
        for kind in ("chat", "rate")
        for number in range(2, 10)
        if (kind, number) != ("chat", 2)
    }


def test_a_reply_is_held_back_without_a_script_too(make: Make, talker: Visiting) -> None:
    site = make(talk("", "echo", pace={"seconds": 0.6}), agents={"bot-1": Scripted(["Yes."])})
    person = talker(site)
    page = person.begin()
    began = time.time()  # the clock that paces go by, which the system may set meanwhile
    page = person.write(page, "Hello")
    assert time.time() - began >= 0.5
    assert "Yes." in page.html
    told = person.say(page, "Bye")
    assert said(told) == ""  # nothing of it streams
    assert told[-1]["text"] == "Yes."


def test_a_greeting_suits_templates_that_insist_on_taking_turns(
    make: Make, talker: Visiting, endpoint: Endpoint
) -> None:
    site = make(talk(endpoint.url, "turns", greeting="Hello! What is on your mind?"))
    person = talker(site)
    page = person.begin()
    assert "What is on your mind?" in page.html
    for text in ("Tea.", "And you?"):
        assert person.say(person.here(), text)[-1]["state"] == "answered"
    for request in endpoint.requests:
        roles = [one["role"] for one in request["messages"] if one["role"] != "system"]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        assert "Hello! What is on your mind?" in [one["content"] for one in request["messages"]]


def test_a_reply_that_was_cut_off_says_so(make: Make, talker: Visiting, endpoint: Endpoint) -> None:
    site = make(talk(endpoint.url, "cut-off-3"))
    person = talker(site)
    person.say(person.begin(), "Hello")
    assert exchanges(site)["finish"].to_list() == ["length"]


def test_markdown_is_shown_when_it_is_whole_and_stays_safe(make: Make, talker: Visiting) -> None:
    study = talk("", "echo") | {"presentation": {"render": "markdown"}}
    agent = Scripted(["**Yes**, <script>alert(1)</script>"])
    person = talker(make(study, agents={"bot-1": agent}))
    page = person.begin()
    last = person.say(page, "Is it *so*?")[-1]
    html = "<p><strong>Yes</strong>, &lt;script&gt;alert(1)&lt;/script&gt;</p>"
    assert last["replies"][0]["html"] == html
    page = person.here()
    assert html in page.html
    assert '<div class="bubble">Is it *so*?</div>' in page.html  # what people write stays
    person.say(page, "Bye")
    page = person.onward(person.here())
    assert html in page.html
    plain = talker(make(talk("", "echo"), agents={"bot-1": agent}))
    assert plain.say(plain.begin(), "Hello")[-1]["replies"][0]["html"] is None


def test_both_agents_hear_the_same_and_only_their_own(make: Make, talker: Visiting) -> None:
    agents = {"bot-1": Scripted(["A1", "A2"]), "bot-2": Scripted(["B1", "B2"])}
    site = make(arena("", "echo", "echo"), agents=agents)
    person = talker(site)
    told = person.say(person.begin(), "Hello")
    pieces = {side: "".join(t["piece"] for t in told if t.get("side") == side) for side in (1, 2)}
    assert sorted(pieces.values()) == ["A1", "B1"]
    assert [one["text"] for one in told[-1]["replies"]] == [pieces[1], pieces[2]]
    page = person.rate(person.onward(person.here()), "1")
    person.say(page, "Bye")
    for name, own in (("bot-1", "A1"), ("bot-2", "B1")):
        heard = [(one.role, one.text) for one in agents[name].asked[-1]]
        assert heard == [("partner", "Hello"), ("agent", own), ("partner", "Bye")]
    assert len(agents["bot-1"].asked) == 2


@pytest.mark.parametrize("lasting", [False, True])
def test_one_side_fails(make: Make, talker: Visiting, lasting: bool) -> None:
    broken = Scripted([AgentError("Oh.", "busy", lasting=lasting), "B1"])
    good = Scripted(["A1"])
    site = make(arena("", "echo", "echo"), agents={"bot-1": good, "bot-2": broken})
    person = talker(site)
    last = person.say(person.begin(), "Hello")[-1]
    page = person.here()
    assert "A1" in page.html  # the side that answered is there
    if lasting:
        assert last["ended"] == "agent"
        assert "the-code" in person.onward(page).html  # nothing can be compared
        assert set(exchanges(site)["ended"]) == {"agent"}
        return
    assert (last["state"], last["over"]) == ("failed", False)
    last = person.again(page)[-1]
    assert sorted(one["text"] for one in last["replies"]) == ["A1", "B1"]
    assert len(good.asked) == 1  # only the other was asked again
    assert person.onward(person.here()).hidden["screen"] == "rate-001-t01"


def test_simulated_people_meet_two_real_agents(host: Hosting, endpoint: Endpoint) -> None:
    study = arena(endpoint.url, "echo", "words-3", exchanges=3, least_exchanges=1) | {"targets": 6}
    served = host(study)
    went = simulate_over_http(
        served.url, study_of(study), Population(), participants=6, password=PASSWORD, at_once=2
    )
    assert went.outcomes == {"completed": 6}
    with kept(served) as store:
        found = ConversationStore(store.database).exchanges_frame(store.studies()[0].hash)
    assert set(found["state"]) == {"answered"}
    assert set(found["ended"]) == {"participant", "exchanges"}
    first = found.filter(pl.col("talk") == "chat-001-1", pl.col("number") == 1)
    assert first.group_by("agent").len().sort("agent").rows() == [("bot-1", 3), ("bot-2", 3)]


@pytest.mark.parametrize("rate", ["after", "each_reply"])
def test_every_screen_can_be_previewed_and_replayed(
    make: Make, talker: Visiting, rate: str
) -> None:
    agents = {"bot-1": Scripted(["A1", "A2"]), "bot-2": Scripted(["B1", "B2"])}
    site = make(arena("", "echo", "echo", rate=rate), agents=agents)
    person = talker(site)
    page = person.begin()
    for number in (1, 2):
        person.say(person.here(), f"m{number}")
        if rate == "each_reply":
            page = person.rate(person.onward(person.here()), "1")
    if rate == "after":
        page = person.rate(person.rate(person.onward(person.here()), "1"), "2")
    assert "the-code" in person.rate(page, "tie").html
    client = log_in(Person(site, person.client))
    (cell,) = site.study.cells
    for index, screen in enumerate(site.planner.screens(cell.name, 0)):
        query = {"cell": cell.name, "screen": screen.id}
        shown = client.get("/researcher/preview/screen", params=query)
        assert shown.status_code == 200, screen.id
        told = client.get(
            f"/api/preview/{cell.name}",
            params={"index": index},
            headers={"authorization": f"Bearer {PASSWORD}"},
        )
        assert told.status_code == 200, screen.id
    (rater,) = exchanges(site)["rater"].unique()
    assert "B2" in client.get(f"/researcher/people/{rater}").text
    for index in range(len(site.planner.screens(cell.name, 0)) - 1):
        replay = client.get(f"/researcher/people/{rater}/replay", params={"index": index})
        assert replay.status_code == 200
        if index > 2:
            assert "A1" in replay.text
