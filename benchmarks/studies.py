"""Rating submissions over HTTP, against a bare endpoint that inserts one row, in one run.

    python benchmarks/studies.py                              300 participants, SQLite, PostgreSQL
    python benchmarks/studies.py --db sqlite --seconds 20     one database, longer
    python benchmarks/studies.py --db postgresql --workers 2
    python benchmarks/studies.py --dashboard          a large study with and without its dashboard

`dialens study serve` and bare endpoints run in processes of their own, with the same settings and
as many workers. All participants send at once, first to the one, then to the other, in turns, so
that whatever else the machine does hits both: the same forms of the same pages, by the same code.
A ratio is the median over the turns; the last column compares the CPU time of the servers. Then
people take part freely, each waiting for its own page only. Nothing here asserts anything.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlencode

# The servers and browsers of the tests are ours, too.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import studies_dashboard
from ruamel.yaml import YAML
from studies_bare import DATABASE

from dialens.studies.store import Store
from dialens.studies.templates import write_template
from tests.other_servers import free_port
from tests.studies.store.cluster import Cluster, programs
from tests.web.browsers import Browser, Screen, Tally, Unexpected, check, whole_form
from tests.web.servers import KEY, Command, wait_for

CORES = 2
DATABASES = ("sqlite", "postgresql")
BARE = {"form": "bare endpoint, form read by FastAPI", "unread": "bare endpoint, body not read"}


def cpu_seconds(parent: int) -> float:
    """Of a process and all its descendants that are alive."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    family, grown = {parent}, True
    while grown:
        more = {child for child, of in pairs if of in family} - family
        family, grown = family | more, bool(more)
    ticks = 0
    for process in family:
        try:
            told = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Phase:
    """What one kind of request took, turn by turn; wall, and the CPU of client and server."""

    def __init__(self, server: int) -> None:
        self.server = server
        self.turns: list[tuple[float, float, float]] = []

    @contextmanager
    def turn(self) -> Iterator[None]:
        spent = cpu_seconds(self.server)
        wall, client = time.perf_counter(), time.process_time()
        yield
        wall, client = time.perf_counter() - wall, time.process_time() - client
        self.turns.append((wall, client, cpu_seconds(self.server) - spent))

    @property
    def wall(self) -> float:
        return sum(turn[0] for turn in self.turns)

    def told(self, label: str, people: int, rating: "Phase | None") -> str:
        """A line: rate, CPU, and how the ratings compare, by wall clock and by CPU."""
        wall, client, server = np.array(self.turns).sum(axis=0)
        done = people * len(self.turns)
        line = f"  {label:36} {done / wall:7.0f} {done:7} {client / wall:7.0%}"
        line += f" {server / done * 1e3:9.2f}"
        if rating is not None:
            ours, theirs = np.array(rating.turns), np.array(self.turns)
            ratio = np.median(theirs[:, 0] / ours[:, 0])
            line += f" {ratio:8.0%} {theirs[:, 2].sum() / ours[:, 2].sum():8.0%}"
        return line


class Participants:
    """Everybody, and the screens before them."""

    def __init__(self, port: int, count: int) -> None:
        self.tally = Tally()
        self.draw = random.Random(1)
        self.people = [Browser(port, f"person-{n}", self.tally) for n in range(count)]
        self.screens: list[Screen] = []
        self.accepted = 0

    async def arrive(self) -> None:
        """Begin, and go on to the first rating."""

        async def one(browser: Browser) -> Screen:
            screen = await browser.begin()
            while screen.kind != "rating":
                await browser.submit(self.form(screen))
                screen = await browser.page()
            return screen

        self.screens = await asyncio.gather(*map(one, self.people))

    def form(self, screen: Screen) -> dict[str, str]:
        return whole_form(screen, lambda: f"{self.draw.uniform(1, 300):.1f}", self.draw)[0]

    def bodies(self) -> list[bytes]:
        return [urlencode(self.form(screen)).encode("ascii") for screen in self.screens]

    async def submit(self, bodies: list[bytes]) -> None:
        pairs = zip(self.people, bodies, strict=True)
        for reply in await asyncio.gather(
            *(one.ask_raw("POST", "/study", body, script=True) for one, body in pairs)
        ):
            check(reply)
            self.accepted += 1

    async def read(self) -> None:
        self.screens = await asyncio.gather(*(one.page() for one in self.people))

    async def freely(self, seconds: float) -> int:
        """Everybody at their own pace, without any time to think; how many were stored."""
        until, before = time.perf_counter() + seconds, self.accepted

        async def one(place: int) -> None:
            screen = self.screens[place]
            while time.perf_counter() < until and screen.kind == "rating":
                await self.people[place].submit(self.form(screen))
                self.accepted += 1
                screen = await self.people[place].page()
            self.screens[place] = screen

        await asyncio.gather(*map(one, range(len(self.people))))
        return self.accepted - before


