"""Conversations over HTTP: every failure told and kept, nothing lost or doubled, nobody let in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from dialens.agents import AgentError, Message, Reply
from dialens.errors import DialensError
from dialens.studies import study_of
from dialens.studies.http_participation import simulate_over_http
from dialens.studies.simulation_population import Population
from dialens.studies.store import StoreUnavailable
from dialens.studies.store.talking import HELD_S, Given, Held, Talking
from dialens.studies.store.talking import Message as Sent
from dialens.web import Site, study_app
from dialens.web.chat import SORRY
from dialens.web.talking_agents import open_agents
from tests.agents.endpoint import Endpoint
from tests.web.conftest import PASSWORD, Hosting, Make, kept, log_in
from tests.web.people import Page, Person
from tests.web.talks import SCRIPT, Talker, said, talk

Visiting = Callable[[Site], Talker]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as made:
        yield made


@pytest.fixture
def talker() -> Iterator[Visiting]:
    """Lets somebody visit a site whose pages they talk on."""
    clients: list[TestClient] = []

    def visiting(site: Site) -> Talker:
        client = TestClient(study_app(site), raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return Talker(client)

    yield visiting
    for client in clients:
        client.__exit__()


@dataclass
class Scripted:
    """An agent that does what the test says, and counts how often it is asked.

    Attributes:
        replies: What it says, one after the other; the last for ever after.
        wait: What it waits for before it says anything.
    """

    replies: Sequence[str | Exception] = ("Yes.",)
    wait: threading.Event | None = None
    system: str = "test"
    name: str = "scripted"
    parameters: dict[str, str] = field(default_factory=dict)
    asked: list[list[Message]] = field(default_factory=list)

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        return Reply("".join(self.stream(history, seed=seed)))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, None]:
        self.asked.append(list(history))
        answer = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if self.wait is not None:
            assert self.wait.wait(60)
        if isinstance(answer, Exception):
            raise answer
        yield from answer.partition(" ")


def exchanges(site: Site) -> pl.DataFrame:
    return Talking(site.store.database).exchanges_frame(site.study.hash)


def failures(site: Site) -> pl.DataFrame:
    return Talking(site.store.database).failures_frame(site.study.hash)


def test_a_conversation_is_had_and_judged(make: Make, talker: Visiting, endpoint: Endpoint) -> None:
    site = make(talk(endpoint.url, "echo", greeting="Good day!"))
    person = talker(site)
    page = person.begin()
    assert "Good day!" in page.html
    told = person.say(page, "Hello")
    assert told[0] == {"stored": 1}
    assert said(told) == told[-1]["text"] == "You said: Hello (None)"
    assert (told[-1]["state"], told[-1]["over"], told[-1]["left"]) == ("answered", False, 1)
    told = person.say(person.here(), "Bye")
    assert told[-1]["over"] is True
    # The agent hears everything from the greeting on, in its own and its partner's role.
    last = endpoint.requests[-1]["messages"]
    assert [(one["role"], one["content"]) for one in last] == [
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
    "status-500": "busy",
    "status-401": "refused",
    "status-429": "busy",
    "quota": "refused",
    "cut": "malformed",
    "cut-clean": "malformed",
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
    site = make(study)
    person = talker(site)
    last = person.say(person.begin(), "Hello")[-1]
    row = exchanges(site).row(0, named=True)
    assert row["reason"] in SORRY or row["reason"] == "failed"
    final = row["state"] == "given_up"
    assert last["sorry"].startswith(SORRY.get(row["reason"], "Something went wrong"))
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
    assert (last["over"], last["sorry"]) == (True, f"{SORRY['ended']} Please go on.")
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
    """What a dead server held is asked for again, after a while and once."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    clock = [now]
    agent = Scripted(["Late, but here."])
    site = make(talk("", "echo"), agents={"bot-1": agent}, clock=lambda: clock[0])
    person = talker(site)
    page = person.begin()
    session = Person(site, person.client).session
    screen = site.screens(session)[session.index]
    talking = Talking(site.store.database)
    message = Sent(screen.id, session.index, 1, "Hello", "k", "s", "bot-1", 2)
    outcome, held = talking.say(session.token, message, server="a dead one", now=now)
    assert outcome == "stored"
    assert talking.take(session.token, screen.id, 1, server="next", now=now) is None
    clock[0] = now + timedelta(seconds=HELD_S + 1)
    assert person.again(page, "follow")[-1]["text"] == "Late, but here."
    # If the dead one comes back after all, its reply does not count.
    assert held is not None
    assert not talking.answered(held, Given("Too late.", 1.0), now=clock[0])
    assert exchanges(site)["reply"].to_list() == ["Late, but here."]


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


