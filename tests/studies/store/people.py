"""A small study and people who take it, for the tests of the store."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from dialens.studies import Field, Screen
from dialens.studies.store import Policy, Session, Store, StudyRecord, Submission

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
CELLS = (
    "anchor=none,layout=together",
    "anchor=none,layout=single",
    "anchor=both,layout=together",
    "anchor=both,layout=single",
)
SCREENS = 6


def seeds(start: int = 0) -> Callable[[], int]:
    draw = random.Random(start)
    return lambda: draw.getrandbits(63)


def register(
    store: Store,
    *,
    target: int = 1000,
    policy: Policy | None = None,
    cells: tuple[str, ...] = CELLS,
    name: str = "tea",
) -> StudyRecord:
    return store.register_study(
        f"hash-of-{name}", name, "{}", cells, dict.fromkeys(cells, target), now=NOON, policy=policy
    )


def arrive(
    store: Store,
    study: StudyRecord,
    worker: str | None = None,
    *,
    now: datetime = NOON,
    seed: int = 0,
) -> Session:
    return store.begin(
        study.hash, recruiter="mturk", worker=worker, now=now, seed_source=seeds(seed)
    )


def rating(index: int) -> Screen:
    """Two questions about one response."""
    fields = tuple(
        Field(quality, "magnitude", quality, item=f"d{index}", response="a")
        for quality in ("readability", "coherence")
    )
    return Screen(f"rate-{index:03d}", "rating", "Rate", fields=fields, state={"order": index})


def given(index: int, key: str = "k", value: float = 50.0) -> Submission:
    return Submission(rating(index), index, {"readability": value, "coherence": value + 1}, key)