async def measured(
    study: Command, bare: dict[str, tuple[int, int]], options: argparse.Namespace
) -> int:
    """Run everything, print it, and say how many ratings' screens were acknowledged."""
    crowd = Participants(study.port, options.participants)
    await crowd.arrive()
    others = {
        name: [Browser(port, f"bare-{n}", Tally()) for n in range(options.participants)]
        for name, (port, _) in bare.items()
    }
    server = study.process.pid
    of = {"rating": server, "page": server} | {name: pid for name, (_, pid) in bare.items()}
    phases = {name: Phase(pid) for name, pid in of.items()}
    for turn in range(1_000):
        if sum(phase.wall for phase in phases.values()) > options.seconds and turn > 2:
            break
        bodies = crowd.bodies()
        if turn == 1:  # connections are open and caches warm: from here on it counts
            phases = {name: Phase(pid) for name, pid in of.items()}
        for name, browsers in others.items():
            with phases[name].turn():
                pairs = zip(browsers, bodies, strict=True)
                replies = await asyncio.gather(
                    *(one.ask_raw("POST", "/study", body, script=True) for one, body in pairs)
                )
            for reply in replies:
                check(reply)
        with phases["rating"].turn():
            await crowd.submit(bodies)
        with phases["page"].turn():
            await crowd.read()
    print(f"  {'':36} {'a sec.':>7} {'n':>7} {'client':>7} {'CPU ms':>9} {'ratio':>8} {'CPU':>8}")
    labels = {"rating": "rating submissions", "page": "pages"} | BARE
    for name, phase in phases.items():
        against = phases["rating"] if name in bare else None
        print(phase.told(labels[name], options.participants, against))
    crowd.tally.waits.clear()
    started, client, spent = time.perf_counter(), time.process_time(), cpu_seconds(server)
    stored = await crowd.freely(options.seconds / 2)
    wall = time.perf_counter() - started
    client, spent = time.process_time() - client, cpu_seconds(server) - spent
    print(
        f"  freely, no time to think: {stored / wall:.0f} submissions with their pages a second "
        f"(n = {stored}, {wall:.1f} s; CPU of client {client / wall:.0%}, of server "
        f"{spent / wall:.0%})"
    )
    for name, waits in sorted(crowd.tally.waits.items()):
        middle, most, nearly = np.percentile(np.array(waits) * 1_000, (50, 95, 99))
        print(f"    {name:12} median {middle:5.0f} ms, 95 % {most:5.0f} ms, 99 % {nearly:5.0f} ms")
    print(f"  requests lost {crowd.tally.lost}, refused {crowd.tally.refused or 0}")
    for one in (*crowd.people, *(one for browsers in others.values() for one in browsers)):
        one.close()
    await asyncio.sleep(0.1)
    return crowd.accepted


def bare_server(database: str, workers: int, app: str) -> tuple[subprocess.Popen[bytes], int]:
    port = free_port()
    script = Path(__file__).with_name("studies_bare.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(port), str(workers), app],
        env=os.environ | {DATABASE: database},
    )
    wait_for(port, lambda: process.poll() is None)
    return process, port


def anchoring(folder: Path, participants: int) -> Path:
    """The paper's design without questionnaires and practice: ratings come at once."""
    write_template("anchoring2020", folder)
    path, yaml = folder / "study.yaml", YAML(typ="safe")
    design = yaml.load(path)
    for name in ("questionnaires", "practice"):
        design.pop(name)
    design |= {"targets": participants, "contact": "Jane Doe, jane@example.org"}
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(design, file)
    return folder


def run(kind: str, folder: Path, options: argparse.Namespace) -> None:
    study = anchoring(folder / f"study-{kind}", options.participants)
    with ExitStack() as stack:
        if kind == "sqlite":
            database = f"sqlite:///{folder / 'study.db'}"
            others = [f"sqlite:///{folder / name}.db" for name in BARE]
        else:
            binaries = programs()
            if binaries is None:
                print("PostgreSQL is not installed here (apt-get install postgresql).")
                return
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dialens-")))
            cluster = Cluster(place, binaries)
            stack.callback(cluster.stop)
            database, others = cluster.database(), [cluster.database() for _ in BARE]
        server = Command(study, database, workers=options.workers)
        stack.callback(server.stop)
        bare = {}
        for name, other in zip(BARE, others, strict=True):
            process, port = bare_server(other, options.workers, name)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            bare[name] = (port, process.pid)
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(
            f"\n{kind}: {options.participants} participants at once, {options.workers} worker(s), "
            f"{len(os.sched_getaffinity(0))} cores for everything, load {load}"
        )
        started = time.perf_counter()
        accepted = asyncio.run(measured(server, bare, options))
        with Store.open(database, create=False, secrets=KEY) as store:
            frame = store.answers_frame(store.studies()[0].hash)
        kept = frame.filter(frame["kind"] == "rating").select("rater", "screen").unique().height
        print(f"  acknowledged {accepted}, stored {kept}; {time.perf_counter() - started:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--participants", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=14, help="of measuring, per database")
    parser.add_argument("--db", choices=("both", *DATABASES), default="both")
    parser.add_argument("--workers", type=int, default=1, help="processes of either server")
    parser.add_argument("--dashboard", action="store_true", help="measure that instead")
    parser.add_argument("--folder", type=Path, help="where its study is kept for another time")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as scratch:
        if options.dashboard:
            studies_dashboard.run(options.folder or Path(scratch), people=8, seconds=20, turns=2)
            return
        for kind in DATABASES if options.db == "both" else (options.db,):
            try:
                run(kind, Path(scratch), options)
            except (Unexpected, OSError, EOFError) as error:
                sys.exit(f"{kind}: the server failed a request: {error!r}")


if __name__ == "__main__":
    main()
