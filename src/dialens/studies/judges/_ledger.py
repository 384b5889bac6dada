"""What judges were asked and answered: `judges.db` beside the study, only ever added to.

An *ask* is one question put to a model, known by a key: the hash of everything that its answer may
depend on, the repeat included. A *place* is where an answer stands: a rater, a cell, a seed, a
screen. Screens that read the same share an ask, so it is paid once. Everything is committed before
it counts: after a crash, what is there is asked no more, and nothing else is lost.
"""

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import IO, Self

import polars as pl

from dialens.base import DialensError, Spent, sqlite_to_read, take_lock
from dialens.studies._types import JSON
from dialens.studies.judges._settings import FIRST_OCCASION

LEDGER = "judges.db"
"""The file beside the study file."""

ANSWERED, REFUSED, MALFORMED, FAILED = "answered", "refused", "malformed", "failed"
UNREADABLE, OVER_BUDGET, REPAIRING = "unreadable", "over_budget", "repairing"
STATES = (ANSWERED, REFUSED, MALFORMED, FAILED, UNREADABLE, OVER_BUDGET)
"""How an ask ends; all but the first are missing, with a reason."""

FINAL = (ANSWERED, REFUSED, MALFORMED)
"""States after which the same is not asked again."""

_WAIT_S = 60.0
_VERSION = 2
_ADDED = {
    "language": "TEXT NOT NULL DEFAULT ''",
    "occasion": f"INTEGER NOT NULL DEFAULT {FIRST_OCCASION}",
    "prompt_hash": "TEXT NOT NULL DEFAULT ''",
}
"""Columns of places that the first form of the file did not have."""


@dataclass(frozen=True)
class Ask:
    """One question put to a model, with what came of it.

    Attributes:
        key: The hash of everything that matters.
        identity: Of the model.
        sent: What was said to it last.
        render_hash: Of what stood on the screen.
        state: One of `STATES`, or `repairing` while a second try is due.
        reason: Why there is no answer.
        reply: What the model wrote last.
        first_reply: What it wrote before it was asked to mend that.
        complaint: What it was told then.
        answers: JSON, by question, as stored.
        probabilities: JSON, by question, where answers were weighed.
        repaired: Whether the answer is the second one.
        requests: Made for it, failed ones included.
        tokens_in: Read.
        tokens_out: Written.
        tokens_cached: Read, but known to the server from before.
        cost: None if no price is known.
        seconds: That the model took.
        fingerprint: Of what the server ran.
        note: What else has to be known.
        asked_at: When, as ISO 8601.
    """

    key: str
    identity: str
    sent: str
    render_hash: str
    state: str
    reason: str = ""
    reply: str = ""
    first_reply: str | None = None
    complaint: str | None = None
    answers: str | None = None
    probabilities: str | None = None
    repaired: bool = False
    requests: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    fingerprint: str | None = None
    note: str = ""
    asked_at: str = ""


@dataclass(frozen=True)
class Place:
    """Where an answer stands in the study.

    Attributes:
        study: Hash of the study's definition.
        version: Of the study.
        rater: The rater's name.
        judge: The judge's.
        prompt: The prompt's.
        temperature: Of sampling; none for the model's own.
        memory: `fresh` or `session`.
        think: `none`, `short` or `long`.
        answer: `json`, `text` or `probabilities`.
        repeat: From 1.
        cell: The condition.
        seed: Of the order of screens.
        screen: The screen's id.
        index: Its place among all screens of the participation.
        field: The question, where each is asked by itself; else empty.
        language: In which the study was read.
        occasion: From 1; the same asked again at another time has the next.
        prompt_hash: Of the prompt's text.
    """

    study: str
    version: str
    rater: str
    judge: str
    prompt: str
    temperature: float | None
    memory: str
    think: str
    answer: str
    repeat: int
    cell: str
    seed: int
    screen: str
    index: int
    field: str = ""
    language: str = ""
    occasion: int = FIRST_OCCASION
    prompt_hash: str = ""


_TYPES: Mapping[object, tuple[str, type[pl.DataType]]] = {
    str: ("TEXT NOT NULL", pl.String),
    str | None: ("TEXT", pl.String),
    int: ("INTEGER NOT NULL", pl.Int64),
    int | None: ("INTEGER", pl.Int64),
    bool: ("INTEGER NOT NULL", pl.Boolean),
    float: ("REAL NOT NULL", pl.Float64),
    float | None: ("REAL", pl.Float64),
}


