"""Text features against plain Python, and lines cut in pieces anywhere."""

from __future__ import annotations

import html
import json
import random
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.corpus import Source
from dialens.corpus._source import lines
from dialens.engagement.curation import _reddit_text as reddit_text
from dialens.engagement.curation import ingest
from dialens.engagement.curation._dump import Block, blocks, prefetched
from dialens.engagement.curation._dump_records import decode
from dialens.engagement.curation._ingest_rows import comment_rows
from dialens.engagement.curation._word_counter import WordCounter
from dialens.text import stop_words, tokenise_texts
from tests.engagement.dumps import comment, line_of
from tests.engagement.test_ingest import comments_of, submissions_of

TRICKY = [
    "",
    " ",
    "İstanbul'a İYİ yolculuklar, ΟΔΥΣΣΕΥΣ! ǅ ﬁ",
    "👍🏽 👨‍👩‍👧 🇩🇪 1️⃣ <3 :D ;) ^_^ ¯\\_(ツ)_/¯",
    "**bold** _it_ ~~gone~~ ^sup `code` #tag # head * item\n* item * two * three",
    "snake_case 2*3*4 a ^ b ^^ c # d ## ***",
    "[text](http://a.b/c_(d)) [](x) [a][b] http://x.y/z?a=b&amp;c www.q.r, (www.s.t)",
    "&amp;gt; twice &lt;i&gt; &eacute; &#39;x&#39; &#x200B; &nbsp;end &notit; AT&T &",
    "a\r\n\r\nb\tc\x0bd\x0ce\x1cf\x1dg\x1eh\x1fi\x85j\u2028k\u2029l\u3000m\u200bn",
    "don’t DON'T it 's y'all o'clock rock-n-roll state_of_the-art 'tis ''quoted''",
    "3.50 10:30 1,000,000 50% $5 #1 @anna r/aww /u/someone me@x.org",
    "猫が好き 한국어 मैं हिन्दी עברית العربية",
    "null \x00 byte, soft\u00adhyphen, joined\u2060word, \ufeffmark",
    ">quote",
    "a\n  > quote",
    "a > b",
    "a\u2028>q",
    "\x1f>q",
    "x &gt; y",
    "Beep Boop",
    "I'm a bot",
    "I am a botanist",
    "xI'm a bot",
    "Performed Automatically",
]
PIECES = [
    *"*_~^`#[]()<>&;'’:/.,!?-ab İ👍\n\t\x1c\u2003é",
    "](x)",
    "http://q ",
    "www.",
    "&amp;",
    "&gt;",
    "don't ",
    " the ",
    "https://x.y",
    "***",
    "  ",
]
_BOT = re.compile(r"\bI(?:'| a)m a bot\b|performed automatically|beep boop", re.I | re.ASCII)
_WORD = re.compile(r"['@#/]?[^\W_]")


_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_MARKUP = re.compile(r"[*_~^`#]{1,3}(?=\S)|(?<=\S)[*_~`]{1,3}")


def plain_clean(text: str) -> str:
    text = html.unescape(html.unescape(text))
    text = _URL.sub(" ", _LINK.sub(r"\1", text))
    return " ".join(_MARKUP.sub("", text).split())


def plain_quote(raw: str) -> bool:
    return "&gt;" in raw or any(line.lstrip().startswith(">") for line in raw.splitlines())


def plain_counts(text: str) -> tuple[int, int]:
    stops = set(stop_words().entries["term"])
    words = [token for token in tokenise_texts([text])[0] if _WORD.match(token)]
    return len(words), sum(word not in stops for word in words)


def plain_english(text: str, words: int, content: int) -> bool:
    letters = [character for character in text if character.isalpha()]
    if sum(character.isascii() for character in letters) < 0.9 * len(letters):
        return False
    return words < 8 or words - content >= 0.12 * words


def check(texts: list[str]) -> None:
    raw = pl.Series("body", texts, dtype=pl.String)
    text = reddit_text.clean(raw)
    assert raw.to_list() == texts  # not written into
    assert text.to_list() == [plain_clean(one) for one in texts]
    assert reddit_text.clean_marked(raw).to_list() == text.to_list()
    assert reddit_text.has_quote(raw).to_list() == [plain_quote(one) for one in texts]
    assert reddit_text.says_bot(raw).to_list() == [bool(_BOT.search(one)) for one in texts]
    for one, plain in zip(texts, reddit_text.is_plain(raw), strict=True):
        noteworthy = plain_clean(one) != one or plain_quote(one) or _BOT.search(one)
        assert not (plain and noteworthy), one
    for row, one in zip(WordCounter().count(text).rows(), text, strict=True):
        words, content = plain_counts(one)
        assert row == (words, content, plain_english(one, words, content)), one


