"""A view and its address say the same."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.workbench import Range, View

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00,"), min_size=1, max_size=12)
numbers = st.floats(-1e6, 1e6, width=32)
ranges = st.builds(Range, names.filter(str.strip), numbers, st.none() | numbers)


@given(
    st.builds(
        View,
        level=st.sampled_from(["turn", "dialog", "agent"]),
        search=names.map(str.strip),
        sort=names.filter(lambda name: not name.startswith("-")),
        descending=st.booleans(),
        columns=st.lists(names, unique=True, max_size=4).map(tuple),
        choices=st.dictionaries(
            st.sampled_from(["agent", "source", "flag"]),
            st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
            max_size=2,
        ),
        missing=st.lists(names, max_size=2).map(tuple),
    ),
    st.lists(ranges, max_size=2).map(tuple),
)
def test_addresses_come_back_as_the_view_they_were(view: View, chosen: tuple[Range, ...]) -> None:
    rounded = tuple(Range.parse(str(one)) for one in chosen)
    view = View(**{**vars(view), "ranges": rounded})
    again = View.parse(parse_qs(view.address(), keep_blank_values=True))
    assert again == view
    assert again.address() == view.address()


@pytest.mark.parametrize("written", ["engagement", "x:1", "x:a..b", ":1..2", "x:nan..", "x:..inf"])
def test_ranges_that_are_none(written: str) -> None:
    with pytest.raises(DialensError, match="not a range"):
        Range.parse(written)


def test_unknown_parameters_are_left_alone() -> None:
    assert View.parse({"utm": ["x"], "level": ["turn"]}) == View()


def test_a_level_that_there_is_not() -> None:
    with pytest.raises(DialensError, match="Did you mean dialog"):
        View.parse({"level": ["dialogs"]})