def _names(of: type) -> list[str]:
    return [one.name for one in fields(of)]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _columns(of: type) -> str:
    return ", ".join(f'"{one.name}" {_TYPES[one.type][0]}' for one in fields(of))


_PLACED = ("study", "rater", "cell", "seed", "screen", "field")
_TABLES = (
    f"CREATE TABLE IF NOT EXISTS asks ({_columns(Ask)}, PRIMARY KEY (key)) WITHOUT ROWID",
    f"CREATE TABLE IF NOT EXISTS places ({_columns(Place)}, key TEXT, state TEXT, reason TEXT, "
    f"saved INTEGER NOT NULL, PRIMARY KEY ({_quoted(_PLACED)})) WITHOUT ROWID",
)
_PLACES = [*_names(Place), "key", "state", "reason", "saved"]
_FROM_ASK = [name for name in _names(Ask) if name not in ("key", "state", "reason")]
LEDGER_COLUMNS = pl.Schema(
    {one.name: _TYPES[one.type][1] for one in fields(Place)}
    | {"key": pl.String, "state": pl.String, "reason": pl.String, "saved": pl.Boolean}
    | {one.name: _TYPES[one.type][1] for one in fields(Ask) if one.name in _FROM_ASK}
)
"""One row a place, with the ask that it rests on; `saved` says that another place paid for it."""


