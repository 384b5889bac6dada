"""Studies and their cells: what is being run, in which version, and how many are wanted."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, insert, select, text, update

from dialens.base import DialensError
from dialens.studies._differences import changed_places
from dialens.studies._operation import (
    OPERATION,
    TRANSLATIONS,
    as_text,
    is_operation,
    merged,
    named,
    operation_values,
)
from dialens.studies._study import Study
from dialens.studies._types import JSON
from dialens.studies.store._changes import Change, log_changes
from dialens.studies.store._problems import StudyChanged
from dialens.studies.store._tables import (
    OPEN,
    RESUME_POLICIES,
    cells,
    participants,
    studies,
)

_MOST_PLACES = 5
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
        operation: How it is run, as JSON (`dialens.studies.OPERATION`).
    """

    hash: str
    name: str
    version: str
    definition: str
    policy: Policy
    registered_at: datetime
    operation: str = "{}"

    @property
    def study(self) -> Study:
        """The study as it is run now."""
        return Study.from_definition(self.definition, self.operation)


def as_record(row: Row[Any]) -> StudyRecord:
    """A row of `studies` as callers see it."""
    policy = Policy(row.resume, row.stale_after_s, row.longest_s)
    known = (row.hash, row.name, row.version, row.definition, policy, row.registered_at)
    return StudyRecord(*known, row.operation)


def record_of(study: Study, now: datetime) -> StudyRecord:
    """What the database has to know of a study.

    Examples:
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> record_of(study_of(TEA), datetime(2026, 1, 1, tzinfo=UTC)).policy
        Policy(resume='resume', stale_after_s=1800.0, longest_s=10800.0)
    """
    return StudyRecord(
        study.hash,
        study.name,
        str(study.design.version),
        study.definition,
        policy_of(study),
        now,
        study.operation,
    )


def policy_of(study: Study) -> Policy:
    """What a study does with people who go away."""
    limits = study.design.limits
    return Policy(study.design.resume, limits.idle_minutes * 60, limits.session_minutes * 60)


def register(
    connection: Connection, record: StudyRecord, wanted: Sequence[str], targets: Mapping[str, int]
) -> StudyRecord:
    """Write a study down, or find it written, and follow what its file says of the operation.

    A definition that nobody took part in may still change.
    """
    _check(wanted, targets)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _REGISTER_LOCK})
    same = connection.execute(select(studies).where(studies.c.hash == record.hash)).one_or_none()
    if same is not None:
        return follow_file(connection, same, record)
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
        "operation": record.operation,
        "file_operation": record.operation,
    }
    if earlier is None:
        new = insert(studies).values(**values, registered_at=record.registered_at)
        study_row = connection.execute(new.returning(studies.c.id)).scalar_one()
    else:
        begun = select(exists().where(participants.c.study_id == earlier.id))
        if connection.execute(begun).scalar_one():
            raise StudyChanged(
                f"People have taken part in version {record.version} of {record.name!r}, and its "
                f"definition has changed since{_where(earlier.definition, record.definition)}. "
                "Give the changed study a new version, or go back to the file as it was. Only how "
                f"it is run may change: {', '.join(OPERATION)}."
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


def follow_file(connection: Connection, row: Row[Any], record: StudyRecord) -> StudyRecord:
    """Take over what the file says otherwise than when it was last read; log what changed."""
    if row.file_operation != record.operation:
        before, after = json.loads(row.file_operation), json.loads(record.operation)
        new = merged(json.loads(row.operation), before, after)
        set_operation(connection, row, new, by="file", now=record.registered_at)
        kept = update(studies).where(studies.c.id == row.id)
        connection.execute(kept.values(file_operation=record.operation))
        row = connection.execute(select(studies).where(studies.c.id == row.id)).one()
    return as_record(row)


def set_operation(
    connection: Connection,
    row: Row[Any],
    operation: Mapping[str, JSON],
    *,
    by: str,
    who: str = "",
    now: datetime,
) -> tuple[Change, ...]:
    """Run a study in another way from now on; gives what changed, which is logged."""
    old = Study.from_definition(row.definition, row.operation)
    new = old.with_operation(as_text(operation))
    names = [cell.name for cell in new.cells]
    _check(names, new.targets)
    before, after = _values(old), _values(new)
    made = tuple(
        Change(named(place), before.get(place), after.get(place))
        for place in dict.fromkeys((*before, *after))
        if before.get(place) != after.get(place)
    )
    policy = policy_of(new)
    values = {
        "operation": as_text(operation),
        "resume": policy.resume,
        "stale_after_s": policy.stale_after_s,
        "longest_s": policy.longest_s,
    }
    connection.execute(update(studies).where(studies.c.id == row.id).values(**values))
    for name, target in new.targets.items():
        own = (cells.c.study_id == row.id) & (cells.c.name == name)
        connection.execute(update(cells).where(own).values(target=target))
    log_changes(connection, row.id, made, by=by, who=who, now=now)
    return made


def _values(study: Study) -> dict[tuple[str, ...], JSON]:
    """What holds of every setting, closing words in further languages among them."""
    values = operation_values(study.design)
    for language, other in study.translations.items():
        for place, value in operation_values(other.design).items():
            if is_operation((TRANSLATIONS, language, *place)):
                values[TRANSLATIONS, language, *place] = value
    return values


def _where(before: str, after: str) -> str:
    """Where two definitions differ, in brackets; nothing if one of them cannot be read."""
    try:
        found = changed_places(json.loads(before), json.loads(after))
    except (ValueError, TypeError, KeyError):
        return ""
    shown = ", ".join(found[:_MOST_PLACES]) + (", …" if len(found) > _MOST_PLACES else "")
    return f" ({shown})" if shown else ""


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
