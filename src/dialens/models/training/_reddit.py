"""Reddit files read comment by comment, as replies and what they answer.

For learning which of two replies drew more (:mod:`dialens.models.training._threads`). Labels of
engagement come from `dialens engagement label`. Names of users are read to drop bots and go no
further.
"""

from __future__ import annotations

import bz2
import gzip
import html
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dialens.base import DialensError

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_MARKUP = re.compile(r"[*_~^`#]{1,3}(?=\S)|(?<=\S)[*_~`]{1,3}")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BOT = re.compile(r"(?:^automoderator$|bot$|^bot|_bot)", re.IGNORECASE)
_BOT_TEXT = re.compile(r"\bI(?:'| a)m a bot\b|performed automatically|beep boop", re.IGNORECASE)
_STOP = frozenset(
    """a about after again all also am an and any are aren't as at be because been before being but
    by can can't cannot could couldn't did didn't do does doesn't doing don't down during each even
    ever few for from further get got had hadn't has hasn't have haven't having he he'd he'll he's
    her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its
    itself just let's like me more most my myself no nor not now of off on once one only or other
    our ours out over own really same she she'd she's should shouldn't so some such than that that's
    the their theirs them themselves then there there's these they they'd they'll they're they've
    this those through to too under until up us very was wasn't we we'd we'll we're we've well were
    weren't what what's when where which while who whom why will with won't would wouldn't yes you
    you'd you'll you're you've your yours yourself yourselves""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Comment:
    """One comment or submission, without its author."""

    key: str
    parent: str | None
    thread: str
    text: str
    content_words: int
    source: str
    score: int | None = None
    controversial: bool = False
    edited: bool = False
    reason: str | None = None
    """Why it may not be used as a training text (it still counts as a reply), or None."""
    created: float | None = None
    """When it was posted, in seconds."""


def content_words(text: str) -> int:
    """Count the words that are not stop words: EnDex's Specificity, and its attention of replies.

    Examples:
        >>> content_words("It is the best pizza in Naples, you know?")
        4
    """
    return sum(word not in _STOP for word in _WORD.findall(text.lower().replace("’", "'")))


def clean(text: str) -> str:
    r"""Return the words a reader would see: links and mark-up resolved, white space collapsed.

    Examples:
        >>> clean("**See** [this](http://x.y) &amp; that\n\nhttp://x.y")
        'See this & that'
    """
    text = html.unescape(html.unescape(text))
    text = _URL.sub(" ", _LINK.sub(r"\1", text))
    return " ".join(_MARKUP.sub("", text).split())


def read_comments(folder: Path) -> Iterator[Comment]:
    """Yield all comments and submissions of the Reddit files in a folder."""
    files = sorted(folder.iterdir())
    if not files:
        raise DialensError(f"{folder} is empty: it should hold Reddit files")
    for file in files:
        name = file.name
        if name.startswith("comp551"):
            continue  # no ids: neither parent nor replies can be found
        source = "noscore" if "noscore" in name else "votes"
        for row in _rows(file):
            comment = _comment(row, source)
            if comment is not None:
                yield comment


def _comment(row: dict[str, Any], source: str) -> Comment | None:
    parent: str | None = None
    if "title" in row:
        raw = f"{row['title']} {row.get('selftext') or ''}"
        key, thread = f"t3_{row['id']}", f"t3_{row['id']}"
    elif source == "noscore":
        raw, key, parent, thread = row["body"], row["id"], row["parent_id"], row["thread"]
    else:
        raw, key = row.get("body") or "", f"t1_{row['id']}"
        parent = row.get("parent_id")
        thread = row.get("link_id") or parent or ""
    if not key or not thread:
        return None
    text = clean(raw)
    return Comment(
        key=key,
        parent=parent,
        thread=str(thread),
        text=text[:1200],
        content_words=content_words(text),
        source=source,
        score=row.get("score"),
        controversial=bool(row.get("controversiality")),
        edited=row.get("edited") not in (False, None),
        reason=_reason(raw, text, str(row.get("author") or "")),
        created=None if row.get("created_utc") is None else float(row["created_utc"]),
    )


def _reason(raw: str, text: str, author: str) -> str | None:
    if raw.strip() in ("[deleted]", "[removed]") or author == "[deleted]":
        return "deleted or removed"
    if "&gt;" in raw or any(line.lstrip().startswith(">") for line in raw.splitlines()):
        return "quotes another text"
    if _BOT.search(author) or _BOT_TEXT.search(raw):
        return "written by a bot"
    if not _WORD.search(text):
        return "empty after cleaning"
    letters = [c for c in text if c.isalpha()]
    if sum(c.isascii() for c in letters) < 0.9 * len(letters):
        return "not in Latin letters"
    return None


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with _opened(file) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise DialensError(f"{file}:{number} is not JSON: {error}") from error


def _opened(file: Path) -> IO[str]:
    if file.suffix == ".bz2":
        return bz2.open(file, "rt", encoding="utf-8")
    if file.suffix == ".xz":
        return lzma.open(file, "rt", encoding="utf-8")
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8")
    if file.suffix == ".zst":
        import io

        import zstandard

        decoder = zstandard.ZstdDecompressor(max_window_size=2**31)
        return io.TextIOWrapper(decoder.stream_reader(file.open("rb")), encoding="utf-8")
    return file.open(encoding="utf-8")