@dataclass
class Ledger:
    """The file; open it with `Ledger.open`."""

    path: Path
    _connection: sqlite3.Connection
    _locked: IO[bytes] | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, path: Path, *, asking: bool = False) -> Self:
        """Open the file, which is made if it is not there.

        Args:
            path: Where.
            asking: Whether models will be asked: only one run may do so at a time.

        Examples:
            >>> import tempfile
            >>> with Ledger.open(Path(tempfile.mkdtemp()) / "judges.db") as ledger:
            ...     ledger.spent().requests
            0
        """
        locked = None
        if asking:
            locked = path.with_name(f"{path.name}.lock").open("wb")
            try:
                take_lock(
                    locked.fileno(),
                    f"Another run is asking the judges of {path} at this moment. Wait for it.",
                )
            except BaseException:
                locked.close()
                raise
        try:
            connection = _connected(path)
        except sqlite3.DatabaseError as error:
            raise DialensError(f"{path} is no ledger of judges: {error}.") from error
        return cls(path, connection, locked)

    @classmethod
    def look_into(cls, path: Path) -> Self:
        """Open the file to read only, also while judges are being asked.

        Raises:
            DialensError: It is no ledger, or one of another version of dialens.
        """
        connection = sqlite_to_read(path)
        try:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            connection.close()
            raise DialensError(f"{path} is no ledger of judges: {error}.") from error
        if found != _VERSION:
            connection.close()
            raise DialensError(
                f"{path} was written by another version of dialens. `dialens study judge` with "
                "the newest one brings it up to date."
            )
        return cls(path, connection)

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._connection.close()
        if self._locked is not None:
            self._locked.close()

    def ask(self, key: str) -> Ask | None:
        """What was asked under a key, if it was."""
        query = f"SELECT {_quoted(_names(Ask))} FROM asks WHERE key = ?"
        with self._guard:
            row = self._connection.execute(query, (key,)).fetchone()
        if row is None:
            return None
        values = dict(zip(_names(Ask), row, strict=True))
        return Ask(**{**values, "repaired": bool(values["repaired"])})

    def record(self, ask: Ask, place: Place | None = None) -> None:
        """Write an ask, and the place that it was made for, in one transaction.

        It is on disk when this returns. The last one of a key counts.
        """
        with self._guard, self._connection as connection:
            _insert(connection, "asks", _names(Ask), astuple(ask))
            if place is not None:
                _insert(
                    connection, "places", _PLACES, (*astuple(place), ask.key, None, None, False)
                )

    def reuse(self, place: Place, key: str) -> None:
        """Let a place rest on an ask that was made for another."""
        with self._guard, self._connection as connection:
            _insert(connection, "places", _PLACES, (*astuple(place), key, None, None, True))

    def leave_empty(self, place: Place, state: str, reason: str) -> None:
        """Say why nothing was asked for a place: one of `STATES`, and words."""
        with self._guard, self._connection as connection:
            _insert(connection, "places", _PLACES, (*astuple(place), None, state, reason, False))

    def holds(self, place: Place, key: str) -> bool | None:
        """Whether a place holds this ask as its own; false if another paid, none if not at all."""
        where = " AND ".join(f'"{name}" = ?' for name in _PLACED)
        values = [getattr(place, name) for name in _PLACED]
        query = f"SELECT saved FROM places WHERE {where} AND key = ?"
        with self._guard:
            row = self._connection.execute(query, (*values, key)).fetchone()
        return None if row is None else not row[0]

    def spent(self) -> Spent:
        """What all asks took, over all runs."""
        query = (
            "SELECT coalesce(sum(requests), 0), "
            "coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0), "
            "coalesce(sum(cost), 0.0), coalesce(sum(seconds), 0.0) FROM asks"
        )
        with self._guard:
            return Spent(*self._connection.execute(query).fetchone())

    def seconds_a_request(self, identity: str) -> float | None:
        """What a request to a model took so far, on average; none if it was not asked."""
        query = "SELECT sum(seconds) / sum(requests) FROM asks WHERE identity = ? AND seconds > 0"
        with self._guard:
            row = self._connection.execute(query, (identity,)).fetchone()
        return None if row is None else row[0]

    def fingerprints(self, identity: str, study: str, occasion: int) -> list[str]:
        """What a server said it ran on one occasion of a study, in the order of time."""
        query = (
            "SELECT fingerprint FROM asks WHERE identity = ? AND fingerprint IS NOT NULL "
            "AND key IN (SELECT key FROM places WHERE study = ? AND occasion = ?) "
            "GROUP BY fingerprint ORDER BY min(asked_at)"
        )
        with self._guard:
            found = self._connection.execute(query, (identity, study, occasion))
            return [row[0] for row in found]

    def occasions(self, study: str) -> list[int]:
        """The occasions on which one version of a study was judged, the first one first."""
        query = "SELECT DISTINCT occasion FROM places WHERE study = ? ORDER BY occasion"
        with self._guard:
            return [row[0] for row in self._connection.execute(query, (study,))]

    def frame(self, studies: Sequence[str] | None = None) -> pl.DataFrame:
        """Everything as a table, in the columns of `LEDGER_COLUMNS`.

        Args:
            studies: Hashes of the versions that are wanted; all if not given.
        """
        placed = ", ".join(f'p."{name}"' for name in _names(Place))
        asked = ", ".join(f'a."{name}"' for name in _FROM_ASK)
        marks = "" if studies is None else f"WHERE p.study IN ({', '.join('?' * len(studies))})"
        query = (
            f"SELECT {placed}, p.key, coalesce(p.state, a.state), coalesce(p.reason, a.reason), "
            f"p.saved, {asked} FROM places p LEFT JOIN asks a ON a.key = p.key {marks} "
            'ORDER BY p.study, p.rater, p.cell, p.seed, p."index", p.field'
        )
        with self._guard:
            rows = self._connection.execute(query, tuple(studies or ())).fetchall()
        booleans = [name for name, kind in LEDGER_COLUMNS.items() if kind == pl.Boolean]
        plain = {
            name: pl.Int64 if name in booleans else kind for name, kind in LEDGER_COLUMNS.items()
        }
        table = pl.DataFrame(rows, schema=plain, orient="row")
        return table.with_columns(pl.col(booleans).cast(pl.Boolean))


def _insert(
    connection: sqlite3.Connection, table: str, names: Sequence[str], values: Sequence[object]
) -> None:
    marks = ", ".join("?" * len(names))
    connection.execute(
        f"INSERT OR REPLACE INTO {table} ({_quoted(names)}) VALUES ({marks})", values
    )


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT_S, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        connection.close()
        raise DialensError(
            f"{path} was written by another version of dialens (form {version}, this one knows "
            f"{_VERSION}). Name another file, or set this one aside."
        )
    with connection:
        for table in _TABLES:
            connection.execute(table)
        if version == 1:  # what was paid for is kept
            for name, kind in _ADDED.items():
                connection.execute(f"ALTER TABLE places ADD COLUMN {name} {kind}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    return connection


def stored_json(text: str | None) -> dict[str, JSON]:
    """What a column of JSON holds; nothing where it is empty."""
    return {} if text is None else dict(json.loads(text))
