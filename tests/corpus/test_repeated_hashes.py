"""Repetitions among hashes, however they come in pieces, and dialogues cut by the pieces."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.corpus import _tabular as tabular
from dialens.corpus._repeated_hashes import RepeatedHashes

FEW = st.lists(st.lists(st.integers(0, 40), max_size=6), max_size=12)


@given(FEW)
def test_a_repetition_is_found_however_the_hashes_come(pieces: list[list[int]]) -> None:
    hashes = RepeatedHashes()
    came: list[int] = []
    for piece in pieces:
        known = hashes.add(np.array(piece, np.uint64))
        came += piece
        assert not known or len(set(came)) < len(came)
    assert hashes.found() == (len(set(came)) < len(came))


@given(st.lists(st.integers(0, 6), max_size=20), st.integers(1, 5))
def test_dialogues_stand_together_wherever_rows_are_cut(ids: list[int], rows: int) -> None:
    runs = [one for place, one in enumerate(ids) if place == 0 or ids[place - 1] != one]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabular, "_SHARE", rows)
        together = tabular._stand_together(pl.LazyFrame({"id": ids}, {"id": pl.UInt64}))
    assert together == (len(set(runs)) == len(runs))
