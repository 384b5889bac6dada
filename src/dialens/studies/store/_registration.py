"""Studies and their cells: what is being run, in which version, and how many are wanted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, insert, select, text, update

from dialens.base import DialensError, did_you_mean
from dialens.studies._study import Study
from dialens.studies.store._problems import StudyChanged
from dialens.studies.store._tables import (
    CELL_STATES,
    OPEN,
    RESUME_POLICIES,
    cells,
    participants,
    studies,
)

_REGISTER_LOCK = 7_305_808_868_224_118


@dataclass(frozen=True)
class Policy:
    """What happens to people who go away.

    Attributes:
        resume: `resume`, `restart` or `block`: what a known person meets who comes back.
        stale_after_s: Seconds without a sign of life after which a session gives its place back.
        longest_s: Seconds after which it does so in any case, and for good; none for no limit.
    """

    resume: str = "resume"
    stale_after_s: float = 1_800.0
    longest_s: float | None = None

    def __post_init__(self) -> None:
        if self.resume not in RESUME_POLICIES:
            raise DialensError(
                f"The resume policy is one of {', '.join(RESUME_POLICIES)}; seen: {self.resume!r}."
            )
        for seconds in (self.stale_after_s, self.longest_s):
            if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
                raise DialensError(
                    f"Sessions expire after a positive number of seconds, not {seconds}."
                )


@dataclass(frozen=True)
class StudyRecord:
    """A study as the database knows it.

    Attributes:
        hash: Of its definition; names it in every method of the store.
        name: For people.
        version: A study that changed after people took part needs a new one.
        definition: JSON.
        policy: What happens to people who go away.
        registered_at: When it was first registered.
    """

    hash: str
    name: str
    version: str
    definition: str
    policy: Policy
    registered_at: datetime


def as_record(row: Row[Any]) -> StudyRecord:
    """A row of `studies` as callers see it."""
    policy = Policy(row.resume, row.stale_after_s, row.longest_s)
    return StudyRecord(row.hash, row.name, row.version, row.definition, policy, row.registered_at)


def record_of(study: Study, now: datetime) -> StudyRecord:
    """What the database has to know of a study.

    Examples:
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> record_of(study_of(TEA), datetime(2026, 1, 1, tzinfo=UTC)).policy
        Policy(resume='resume', stale_after_s=1800.0, longest_s=10800.0)
    """
    design = study.design
    limits = design.limits
    policy = Policy(design.resume, limits.idle_minutes * 60, limits.session_minutes * 60)
    return StudyRecord(study.hash, study.name, str(design.version), study.definition, policy, now)


def register(
    connection: Connection, record: StudyRecord, wanted: Sequence[str], targets: Mapping[str, int]
) -> StudyRecord:
    """Write a study down, or find it written; one that nobody took part in may still change."""
    _check(wanted, targets)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _REGISTER_LOCK})
    same = connection.execute(select(studies).where(studies.c.hash == record.hash)).one_or_none()
    if same is not None:
        return as_record(same)
    query = select(studies).where(
        studies.c.name == record.name, studies.c.version == record.version
    )
    earlier = connection.execute(query.with_for_update()).one_or_none()
    values = {
        "hash": record.hash,
        "name": record.name,
        "version": record.version,
        "definition": record.definition,
        "resume": record.policy.resume,
        "stale_after_s": record.policy.stale_after_s,
        "longest_s": record.policy.longest_s,
    }
    if earlier is None:
        new = insert(studies).values(**values, registered_at=record.registered_at)
        study_row = connection.execute(new.returning(studies.c.id)).scalar_one()
    else:
        begun = select(exists().where(participants.c.study_id == earlier.id))
        if connection.execute(begun).scalar_one():
            raise StudyChanged(
                f"People have taken part in version {record.version} of {record.name!r}, and its "
                "definition has changed since. Give the changed study a new version, or go back "
                "to the file as it was."
            )
        study_row = earlier.id
        connection.execute(update(studies).where(studies.c.id == study_row).values(**values))
        connection.execute(delete(cells).where(cells.c.study_id == study_row))
    rows = [
        {
            "study_id": study_row,
            "name": name,
            "place": place,
            "target": targets[name],
            "state": OPEN,
        }
        for place, name in enumerate(wanted)
    ]
    connection.execute(insert(cells), rows)
    return as_record(connection.execute(select(studies).where(studies.c.id == study_row)).one())


def set_cell(connection: Connection, study: Row[Any], cell: str, state: str) -> None:
    """Open, pause or close a cell of a study, whose row is locked."""
    assert state in CELL_STATES
    chosen = (cells.c.study_id == study.id) & (cells.c.name == cell)
    if connection.execute(update(cells).where(chosen).values(state=state)).rowcount:
        return
    query = select(cells.c.name).where(cells.c.study_id == study.id)
    known = connection.execute(query).scalars().all()
    raise DialensError(
        f"Study {study.name!r} has no cell {cell!r}. {did_you_mean(cell, known)}"
        f"There are: {', '.join(known)}."
    )


def _check(wanted: Sequence[str], targets: Mapping[str, int]) -> None:
    if not wanted or len(set(wanted)) != len(wanted):
        raise DialensError(f"A study needs cells with different names; seen: {list(wanted)}.")
    odd = sorted(set(wanted) ^ set(targets))
    if odd:
        raise DialensError(f"Cells and targets do not go together: {odd[0]!r} is in one of them.")
    low = [name for name in wanted if targets[name] < 1]
    if low:
        raise DialensError(
            f"Cell {low[0]!r} wants {targets[low[0]]} participants; at least one is needed."
        )
