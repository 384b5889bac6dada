"""What cannot be said in a conversation, and by whom."""

from __future__ import annotations

import pytest

from tests.agents.endpoint import Endpoint
from tests.web.conftest import Make
from tests.web.people import Page
from tests.web.talks import (
    SCRIPT,
    Scripted,
    Talker,
    Visiting,
    exchanges,
    talk,
)


@pytest.mark.parametrize(
    ("text", "message"), [("  \n ", "Please write something."), ("x" * 1001, "at most 1000")]
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
