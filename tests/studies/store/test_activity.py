"""Active time by hand: what is visible counts, once, whatever the clocks say."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from dialens.studies.store import Event, Store, Submission
from dialens.studies.store._activity import Received, viewing
from tests.studies.store.people import NOON, SECOND, arrive, rating, register

HOUR = timedelta(hours=1)


def at(seconds: float, clock: timedelta = timedelta()) -> datetime:
    return NOON + timedelta(seconds=seconds) + clock


def told(kind: str, seconds: float, serial: int, page: str = "t", clock: timedelta = timedelta()):
    return Event(kind, at(seconds, clock), page, serial)


@pytest.mark.parametrize("clock", [timedelta(), -3 * HOUR, 400 * HOUR])
@pytest.mark.parametrize("delay", [0.0, 2.0])
def test_hidden_time_is_left_out(clock: timedelta, delay: float) -> None:
    # Shown at 1 s; hidden 5–15 s and 20–22 s; submitted at 30 s: 4 + 5 + 8 = 17 s.
    events = [
        told("shown", 1, 0, clock=clock),
        told("hidden", 5, 1, clock=clock),
        told("visible", 15, 2, clock=clock),
        told("blur", 16, 3, clock=clock),  # another window has the keyboard; the page is seen
        told("focus", 18, 4, clock=clock),
        told("hidden", 20, 5, clock=clock),
        told("visible", 22, 6, clock=clock),
        told("submitted", 30, 7, clock=clock),
    ]
    seen = viewing(
        [Received(event, at(30 + delay)) for event in events],
        page="t",
        shown_at=at(1, clock),
        submitted_at=at(30, clock),
        reached_at=at(0),
        received_at=at(30 + delay),
    )
    assert seen.active_ms == 17_000
    # By the server's clock, up to the time the message took.
    assert seen.displayed_at == at(1 + delay)


def one(events: list[Event], shown: float, submitted: float, **other: datetime) -> int:
    times = {"reached_at": at(0), "received_at": at(submitted)} | other
    return viewing(
        [Received(event, times["received_at"]) for event in events],
        page="t",
        shown_at=at(shown),
        submitted_at=at(submitted),
        **times,
    ).active_ms


def test_odd_sequences() -> None:
    assert one([], 1, 8) == 7_000
    assert one([told("hidden", 4, 0)], 1, 8) == 3_000  # submitted by its deadline, unseen
    assert one([told("visible", 4, 0)], 1, 8) == 7_000  # no `hidden` before: it was visible
    assert one([told("hidden", 4, 0), told("hidden", 5, 1)], 1, 8) == 3_000
    assert one([told("hidden", 1, 0), told("visible", 6, 1)], 1, 8) == 2_000  # a tab behind
    assert one([told("hidden", -5, 0), told("visible", 99, 1)], 1, 8) == 0
    # Events arrive in any order; their serial numbers say which was first.
    assert one([told("visible", 6, 1), told("hidden", 4, 0)], 1, 8) == 5_000


def test_a_clock_set_back_makes_no_negative_time() -> None:
    assert one([], 8, 1) == 0
    assert one([told("hidden", 6, 0), told("visible", 2, 1)], 1, 8) == 5_000 + 6_000 - 4_000


def test_nobody_looks_for_longer_than_the_server_waited() -> None:
    # The clock jumped an hour ahead while the page was up for ten seconds.
    assert one([], 0, 3610, reached_at=at(3600)) == 10_000


def test_a_reload_adds_and_two_tabs_do_not_count_twice() -> None:
    # First page 0–10 s, then reloaded: second page 12–20 s. 10 + 8 = 18 s.
    first = [told("shown", 0, 0, "a"), told("hidden", 10, 1, "a")]
    made = viewing(
        [Received(event, event.at) for event in first],
        page="b",
        shown_at=at(12),
        submitted_at=at(20),
        reached_at=at(0),
        received_at=at(20),
    )
    assert (made.active_ms, made.displayed_at) == (18_000, at(0))
    # Two windows side by side, 0–10 s and 5–20 s, by clocks that agree: 20 s, not 25.
    both = [told("shown", 0, 0, "a"), told("change", 10, 1, "a")]
    made = viewing(
        [Received(event, event.at) for event in both],
        page="b",
        shown_at=at(5),
        submitted_at=at(20),
        reached_at=at(0),
        received_at=at(20),
    )
    assert made.active_ms == 20_000


def test_a_second_device_with_another_clock() -> None:
    # A phone whose clock is two hours ahead, 0–10 s; then a laptop, 60–70 s: 20 s.
    phone = [told("shown", 0, 0, "phone", 2 * HOUR), told("hidden", 10, 1, "phone", 2 * HOUR)]
    made = viewing(
        [Received(phone[0], at(0)), Received(phone[1], at(10))],
        page="laptop",
        shown_at=at(60),
        submitted_at=at(70),
        reached_at=at(0),
        received_at=at(70),
    )
    assert (made.active_ms, made.displayed_at) == (20_000, at(0))


@hypothesis_given(
    st.lists(st.floats(0, 100), max_size=12).map(sorted),
    st.integers(-10_000, 10_000),
    st.floats(0, 5),
)
def test_a_clock_that_is_wrong_changes_nothing(
    switches: list[float], wrong: int, delay: float
) -> None:
    clock = wrong * SECOND
    kinds = ("hidden", "visible")

    def active(offset: timedelta) -> int:
        events = [told(kinds[n % 2], s, n, clock=offset) for n, s in enumerate(switches)]
        return viewing(
            [Received(event, at(100 + delay)) for event in events],
            page="t",
            shown_at=at(0, offset),
            submitted_at=at(100, offset),
            reached_at=at(0),
            received_at=at(100 + delay),
        ).active_ms

    assert active(clock) == active(timedelta())
    edges = [0.0, *switches, 100.0]
    visible = sum(b - a for a, b in list(pairwise(edges))[::2])
    # Times are whole microseconds, and the result whole milliseconds, rounded down.
    assert abs(active(clock) - visible * 1000) <= 1 + 0.001 * len(edges)


def test_times_reach_the_table(store: Store) -> None:
    study = register(store)
    came = arrive(store, study, now=at(0))
    wrong = -5 * HOUR
    early = [told("shown", 2, 0, clock=wrong), told("hidden", 4, 1, clock=wrong)]
    store.log_events(came.token, "rate-000", early, now=at(4))
    store.log_events(came.token, "rate-000", early, now=at(5))  # sent twice, kept once
    late = [told("visible", 9, 2, clock=wrong), told("submitted", 12, 3, clock=wrong)]
    sent = Submission(rating(0), 0, {}, "k", at(2, wrong), at(12, wrong), late)
    store.submit(came.token, sent, now=at(12))
    row = store.answers_frame(study.hash).row(0, named=True)
    assert (row["active_ms"], row["shown_at"], row["answered_at"]) == (5_000, at(2), at(12))
    events = store.events_frame(study.hash)
    assert events["kind"].to_list() == ["shown", "hidden", "visible", "submitted"]
    assert events["client_at"].to_list() == [at(s, wrong) for s in (2, 4, 9, 12)]
    assert events["server_at"].to_list() == [at(s) for s in (4, 4, 12, 12)]


def test_without_times_there_are_none(store: Store) -> None:
    study = register(store)
    came = arrive(store, study)
    store.submit(came.token, Submission(rating(0), 0, {}, "k"), now=at(12))
    row = store.answers_frame(study.hash).row(0, named=True)
    assert (row["active_ms"], row["shown_at"], row["answered_at"]) == (None, None, at(12))
