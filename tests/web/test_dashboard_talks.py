"""Conversations on a person's page, and in what they saw."""

from __future__ import annotations

import re

from dialens.studies.store import OperationStore
from tests.agents.endpoint import Endpoint
from tests.web.conftest import Make, Visit, log_in
from tests.web.talks import Visiting, talk


def test_the_transcript_stands_on_the_page_and_in_the_replay(
    make: Make, talker: Visiting, visit: Visit, endpoint: Endpoint
) -> None:
    site = make(talk(endpoint.url, "echo"))
    person = talker(site)
    person.say(person.begin(), "Do you <like> tea?")
    person.say(person.here(), "Bye")
    page = person.onward(person.here())
    while "the-code" not in page.html:
        page = person.rate(page)
    people = OperationStore(site.store, "dashboard").participants_frame(site.study.hash)
    name = people["rater"][0]
    client = log_in(visit(site))
    shown = client.get(f"/researcher/people/{name}").text
    assert "Do you &lt;like&gt; tea?" in shown
    assert "You said: Bye" in shown
    chats = re.findall(r"index=(\d+)\">chat-001<", shown)
    replay = client.get(f"/researcher/people/{name}/replay", params={"index": chats[0]}).text
    assert "You said: Do you &lt;like&gt; tea?" in replay
    rated = client.get(f"/researcher/people/{name}/replay", params={"index": int(chats[0]) + 1})
    assert re.search(r'value="4" checked', rated.text)
