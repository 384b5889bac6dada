"""Servers die without warning while people take part: what was acknowledged is there, once.

People do what the real pages do: a form to which no answer comes is sent again as it is. Only
their waiting is shorter. Who finishes is followed by somebody new, until the rounds are over.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from dialens.studies.store import Store
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import cluster  # noqa: F401
from tests.web.browsers import Browser, Tally, in_own_loop, together, whole_form
from tests.web.conftest import tea
from tests.web.servers import KEY, Command, Mortal, write_study

PEOPLE = 8
ROUNDS = 20
SOON = (0.02, 0.05, 0.1)
Rating = tuple[str, str, str, float]


@dataclass
class Crowd:
    """People who take the study, and what they know.

    Attributes:
        port: Of the server.
        draw: Decides what is answered, and when somebody is killed.
        tally: Of their requests.
        sent: Ratings that were put into a form: person, screen, field, value.
        acknowledged: Those of them that the server said it has.
        begun: Everybody who has been let in.
    """

    port: int
    draw: random.Random
    tally: Tally = field(default_factory=Tally)
    sent: set[Rating] = field(default_factory=set)
    acknowledged: set[Rating] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    _names: Iterator[int] = field(default_factory=count)

    async def take_part(self, browser: Browser) -> None:
        """One after the other, for ever."""
        while True:
            browser.cookies.clear()
            browser.name = f"person-{next(self._names)}"
            screen = await browser.begin()
            self.begun.add(browser.name)
            while screen.code is None:
                form, answers = whole_form(screen, self._number, self.draw)
                given = {
                    (browser.name, form["screen"], name[2:], float(value))
                    for name, value in answers.items()
                    if screen.kind == "rating"
                }
                self.sent |= given
                await browser.submit(form)
                self.acknowledged |= given
                screen = await browser.page()

    def _number(self) -> str:
        return f"{self.draw.uniform(1, 1000):.6f}"

    async def suffer(self, rounds: int, strike: Callable[[int], None]) -> None:
        """Take part while something is struck down, again and again."""
        people = [Browser(self.port, "", self.tally, SOON) for _ in range(PEOPLE)]
        taking = asyncio.ensure_future(together(people, self.take_part))
        try:
            for turn in range(rounds):
                before = len(self.acknowledged)
                while len(self.acknowledged) == before:  # everything is up again
                    await asyncio.sleep(0.005)
                    if taking.done():
                        taking.result()
                await asyncio.sleep(self.draw.uniform(0, 0.3))
                await asyncio.to_thread(strike, turn)
        finally:
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)


def check(store: Store, crowd: Crowd) -> None:
    """Compare what people know with what is stored."""
    acknowledged, begun = set(crowd.acknowledged), set(crowd.begun)
    study = store.studies()[0].hash
    frame = store.answers_frame(study).filter(pl.col("kind") == "rating")
    assert not frame.select("rater", "screen", "field").is_duplicated().any()
    people = {name for name, *_ in set(crowd.sent)} | begun
    known = {name: store.participants_of("link", name).get(study) for name in people}
    assert all(known[name] for name in begun)
    names = {who: name for name, who in known.items()}
    stored = {
        (names[rater], screen, asked, float(value))
        for rater, screen, asked, value in frame.select(
            "rater", "screen", "field", "value"
        ).iter_rows()
    }
    assert acknowledged <= stored
    # What is there was sent by that person to that question, even if they were not told.
    assert stored <= crowd.sent
    taken = [cell.completed + cell.live for cell in store.progress(study)]
    assert max(taken) - min(taken) <= 1


def study_file(tmp_path: Path) -> Path:
    return write_study(tmp_path / "tea", tea(targets=100_000))


@pytest.mark.slow
def test_the_server_is_killed_at_any_moment(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'study.db'}"
    server = Mortal(study_file(tmp_path), database)
    crowd = Crowd(server.port, random.Random(6))
    counts: list[int] = []
    with Store.open(database, secrets=KEY) as store:

        def strike(_: int) -> None:
            assert server.kill() == -signal.SIGKILL
            check(store, crowd)
            counts.append(len(crowd.acknowledged))
            server.start()

        in_own_loop(crowd.suffer(ROUNDS, strike))
        server.kill()
        check(store, crowd)
        with store.database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    assert len(counts) == ROUNDS
    assert counts == sorted(set(counts))  # people got on between any two deaths
    assert crowd.tally.lost >= ROUNDS
    assert crowd.tally.refused == {}


@pytest.mark.slow
def test_server_and_database_are_killed_in_turn(
    cluster: Cluster,  # noqa: F811
    tmp_path: Path,
) -> None:
    database = cluster.database()
    server = Mortal(study_file(tmp_path), database)
    crowd = Crowd(server.port, random.Random(7))

    def strike(turn: int) -> None:
        if turn % 2:
            assert server.kill() == -signal.SIGKILL
            server.start()
        else:
            cluster.kill()
            cluster.start()
            with Store.open(database, secrets=KEY) as store:
                check(store, crowd)

    in_own_loop(crowd.suffer(ROUNDS, strike))
    server.kill()
    with Store.open(database, secrets=KEY) as store:
        check(store, crowd)
    # Nothing but "the database does not answer, try again".
    assert set(crowd.tally.refused) <= {503}
    assert crowd.tally.lost + crowd.tally.refused.get(503, 0) >= ROUNDS


@pytest.mark.slow
def test_one_of_several_processes_is_killed(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'study.db'}"
    server = Command(study_file(tmp_path), database, workers=2)
    crowd = Crowd(server.port, random.Random(8))
    try:

        def strike(_: int) -> None:
            os.kill(crowd.draw.choice(workers(server.process.pid)), signal.SIGKILL)

        in_own_loop(crowd.suffer(2, strike))
    finally:
        server.stop()
    with Store.open(database, secrets=KEY) as store:
        check(store, crowd)
    assert crowd.tally.refused == {}


def workers(parent: int) -> list[int]:
    """The processes that answer, of a server that watches over several."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = listed.stdout.splitlines()
    return [int(line.split()[0]) for line in lines if "spawn_main" in line]
