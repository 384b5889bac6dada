"""A crowd of simulated participants takes a study, in simulated time, into a real database.

Everything about a participant follows from the seed and a number. So a simulation that was
interrupted goes on where it stopped, and one that asks for more participants adds them.
"""

import heapq
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import event

from dialens.base import DialensError
from dialens.studies._participation import (
    LEFT,
    Entrance,
    Waits,
    attendance,
    counted,
    note,
    noted,
    standing,
    take_part,
)
from dialens.studies._raters import SIMULATED
from dialens.studies._study import Study
from dialens.studies._waves import FIRST
from dialens.studies.plan import Planner
from dialens.studies.simulation._people import World
from dialens.studies.simulation._population import Population
from dialens.studies.store import COMPLETED, EXPIRED, Store

RECRUITER = "simulation"
_GAP_S = 90.0
_AGO = timedelta(days=7)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class SimulationRecord:
    """What was put in, kept with the data.

    Attributes:
        seed: Of everything that was drawn.
        population: Whom participants were drawn from.
        participants: How many came.
        start: When the first one came, in simulated time.
    """

    seed: int
    population: Population
    participants: int
    start: datetime

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"start": self.start.isoformat()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SimulationRecord":
        """Back from plain data."""
        return cls(
            data["seed"],
            Population(**data["population"]),
            data["participants"],
            datetime.fromisoformat(data["start"]),
        )


@dataclass(frozen=True)
class Simulated:
    """What a simulation did.

    Attributes:
        outcomes: How many participants completed, left, found no place, …
        known: How many of them had been through before, in an earlier run.
        record: What was put in.
    """

    outcomes: dict[str, int]
    known: int
    record: SimulationRecord


class _Clock:
    """Time that passes only when somebody says so."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def simulate_study(
    store: Store,
    study: Study,
    population: Population,
    *,
    participants: int,
    seed: int = 0,
    now: datetime,
    add: bool = False,
    advance: Callable[[int], None] | None = None,
) -> Simulated:
    """Let simulated participants take a study.

    They come in the course of the last days, some at the same time, and each gets the place that a
    person would get. For later waves they come back when these open. Run again with the same seed
    and population, it goes on where it was interrupted, and adds participants if more are asked
    for.

    Args:
        store: Where answers go. One that holds answers of people is refused.
        study: What they take.
        population: Whom they are drawn from.
        participants: How many come; those who find no place are turned away.
        seed: Of everything that is drawn.
        now: The time at which it all is over.
        add: Whether they may join participants of another simulation.
        advance: Told when another participant is through.

    Examples:
        >>> import tempfile
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> with Store.open(f"sqlite:///{tempfile.mkdtemp()}/tea.db") as store:
        ...     done = simulate_study(store, study_of(TEA), Population(), participants=4, now=noon)
        ...     again = simulate_study(store, study_of(TEA), Population(), participants=5, now=noon)
        >>> done.outcomes, again.outcomes, again.known
        ({'completed': 4}, {'completed': 5}, 4)
    """
    if participants < 1:
        raise DialensError(f"At least one participant has to come; asked for: {participants}.")
    registered = store.register(study, now=now)
    record = _recorded(store, study, population, participants, seed, now, add=add)
    world = World(study, population, seed)
    clock = _Clock(record.start)
    entrance = Entrance(store, Planner(study), RECRUITER, clock)
    people = [world.person(number) for number in range(1, participants + 1)]
    known = standing(store, study.hash, RECRUITER, [person.name for person in people])
    outcomes, gone, waves = list[str](), set[int](), FIRST + len(study.design.waves)
    waiting = list[tuple[datetime, int, Waits]]()
    arrival = record.start
    for person in people:
        gap = world.draws("arrival", person.number).exponential(_GAP_S)
        arrival += timedelta(seconds=float(gap))
        state = known.get(person.name)
        if state is not None and state[0] == COMPLETED and state[2] == waves:
            outcomes.append(COMPLETED)
            continue
        if state == (EXPIRED, person.leaves_after, FIRST):
            gone.add(person.number)
        waits = take_part(entrance, person, tie_breaker=person.tie_breaker())
        waiting.append((arrival, person.number, waits))
    through = len(outcomes) + len(gone)
    if len(waiting) == len(gone):
        return Simulated(counted([*outcomes, *(LEFT for _ in gone)]), through, record)
    # Who left before leaves again: for a while they hold a place, and others get another.
    with _hurried(store):
        for number, outcome in _interleaved(waiting, clock):
            outcomes.append(LEFT if number in gone else outcome)
            if advance:
                advance(1)
    # Who left gives the place back, as if somebody had looked later.
    idle = timedelta(seconds=registered.policy.stale_after_s)
    store.expire(study.hash, now=clock.now + idle + _SECOND)
    return Simulated(counted(outcomes), through, record)


def _interleaved(
    waiting: list[tuple[datetime, int, Waits]], clock: _Clock
) -> Iterator[tuple[int, str]]:
    """Let everybody do what they do when it is time for it; gives how each came out."""
    heapq.heapify(waiting)
    while waiting:
        clock.now, number, waits = heapq.heappop(waiting)
        try:
            seconds = next(waits)
        except StopIteration as end:
            yield number, end.value
            continue
        heapq.heappush(waiting, (clock.now + timedelta(seconds=seconds), number, waits))


@contextmanager
def _hurried(store: Store) -> Iterator[None]:
    """Commit without waiting for the disk: what a power cut takes can be simulated again.

    In SQLite's write-ahead mode that neither damages a database nor loses anything if only the
    program dies.
    """
    engine = store.database.engine
    if not store.database.is_sqlite:
        yield
        return

    def hurry(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(engine, "checkout", hurry)
    try:
        yield
    finally:
        event.remove(engine, "checkout", hurry)
        engine.dispose()  # connections made from now on wait again


def simulations(store: Store, study: str) -> tuple[SimulationRecord, ...]:
    """What was put into a study's data by simulation, by the hash of its definition."""
    return tuple(SimulationRecord.from_json(one) for one in noted(store, _name(study)) or ())


def _name(study: str) -> str:
    return f"simulations {study[:40]}"


def _recorded(
    store: Store,
    study: Study,
    population: Population,
    participants: int,
    seed: int,
    now: datetime,
    *,
    add: bool,
) -> SimulationRecord:
    """Write down what is put in, before anybody comes; refuse what would spoil data."""
    there = attendance(store, study.hash)
    people = sum(count for kind, count in there.items() if kind != SIMULATED)
    if people:
        raise DialensError(
            f"The database holds {people:,} participants of {study.name!r} who are not simulated, "
            "and simulated ones would take their places. Name another database with --db."
        )
    before = simulations(store, study.hash)
    same = [one for one in before if (one.seed, one.population) == (seed, population)]
    if before and not same and not add:
        raise DialensError(
            f"The database holds {there.get(SIMULATED, 0):,} participants of a simulation with "
            "another seed or other options. Use those to go on with it, --fresh to begin anew, "
            "--add to let the new ones join, or another database with --db."
        )
    back = timedelta(hours=sum(wave.after_hours for wave in study.design.waves.values()))
    first = now - _AGO - back - timedelta(seconds=_GAP_S * participants)
    start = same[0].start if same else first
    most = max([participants, *(one.participants for one in same)])
    record = SimulationRecord(seed, population, most, start)
    others = [one.to_json() for one in before if one not in same]
    note(store, _name(study.hash), [*others, record.to_json()])
    return record
