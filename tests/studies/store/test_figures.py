"""What the researcher's page says, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dialens.studies.store import Policy, Session, Store, StudyRecord
from tests.studies.store.people import NOON, SECOND, arrive, given, register


def take(
    store: Store, study: StudyRecord, screens: int, seconds: float, *, finish: bool = False
) -> Session:
    """Submit some screens, each after as many seconds."""
    came = arrive(store, study)
    for at in range(screens):
        start = NOON + timedelta(seconds=at * seconds)
        end = start + timedelta(seconds=seconds)
        sent = replace(given(at), shown_at=start, submitted_at=end)
        store.submit(came.token, sent, now=end)
    if finish:
        end = NOON + timedelta(seconds=screens * seconds)
        store.complete(came.token, screens=screens, now=end)
    return came


def test_counts_dropout_and_times(store: Store) -> None:
    study = register(store, cells=("a",), target=8, policy=Policy("resume", 600))
    take(store, study, 3, 10, finish=True)  # 30 s
    take(store, study, 3, 20, finish=True)  # 60 s
    take(store, study, 3, 60, finish=True)  # 180 s
    take(store, study, 1, 8)
    take(store, study, 2, 6)
    here = take(store, study, 1, 4)
    store.log_events(here.token, "rate-001", [], now=NOON + 900 * SECOND)
    assert store.expire(study.hash, now=NOON + 1000 * SECOND) == 2
    cells = store.progress(study.hash)
    assert sum(cell.completed for cell in cells) == 3
    assert sum(cell.live for cell in cells) == 1
    assert sum(cell.expired for cell in cells) == 2
    assert sum(cell.target - cell.completed - cell.live for cell in cells) == 8 - 4
    table = store.dropout(study.hash)
    assert table.select("index", "reached", "submitted", "here_now", "left").rows() == [
        (0, 6, 6, 0, 0),
        (1, 6, 4, 1, 1),
        (2, 4, 3, 0, 1),
    ]
    assert table["screen"].to_list() == ["rate-000", "rate-001", "rate-002"]
    # Medians of 10, 20, 60, 8, 6, 4; of 10, 20, 60, 6; of 10, 20, 60.
    assert table["median_active_s"].to_list() == [9.0, 15.0, 20.0]
    times = store.times(study.hash)
    assert times.completed_minutes == pytest.approx(1.0)
    assert times.active_minutes == pytest.approx(1.0)
    # All thirteen screens: 4 6 6 8 10 10 10 20 20 20 60 60 60.
    assert times.by_kind == {"rating": 10.0}


def test_screens_of_cells_are_counted_apart(store: Store) -> None:
    study = register(store, cells=("a", "b"), target=4, policy=Policy("resume", 600))
    seen = {}
    for screens, seconds in ((3, 10), (1, 40)):  # the second has fewer screens, and leaves
        came = take(store, study, screens, seconds, finish=screens == 3)
        seen[came.cell] = screens
    store.expire(study.hash, now=NOON + 1000 * SECOND)
    long, short = sorted(seen, key=lambda cell: -seen[cell])
    columns = ("cell", "index", "reached", "submitted", "left", "median_active_s")
    assert sorted(store.dropout(study.hash).select(columns).rows()) == sorted(
        [
            (long, 0, 1, 1, 0, 10.0),
            (long, 1, 1, 1, 0, 10.0),
            (long, 2, 1, 1, 0, 10.0),
            (short, 0, 1, 1, 0, 40.0),
            (short, 1, 1, 0, 1, None),
        ]
    )


def test_somebody_at_the_first_screen(store: Store) -> None:
    study = register(store)
    arrive(store, study)
    (row,) = store.dropout(study.hash).rows(named=True)
    assert (row["index"], row["screen"], row["reached"], row["here_now"]) == (0, None, 1, 1)


def test_a_session_that_takes_too_long_is_over_for_good(store: Store) -> None:
    study = register(store, cells=("a",), target=3, policy=Policy("resume", 600, 1000))
    came = arrive(store, study, "w")
    for minute in range(1, 18):
        store.log_events(came.token, "s", [], now=NOON + 60 * minute * SECOND)
    assert store.expire(study.hash, now=NOON + 1000 * SECOND) == 0
    assert store.expire(study.hash, now=NOON + 1021 * SECOND) == 1
    from dialens.studies.store import SessionOver

    with pytest.raises(SessionOver):
        arrive(store, study, "w", now=NOON + 1030 * SECOND)
    with pytest.raises(SessionOver):
        store.submit(came.token, given(0), now=NOON + 1030 * SECOND)