def test_features_agree_with_plain_python() -> None:
    check(TRICKY)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), max_size=8))
def test_features_agree_with_plain_python_on_mark_up(texts: list[str]) -> None:
    check(texts)


# Characters that this Python knows: Polars follows a newer Unicode.
_KNOWN = st.characters(exclude_categories=("Cn", "Co", "Cs"))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(_KNOWN, max_size=40), max_size=8))
def test_features_agree_with_plain_python_on_any_text(texts: list[str]) -> None:
    check(texts)


@given(
    st.lists(st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")), max_size=30),
    st.integers(1, 40),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_blocks_do_not_depend_on_how_bytes_arrive(
    made: list[bytes], size: int, count: int, chance: random.Random, ends: bool
) -> None:
    content = b"\n".join(made) + (b"\n" if ends and made else b"")
    pieces, rest = [], content
    while rest:
        cut = chance.randint(1, 9)
        pieces.append(rest[:cut])
        rest = rest[cut:]
    found = list(blocks(pieces, block_bytes=size, block_lines=count))
    assert found == list(blocks([content] if content else [], block_bytes=size, block_lines=count))
    assert b"".join(block.data for block in found) == content
    line = 1
    for block in found:
        assert block.first_line == line
        line += block.data.count(b"\n")
        assert block.data.count(b"\n") <= count
        assert len(block.data.rstrip(b"\n").rpartition(b"\n")[0]) < size
    for block in found[:-1]:
        assert block.data.endswith(b"\n")
        assert len(block.data) >= size or block.data.count(b"\n") == count


def test_lines_without_end_are_refused() -> None:
    pieces = (b"x" * 2**20 for _ in range(100))
    with pytest.raises(DialensError, match=r"RC, line 1 holds more than 64 MiB"):
        list(blocks(pieces, name="RC"))


def test_ahead_passes_errors_on_after_what_came_before() -> None:
    def made():
        yield 1
        raise ValueError("then this")

    items = prefetched(made())
    assert next(items) == 1
    with pytest.raises(ValueError, match="then this"):
        next(items)


def test_ahead_stops_when_nobody_takes_any_more() -> None:
    made = []

    def endless():
        while True:
            made.append(1)
            yield 1

    for _ in prefetched(endless(), depth=2):
        break
    assert len(made) < 10


def test_both_ways_of_decoding_agree() -> None:
    """A block in which all is well is decoded at once; one blank line, and it is not."""
    records = [comment(id=f"c{n}", body=text, edited=n % 3 == 0) for n, text in enumerate(TRICKY)]
    data = b"".join(map(line_of, records))
    at_once, one_by_one = (decode(Block(0, 1, raw)) for raw in (data, b"\n" + data))
    assert at_once.comments.equals(one_by_one.comments)
    assert comment_rows(at_once.comments).equals(comment_rows(one_by_one.comments))


def test_real_dumps(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "reddit"
    months = sorted(folder.glob("RC_*"))
    files = [*months, *sorted(folder.glob("RS_*")), *sorted(folder.glob("praw_*"))]
    ingest(months, tmp_path / "months")
    assert comments_of(tmp_path / "months").height == 27_695
    done = ingest(files, tmp_path / "work")
    assert done.total("rejects") == 0
    assert done.total("comments") == 27_695 + 5_044
    assert done.total("submissions") == 145 + 427 + 206 + 4_296
    rows = comments_of(tmp_path / "work")
    records = [json.loads(record.raw) for file in months for record in lines(Source(file))]
    assert comments_of(tmp_path / "months")["edited"].sum() == sum(
        record["edited"] is not False for record in records
    )
    assert 0.9 < rows["english"].mean() < 1
    empty = submissions_of(tmp_path / "work").filter(pl.col("text") == "")
    assert empty.height < 20  # nothing but an address
    check([record["body"] for record in records[::200]])


@pytest.mark.slow
def test_real_threads_without_votes(shared_data: Path, tmp_path: Path) -> None:
    file = shared_data / "reddit" / "reddit2015_threads_noscore.jsonl.xz"
    done = ingest([file], tmp_path / "work")
    assert done.total("rejects") == 0
    comments = comments_of(tmp_path / "work").select(
        "id", "thread", "parent_id", "parent_is_submission", "score"
    )
    roots = submissions_of(tmp_path / "work")
    assert comments["score"].null_count() == comments.height
    direct = comments.filter("parent_is_submission")
    assert (direct["parent_id"] == direct["thread"]).all()
    assert direct.join(roots, left_on="parent_id", right_on="id", how="anti").height == 0
