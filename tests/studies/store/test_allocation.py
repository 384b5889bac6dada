"""Who goes where, and with which seed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from dialens.studies.store import Policy, Store
from dialens.studies.store._allocation import Places, choose
from tests.studies.store.people import NOON, SECOND, arrive, given, register

cells = st.lists(
    st.builds(
        Places,
        cell=st.sampled_from("abcdef"),
        state=st.sampled_from(["open", "open", "paused", "closed"]),
        target=st.integers(1, 6),
        taken=st.integers(0, 6),
    ),
    max_size=6,
    unique_by=lambda place: place.cell,
)


@hypothesis_given(cells, st.integers())
def test_the_emptiest_free_cell_is_next(places: list[Places], tie_breaker: int) -> None:
    chosen = choose(places, tie_breaker)
    free = {p.cell: p.taken for p in places if p.state == "open" and p.taken < p.target}
    assert (chosen is None) == (not free)
    if chosen is not None:
        assert free[chosen] == min(free.values())
        assert choose(list(reversed(places)), tie_breaker) == chosen


def test_lots_fall_evenly() -> None:
    equal = [Places(name, "open", 9, 0) for name in "abcd"]
    counts = Counter(choose(equal, tie_breaker) for tie_breaker in range(4000))
    # Each share of 4,000 fair draws has a standard deviation of 27.
    assert all(abs(count - 1000) < 150 for count in counts.values())


def test_seeds_count_those_who_stay(store: Store) -> None:
    study = register(store, cells=("a",), policy=Policy("restart", 600))
    first, second, third = (arrive(store, study, name) for name in ("x", "y", "z"))
    assert [one.seed for one in (first, second, third)] == [0, 1, 2]
    later = NOON + 500 * SECOND
    for one in (first, third):
        store.submit(one.token, given(0), now=later)
    # Number 1 went away, and whoever comes next takes that place in the design.
    assert arrive(store, study, "new", now=NOON + 700 * SECOND).seed == 1
    # Who begins again sees another order.
    assert arrive(store, study, "x", now=NOON + 700 * SECOND).seed == 3
    assert arrive(store, study, "newer", now=NOON + 700 * SECOND).seed == 0
