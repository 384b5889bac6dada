"""What an open dashboard costs the participants of a large study: `studies.py --dashboard`.

5,000 items, 540 participants who judged 100 each: some are simulated, and copied in the database.
Participants take part freely, in turns without and with a client that asks for the dashboard as
its page does: again 15 seconds after the last answer. Times of the processor count; on a busy
machine screens in a turn say little but for the comparison of neighbouring turns.
"""

import asyncio
import copy
import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dialens.studies import TEA, load_study
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import Store
from tests.web.browsers import Browser, Screen, Tally, whole_form
from tests.web.servers import KEY, PASSWORD, Command, write_study

ITEMS, SAMPLE = 5_000, 100
SIMULATED, PEOPLE = 20, 540
AGAIN_S, STALE_S = 15.0, 11.0
PAGES = ("/researcher", "/researcher/screens", "/researcher/people")
CALLS = ("/api/cells", "/api/times", "/api/dropout", "/api/quality")
COPIED = {
    "submissions": "screen, position, kind, key, presented, shown_at, submitted_at, displayed_at, "
    "received_at, active_ms, paradata",
    "answers": "screen, field, place, instrument, quality, item, response, asked, value",
    "events": "page, serial, screen, kind, field, client_at, server_at, detail",
}


def large_study(folder: Path) -> tuple[Path, Path]:
    """A study and its database, filled; what is there already is taken as it is."""
    place, database = folder / "study", folder / "study.db"
    if database.exists():
        return place, database
    design = copy.deepcopy(TEA)
    design["items"] = {
        "inline": [
            design["items"]["inline"][0] | {"id": f"c{n}", "context": [f"Question {n}: tea?"]}
            for n in range(ITEMS)
        ],
        "sample": {"count": SAMPLE},
    }
    check = {"kind": "choice", "prompt": "Choose B", "choices": ["A", "B"]}
    reading = {"question": check, "correct": "B", "after": [10, 50]}
    design |= {"factors": {"anchor": ["none", "both"]}, "targets": 10_000}
    design |= {"checks": {"attention": {"reading": reading}}}
    write_study(place, design)
    with Store.open(f"sqlite:///{database}", secrets=KEY) as store:
        crowd = Population(dropout=0.1, speeders=0.1, inattentive=0.1)
        simulate_study(
            store, load_study(place), crowd, participants=SIMULATED, now=datetime.now(UTC)
        )
    with sqlite3.connect(database) as connection:
        for number in range(1, PEOPLE // SIMULATED):
            _copy(connection, number * 1_000_000, number)
    connection.close()
    return place, database


def _copy(connection: sqlite3.Connection, shift: int, number: int) -> None:
    """Everybody once more, under other names."""
    own = "WHERE {0} < 1000000"
    connection.execute(
        "INSERT INTO participants (id, study_id, pseudonym, recruiter, rater_kind, arrived_at) "
        f"SELECT id + {shift}, study_id, pseudonym || '-{number}', recruiter, rater_kind, "
        f"arrived_at FROM participants {own.format('id')}"
    )
    columns = (
        "cell_id, attempt, seed, position, state, started_at, reached_at, seen_at, ended_at, code, "
        "language, placed_at, outcome, reason, wave"
    )
    connection.execute(
        f"INSERT INTO sessions (id, participant_id, {columns}) SELECT id + {shift}, "
        f"participant_id + {shift}, {columns} FROM sessions {own.format('id')}"
    )
    for table, kept in COPIED.items():
        connection.execute(
            f"INSERT INTO {table} (session_id, {kept}) SELECT session_id + {shift}, {kept} "
            f"FROM {table} {own.format('session_id')}"
        )


class Server:
    """What a server has used."""

    def __init__(self, command: Command) -> None:
        self.port, self.pid = command.port, command.process.pid

    @property
    def cpu(self) -> float:
        told = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(told[11]) + int(told[12])) / 100

    @property
    def most_memory(self) -> int:
        """In MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) // 1024


class Researcher(Browser):
    """Somebody who has the dashboard open."""

    async def log_in(self) -> None:
        form = Screen((await self.insist("GET", "/researcher/login")).text).hidden
        await self.insist("POST", "/researcher/login", form | {"password": PASSWORD})

    async def watch(self) -> None:
        """What the page's script does."""
        while True:
            await self.insist("GET", "/researcher")
            await asyncio.sleep(AGAIN_S)


