"""What a researcher watches while a study runs: counts, drop-out, times, quality of data.

Counts and medians come from the database, which computes them. How people answer is worked out
answer by answer, in slices with rests between them, so that participants hardly notice.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from dialens.agents import KINDS
from dialens.base import DialensError
from dialens.studies import Precision, Study
from dialens.studies.store import (
    CellProgress,
    ConversationStore,
    EarlyEnd,
    Store,
    Times,
    WaveProgress,
    last_failures,
    pace_sentences,
    partial_sentences,
    replies_by_agent,
    without_replies,
)
from dialens.web._logging import Seldom
from dialens.web._rater_quality import RaterQualities, RaterQuality

_FRESH = timedelta(seconds=10)
_AT_ONCE_S = 0.1
"""Processor time that a page spends on quality itself; what takes longer goes on without it."""
_REST = 20.0
"""Rest after a slice of work, as a multiple of the time that it took."""
_HOLDS = 100.0
"""How long a figure holds, as a multiple of the processor time that it took."""
_LONGEST = timedelta(minutes=5)
_ONE_RESTS = threading.Lock()
"""Of all studies of a process one at a time, or together they would take what each may."""
_SELDOM = Seldom(logging.getLogger(__name__))

T = TypeVar("T")


@dataclass(frozen=True)
class Quality:
    """How people answer.

    Attributes:
        at: When it was worked out; none if that is still to come.
        raters: One entry a participant with ratings, flagged ones first.
        n_checks: Checks answered; none if it is not known yet.
        n_failed: Of these, failed.
        under_way: What is being worked out, in words; empty if nothing is.
    """

    at: datetime | None = None
    raters: tuple[RaterQuality, ...] = ()
    n_checks: int | None = None
    n_failed: int | None = None
    under_way: str = ""


@dataclass(frozen=True)
class Talks:
    """How agents do that participants talk with.

    Attributes:
        agents: Replies, seconds and failures of each (`replies_by_agent`).
        failures: The newest failures.
        silent: Where people completed and no agent ever answered, a sentence each.
        conversations_said: Which agents lose conversations, and which are slower than the pace.
    """

    agents: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    conversations_said: tuple[str, ...] = ()


class _Kept(Generic[T]):
    """Something that is computed at most every ten seconds, by one thread for all that ask.

    What takes long holds for longer, up to five minutes, so that it takes a hundredth of the time.
    """

    def __init__(self, compute: Callable[[], T], clock: Callable[[], datetime]) -> None:
        self._compute = compute
        self._clock = clock
        self._lock = threading.Lock()
        self._last: tuple[datetime, timedelta, T] | None = None

    def get(self) -> T:
        """The value."""
        with self._lock:
            if self._last is not None:
                at, holds, value = self._last
                if is_fresh(at, self._clock(), holds):
                    return value
            began = time.thread_time()
            value = self._compute()
            spent = timedelta(seconds=time.thread_time() - began)
            holds = min(max(_FRESH, _HOLDS * spent), _LONGEST)
            self._last = (self._clock(), holds, value)
            return value


class Watch:
    """Sees how a study stands, at the same cost however many pages are open."""

    def __init__(self, store: Store, study: Study, clock: Callable[[], datetime]) -> None:
        """Watch a study that is registered in the store."""
        self._store = store
        self._study = study.hash
        self._talked = study.design.conversations is not None
        self._comes_back = bool(study.design.waves)
        self._clock = clock
        self._times = _Kept(lambda: store.times(study.hash), clock)
        self._dropout = _Kept(lambda: store.dropout(study.hash).to_dicts(), clock)
        self._precision = _Kept(lambda: store.precision(study.hash), clock)
        self._talks = _Kept(self._read_talks, clock)
        self._qualities = RaterQualities(store, study)
        self._quality = Quality()
        self._in_flight = threading.Lock()
        self._closed = threading.Event()

    def cells(self) -> tuple[CellProgress, ...]:
        """Progress of each cell, now."""
        self._store.expire(self._study, now=self._clock())
        return self._store.progress(self._study)

    def ends(self) -> tuple[EarlyEnd, ...]:
        """How many did not agree, were screened out, or withdrew."""
        return self._store.early_ends(self._study)

    def times(self) -> Times:
        """Median times."""
        return self._times.get()

    def dropout(self) -> list[dict[str, Any]]:
        """How many people left at which screen, as the store counts them."""
        self._store.expire(self._study, now=self._clock())
        return self._dropout.get()

    def precision(self) -> Precision | None:
        """How precisely it is known what is compared; none where that steers nothing."""
        return self._precision.get()

    def waves(self) -> tuple[WaveProgress, ...]:
        """How far the waves after the first are."""
        # Who has none is not asked: the database would read the whole study for it.
        return self._store.waves(self._study, now=self._clock()) if self._comes_back else ()

    def talks(self) -> Talks:
        """How agents do that participants talk with."""
        return self._talks.get() if self._talked else Talks()

    def quality(self) -> Quality:
        """How people answer, as far as that is known.

        Nobody waits for it: what is not done in a moment goes on while pages show what was known
        before.
        """
        if not self._is_fresh() and self._in_flight.acquire(blocking=False):
            if self._is_fresh():  # another one was faster
                self._in_flight.release()
            else:
                self._begin()
        known = self._quality
        if not self._in_flight.locked():
            return known
        done, people = self._qualities.n_done, self._qualities.n_people
        return replace(known, under_way=f"{done:,} of {people:,} people so far")

    def close(self) -> None:
        """Stop working anything out."""
        self._closed.set()

    def _is_fresh(self) -> bool:
        return self._quality.at is not None and is_fresh(self._quality.at, self._clock())

    def _begin(self) -> None:
        """Work quality out, or let a thread go on with it; whoever ends ends the flight."""
        work = self._qualities.update()
        try:
            done = _worked(work, _AT_ONCE_S)
            if done:
                self._publish()
        except BaseException:
            self._in_flight.release()
            raise
        if done:
            self._in_flight.release()
        else:
            threading.Thread(target=self._go_on, args=(work,), daemon=True).start()

    def _go_on(self, work: Iterator[None]) -> None:
        try:
            while not self._closed.is_set():
                with _ONE_RESTS:
                    started = time.perf_counter()
                    if _worked(work, 0):
                        self._publish()
                        return
                    self._closed.wait(_REST * (time.perf_counter() - started))
        except DialensError as error:  # the next page tries again
            if not self._closed.is_set():
                _SELDOM.warn("quality", f"Quality of data could not be worked out: {error}")
        finally:
            self._in_flight.release()

    def _publish(self) -> None:
        raters, (n_checks, n_failed) = self._qualities.raters(), self._qualities.checks()
        self._quality = Quality(self._clock(), raters, n_checks, n_failed)

    def _read_talks(self) -> Talks:
        talking = ConversationStore(self._store.database)
        said = talking.exchange_states(self._study)
        failed = talking.failures_frame(self._study)
        return Talks(
            replies_by_agent(said, failed),
            list(last_failures(failed)),
            without_replies(said, failed, KINDS),
            (*partial_sentences(said), *pace_sentences(said)),
        )


def is_fresh(at: datetime, now: datetime, holds: timedelta = _FRESH) -> bool:
    """Whether something of a time is new enough to be shown; not if clocks went back."""
    return now - holds <= at <= now


def _worked(work: Iterator[None], seconds: float) -> bool:
    """Do one slice of work, and more for some processor time; whether that was all."""
    until = time.thread_time() + seconds
    return all(time.thread_time() < until for _ in work)
