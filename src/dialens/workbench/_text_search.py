"""Full-text search: words, phrases and prefixes by SQLite's FTS5, anything else by a scan."""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from dialens.base import DialensError

_SCHEMA = """
create table texts (row integer primary key, text text not null);
create virtual table words using fts5 (
    text, content='texts', content_rowid='row', tokenize="unicode61 remove_diacritics 2"
);
"""
_PART = re.compile(r'(?P<no>-)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
"""Scripts that put no spaces between words, which the index therefore does not know."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Search:
    """What is searched for.

    Attributes:
        match: For the index; none where texts are scanned.
        pattern: A regular expression for the scan; none where the index answers.
        shown: Words and phrases to mark in texts.
    """

    match: str | None
    pattern: str | None
    shown: tuple[str, ...] = ()

    @classmethod
    def parse(cls, asked: str) -> Self | None:
        r"""What somebody typed: words, "phrases", prefix*, -without, or /a regular expression/.

        Examples:
            >>> Search.parse('sorry "so much" help* -bye').match
            '("sorry" AND "so much" AND "help" *) NOT "bye"'
            >>> Search.parse(r"/\bI am (sorry|afraid)/").pattern
            '(?i)\\bI am (sorry|afraid)'
            >>> Search.parse("  ") is None
            True

        Raises:
            DialensError: Only words to leave out, or a regular expression that is none.
        """
        asked = asked.strip()
        if not asked:
            return None
        if len(asked) > 2 and asked.startswith("/") and asked.endswith("/"):
            return cls(None, _checked(asked[1:-1]))
        wanted: list[str] = []
        unwanted: list[str] = []
        shown: list[str] = []
        for part in _PART.finditer(asked):
            text = part["phrase"] if part["phrase"] is not None else part["word"]
            starts = part["word"] is not None and text.endswith("*")
            text = text.rstrip("*") if part["word"] is not None else text
            if not any(character.isalnum() for character in text):
                continue
            if _UNSPACED.search(text):
                return cls(None, f"(?i){re.escape(asked)}", (asked,))
            term = '"' + text.replace('"', " ") + '"' + (" *" if starts else "")
            (unwanted if part["no"] else wanted).append(term)
            if not part["no"]:
                shown.append(text)
        if not wanted and not unwanted:  # nothing but signs
            return cls(None, re.escape(asked), (asked,))
        if not wanted:
            raise DialensError(
                f"A search for {asked} names only what to leave out. Add a word to look for."
            )
        match = " AND ".join(wanted)
        if unwanted:
            match = f"({match}) NOT " + " NOT ".join(unwanted)
        return cls(match, None, tuple(shown))


def _checked(pattern: str) -> str:
    """A regular expression that does not tell large from small letters."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise DialensError(
            f"/{pattern}/ is not a regular expression: {error}. Mend it, or leave out the slashes "
            "to search for the words."
        ) from error
    return f"(?i){pattern}"


class TextWriter:
    """Builds the index of texts, batch by batch."""

    def __init__(self, path: Path) -> None:
        """Begin a file that is not there yet."""
        self._database = sqlite3.connect(path)
        self._database.execute("pragma journal_mode = off")
        self._database.execute("pragma synchronous = off")
        self._database.executescript(_SCHEMA)

    def add(self, rows: Iterable[int], texts: Iterable[str]) -> None:
        """Add the texts of rows."""
        self._database.executemany(
            "insert into texts (row, text) values (?, ?)", zip(rows, texts, strict=True)
        )

    def finish(self) -> None:
        """Index what was added, and close the file."""
        self._database.execute("insert into words (words) values ('rebuild')")
        self._database.commit()
        self._database.close()


class TextIndex:
    """Texts by row, and rows by words."""

    def __init__(self, path: Path) -> None:
        """Open what a `TextWriter` wrote; threads share it one after the other."""
        self._database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        self._database.execute("pragma mmap_size = 268435456")

    def texts(self, rows: Sequence[int]) -> dict[int, str]:
        """The texts of some rows."""
        marks = ",".join("?" * len(rows))
        found = self._database.execute(
            f"select row, text from texts where row in ({marks})", [int(row) for row in rows]
        )
        return dict(found.fetchall())

    def rows(self, match: str) -> Rows:
        """The rows with a match, in order."""
        # One string is made by SQLite and parsed by numpy: a hundred times faster than rows.
        asked = "select group_concat(rowid) from words where words match ?"
        joined = self._ask(asked, match)
        if not joined:
            return np.empty(0, np.int64)
        return np.fromstring(str(joined), np.int64, sep=",")

    def first(self, match: str, most: int, after: int) -> Sequence[int]:
        """The first rows with a match after a row, in order."""
        asked = "select rowid from words where words match ? and rowid > ? order by rowid limit ?"
        return [row for (row,) in self._database.execute(asked, (match, after, most))]

    def count(self, match: str) -> int:
        """How many rows match."""
        return int(self._ask("select count(*) from words where words match ?", match) or 0)

    def _ask(self, asked: str, match: str) -> str | int | None:
        answer = self._database.execute(asked, (match,)).fetchone()
        return answer[0] if answer else None

    def close(self) -> None:
        """Close the file."""
        self._database.close()