class Crowd:
    """Participants without any time to think; who is through is followed by another."""

    def __init__(self, port: int, people: int) -> None:
        self.port, self.tally, self.draw = port, Tally(), random.Random(1)
        self.stored = self.came = 0
        self.there: list[tuple[Browser, Screen] | None] = [None] * people

    async def take_part(self, seconds: float) -> int:
        """How many screens were stored in some seconds."""
        until, before = time.perf_counter() + seconds, self.stored
        await asyncio.gather(*(self._one(place, until) for place in range(len(self.there))))
        return self.stored - before

    async def _one(self, place: int, until: float) -> None:
        while time.perf_counter() < until:
            browser, screen = self.there[place] or await self._arrive()
            form = whole_form(screen, lambda: f"{self.draw.uniform(1, 300):.1f}", self.draw)[0]
            await browser.submit(form)
            self.stored += 1
            after = await browser.page()
            self.there[place] = (browser, after) if after.code is None else None

    async def _arrive(self) -> tuple[Browser, Screen]:
        self.came += 1
        browser = Browser(self.port, f"person-{self.came}-{time.time_ns()}", self.tally)
        return browser, await browser.begin()


@contextmanager
def spent(server: Server, label: str) -> Iterator[None]:
    cpu, wall = server.cpu, time.perf_counter()
    yield
    used, waited = server.cpu - cpu, time.perf_counter() - wall
    print(f"  {label:34} {used:6.2f} s of processor time, {waited:6.2f} s by the clock")


async def watched(command: Command, people: int, seconds: float, turns: int) -> None:
    """Measure and print."""
    server = Server(command)
    print(f"  server at rest: {server.most_memory} MB")
    crowd, tab = Crowd(command.port, people), Researcher(command.port, "tab", Tally())
    await crowd.take_part(2.0)
    await tab.log_in()
    totals = {label: np.zeros(2) for label in ("without", "with the dashboard")}
    for turn in range(turns):
        for label, total in totals.items():
            cpu = server.cpu
            task = asyncio.create_task(tab.watch()) if label != "without" else None
            crowd.tally.waits.clear()
            stored = await crowd.take_part(seconds)
            used = server.cpu - cpu
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                tab.close()
            total += (stored, used)
            longest = max(wait for waits in crowd.tally.waits.values() for wait in waits)
            print(
                f"  turn {turn + 1}, {label:20} {stored:5} screens, longest wait {longest:4.1f} s, "
                f"server {used:5.1f} s of processor time, {server.most_memory} MB"
            )
    for label, (screens, cpu) in totals.items():
        print(f"  {label:28} {screens:5.0f} screens, {1e3 * cpu / screens:.1f} ms each")
    await _pages(server, tab)
    print(f"  server at most: {server.most_memory} MB")


async def _pages(server: Server, tab: Researcher) -> None:
    """What each page costs when nothing is kept of it, and nobody else is there."""
    began = time.perf_counter()
    known: dict[str, object] = {"at": None, "under_way": "x"}
    while known["under_way"] is not None and time.perf_counter() < began + 60:
        known = await _call(server.port, "/api/quality")
        await asyncio.sleep(1)
    print(f"  quality as of {known['at']}, under way: {known['under_way']}")
    await asyncio.sleep(STALE_S)
    for path in PAGES:
        with spent(server, path):
            await tab.insist("GET", path)
    await asyncio.sleep(STALE_S)
    for path in CALLS:
        with spent(server, path):
            await _call(server.port, path)


async def _call(port: int, path: str) -> dict[str, object]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {PASSWORD}\r\n"
    writer.write(f"{head}connection: close\r\n\r\n".encode())
    whole = await reader.read()
    writer.close()
    return json.loads(whole.partition(b"\r\n\r\n")[2])


def run(folder: Path, people: int, seconds: float, turns: int) -> None:
    started = time.perf_counter()
    study, database = large_study(folder)
    with sqlite3.connect(database) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("participants", "answers", "submissions", "events")
        ]
    connection.close()
    told = "{:,} participants, {:,} answers, {:,} screens, {:,} events".format(*counts)
    print(f"\n{told} ({time.perf_counter() - started:.0f} s to make them)")
    command = Command(study, f"sqlite:///{database}")
    try:
        asyncio.run(watched(command, people, seconds, turns))
    finally:
        command.stop()
