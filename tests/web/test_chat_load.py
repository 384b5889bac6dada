"""Many conversations at once with a slow agent, and servers that die: each message exactly once."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl
import pytest

from dialens.studies.store import ConversationStore, Store
from tests.agents.endpoint import Endpoint
from tests.studies.store.conftest import cluster  # noqa: F401
from tests.web.browsers import Browser, Reply, Screen, Tally, in_own_loop, together, whole_form
from tests.web.conftest import Hosting, Window, kept
from tests.web.servers import KEY, Command, Mortal, write_study
from tests.web.talks import Talker, talk

if TYPE_CHECKING:
    from playwright._impl._api_structures import SetCookieParam
    from playwright.sync_api import Page

PEOPLE = 50
WINDOWS = 15
EXCHANGES = 3
ROUNDS = 4
SOON = (0.05, 0.1, 0.3)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return str(request.getfixturevalue("cluster").database())


class Chatter(Browser):
    """Somebody who talks: reads streams, and sends a message until its reply is whole."""

    async def _answer(self, reader: asyncio.StreamReader) -> Reply:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
            if name.lower() == "set-cookie":
                key, _, kept_value = value.strip().partition(";")[0].partition("=")
                self.cookies[key] = kept_value
        if headers.get("transfer-encoding") != "chunked":
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        else:
            parts = []
            while size := int(await reader.readuntil(b"\r\n"), 16):
                parts.append((await reader.readexactly(size + 2))[:-2])
            await reader.readexactly(2)
            body = b"".join(parts)
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(head[0].split(" ")[1]), headers, body)

    async def tell(self, form: dict[str, str], text: str) -> dict[str, Any]:
        """Say something, as the page's script does; gives the last line of the stream."""
        sent = form | {"do": "say", "text": text}
        while True:
            reply = await self.insist("POST", "/chat", sent, script=True)
            assert reply.status == 200, reply.text
            told: list[dict[str, Any]] = [
                json.loads(line) for line in reply.body.splitlines() if line
            ]
            if "state" in told[-1]:
                return told[-1]
            await asyncio.sleep(self.patience[-1])


async def to_conversation(browser: Chatter, draw: random.Random) -> Screen:
    screen = await browser.begin()
    while screen.kind != "chat":
        form, _ = whole_form(screen, lambda: "1", draw)
        await browser.submit(form)
        screen = await browser.page()
    return screen


async def take_part(browser: Chatter) -> list[tuple[str, str]]:
    """A whole participation: what was said, and what came back."""
    draw, heard = random.Random(browser.name), []
    screen = await to_conversation(browser, draw)
    form = screen.hidden
    for number in range(1, EXCHANGES + 1):
        text = f"{browser.name} says {number}"
        last = await browser.tell(form | {"number": str(number), "key": f"k{number}"}, text)
        heard.append((text, str(last["text"])))
    screen = await browser.page()
    while screen.code is None:
        form, _ = whole_form(screen, lambda: "1", draw)
        await browser.submit(form)
        screen = await browser.page()
    return heard


async def crowd(port: int, tally: Tally) -> list[list[tuple[str, str]]]:
    people = [Chatter(port, f"person-{number}", tally) for number in range(PEOPLE)]
    return await together(people, take_part)


def stored(database: str) -> pl.DataFrame:
    with Store.open(database, create=False, secrets=KEY) as store:
        return ConversationStore(store.database).exchanges_frame(store.studies()[0].hash)


