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
        whom = f" ({self.participant})" if self.participant else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.what}{whom} from {_json(self.before)} to {_json(self.after)}{why}"


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
