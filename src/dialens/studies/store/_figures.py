"""What a researcher wants to know while a study runs: counts, drop-out, times."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl
from sqlalchemy import ColumnElement, Connection, Float, Select, case, func, select

from dialens.base import did
from dialens.studies._types import FAILED_COMPREHENSION, NO_CONSENT, SCREENED_OUT, WITHDRAWN
from dialens.studies._waves import FIRST
from dialens.studies.store._tables import (
    COMPLETED,
    EXPIRED,
    LIVE,
    RESTARTED,
    cells,
    departures,
    participants,
    sessions,
    submissions,
)

_ENDED, _EXCLUDED = "ended", "excluded"
_WORDS = {
    NO_CONSENT: "did not agree to take part",
    "full": "found the last place taken when they agreed",
    SCREENED_OUT: "were screened out",
    FAILED_COMPREHENSION: "failed the comprehension questions",
    WITHDRAWN: "withdrew",
}
_COUNTED = (COMPLETED, LIVE, EXPIRED, RESTARTED, _ENDED, _EXCLUDED)


@dataclass(frozen=True)
class CellProgress:
    """How far a cell is.

    Attributes:
        cell: Its name.
        state: `open`, `paused` or `closed`.
        target: Completed sessions that are wanted.
        completed: Sessions that reached the end.
        live: Sessions under way.
        expired: Sessions that were left for too long.
        restarted: Earlier attempts of people who began again.
        ended: Sessions that ended early: screened out, comprehension failed, withdrawn.
        excluded: Sessions, completed or under way, of people who are left out and take no place.
    """

    cell: str
    state: str
    target: int
    completed: int
    live: int
    expired: int
    restarted: int
    ended: int = 0
    excluded: int = 0


DROPOUT = pl.Schema(
    {
        "cell": pl.String,
        "wave": pl.Int64,
        "index": pl.Int64,
        "screen": pl.String,
        "kind": pl.String,
        "reached": pl.Int64,
        "submitted": pl.Int64,
        "here_now": pl.Int64,
        "left": pl.Int64,
        "median_active_s": pl.Float64,
    }
)
"""One row a screen of a cell and wave: who reached it, submitted it, is at it, left it, and how
long it took."""


def progress(connection: Connection, study_id: int) -> tuple[CellProgress, ...]:
    """Counts of every cell, in the order of the design."""
    left_out = participants.c.excluded_at.is_not(None) & sessions.c.state.in_((LIVE, COMPLETED))
    ended = sessions.c.outcome.is_not(None)
    state = case((left_out, _EXCLUDED), (ended, _ENDED), else_=sessions.c.state)
    placed = sessions.c.placed_at.is_not(None) | (sessions.c.state == COMPLETED)
    query = (
        select(cells.c.name, state, func.count())
        .join(cells, cells.c.id == sessions.c.cell_id)
        .join(participants, participants.c.id == sessions.c.participant_id)
        .where(cells.c.study_id == study_id, placed, sessions.c.wave == FIRST)
        .group_by(cells.c.name, state)
    )
    counts = {(cell, how): n for cell, how, n in connection.execute(query)}
    listed = select(cells).where(cells.c.study_id == study_id).order_by(cells.c.place)
    return tuple(
        CellProgress(
            row.name,
            row.state,
            row.target,
            *(counts.get((row.name, s), 0) for s in _COUNTED),
        )
        for row in connection.execute(listed)
    )


@dataclass(frozen=True)
class EarlyEnd:
    """How many participations ended early in the same way.

    Attributes:
        outcome: `no_consent`, `full` (the last place went before they agreed), `screened_out`,
            `failed_comprehension` or `withdrawn`.
        reason: Which rule screened them out; none where the outcome says it all.
        deleted: Whether everything else about them was deleted.
        n: How many.
    """

    outcome: str
    reason: str | None
    deleted: bool
    n: int

    @property
    def words(self) -> str:
        """What they did, for researchers.

        Examples:
            >>> EarlyEnd("screened_out", "under 18", False, 3).words
            'were screened out: under 18'
            >>> EarlyEnd("screened_out", None, False, 1).words
            'was screened out'
        """
        gone = ", and had everything deleted" if self.deleted and self.outcome == WITHDRAWN else ""
        return did(self.n, _WORDS[self.outcome]) + (f": {self.reason}" if self.reason else gone)


def early_ends(connection: Connection, study_id: int) -> tuple[EarlyEnd, ...]:
    """Participations that ended before the last screen, other than by a limit."""
    kept = (
        select(sessions.c.outcome, sessions.c.reason, func.count().label("n"))
        .join(participants, participants.c.id == sessions.c.participant_id)
        .where(participants.c.study_id == study_id, sessions.c.outcome.is_not(None))
        .group_by(sessions.c.outcome, sessions.c.reason)
    )
    gone = select(departures.c.outcome, departures.c.n).where(departures.c.study_id == study_id)
    ends = [EarlyEnd(row.outcome, None, True, row.n) for row in connection.execute(gone)]
    ends += [EarlyEnd(row.outcome, row.reason, False, row.n) for row in connection.execute(kept)]
    return tuple(sorted(ends, key=lambda one: (one.outcome, one.reason or "", one.deleted)))


def completions(connection: Connection, study_id: int) -> dict[str, str]:
    """The completion codes of those who reached the end of the first wave, by pseudonym."""
    done = (sessions.c.state == COMPLETED) & (sessions.c.wave == FIRST)
    query = (
        select(participants.c.pseudonym, sessions.c.code)
        .join(participants, participants.c.id == sessions.c.participant_id)
        .where(participants.c.study_id == study_id, done)
    )
    return {row.pseudonym: str(row.code) for row in connection.execute(query)}


def dropout(connection: Connection, study_id: int) -> pl.DataFrame:
    """Where people are and where they left, cell by cell, screen by screen (`DROPOUT`).

    Screens are counted by their place in the plan of a cell, since what is there may differ from
    person to person; `screen` is the most frequent one. A session left at a screen if it expired
    or was begun anew there.
    """
    # Who was not let on did not leave; `early_ends` counts them.
    went_on = sessions.c.outcome.is_(None) | (sessions.c.outcome == WITHDRAWN)
    query = (
        select(cells.c.name, sessions.c.wave, sessions.c.position, sessions.c.state, func.count())
        .join(cells, cells.c.id == sessions.c.cell_id)
        .where(cells.c.study_id == study_id, went_on)
        .group_by(cells.c.name, sessions.c.wave, sessions.c.position, sessions.c.state)
    )
    at: dict[tuple[str, int], list[tuple[int, str, int]]] = {}
    for cell, wave, *there in connection.execute(query):
        at.setdefault((cell, wave), []).append((there[0], there[1], there[2]))
    seen = _screens(connection, study_id)
    listed = select(cells.c.name).where(cells.c.study_id == study_id).order_by(cells.c.place)
    names = list(connection.execute(listed).scalars())
    rows = []
    for cell, wave in sorted(
        {*at, *(own for own, _ in seen)}, key=lambda own: (names.index(own[0]), own[1])
    ):
        there_now = at.get((cell, wave), [])
        submitted_last = max((index for own, index in seen if own == (cell, wave)), default=-1)
        last = max((p for p, state, _ in there_now if state != COMPLETED), default=-1)
        for index in range(max(last, submitted_last) + 1):
            found = seen.get(((cell, wave), index), (None, None, 0, None))
            screen, kind, n, median = found
            here = sum(m for p, state, m in there_now if p == index and state == LIVE)
            left = sum(
                m for p, state, m in there_now if p == index and state in (EXPIRED, RESTARTED)
            )
            counts = (n + here + left, n, here, left, median)
            rows.append((cell, wave, index, screen, kind, *counts))
    return pl.DataFrame(rows, schema=DROPOUT, orient="row")


_Place = tuple[tuple[str, int], int]


def _screens(
    connection: Connection, study_id: int
) -> dict[_Place, tuple[str | None, str | None, int, float | None]]:
    """By cell, wave and place in the plan: the usual screen, its kind, submissions, seconds."""
    listed = select(cells.c.id, cells.c.name).where(cells.c.study_id == study_id)
    names = {row.id: row.name for row in connection.execute(listed)}
    place = (sessions.c.cell_id, sessions.c.wave, submissions.c.position)
    own = sessions.c.cell_id.in_(names)
    counts = (
        select(*place, submissions.c.screen, submissions.c.kind, func.count())
        .join(sessions, sessions.c.id == submissions.c.session_id)
        .where(own)
        .group_by(*place, submissions.c.screen, submissions.c.kind)
    )
    screens: dict[_Place, Counter[str]] = {}
    kinds: dict[_Place, Counter[str]] = {}
    for cell, wave, position, screen, kind, n in connection.execute(counts):
        at = ((names[cell], wave), position)
        screens.setdefault(at, Counter())[screen] += n
        kinds.setdefault(at, Counter())[kind] += n
    medians = {
        ((names[cell], wave), position): milliseconds / 1000
        for cell, wave, position, milliseconds in connection.execute(_medians(place, own))
    }
    return {
        at: (_usual(found), _usual(kinds[at]), found.total(), medians.get(at))
        for at, found in screens.items()
    }


def _usual(counts: Counter[str]) -> str:
    """The most frequent word; the first in the alphabet of those that are equally frequent."""
    return min(counts, key=lambda word: (-counts[word], word))


def _medians(groups: tuple[ColumnElement[Any], ...], own: ColumnElement[bool]) -> Select[Any]:
    """The median time in view by group, computed where the times lie: neither has a median."""
    active = submissions.c.active_ms
    ranked = (
        select(
            *groups,
            active,
            func.row_number().over(partition_by=groups, order_by=active).label("rank"),
            func.count().over(partition_by=groups).label("n"),
        )
        .join(sessions, sessions.c.id == submissions.c.session_id)
        .where(own, active.is_not(None))
        .subquery()
    )
    keys = [ranked.c[column.name] for column in groups]
    middle = (2 * ranked.c.rank).between(ranked.c.n, ranked.c.n + 2)
    mean = func.avg(ranked.c.active_ms, type_=Float)
    return select(*keys, mean).where(middle).group_by(*keys)


@dataclass(frozen=True)
class Times:
    """How long people take; nothing where nobody got that far.

    Attributes:
        completed_minutes: Median from the first screen to completion, pauses and all.
        active_minutes: Median of the time screens were visible, of those who completed.
        by_kind: Median seconds of a screen, by its kind.
    """

    completed_minutes: float | None
    active_minutes: float | None
    by_kind: dict[str, float]


def times(connection: Connection, study_id: int) -> Times:
    """Median times of a study's participants in the first wave."""
    of_study = select(cells.c.id).where(cells.c.study_id == study_id)
    first = sessions.c.cell_id.in_(of_study) & (sessions.c.wave == FIRST)
    query = select(sessions.c.started_at, sessions.c.ended_at).where(
        first, sessions.c.state == COMPLETED
    )
    whole = [(ended - started).total_seconds() / 60 for started, ended in connection.execute(query)]
    spent = (
        select(func.sum(submissions.c.active_ms, type_=Float))
        .join(sessions, sessions.c.id == submissions.c.session_id)
        .where(first, sessions.c.state == COMPLETED, submissions.c.active_ms.is_not(None))
        .group_by(sessions.c.id)
    )
    active = [milliseconds / 60_000 for milliseconds in connection.execute(spent).scalars()]
    kinds = {
        kind: milliseconds / 1000
        for kind, milliseconds in connection.execute(_medians((submissions.c.kind,), first))
    }
    return Times(_median(whole), _median(active), dict(sorted(kinds.items())))


def _median(values: list[float]) -> float | None:
    middle = pl.Series(values, dtype=pl.Float64).median()
    return None if middle is None else float(middle)  # type: ignore[arg-type]