@pytest.mark.slow
def test_fifty_conversations_at_once(database: str, tmp_path: Path, endpoint: Endpoint) -> None:
    study = talk(endpoint.url, "slow-0.2", "slow-0.15", exchanges=EXCHANGES)
    folder = write_study(tmp_path / "talk", study | {"targets": PEOPLE // 2})
    # With two processes, the one that is asked to listen need not be the one that asks the agent.
    server = Command(folder, database, workers=1 if database.startswith("sqlite") else 2)
    tally = Tally()
    try:
        done = in_own_loop(crowd(server.port, tally))
    finally:
        server.stop()
    assert (tally.lost, tally.refused) == (0, {})
    expected = Counter(pair for heard in done for pair in heard)
    assert set(expected.values()) == {1}
    assert all(reply == f"You said: {text} (None)" for text, reply in expected)
    found = stored(database)
    assert Counter(found.select("said", "reply").rows()) == expected
    assert found["tries"].unique().to_list() == [1]
    assert found.group_by("agent").len()["len"].to_list() == [PEOPLE * EXCHANGES // 2] * 2
    # Nobody was asked anything twice.
    asked = Counter(one["messages"][-1]["content"] for one in endpoint.requests)
    assert set(asked.values()) == {1}
    assert len(asked) == PEOPLE * EXCHANGES


@pytest.mark.slow
def test_real_pages_at_once(host: Hosting, window: Window, endpoint: Endpoint) -> None:
    """Fifty without pages are above; here each has a browser's window of its own."""
    served = host(talk(endpoint.url, "slow-0.5"))
    pages: list[Page] = []
    for number in range(WINDOWS):
        # The screens before are gone through without a window, which is faster.
        with httpx.Client(base_url=served.url, follow_redirects=True, trust_env=False) as client:
            Talker(client).begin(f"/?participant=p{number}")
            cookies: list[SetCookieParam] = [
                {"name": k, "value": v, "url": served.url} for k, v in client.cookies.items()
            ]
        page = window(served.url)
        page.context.add_cookies(cookies)
        page.goto(f"{served.url}/study")
        pages.append(page)
    for number, page in enumerate(pages):
        page.get_by_label("Your message").fill(f"This is p{number}")
    for page in pages:  # without waiting for one click to be over before the next
        page.evaluate("() => { setTimeout(() => document.querySelector('.write button').click()) }")
    for number, page in enumerate(pages):
        page.wait_for_function(
            "() => document.querySelectorAll('.log .turn').length == 2"
            " && !document.querySelector('.log').hasAttribute('aria-busy')"
        )
        shown = [one.inner_text() for one in page.locator(".log .bubble").all()]
        assert shown == [f"This is p{number}", f"You said: This is p{number} (None)"]
    with kept(served) as store:
        found = ConversationStore(store.database).exchanges_frame(store.studies()[0].hash)
    assert sorted(found["said"]) == sorted(f"This is p{number}" for number in range(WINDOWS))
    assert set(found["state"]) == {"answered"}
    assert found["tries"].unique().to_list() == [1]
    assert len(endpoint.requests) == WINDOWS


async def suffer(
    server: Mortal, endpoint: Endpoint, tally: Tally, draw: random.Random
) -> list[tuple[str, str]]:
    """Eight people talk while the server is killed again and again; what they were told."""
    heard: list[tuple[str, str]] = []
    names = count()
    going = True

    async def people(browser: Browser) -> None:
        assert isinstance(browser, Chatter)
        while going:
            browser.cookies.clear()
            browser.name = f"person-{next(names)}"
            form = (await to_conversation(browser, draw)).hidden
            for number in range(1, EXCHANGES + 1):
                text = f"{browser.name} says {number}"
                own = form | {"number": str(number), "key": f"k{number}"}
                last = await browser.tell(own, text)
                heard.append((text, str(last["text"])))

    async def strike() -> None:
        nonlocal going
        for _ in range(ROUNDS):
            await asyncio.sleep(draw.uniform(0.5, 1.2))
            asked = len(endpoint.requests)
            while len(endpoint.requests) == asked:  # until a reply is under way
                await asyncio.sleep(0.01)
            await asyncio.sleep(draw.uniform(0, 0.3))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        going = False

    talking = [Chatter(server.port, "", tally, SOON) for _ in range(8)]
    striking = asyncio.ensure_future(strike())
    await together(talking, people)
    await striking
    return heard


@pytest.mark.slow
def test_servers_die_in_the_middle_of_replies(tmp_path: Path, endpoint: Endpoint) -> None:
    database = f"sqlite:///{tmp_path / 'study.db'}"
    study = talk(endpoint.url, "slow-0.1", exchanges=EXCHANGES) | {"targets": 10_000}
    server = Mortal(write_study(tmp_path / "talk", study), database)
    tally = Tally()
    try:
        heard = in_own_loop(suffer(server, endpoint, tally, random.Random(7)))
    finally:
        server.kill()
    assert tally.lost > 0
    found = stored(database)
    # What anybody was told is what is kept, once; nobody was told two things.
    assert len(set(heard)) == len(heard)
    kept_rows = Counter(found.select("said", "reply").rows())
    assert set(kept_rows.values()) == {1}
    assert set(heard) <= set(kept_rows)
    assert all(reply == f"You said: {text} (None)" for text, reply in heard)
    # Some were asked for again, because who asked first was killed.
    assert found["tries"].max() > 1
