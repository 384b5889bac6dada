"""How participants answer, kept up to date by reading only what came since the last time."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from dialens.analysis.bias import FLAGS, RaterStatistics, flags_of, rater_statistics
from dialens.studies import Study
from dialens.studies.export import Reading, tables
from dialens.studies.store import ANSWERS, SessionStanding, Standings, Store

_SLICE = 1_500
"""Answers after which whoever computes may rest: a tenth of a second."""

_RATINGS = (
    "rater",
    "rater_kind",
    "level",
    "system",
    "agent",
    "dialog",
    "turn",
    "quality",
    "scale",
    "value",
    "order",
    "position",
    "shown_at",
    "answered_at",
    "active_ms",
    "attempt",
    "wave",
    "screen",
    "screen_words",
)
"""Columns that flags rest on."""
_COUNTS = pl.Schema({"rater": pl.String, "n_checks": pl.Int64, "n_failed": pl.Int64})


@dataclass(frozen=True)
class RaterQuality:
    """How one participant answers.

    Attributes:
        participant: The pseudonym.
        n_ratings: Given so far.
        median_seconds: Per rating; none where no time is known.
        same_share: Share of the most frequent number among their ratings.
        n_failed_checks: Attention checks and gold items failed; none where the study has none.
        flags: What should be looked at twice (`dialens.analysis.bias.FLAGS`).
    """

    participant: str
    n_ratings: int
    median_seconds: float | None
    same_share: float | None
    n_failed_checks: int | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class _Given:
    """What some people have given so far, as flags need it."""

    ratings: pl.DataFrame
    checks: pl.DataFrame

    def of(self, rater: str) -> "_Given":
        own = pl.col("rater") == rater
        return _Given(self.ratings.filter(own), self.checks.filter(own))


@dataclass(frozen=True)
class _New:
    """Answers of a person to be added, the positions up to which they go, whether more may come."""

    answers: pl.DataFrame
    positions: Mapping[int, int]
    live: bool


class RaterQualities:
    """The quality of everybody's answers.

    What is kept of a person is a row, and one a quality; of those under way also their ratings, so
    that only what is new has to be read. A person's answers change only with the positions of their
    sessions: whose are the same as the last time is not looked at, whose went away, by a deletion
    or a new beginning, is read from the start.
    """

    def __init__(self, store: Store, study: Study) -> None:
        """Watch a study that is registered in the store."""
        self._sessions = Standings(store.database)
        self._study = study.hash
        self._reading = Reading({str(study.design.version): study})
        self._known: dict[str, dict[int, int]] = {}
        self._under_way: dict[str, _Given] = {}
        self._statistics: RaterStatistics | None = None
        self._checks = pl.DataFrame(schema=_COUNTS)
        self.n_people = 0
        self.n_done = 0

    def update(self) -> Iterator[None]:
        """Read what came since the last time; may rest at every step, and is done at the end."""
        people: dict[str, list[SessionStanding]] = {}
        for session in self._sessions.all(self._study):
            people.setdefault(session.participant, []).append(session)
        self._drop([person for person in self._known if person not in people])
        changed = [person for person, own in people.items() if self._differs(person, own)]
        self.n_people, self.n_done = len(people), len(people) - len(changed)
        batch: dict[str, _New] = {}
        for person in changed:
            own = [session for session in people[person] if session.counts]
            batch[person] = self._new_answers(person, own)
            if sum(new.answers.height for new in batch.values()) >= _SLICE:
                self._take(batch)
                batch = {}
                yield
        self._take(batch)
        for person in [name for name in self._under_way if not _is_live(people[name])]:
            self._finish(person)

    def raters(self) -> tuple[RaterQuality, ...]:
        """How participants answer, those with most flags first; nothing with fewer than two."""
        if self._statistics is None or self._statistics.raters.height < 2:
            return ()  # flags compare people with each other
        raters = [
            RaterQuality(
                row["rater"],
                row["n_ratings"],
                row["median_seconds"],
                row["same_share"],
                row["n_failed_checks"],
                # Who is still at it has few ratings: that says nothing of them.
                tuple(name for name in FLAGS if row[name] and name != "few_ratings"),
            )
            for row in flags_of(self._statistics).raters.iter_rows(named=True)
        ]
        return tuple(sorted(raters, key=lambda rater: (-len(rater.flags), rater.participant)))

    def checks(self) -> tuple[int, int]:
        """How many checks were answered, and how many of them failed."""
        return int(self._checks["n_checks"].sum()), int(self._checks["n_failed"].sum())

    def _differs(self, person: str, own: Collection[SessionStanding]) -> bool:
        now = {session.id: session.position for session in own if session.counts}
        return self._known.get(person) != now

    def _new_answers(self, person: str, own: Collection[SessionStanding]) -> _New:
        """Somebody's answers that are not known yet; all of them if what is known has gone."""
        known = self._known.get(person, {})
        if person not in self._under_way or not known.keys() <= {session.id for session in own}:
            self._drop([person])
            known = {}
        parts, positions = [pl.DataFrame(schema=ANSWERS)], {}
        for session in own:
            since = known.get(session.id, 0)
            found = self._sessions.answers(session.id, since)
            if found is not None:  # else deleted this moment; the next time they are not listed
                positions[session.id] = found[0]
                parts.append(found[1])
        return _New(pl.concat(parts), positions, _is_live(own))

    def _take(self, batch: Mapping[str, _New]) -> None:
        """Make statistics of what some people answered, before and now."""
        if not batch:
            return
        before = [self._under_way.pop(name) for name in batch if name in self._under_way]
        answers = pl.concat([new.answers for new in batch.values()])
        ratings, questions, _ = tables(answers, self._reading)
        is_check = pl.col("question").str.to_lowercase().str.starts_with("check")
        checks = questions.filter(is_check).select("rater", "question", "answer")
        given = [*before, _Given(ratings.select(_RATINGS), checks)]
        whole = _Given(
            pl.concat([one.ratings for one in given]), pl.concat([one.checks for one in given])
        )
        self._forget(batch)
        if whole.ratings.height:
            fresh = rater_statistics(whole.ratings, whole.checks)
            known = self._statistics
            self._statistics = fresh if known is None else known.with_others(fresh)
        counts = (
            whole.checks.filter(pl.col("question").str.starts_with("check_"))
            .group_by("rater")
            .agg(n_checks=pl.len(), n_failed=(pl.col("answer") == "failed").sum())
        )
        self._checks = pl.concat([self._checks, counts.cast(_COUNTS)])
        for name, new in batch.items():
            self._known[name] = dict(new.positions)
            if new.live:
                self._under_way[name] = whole.of(name)
            else:
                self._reading.drop(name)
        self.n_done += len(batch)

    def _finish(self, person: str) -> None:
        """Keep no more of somebody than what was computed: they answer no more."""
        self._under_way.pop(person, None)
        self._reading.drop(person)

    def _forget(self, people: Collection[str]) -> None:
        """Leave out what was computed of people."""
        if self._statistics is not None:
            self._statistics = self._statistics.without(people)
        self._checks = self._checks.filter(~pl.col("rater").is_in(list(people)))

    def _drop(self, people: Collection[str]) -> None:
        """Leave out people altogether."""
        if not people:
            return
        self._forget(people)
        for name in people:
            self._known.pop(name, None)
            self._finish(name)


def _is_live(sessions: Collection[SessionStanding]) -> bool:
    return any(session.live for session in sessions)
