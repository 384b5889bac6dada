"""The log of what researchers changed while a study ran."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl
from sqlalchemy import Connection, insert, select

from dialens.studies._types import JSON
from dialens.studies.store._tables import changes, studies

_TIME = pl.Datetime("us", "UTC")

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "study": pl.String,
    "version": pl.String,
    "at": _TIME,
    "by": pl.String,
    "who": pl.String,
    "what": pl.String,
    "rater": pl.String,
    "before": pl.String,
    "after": pl.String,
    "why": pl.String,
}
CHANGES = pl.Schema(_COLUMNS)
"""One row a change; `before` and `after` are JSON.

`by` is the way by which it was made, `who` the name that somebody gave at the dashboard's login.
"""

IS_CHANGE = (pl.col("before") != "null") | (pl.col("after") != "null")
"""Which rows are changes; the others say what somebody did that changed nothing."""

_DONE = ("identities exported", "people deleted", "worker ids deleted", "bonus")
"""How the names of things begin that are done, so that nothing was before."""


@dataclass(frozen=True)
class Change:
    """Something that a researcher changed.

    Attributes:
        what: A setting of the operation, `cell …`, `excluded`, `paid`, `bonus`,
            `identities exported`; `logged in`, `data exported` and the like change nothing.
        before: The value until then; none if there was none.
        after: The value from then on.
        participant: Whom it is about; none if it is about nobody.
        why: The reason given; empty if none was asked for.
    """

    what: str
    before: JSON
    after: JSON
    participant: str | None = None
    why: str = ""

    def __str__(self) -> str:
        before, after = _json(self.before), _json(self.after)
        return change_text(self.what, before, after, whom=self.participant, why=self.why)


def change_text(
    what: str, before: str, after: str, *, whom: str | None = None, why: str | None = None
) -> str:
    """A change, or what somebody did, in words.

    Args:
        what: As in `Change`.
        before: The value until then, as JSON.
        after: The value from then on, as JSON; how many, of what was done.
        whom: The pseudonym of whom it is about.
        why: The reason.

    Examples:
        >>> print(change_text("targets.each", "1", "3"))
        targets.each from 1 to 3
        >>> print(change_text("worker ids deleted", "null", "2", why="kept for: 1 day"))
        worker ids deleted: 2 (kept for: 1 day)
        >>> print(change_text("logged in", "null", "null"))
        logged in
    """
    about = f"{what} ({whom})" if whom else what
    if before == "null" and (after == "null" or what.startswith(_DONE)):
        count = "" if after == "null" else f": {after}"
        return f"{about}{count} ({why})" if why else f"{about}{count}"
    reason = f": {why}" if why else ""
    return f"{about} from {before} to {after}{reason}"


def log_changes(
    connection: Connection,
    study_id: int,
    made: Sequence[Change],
    *,
    by: str,
    who: str = "",
    now: datetime,
) -> None:
    """Write down what was changed, by whom and when."""
    rows = [
        {
            "study_id": study_id,
            "at": now,
            "made_by": by,
            "who": who or None,
            "what": change.what,
            "participant": change.participant,
            "before": _json(change.before),
            "after": _json(change.after),
            "why": change.why or None,
        }
        for change in made
    ]
    if rows:
        connection.execute(insert(changes), rows)


def changes_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every change of a study, in the columns of `CHANGES`, the oldest first."""
    query = (
        select(
            studies.c.name,
            studies.c.version,
            changes.c.at,
            changes.c.made_by,
            changes.c.who,
            changes.c.what,
            changes.c.participant,
            changes.c.before,
            changes.c.after,
            changes.c.why,
        )
        .join(studies, studies.c.id == changes.c.study_id)
        .where(changes.c.study_id == study_id)
        .order_by(changes.c.at, changes.c.id)
    )
    rows = [tuple(row) for row in connection.execute(query)]
    return pl.DataFrame(rows, schema=CHANGES, orient="row")


def _json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)
