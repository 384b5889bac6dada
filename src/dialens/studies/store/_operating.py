"""What researchers do with a study while it runs; every change is logged."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from json import loads
from typing import Any

import polars as pl
from sqlalchemy import Connection, Row, Select, select, update

from dialens.base import DialensError, did_you_mean
from dialens.studies._operation import operated
from dialens.studies._types import JSON
from dialens.studies.store import _changes as log
from dialens.studies.store import _people as people
from dialens.studies.store._changes import Change, log_changes
from dialens.studies.store._people import Attendance, CodeHolder, unknown_participant
from dialens.studies.store._problems import UnknownParticipant
from dialens.studies.store._registration import set_operation
from dialens.studies.store._session import lock_study, study_id
from dialens.studies.store._store import Store
from dialens.studies.store._tables import CELL_STATES, cells, participants, studies
from dialens.studies.store._waves import Returning, returning


@dataclass(frozen=True)
class OperationStore:
    """Steers a study: operation, cells, exclusions, payments.

    Attributes:
        store: The database.
        by: The way by which something is changed: `dashboard`, `api`, `file` or `command`.
        who: The name of the person who changes it; empty if it is not known.

    Examples:
        >>> import tempfile
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> now = datetime(2026, 1, 1, tzinfo=UTC)
        >>> with Store.open(f"sqlite:///{tempfile.mkdtemp()}/study.db") as store:
        ...     tea = store.register(study_of(TEA), now=now)
        ...     print(*OperationStore(store, "command").operate(tea.hash, {"targets": 25}, now=now))
        ...     store.progress(tea.hash)[0].target
        targets.each from 20 to 25
        25
    """

    store: Store
    by: str
    who: str = ""

    def operate(
        self, study: str, settings: Mapping[str, JSON], *, now: datetime
    ) -> tuple[Change, ...]:
        """Change how a study is run, at once; gives what changed.

        Args:
            study: The hash of its definition.
            settings: As a study file would say them: `{"targets": 30, "limits": {…}}`.
            now: The time.

        Raises:
            DialensError: A setting is part of the definition, or its value is not possible.
        """
        with self.store.database.writing() as connection:
            row = lock_study(connection, study)
            new = operated(loads(row.operation), settings)
            return set_operation(connection, row, new, by=self.by, who=self.who, now=now)

    def set_cell(self, study: str, cell: str, state: str, *, now: datetime) -> None:
        """Open, pause or close a cell; who is in it goes on."""
        if state not in CELL_STATES:
            raise DialensError(f"A cell is {', '.join(CELL_STATES)}; seen: {state!r}.")
        with self.store.database.writing() as connection:
            row = lock_study(connection, study)
            known = _cells(connection, row)
            if cell not in known:
                raise DialensError(
                    f"Study {row.name!r} has no cell {cell!r}. {did_you_mean(cell, known)}"
                    f"There are: {', '.join(known)}."
                )
            if known[cell] == state:
                return
            own = (cells.c.study_id == row.id) & (cells.c.name == cell)
            connection.execute(update(cells).where(own).values(state=state))
            change = Change(f"cell {cell}", known[cell], state)
            log_changes(connection, row.id, [change], by=self.by, who=self.who, now=now)

    def exclude(self, participant: str, why: str, *, now: datetime) -> None:
        """Leave somebody out of the analysis, and open their place again; their data stay.

        Args:
            participant: The pseudonym.
            why: The reason, which the export holds.
            now: The time.
        """
        if not why.strip():
            raise DialensError("An exclusion needs a reason: it stands in the export.")
        self._exclusion(participant, now, why.strip(), now=now)

    def include(self, participant: str, *, now: datetime) -> None:
        """Undo an exclusion; the cell may then have more people than wanted."""
        self._exclusion(participant, None, "", now=now)

    def _exclusion(self, participant: str, at: datetime | None, why: str, *, now: datetime) -> None:
        with self.store.database.writing() as connection:
            row = _person(connection, participant)
            lock_study(connection, row.hash)
            connection.execute(
                update(participants)
                .where(participants.c.id == row.id)
                .values(excluded_at=at, excluded_why=why or None)
            )
            before, after = row.excluded_at is not None, at is not None
            change = Change("excluded", before, after, participant, why)
            log_changes(connection, row.study_id, [change], by=self.by, who=self.who, now=now)

    def mark_paid(self, participant: str, *, paid: bool = True, now: datetime) -> None:
        """Write down that somebody has got what they were promised, or that they have not."""
        with self.store.database.writing() as connection:
            row = _person(connection, participant)
            if (row.paid_at is not None) == paid:
                return
            own = update(participants).where(participants.c.id == row.id)
            connection.execute(own.values(paid_at=now if paid else None))
            change = Change("paid", not paid, paid, participant)
            log_changes(connection, row.study_id, [change], by=self.by, who=self.who, now=now)

    def identities(self, study: str, *, now: datetime) -> pl.DataFrame:
        """Pseudonyms with ids at the recruiter and codes (`IDENTITIES`); logged.

        For the data controller alone: it undoes what pseudonyms are for.
        """
        with self.store.database.writing() as connection:
            row = lock_study(connection, study)
            table = people.identities_frame(connection, row.id, self.store.secrets)
            change = Change("identities exported", None, table.height)
            log_changes(connection, row.id, [change], by=self.by, who=self.who, now=now)
            return table

    def note(self, study: str, what: str, *, now: datetime) -> None:
        """Write down what somebody did that changed nothing: logged in, took an export."""
        with self.store.database.writing() as connection:
            own = study_id(connection, study)
            change = Change(what, None, None)
            log_changes(connection, own, [change], by=self.by, who=self.who, now=now)

    def returning(self, study: str, wave: int, *, now: datetime) -> tuple[Returning, ...]:
        """Who may come back for a wave, with their ids at the recruiter; logged."""
        with self.store.database.writing() as connection:
            row = lock_study(connection, study)
            found = returning(connection, row, wave, self.store.secrets)
            change = Change(f"identities exported for wave {wave}", None, len(found))
            log_changes(connection, row.id, [change], by=self.by, now=now)
            return found

    def changes_frame(self, study: str) -> pl.DataFrame:
        """Everything that was changed (`CHANGES`)."""
        with self.store.database.reading() as connection:
            return log.changes_frame(connection, study_id(connection, study))

    def participants_frame(self, study: str) -> pl.DataFrame:
        """Everybody who began, wave by wave (`PARTICIPANTS`)."""
        with self.store.database.reading() as connection:
            return people.participants_frame(connection, study_id(connection, study))

    def attendance(self, study: str) -> Attendance:
        """How many took part, without a table of them."""
        with self.store.database.reading() as connection:
            return people.attendance(connection, study_id(connection, study))

    def code_holders(self, code: str) -> tuple[CodeHolder, ...]:
        """Whose completion code it is; several where a study gives everybody the same."""
        with self.store.database.reading() as connection:
            return people.code_holders(connection, code)

    def pseudonym(self, name: str) -> str:
        """The pseudonym of somebody who is named by it, or by a completion code of their own.

        Raises:
            UnknownParticipant: Nobody is, or several people have that code.
        """
        with self.store.database.reading() as connection:
            query = select(participants.c.pseudonym).where(participants.c.pseudonym == name)
            if connection.execute(query).scalar_one_or_none() is not None:
                return name
            holders = people.code_holders(connection, name)
        found = list(dict.fromkeys(holder.participant for holder in holders))
        if len(found) > 1:
            raise UnknownParticipant(
                f"{len(found):,} people have the completion code {name!r}. Name one of them: "
                f"{', '.join(found[:5])}."
            )
        if found:
            return found[0]
        return name


def _cells(connection: Connection, row: Row[Any]) -> dict[str, str]:
    query = select(cells.c.name, cells.c.state).where(cells.c.study_id == row.id)
    return {row.name: row.state for row in connection.execute(query.order_by(cells.c.place))}


def _person(connection: Connection, participant: str) -> Row[Any]:
    query: Select[Any] = (
        select(
            participants.c.id,
            participants.c.study_id,
            participants.c.excluded_at,
            participants.c.paid_at,
            studies.c.hash,
        )
        .join(studies, studies.c.id == participants.c.study_id)
        .where(participants.c.pseudonym == participant)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        raise unknown_participant(connection, participant)
    return row
