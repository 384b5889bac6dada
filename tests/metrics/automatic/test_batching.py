"""Batches and progress."""

from hypothesis import given
from hypothesis import strategies as st

from dialens.metrics._pace import paced
from dialens.models import token_batches


@given(st.lists(st.integers(1, 50)), st.integers(1, 100))
def test_every_row_is_in_one_batch_under_the_limit(lengths: list[int], tokens: int):
    batches = [rows.tolist() for rows in token_batches(lengths, tokens)]
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= tokens


@given(st.integers(0, 40), st.lists(st.integers(1, 9)))
def test_all_units_are_told(units: int, steps: list[int]):
    told: list[int] = []
    step = paced(told.append, units, sum(steps))
    for one in steps:
        step(one)
    assert sum(told) == units
    assert all(one >= 0 for one in told)
