"""How a word meets the entries of a lexicon, against a plain loop over all entries."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.text import Lexicon

CATEGORIES = ("p", "q", "r")
stems = st.text("abc", min_size=1, max_size=4)
terms = st.builds(lambda stem, star: stem + star, stems, st.sampled_from(["", "*"]))
words = st.lists(st.text("abcd", max_size=5), max_size=12)


def lexicon(entries: dict[tuple[str, str], float]) -> Lexicon:
    rows = [(term, category, weight) for (term, category), weight in entries.items()]
    return Lexicon.from_entries("test", rows, categories=CATEGORIES)


def matches(term: str, word: str) -> bool:
    return word.startswith(term[:-1]) if term.endswith("*") else word == term


@given(st.dictionaries(st.tuples(terms, st.sampled_from(CATEGORIES)), st.just(1.0)), words)
def test_unweighted_is_the_union_of_all_matching_entries(
    entries: dict[tuple[str, str], float], text: list[str]
) -> None:
    expected = [
        [float(any(c == category and matches(t, word) for t, c in entries)) for category in "pqr"]
        for word in text
    ]
    found = lexicon(entries).weights(pl.Series(text, dtype=pl.String))
    assert found.tolist() == expected


@given(
    st.dictionaries(
        st.tuples(terms, st.sampled_from(CATEGORIES)), st.sampled_from([0.25, 0.5, -2.0])
    ),
    words,
)
def test_weighted_takes_the_most_specific_entry_alone(
    entries: dict[tuple[str, str], float], text: list[str]
) -> None:
    expected = []
    for word in text:
        fitting = {term for term, _ in entries if matches(term, word)}
        best = max(fitting, key=lambda t: (not t.endswith("*"), len(t)), default=None)
        expected.append([entries.get((best, category), 0.0) for category in "pqr"])
    found = lexicon(entries).weights(pl.Series(text, dtype=pl.String))
    assert found.tolist() == expected


def test_the_wildcard_matches_its_own_stem_and_nothing_shorter() -> None:
    happy = Lexicon.from_entries("x", [("happ*", "joy", 1)])
    text = pl.Series(["happ", "happy", "hap", "unhappy", "", None])
    assert happy.weights(text).ravel().tolist() == [1, 1, 0, 0, 0, 0]


def test_prefixes_are_counted_in_characters_not_bytes() -> None:
    umlaut = Lexicon.from_entries("x", [("größ*", "size", 1)])
    assert umlaut.weights(pl.Series(["größer", "groß"])).ravel().tolist() == [1, 0]


def test_terms_are_written_like_tokens() -> None:
    x = Lexicon.from_entries("x", [(" Don’t ", "no", 1), ("kind of", "hedge", 1)])
    assert x.terms == {"don't"}
    assert x.categories == ("no", "hedge")
    assert x.notes == ("1 entries of several words left out (tokens are single words)",)


def test_stars_can_be_plain_characters() -> None:
    literal = Lexicon.from_entries("x", [("a*", "p", 1)], shortest_prefix=None)
    assert literal.weights(pl.Series(["a*", "abc"])).ravel().tolist() == [1, 0]
    longer = Lexicon.from_entries("x", [("a*", "p", 1), ("ab*", "p", 1)], shortest_prefix=2)
    assert longer.weights(pl.Series(["a*", "ac", "abc"])).ravel().tolist() == [1, 0, 1]
    assert Lexicon.from_entries("x", [("f**", "p", 1)]).terms == {"f**"}


def test_the_hash_follows_the_content_only() -> None:
    rows = [("a", "p", 1.0), ("b*", "q", 0.5)]
    one = Lexicon.from_entries("one", rows, source="here")
    two = Lexicon.from_entries("two", rows[::-1], categories=["p", "q"], source="there")
    assert one.sha256 == two.sha256
    assert one != two
    assert one == Lexicon.from_entries("one", rows)
    other = Lexicon.from_entries("one", [("a", "p", 1.0), ("b", "q", 0.5)])
    assert one.sha256 != other.sha256


def test_a_term_given_twice_keeps_the_larger_weight_and_says_so() -> None:
    x = Lexicon.from_entries("x", [("May", "p", 0.2), ("may", "p", 0.7)])
    assert x.weights(pl.Series(["may"])).tolist() == [[0.7]]
    assert "twice" in x.notes[0]


def test_selected_categories_stand_in_the_order_asked_for() -> None:
    x = Lexicon.from_entries("x", [("a", "p", 1), ("a", "q", 1), ("b", "r", 1)])
    assert x.select(["r", "p"]).weights(pl.Series(["a", "b"])).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_are_finite(weight: float) -> None:
    with pytest.raises(DialensError, match="'a' in 'p'"):
        Lexicon.from_entries("x", [("a", "p", weight)])


def test_unknown_categories_are_named() -> None:
    with pytest.raises(DialensError, match="zeal"):
        Lexicon.from_entries("x", [("a", "zeal", 1.0)], categories=["p"])


def test_no_words_and_no_entries_are_no_trouble() -> None:
    x = Lexicon.from_entries("x", [("a", "p", 1)])
    assert x.weights(pl.Series([], dtype=pl.String)).shape == (0, 1)
    empty = Lexicon.from_entries("x", [], categories=["p"])
    assert np.array_equal(empty.weights(pl.Series(["a"])), [[0.0]])
