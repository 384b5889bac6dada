"""A small study and people who take it, for the tests of the store."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from dialens.studies import Field, Screen
from dialens.studies.store import OperationStore, Policy, Session, Store, StudyRecord, Submission
from dialens.studies.store import _registration as registration

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
    targets = dict.fromkeys(cells, target)
    return register_cells(store, f"hash-of-{name}", name, "{}", cells, targets, policy=policy)


def register_cells(
    store: Store,
    study_hash: str,
    name: str,
    definition: str,
    cells: Sequence[str],
    targets: Mapping[str, int],
    *,
    now: datetime = NOON,
    version: str = "1",
    policy: Policy | None = None,
) -> StudyRecord:
    """Register a study that has no file, with any cells."""
    record = StudyRecord(study_hash, name, version, definition, policy or Policy(), now)
    with store.database.writing() as connection:
        return registration.register(connection, record, cells, targets)


def arrive(
    store: Store,
    study: StudyRecord,
    worker: str | None = None,
    *,
    now: datetime = NOON,
    seed: int = 0,
) -> Session:
    """Somebody comes and agrees to take part."""
    source = seeds(seed)
    came = store.begin(study.hash, recruiter="mturk", worker=worker, now=now, seed_source=source)
    return store.admit(came.token, now=now, seed_source=source)


def rating(index: int) -> Screen:
    """Two questions about one response."""
    fields = tuple(
        Field(quality, "magnitude", quality, item=f"d{index}", response="a")
        for quality in ("readability", "coherence")
    )
    return Screen(f"rate-{index:03d}", "rating", "Rate", fields=fields, state={"order": index})


def given(index: int, key: str = "k", value: float = 50.0) -> Submission:
    return Submission(rating(index), index, {"readability": value, "coherence": value + 1}, key)


def set_cell(store: Store, study: str, cell: str, state: str) -> None:
    """As a researcher would."""
    OperationStore(store, "command").set_cell(study, cell, state, now=NOON)
