"""Exports that were made, and who has to be taken out of them since they were forgotten."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Row, Select, delete, insert, select, update

from dialens.base import DialensError
from dialens.studies.store._database import Database
from dialens.studies.store._session import find_study
from dialens.studies.store._tables import exports, studies

TABLES, ARCHIVE, PEOPLE = "export", "download", "list of people"
IDENTITIES_FILE, ANALYSIS = "worker ids", "analysis"
"""Kinds of exports: what the commands and the dashboard give out."""
_NONE = "[]"


@dataclass(frozen=True)
class KnownExport:
    """Something that left the database.

    Attributes:
        number: By which it is named.
        study: Name of the study.
        at: When it was made.
        by: The way: `command`, `dashboard` or `api`.
        who: The name that somebody gave at the login; empty if it is not known.
        kind: What it is.
        place: Where it was written; none if it went to a browser.
        sha256: Of the file, or of the list of files with their hashes.
        people: How many people are in it.
        recalled: Pseudonyms of people who were deleted since, and are still in it.
    """

    number: int
    study: str
    at: datetime
    by: str
    who: str
    kind: str
    place: Path | None
    sha256: str
    people: int
    recalled: tuple[str, ...]

    def __str__(self) -> str:
        who = f" by {self.who}" if self.who else ""
        where = f"{self.place}" if self.place is not None else "downloaded"
        return f"{self.kind} of {self.at:%Y-%m-%d %H:%M} UTC{who} ({where})"


@dataclass(frozen=True)
class ExportLog:
    """Remembers exports of the studies in a database.

    Examples:
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> from dialens.studies.store._store import Store
        >>> now = datetime(2026, 1, 1, tzinfo=UTC)
        >>> with Store.in_memory() as store:
        ...     tea = store.register(study_of(TEA), now=now)
        ...     log = ExportLog(store.database, "dashboard", "Ada")
        ...     log.remember(tea.hash, ARCHIVE, None, sha256="0" * 64, people=3, now=now)
        ...     print(*log.all())
        download of 2026-01-01 00:00 UTC by Ada (downloaded)
    """

    database: Database
    by: str
    who: str = ""

    def remember(
        self,
        study: str,
        kind: str,
        place: Path | None,
        *,
        sha256: str,
        people: int,
        now: datetime,
    ) -> None:
        """Write down what was exported; what lay in the same place before is no more.

        Args:
            study: The hash of its definition; of the newest version, if there are several.
            kind: What it is.
            place: Where it was written; none if it went to a browser.
            sha256: Of what was written.
            people: How many are in it.
            now: The time.
        """
        where = None if place is None else str(place.resolve())
        row = {"at": now, "made_by": self.by, "who": self.who or None, "kind": kind}
        row |= {"place": where, "sha256": sha256, "people": people}
        with self.database.writing() as connection:
            if where is not None:
                connection.execute(delete(exports).where(exports.c.place == where))
            row["study_id"] = find_study(connection, study).id
            connection.execute(insert(exports).values(row))

    def all(self, study: str | None = None) -> tuple[KnownExport, ...]:
        """Everything that was exported, of a study by its name or of all; the oldest first."""
        query = _known().order_by(exports.c.at, exports.c.id)
        if study is not None:
            query = query.where(studies.c.name == study)
        with self.database.reading() as connection:
            return tuple(_as_export(row) for row in connection.execute(query))

    def recalled(self) -> tuple[KnownExport, ...]:
        """Exports from which somebody has still to be taken out."""
        query = _known().where(exports.c.recalled != _NONE).order_by(exports.c.at, exports.c.id)
        with self.database.reading() as connection:
            return tuple(_as_export(row) for row in connection.execute(query))

    def settle(self, number: int, people: Collection[str], *, sha256: str | None = None) -> None:
        """Write down that people are no more in an export.

        Args:
            number: Of the export.
            people: Their pseudonyms.
            sha256: Of what is there now; as it was if not given.

        Raises:
            DialensError: There is no such export.
        """
        own = exports.c.id == number
        with self.database.writing() as connection:
            query = select(exports.c.recalled, exports.c.people).where(own).with_for_update()
            row = connection.execute(query).one_or_none()
            if row is None:
                raise DialensError(f"There is no export with the number {number}.")
            left = [name for name in json.loads(row.recalled) if name not in people]
            values: dict[str, Any] = {"recalled": json.dumps(left)}
            if sha256 is not None:
                values |= {"sha256": sha256, "people": max(row.people - len(people), 0)}
            connection.execute(update(exports).where(own).values(values))


def _known() -> Select[Any]:
    return select(exports, studies.c.name.label("study")).join(
        studies, studies.c.id == exports.c.study_id
    )


def _as_export(row: Row[Any]) -> KnownExport:
    return KnownExport(
        row.id,
        row.study,
        row.at,
        row.made_by,
        row.who or "",
        row.kind,
        None if row.place is None else Path(row.place),
        row.sha256,
        row.people,
        tuple(json.loads(row.recalled)),
    )
