"""What makes ingest fast may not change what it finds: memory of words, threads, cuts of bytes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.engagement.curation._dump import Block, blocks, map_in_threads
from dialens.engagement.curation._dump_columns import comment_columns, submission_columns
from dialens.engagement.curation._dump_records import Decoded, decode
from dialens.engagement.curation._word_counter import WordCounter
from dialens.text import is_word, stop_words, tokenise
from tests.engagement.dumps import ABSENT, comment, line_of, submission

_TEXTS = st.lists(
    st.lists(
        st.sampled_from(
            [
                "the",
                "The",
                "pizza",
                "pizza,",
                "Naples...",
                "don't",
                "r/science",
                "www...",
                "3.50",
                ":)",
                "Привет",
                "x.y",
                "I",
                "who?!",
                "a.",
                "ok,ok",
                "«the»",
                "",
            ]
        ),
        max_size=12,
    ).map(" ".join),
    min_size=1,
    max_size=20,
)


_ANY_TEXT = st.one_of(
    st.sampled_from(
        ["", "5", "-1.5", "1e5", "true", "[1] no", "[]", '{"a": 1}', "[deleted]", "a\0b", "\ud83d!"]
    ),
    st.text(max_size=8),
    st.sampled_from([5, 1.5, True, None, [1, "a"], {"a": 1}, ABSENT]),
)
_ANY_NUMBER = st.sampled_from([0, 7, -3, 2**62, 2**63, 1.0, 1.5, True, "5", "x", None, ABSENT])
_ANY_TIME = st.sampled_from([5, 5.0, 5.7, "5", "5.5", " 5", "1e3", "x", 2**60, True, None, ABSENT])
_ANY_EDIT = st.sampled_from([False, True, 0, 0.0, 5, 5.5, "5", "0", "true", "x", [1], None, ABSENT])
_ANY_FLAG = st.sampled_from([True, False, 1, "true", None, ABSENT])
_COMMENTS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    id=st.one_of(st.sampled_from(["c1", "123", "1e5", "t1_c", ""]), _ANY_TEXT),
    body=_ANY_TEXT,
    author=_ANY_TEXT,
    subreddit=_ANY_TEXT,
    parent_id=st.one_of(st.sampled_from(["t1_a", "t3_a", "a"]), _ANY_TEXT),
    link_id=st.one_of(st.sampled_from(["t3_a", "a", ""]), _ANY_TEXT),
    score=_ANY_NUMBER,
    controversiality=_ANY_NUMBER,
    created_utc=_ANY_TIME,
    retrieved_on=_ANY_TIME,
    edited=_ANY_EDIT,
    score_hidden=_ANY_FLAG,
)
_SUBMISSIONS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    title=_ANY_TEXT,
    selftext=_ANY_TEXT,
    score=_ANY_NUMBER,
    created_utc=_ANY_TIME,
    hide_score=_ANY_FLAG,
)


def _decoded_both_ways(lines: list[bytes]) -> tuple[Decoded, Decoded]:
    """At once if that can be done, and line by line, which blank lines bring about."""
    data = b"".join(lines)
    return decode(Block(0, 3, data)), decode(Block(0, 1, b"\n\n" + data))


def _agree(lines: list[bytes]) -> None:
    at_once, one_by_one = _decoded_both_ways(lines)
    assert at_once.comments.equals(one_by_one.comments)
    assert at_once.comments.schema == one_by_one.comments.schema
    assert at_once.submissions.equals(one_by_one.submissions)
    assert at_once.submissions.schema == one_by_one.submissions.schema
    told = [[(one.line, str(one.error)) for one in way.problems] for way in (at_once, one_by_one)]
    assert told[0] == told[1]


@settings(deadline=None, max_examples=300)
@given(odd=_COMMENTS, name=st.sampled_from(sorted(comment())), before=st.booleans())
def test_an_odd_comment_is_read_as_by_the_strict_decoder(
    odd: dict[str, Any], name: str, before: bool
) -> None:
    usual = line_of(comment())
    for fields in (odd, {name: odd[name]} if name in odd else {}):
        line = line_of(comment(**fields))
        _agree([usual, line] if before else [line, usual])


@settings(deadline=None, max_examples=100)
@given(odd=_SUBMISSIONS, name=st.sampled_from(["title", "selftext", "score", "created_utc"]))
def test_an_odd_submission_is_read_as_by_the_strict_decoder(odd: dict[str, Any], name: str) -> None:
    usual = line_of(submission())
    for fields in (odd, {name: odd[name]}):
        _agree([usual, line_of(submission(**fields))])


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "c1", "link_id": "t3_s", "body": "cut',
        b'{"id": "c1", "body": "\\ud83d half", "link_id": "t3_s"}',
        b'{"id": "c1", "link_id": "t3_s"} {"id": "c2", "link_id": "t3_s"}',
        b'{"id": "c1", "body": "\xff", "link_id": "t3_s"}',
        b"[1]",
        b"null",
        b"   ",
        b"",
    ],
)
def test_an_odd_line_is_read_as_by_the_strict_decoder(line: bytes) -> None:
    _agree([line_of(comment()), line + b"\n", line_of(comment(id="c9"))])


def test_usual_blocks_take_the_short_way() -> None:
    lines = line_of(comment(body="5")) + line_of(comment(edited=1136074999, body="[1] a"))
    assert comment_columns(lines, 2, lambda _: True) is not None
    assert comment_columns(lines, 2, lambda _: False) is None
    assert submission_columns(line_of(submission()), 1, lambda _: False) is not None


def _counted_by_the_tokeniser(text: str) -> tuple[int, int]:
    tokens = pl.DataFrame({"text": [text]}).select(tokenise("text").explode()).drop_nulls()
    words = tokens.filter(is_word("text")).to_series()
    stops = int((stop_words().weights(words)[:, 0] != 0).sum()) if len(words) else 0
    return len(words), len(words) - stops


@settings(deadline=None, max_examples=40)
@given(texts=_TEXTS)
def test_pieces_are_counted_as_the_tokeniser_counts_texts(texts: list[str]) -> None:
    found = WordCounter().count(pl.Series(texts)).select("words", "content_words").rows()
    assert found == [_counted_by_the_tokeniser(text) for text in texts]


@settings(deadline=None, max_examples=40)
@given(batches=st.lists(_TEXTS, min_size=1, max_size=4))
def test_what_is_remembered_or_forgotten_changes_nothing(batches: list[list[str]]) -> None:
    tiny, large = WordCounter(slots=2), WordCounter()
    for texts in batches:
        expected = WordCounter().count(pl.Series(texts))
        assert tiny.count(pl.Series(texts)).equals(expected)
        assert large.count(pl.Series(texts)).equals(expected)


@settings(deadline=None)
@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=30),
    cuts=st.lists(st.integers(0, 200), max_size=12),
    block_bytes=st.integers(1, 40),
    block_lines=st.integers(1, 6),
)
def test_blocks_do_not_depend_on_how_bytes_arrive(
    lines: list[bytes], cuts: list[int], block_bytes: int, block_lines: int
) -> None:
    data = b"\n".join(lines)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]

    def made(given: list[bytes]) -> list[tuple[int, int, bytes]]:
        found = blocks(given, block_bytes=block_bytes, block_lines=block_lines)
        return [(block.number, block.first_line, block.data) for block in found]

    assert made(pieces) == made([data])
    assert b"".join(block for _, _, block in made(pieces)) == data


def test_threads_keep_the_order_and_give_what_was_made_before_an_error() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise ValueError("no more")

    squares = map_in_threads(lambda n: int(np.square(n)), items(), 2)
    assert [next(squares) for _ in range(5)] == [0, 1, 4, 9, 16]
    with pytest.raises(ValueError, match="no more"):
        next(squares)


@pytest.mark.parametrize("name", ["id", "link_id", "parent_id", "subreddit", "author"])
def test_half_a_character_in_a_name_is_read_as_by_the_strict_decoder(name: str) -> None:
    _agree([line_of(comment()), line_of(comment(**{name: "t3_\ud83d"}))])
