"""Deleting what was kept for as long as the study says; what was deleted is logged, not whose."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, case, delete, func, or_, select, update

from dialens.studies._raters import HUMAN
from dialens.studies.design import SPARED, Retention, limit
from dialens.studies.store._changes import Change, log_changes
from dialens.studies.store._deleting import forget_people, recall_exports
from dialens.studies.store._exports import IDENTITIES_FILE
from dialens.studies.store._registration import StudyRecord
from dialens.studies.store._session import lock_study
from dialens.studies.store._store import Store
from dialens.studies.store._tables import LIVE, participants, payments, sessions, studies

_People = Mapping[str, Mapping[str, int]]
"""Ids of participants by pseudonym, by the hash of the study."""
_seen = func.coalesce(func.max(sessions.c.seen_at), participants.c.arrived_at)
_live = func.count(case((sessions.c.state == LIVE, 1)))


@dataclass(frozen=True)
class Overdue:
    """Whose data were kept for long enough.

    Attributes:
        worker_ids: Pseudonyms of people whose ids at the recruiter are to go.
        answers: Pseudonyms of people of whom everything is to go.
        erased: Whether nothing is left of it in the files of the database; see `Forgotten`.
        spared: Pseudonyms of people who are under way, so that theirs stay for now.
        spared_until: When the last of them is no longer spared, unless they go on; none if nobody
            is.
    """

    worker_ids: tuple[str, ...]
    answers: tuple[str, ...]
    erased: bool = True
    spared: tuple[str, ...] = ()
    spared_until: datetime | None = None

    def __bool__(self) -> bool:
        """Whether there is anybody."""
        return bool(self.worker_ids or self.answers)


@dataclass(frozen=True)
class RetentionStore:
    """Keeps what a study says about how long data are kept, in all its versions.

    Attributes:
        store: The database.
        by: Who does it: `command`, or `file` where the server does what the study says.

    Examples:
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> now = datetime(2026, 1, 1, tzinfo=UTC)
        >>> with Store.in_memory() as store:
        ...     _ = store.register(study_of(TEA | {"retention": {"answers": "9 days"}}), now=now)
        ...     retaining = RetentionStore(store, "command")
        ...     retaining.says("tea"), bool(retaining.due("tea", now=now))
        (Retention(worker_ids=None, answers='9 days'), False)
    """

    store: Store
    by: str

    def says(self, name: str) -> Retention:
        """What the newest version of a study says; it holds for the earlier ones, too."""
        return Retention(**json.loads(self._versions(name)[-1].operation).get("retention", {}))

    def due(self, name: str, *, now: datetime) -> Overdue:
        """Whose data are to be deleted now; nothing is changed."""
        says = self.says(name)
        hashes = [one.hash for one in self._versions(name)]
        with self.store.database.reading() as connection:
            everything = _overdue(connection, hashes, says.answers, now)
            ids = _overdue(connection, hashes, says.worker_ids, now, identified=True)
            spared = _spared(connection, hashes, says, now)
        gone = _names(everything)
        return Overdue(
            tuple(who for who in _names(ids) if who not in set(gone)),
            gone,
            spared=tuple(spared),
            spared_until=max(spared.values(), default=None),
        )

    def keep(self, name: str, *, now: datetime) -> Overdue:
        """Delete what was kept for long enough; gives whose it was."""
        due = self.due(name, now=now)
        if not due:
            return due
        says = self.says(name)
        for one in self._versions(name):
            with self.store.database.writing() as connection:
                study = lock_study(connection, one.hash)
                everything = _overdue(connection, [one.hash], says.answers, now)
                gone = list(everything.get(one.hash, {}).values())
                forget_people(connection, gone)
                ids = _overdue(connection, [one.hash], says.worker_ids, now, identified=True)
                unnamed = list(ids.get(one.hash, {}).values())
                _drop_ids(connection, unnamed)
                made = [
                    Change(what, None, len(whose), why=f"kept for: {term}")
                    for what, whose, term in (
                        ("people deleted", gone, says.answers),
                        ("worker ids deleted", unnamed, says.worker_ids),
                    )
                    if whose
                ]
                log_changes(connection, study.id, made, by=self.by, now=now)
        erased = self.store.database.scrub() or not self.store.database.is_sqlite
        return replace(due, erased=erased)

    def _versions(self, name: str) -> list[StudyRecord]:
        own = [one for one in self.store.studies() if one.name == name]
        return sorted(own, key=lambda one: int(one.version))


def _overdue(
    connection: Connection,
    hashes: Sequence[str],
    term: str | None,
    now: datetime,
    *,
    identified: bool = False,
) -> _People:
    """People who were there last before a time; only those with an id, if so wanted."""
    until = None if term is None else limit(term, now)
    if until is None:
        return {}
    over = or_(_seen <= until.under_way, and_(_seen <= until.seen, _live == 0))
    found: dict[str, dict[str, int]] = {}
    for row in connection.execute(_people(hashes, identified=identified).having(over)):
        found.setdefault(row.hash, {})[row.pseudonym] = row.id
    return found


def _spared(
    connection: Connection, hashes: Sequence[str], says: Retention, now: datetime
) -> dict[str, datetime]:
    """People whose time would be over, were they not under way; until when, by pseudonym."""
    found: dict[str, datetime] = {}
    for term, identified in ((says.answers, False), (says.worker_ids, True)):
        until = None if term is None else limit(term, now)
        if until is None:
            continue
        spared = and_(_seen <= until.seen, _seen > until.under_way, _live > 0)
        for row in connection.execute(_people(hashes, identified=identified).having(spared)):
            found[row.pseudonym] = row.seen + SPARED
    return found


def _people(hashes: Sequence[str], *, identified: bool) -> Select[Any]:
    query = (
        select(studies.c.hash, participants.c.pseudonym, participants.c.id, _seen.label("seen"))
        .join(studies, studies.c.id == participants.c.study_id)
        .outerjoin(sessions, sessions.c.participant_id == participants.c.id)
        .where(studies.c.hash.in_(hashes), participants.c.rater_kind == HUMAN)
        .group_by(studies.c.hash, participants.c.pseudonym, participants.c.id)
        .order_by(participants.c.id)
    )
    if identified:
        known = or_(
            participants.c.worker_sealed.is_not(None), participants.c.worker_mark.is_not(None)
        )
        query = query.where(known)
    return query


def _drop_ids(connection: Connection, people: Sequence[int]) -> None:
    """Delete whatever names people elsewhere; their answers stay, by pseudonym."""
    if not people:
        return
    recall_exports(connection, people, kind=IDENTITIES_FILE)
    whose = participants.c.id.in_(people)
    known = select(participants.c.pseudonym).where(whose)
    connection.execute(delete(payments).where(payments.c.participant.in_(known)))
    own = sessions.c.participant_id.in_(people)
    connection.execute(update(sessions).where(own).values(code=None))  # platforms know it, too
    nothing = {"worker_sealed": None, "worker_mark": None}
    connection.execute(update(participants).where(whose).values(nothing))


def _names(people: _People) -> tuple[str, ...]:
    return tuple(name for study in people.values() for name in study)
