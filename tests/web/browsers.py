"""Browsers without a window, many in one thread: they do what the pages' own script does.

They read the forms the server sends, bring along its cookie and ticket, and when nothing comes
back they send the same form, with the same key, again.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from typing import Any, TypeVar
from urllib.parse import urlencode

T = TypeVar("T")
B = TypeVar("B", bound="Browser")

_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
_BOX = re.compile(r'data-field="([^"]*)" data-control="([^"]*)"')
_NAME = re.compile(r'name="(a:[^"]*)"')
_RADIO = re.compile(r'type="radio" name="(a:[^"]*)" value="([^"]*)"')
_KIND = re.compile(r'<main id="main" class="page ([a-z]+)')
_CODE = re.compile(r'<output class="the-code">([^<]*)<')
_IDLE_S = 10.0  # servers hang up on connections that were quiet for long
FORM = "application/x-www-form-urlencoded"


def in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own: a real browser's loop may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class Unexpected(Exception):
    """The server said something that no page expects."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


@dataclass
class Tally:
    """What a crowd of browsers did.

    Attributes:
        sent: Requests.
        lost: Those that no answer came back to.
        refused: Answers that a page meets by trying again (408, 429, 5xx), by status.
        waits: Seconds from a request to its answer, by what it was for.
    """

    sent: int = 0
    lost: int = 0
    refused: dict[int, int] = field(default_factory=dict)
    waits: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Screen:
    """A page with a form."""

    html: str

    @property
    def kind(self) -> str:
        found = _KIND.search(self.html)
        return found[1] if found else ""

    @property
    def code(self) -> str | None:
        found = _CODE.search(self.html)
        return found[1] if found else None

    @property
    def hidden(self) -> dict[str, str]:
        return {name: unescape(value) for name, value in _HIDDEN.findall(self.html)}

    def filled(self, number: Callable[[], str], draw: random.Random) -> dict[str, str]:
        """Something for every input; numbers are given by the caller."""
        made: dict[str, str] = {}
        boxes = list(_BOX.finditer(self.html))
        for place, box in enumerate(boxes):
            end = boxes[place + 1].start() if place + 1 < len(boxes) else len(self.html)
            part = self.html[box.start() : end]
            names = list(dict.fromkeys(unescape(name) for name in _NAME.findall(part)))
            if box[2] in ("number", "slider"):
                made[names[0]] = number()
            elif box[2] == "text":
                made[names[0]] = f"Words {number()}"
            elif box[2] == "order":
                ranks = list(range(1, len(names) + 1))
                draw.shuffle(ranks)
                made |= {name: str(rank) for name, rank in zip(names, ranks, strict=True)}
            else:
                values = [unescape(value) for _, value in _RADIO.findall(part)]
                made[names[0]] = "yes" if "yes" in values else draw.choice(values)
        return made


@dataclass
class Browser:
    """One participant's: a cookie, a connection that is kept, and patience.

    Attributes:
        port: Of the server, on this machine.
        name: By which the participant is known.
        tally: Of everybody.
        patience: Seconds after which a lost request is sent again, the last one for ever after.
    """

    port: int
    name: str
    tally: Tally
    patience: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 15.0)
    cookies: dict[str, str] = field(default_factory=dict)
    _line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    _used: float = 0.0

    async def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, *, script: bool = False
    ) -> Reply:
        """One request and its answer.

        Raises:
            OSError, EOFError: The server is gone; nobody knows whether it did what was asked.
        """
        body = b"" if form is None else urlencode(form).encode("ascii")
        return await self.ask_raw(method, path, body, script=script)

    async def ask_raw(self, method: str, path: str, body: bytes, *, script: bool = False) -> Reply:
        """The same with a form that is written already."""
        head = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self.port}"]
        if self.cookies:
            head.append("cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if script:
            head.append("accept: application/json")
        if method == "POST":
            head += [f"content-type: {FORM}", f"content-length: {len(body)}"]
        self.tally.sent += 1
        started = time.perf_counter()
        if started - self._used > _IDLE_S:
            self.close()
        try:
            if self._line is None:
                self._line = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self._line
            writer.write("\r\n".join([*head, "", ""]).encode("ascii") + body)
            reply = await self._answer(reader)
        except (OSError, EOFError):
            self.close()
            raise
        self._used = time.perf_counter()
        waited = self._used - started
        self.tally.waits.setdefault(f"{method} {path.partition('?')[0]}", []).append(waited)
        return reply

    async def _answer(self, reader: asyncio.StreamReader) -> Reply:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
            if name.lower() == "set-cookie":
                key, _, kept = value.strip().partition(";")[0].partition("=")
                self.cookies[key] = kept
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(head[0].split(" ")[1]), headers, body)

    async def insist(
        self, method: str, path: str, form: dict[str, str] | None = None, *, script: bool = False
    ) -> Reply:
        """Ask until there is an answer, as the page's script does, or a person who reloads."""
        attempt = 0
        while True:
            try:
                reply = await self.ask(method, path, form, script=script)
            except (OSError, EOFError):
                self.tally.lost += 1
            else:
                if reply.status < 500 and reply.status not in (408, 429):
                    return reply
                seen = self.tally.refused
                seen[reply.status] = seen.get(reply.status, 0) + 1
            await asyncio.sleep(self.patience[min(attempt, len(self.patience) - 1)])
            attempt += 1

    async def page(self, path: str = "/study") -> Screen:
        """Where the participant is."""
        reply = await self.insist("GET", path)
        if reply.status != 200:
            raise Unexpected(f"GET {path}: {reply.status} {reply.headers.get('location', '')}")
        return Screen(reply.text)

    async def begin(self) -> Screen:
        """Arrive and begin; the first screen."""
        welcome = await self.page(f"/?participant={self.name}")
        reply = await self.insist("POST", "/begin", welcome.hidden)
        if (reply.status, reply.headers.get("location")) != (303, "/study"):
            raise Unexpected(f"POST /begin: {reply.status} {reply.text[:300]}")
        return await self.page()

    async def submit(self, sent: dict[str, str]) -> None:
        """Send a filled form; once this returns, the server has said that it is stored."""
        check(await self.insist("POST", "/study", sent, script=True))

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line[1].close()
            self._line = None


async def together(people: Sequence[B], doing: Callable[[B], Awaitable[T]]) -> list[T]:
    """What everybody does at the same time; whatever happens, all hang up in the end."""
    tasks = [asyncio.ensure_future(doing(one)) for one in people]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in people:
            one.close()
        await asyncio.sleep(0)  # transports close when the loop comes round


def check(reply: Reply) -> None:
    """Refuse anything but the word that a submission is stored."""
    if reply.status != 200 or json.loads(reply.body) != {"next": "/study"}:
        raise Unexpected(f"POST /study: {reply.status} {reply.text[:300]}")


def whole_form(
    screen: Screen, number: Callable[[], str], draw: random.Random
) -> tuple[dict[str, str], dict[str, str]]:
    """The form as the page's script sends it, events and times with it; and the answers in it."""
    answers = screen.filled(number, draw)
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    kinds: list[tuple[str, str | None, str | None]] = [("shown", None, None)]
    kinds += [("first_input", name[2:], None) for name in list(answers)[:1]]
    kinds += [("change", name[2:], value) for name, value in answers.items()]
    kinds.append(("submitted", None, None))
    events = [
        {"kind": kind, "at": now, "serial": serial, "field": asked, "value": value}
        for serial, (kind, asked, value) in enumerate(kinds)
    ]
    logged = {"shown_at": now, "submitted_at": now, "events": json.dumps(events)}
    return {**screen.hidden, **logged, **answers}, answers