@pytest.mark.parametrize(
    ("text", "message"), [("  \n ", "Please write something."), ("x" * 1001, "at most 1,000")]
)
def test_what_cannot_be_said(
    text: str, message: str, make: Make, talker: Visiting, endpoint: Endpoint
) -> None:
    site = make(talk(endpoint.url, "echo"))
    person = talker(site)
    page = person.begin()
    form = page.hidden | {"do": "say", "text": text}
    answer = person.client.post("/chat", data=form, headers=SCRIPT)
    assert answer.status_code == 422
    assert message in answer.json()["errors"]["text"]
    plain = person.client.post("/chat", data=form)
    assert plain.status_code == 422
    assert message in plain.text
    assert exchanges(site).height == 0
    # As many characters as are allowed, line ends counted once.
    assert person.say(page, "é\r\n" * 500)[-1]["state"] == "answered"


def test_scripts_are_only_text(make: Make, talker: Visiting) -> None:
    evil = "<script>alert(1)</script>\" onload='x' {{ 7 * 7 }} \x00"
    agent = Scripted([evil])
    site = make(talk("", "echo"), agents={"bot-1": agent})
    person = talker(site)
    person.say(person.begin(), evil)
    for page in (person.here(), _over(person)):
        assert "<script>alert" not in page.html
        assert "&lt;script&gt;alert(1)" in page.html
        assert "{{ 7 * 7 }}" in page.html


def _over(person: Talker) -> Page:
    person.say(person.here(), "Bye")
    return person.onward(person.here())


def test_a_reply_is_not_lost_when_the_database_is_away_for_a_moment(
    make: Make, talker: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = [StoreUnavailable("The database restarts.")] * 2

    class Restarting(Talking):
        """A database that does not answer twice."""

        def answered(self, held: Held, given: Given, *, now: datetime) -> bool:
            if away:
                raise away.pop()
            return super().answered(held, given, now=now)

    monkeypatch.setattr("dialens.web.replies._TICK_S", 0.02)
    agent = Scripted()
    site = make(talk("", "echo"), agents={"bot-1": agent})
    assert site.replies is not None
    site.replies.talking = Restarting(site.store.database)
    person = talker(site)
    assert person.say(person.begin(), "Hello")[-1]["text"] == "Yes."
    assert len(agent.asked) == 1


def test_a_stream_has_the_headers_of_every_page(make: Make, talker: Visiting) -> None:
    person = talker(make(talk("", "echo"), agents={"bot-1": Scripted()}))
    form = person.begin().hidden | {"do": "say", "text": "Hello"}
    headers = person.client.post("/chat", data=form, headers=SCRIPT).headers
    assert headers["content-type"] == "application/x-ndjson"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in headers["content-security-policy"]


def test_nobody_speaks_for_somebody_else(make: Make, talker: Visiting, endpoint: Endpoint) -> None:
    site = make(talk(endpoint.url, "echo"))
    one, other = talker(site), talker(site)
    page = one.begin("/?participant=one")
    other.begin("/?participant=other")
    form = page.hidden | {"do": "say", "text": "Not me"}
    # Another's ticket, none at all, and a request that another site made the browser send.
    assert other.client.post("/chat", data=form).status_code == 403
    assert one.client.post("/chat", data=form | {"ticket": ""}).status_code == 403
    far = {"sec-fetch-site": "cross-site"}
    assert one.client.post("/chat", data=form, headers=far).status_code == 403
    stranger = talker(site)
    assert stranger.client.post("/chat", data=form, follow_redirects=False).status_code == 303
    for number in ("-1", "x", "1e9", "99999", "²"):
        assert one.client.post("/chat", data=form | {"number": number}).status_code == 400
    assert one.say(page, "Too early", number="2") == [{"next": "/study"}]
    elsewhere = form | {"screen": "chat-002"}
    answer = one.client.post("/chat", data=elsewhere, headers=SCRIPT)
    assert answer.json() == {"next": "/study"}
    assert one.client.post("/chat", data=form | {"text": "x" * 2_000_000}).status_code == 413
    assert exchanges(site).height == 0
    assert endpoint.requests == []


def test_many_messages_do_not_exceed_what_the_study_allows(make: Make, talker: Visiting) -> None:
    agent = Scripted()
    person = talker(make(talk("", "echo"), agents={"bot-1": agent}))
    page = person.begin()
    for number in range(1, 6):
        person.say(page, "More", number=str(number), key=f"k{number}")
    assert len(agent.asked) == 2


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


def test_simulated_people_take_part_over_http(host: Hosting, endpoint: Endpoint) -> None:
    study = talk(endpoint.url, "echo", "flaky-1", targets=4)
    del study["conversations"]["targets"]
    served = host(study)
    went = simulate_over_http(
        served.url, study_of(study), Population(), participants=4, password=PASSWORD, at_once=2
    )
    assert went.outcomes == {"completed": 4}
    with kept(served) as store:
        found = Talking(store.database).exchanges_frame(store.studies()[0].hash)
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
    for index, screen in enumerate(screens[:-1]):
        page = client.get("/researcher/preview", params={"cell": "agent=bot-1", "index": index})
        assert page.status_code == 200, screen.id
    assert endpoint.requests == []
    told = client.get(
        "/api/preview/agent=bot-1",
        params={"index": 3},
        headers={"authorization": f"Bearer {PASSWORD}"},
    ).json()
    assert [block["kind"] for block in told["body"]] == ["dialogue", "response", "definition"]
