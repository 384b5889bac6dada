"""What a researcher watches while a study runs: counts, drop-out, times, quality of data."""

import threading
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from dialens.agents import KINDS
from dialens.analysis.bias import FLAGS, flag_raters, study_data
from dialens.studies import Study
from dialens.studies.export import tables
from dialens.studies.store import (
    CellProgress,
    ConversationStore,
    EarlyEnd,
    Store,
    Times,
    last_failures,
    pace_sentences,
    partial_sentences,
    replies_by_agent,
    without_replies,
)

_FRESH = timedelta(seconds=10)


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
class Overview:
    """A study at one moment.

    Attributes:
        at: When.
        cells: Progress of each.
        times: Medians.
        dropout: How many people left at which screen, as the store counts them.
        raters: One entry a participant with ratings, flagged ones first.
        n_checks: Checks answered so far.
        n_failed: Of these, failed.
        agents: How agents do that participants talk with (`frames.replies_by_agent`).
        failures: Their newest failures.
        ends: How many did not agree, were screened out, or withdrew.
        silent: Where people completed and no agent ever answered, a sentence each.
        conversations_said: Which agents lose conversations, and which are slower than the pace.
    """

    at: datetime
    cells: tuple[CellProgress, ...]
    times: Times
    dropout: list[dict[str, Any]]
    raters: tuple[RaterQuality, ...]
    n_checks: int
    n_failed: int
    agents: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    ends: tuple[EarlyEnd, ...] = ()
    silent: list[str] = field(default_factory=list)
    conversations_said: tuple[str, ...] = ()


class Watch:
    """Gives overviews, computed at most every ten seconds, however many pages are open."""

    def __init__(self, store: Store, study: Study) -> None:
        """Watch a study that is registered in the store."""
        self._store = store
        self._study = study.hash
        self._shown = {str(study.design.version): study}
        self._lock = threading.Lock()
        self._last: Overview | None = None

    def overview(self, now: datetime) -> Overview:
        """How the study stands; quality of data may be ten seconds old, counts are not."""
        self._store.expire(self._study, now=now)
        with self._lock:
            if self._last is None or not now - _FRESH <= self._last.at <= now:
                self._last = self._made(now)
            kept = self._last
        cells = self._store.progress(self._study)
        return replace(kept, cells=cells)

    def _made(self, now: datetime) -> Overview:
        answers = self._store.answers_frame(self._study)
        ratings, questions, _ = tables(answers, self._shown)
        checks = questions.filter(pl.col("question").str.starts_with("check_"))
        talking = ConversationStore(self._store.database)
        said = talking.exchanges_frame(self._study)
        failed = talking.failures_frame(self._study)
        return Overview(
            now,
            (),
            self._store.times(self._study),
            self._store.dropout(self._study).to_dicts(),
            raters_of(ratings, questions),
            checks.height,
            checks.filter(pl.col("answer") == "failed").height,
            replies_by_agent(said, failed),
            list(last_failures(failed)),
            self._store.early_ends(self._study),
            without_replies(said, failed, KINDS),
            (*partial_sentences(said), *pace_sentences(said)),
        )


def raters_of(ratings: pl.DataFrame, questions: pl.DataFrame) -> tuple[RaterQuality, ...]:
    """How participants answer, those with most flags first.

    Args:
        ratings: In the columns of an export.
        questions: In the columns of `dialens.studies.export._tables.QUESTIONNAIRES`.
    """
    if ratings["rater"].n_unique() < 2:
        return ()  # flags compare people with each other
    flagged = flag_raters(study_data(ratings, questions)).raters
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
        for row in flagged.iter_rows(named=True)
    ]
    return tuple(sorted(raters, key=lambda rater: (-len(rater.flags), rater.participant)))
