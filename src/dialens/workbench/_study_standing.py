"""How the studies of a folder stand: who took part, what they answered, and when last."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from dialens.base import DialensError, first_line
from dialens.studies import SIMULATED
from dialens.studies.store import (
    COMPLETED,
    OperationStore,
    Store,
    StudyRecord,
    UnknownParticipant,
    answered,
    histories,
    look_into,
)
from dialens.workbench._catalogue import Catalogue, Item
from dialens.workbench._studied import databases_of

_FAULTS = (DialensError, OSError, ValueError)
_PEOPLE = pl.Schema({"rater": pl.String, "rater_kind": pl.String, "state": pl.String})


@dataclass(frozen=True)
class StudyStanding:
    """How a study stands in one database.

    Attributes:
        path: The database.
        participants: People who began, simulated ones not among them.
        completed: Of these, those who reached the end.
        simulated: Simulated participants.
        wanted: Completed sessions that are wanted; of the newest version.
        answers: Given in all.
        last: When the last came.
        state: `open`, `paused`, `closed` or `full`.
        problem: Why it cannot be read; empty for most.
    """

    path: Path
    participants: int = 0
    completed: int = 0
    simulated: int = 0
    wanted: int = 0
    answers: int = 0
    last: datetime | None = None
    state: str = ""
    problem: str = ""


def standings(item: Item) -> list[StudyStanding]:
    """How a study stands in each of its databases; none if nobody was ever let in."""
    return [_standing(path) for path in databases_of(item)]


def _standing(path: Path) -> StudyStanding:
    try:
        with look_into(path) as store:
            records = store.studies()
            people = _people(store, records)
            given = answered(store)
            cells = store.progress(records[-1].hash) if records else ()
    except _FAULTS as error:
        return StudyStanding(path, problem=f"{path.name} cannot be read: {first_line(error)}")
    simulated = pl.col("rater_kind") == SIMULATED
    real = people.filter(~simulated)
    free = [cell for cell in cells if cell.completed + cell.live < cell.target]
    states = {cell.state for cell in cells}
    state = "open" if "open" in states else next(iter(states), "")
    return StudyStanding(
        path,
        real["rater"].n_unique(),
        real.filter(pl.col("state") == COMPLETED)["rater"].n_unique(),
        people.filter(simulated)["rater"].n_unique(),
        sum(cell.target for cell in cells),
        sum(n for n, _ in given.values()),
        max((at for _, at in given.values() if at is not None), default=None),
        "full" if state == "open" and not free else state,
    )


def _people(store: Store, records: tuple[StudyRecord, ...]) -> pl.DataFrame:
    operating = OperationStore(store, "command")
    parts = [operating.participants_frame(record.hash) for record in records]
    return pl.concat([pl.DataFrame(schema=_PEOPLE), *parts], how="diagonal_relaxed")


def people_of(item: Item) -> pl.DataFrame:
    """Everybody who began a study, by pseudonym, with the database (`path`) they are in."""
    parts = []
    for path in databases_of(item):
        try:
            with look_into(path) as store:
                found = _people(store, store.studies())
        except _FAULTS:
            continue
        parts.append(found.with_columns(path=pl.lit(str(path))))
    if not parts:
        return pl.DataFrame(schema=_PEOPLE)
    return pl.concat(parts, how="diagonal_relaxed").unique(
        ["rater", "wave"], keep="first", maintain_order=True
    )


def database_with(item: Item, participant: str) -> Path | None:
    """The database of a study that somebody is in."""
    for path in databases_of(item):
        try:
            with look_into(path) as store:
                histories(store, participant)
        except UnknownParticipant:
            continue
        except _FAULTS:
            continue
        return path
    return None


def reports_of(catalogue: Catalogue, item: Item) -> Iterator[Item]:
    """What was made of a study and has a report."""
    for other in catalogue.items:
        made = any(source.item == item.name for source in other.sources)
        if other.report is not None and made:
            yield other
