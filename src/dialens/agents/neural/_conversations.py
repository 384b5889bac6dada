r"""Conversations to learn from, whatever they come as: who answered whom, with which words.

Every source becomes the same thing, turns with a parent. A dialogue is a chain; a Reddit thread is
a tree, and each path through it is a conversation. A reply is learned once, with the turns above
it as context, however many paths lead through it.

Three sources are known: a corpus that :func:`dialens.corpus.read` reads; the folder that
``dialens engagement ingest`` writes (its Parquet shards ``comments/`` and ``submissions/``); and
the tab-separated form of the Reddit Conversational Corpus (Dziri et al. 2019), one conversation a
line, turns separated by tabs, topic words behind a bar between double spaces or in the last column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.corpus import Intake, is_corpus_folder, read

TABBED: Final = "tabbed"
TopicColumn = Literal["auto", "last", "none"]
"""Where the topic words of a tab-separated line are: after a bar, in its last column, nowhere."""

_BAR: Final = re.compile(r"\s{2}\|\s{2}")
_LINK: Final = r"https?://\S+|www\.\S+"
_PERSON: Final = r"(?i)(?:^|[\s(\[])/?u/[a-z0-9_\-]+|@[a-z0-9_]{3,}"
_GONE: Final = ("", "[deleted]", "[removed]")
_COMMENT_COLUMNS: Final = (
    *("id", "parent_id", "parent_is_submission", "thread", "text"),
    *("deleted", "quote", "bot", "english"),
)
_SNIFFED_LINES: Final = 200


@dataclass(frozen=True, eq=False)
class Threads:
    """Turns with the turn each of them answers.

    Attributes:
        texts: What was said; None where nothing is to be learned from it (deleted, a bot's …),
            which also ends the context of whatever answers it.
        parents: Row of the turn that was answered, −1 at the head of a conversation.
        threads: Number of the thread, by which data is split.
        topic_words: Words a source gives for a conversation, by thread number.
        source: What it was read as.
    """

    texts: list[str | None] = field(repr=False)
    parents: NDArray[np.int64] = field(repr=False)
    threads: NDArray[np.int64] = field(repr=False)
    topic_words: dict[int, tuple[str, ...]] = field(default_factory=dict, repr=False)
    source: str = "corpus"

    def __len__(self) -> int:
        """Turns."""
        return len(self.texts)

    def context(self, row: int, turns: int) -> list[int]:
        """The rows of up to `turns` turns that lead to a turn, the oldest first.

        Examples:
            >>> chain = Threads(["a", "b", None, "c", "d"], np.arange(-1, 4), np.zeros(5, int))
            >>> chain.context(1, 3), chain.context(4, 3)
            ([0], [3])
        """
        rows: list[int] = []
        above = int(self.parents[row])
        while above >= 0 and len(rows) < turns and self.texts[above] is not None:
            rows.append(above)
            above = int(self.parents[above])
        return rows[::-1]


def read_threads(
    path: Path, *, format: str | None = None, topic_column: TopicColumn = "auto"
) -> Threads:
    r"""Read what an agent is to learn from.

    Args:
        path: A corpus (file or folder), an ingested Reddit folder, or a tab-separated file.
        format: A format of `dialens formats`, or `tabbed`; sniffed if not given.
        topic_column: Where a tab-separated file has topic words.

    Raises:
        DialensError: There is no turn that answers another.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "talks.txt"
        >>> _ = file.write_text("hi\thello you\thow are you\nnice day\tit is\n")
        >>> found = read_threads(file, format="tabbed")
        >>> found.texts[1], found.parents.tolist()
        ('hello you', [-1, 0, 1, -1, 3])
    """
    if not path.exists():
        raise DialensError(f"{path} does not exist: name a corpus, a folder or a file.")
    if format is None and is_ingested(path):
        threads = _read_ingested(path)
    elif format == TABBED or (format is None and looks_tabbed(path)):
        threads = _read_tabbed(path, topic_column)
    else:
        threads = _read_corpus(path, format)
    answers = sum(
        1
        for row, text in enumerate(threads.texts)
        if text is not None and threads.parents[row] >= 0 and threads.texts[threads.parents[row]]
    )
    if not answers:
        raise DialensError(
            f"{path} has {len(threads):,} turns and none that answers another: there is nothing to "
            "learn from. Conversations need two turns at least."
        )
    return threads


def is_ingested(path: Path) -> bool:
    """Whether a folder is what `dialens engagement ingest` writes."""
    return path.is_dir() and any((path / "comments").glob("*.parquet"))


def looks_tabbed(path: Path) -> bool:
    r"""Whether most lines of a plain file are turns between tabs, and none is a table's head.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "talks.txt"
        >>> _ = file.write_text("how are you\tfine\n")
        >>> looks_tabbed(file)
        True
        >>> _ = file.write_text("dialog\tturn\ttext\nd1\t0\thello\n")
        >>> looks_tabbed(file)
        False
    """
    if not path.is_file() or path.suffix.lower() not in (".txt", ".tsv", ".tab", ""):
        return False
    lines = [line for _, line in zip(range(_SNIFFED_LINES), _lines(path), strict=False)]
    if not lines or {"text", "dialog"} <= {cell.strip().lower() for cell in lines[0].split("\t")}:
        return False
    return sum("\t" in line for line in lines) > 0.9 * len(lines)


def clean(texts: pl.Series) -> pl.Series:
    r"""Text as it is learned: no links, no names of people, no mark-up, one space between words.

    Examples:
        >>> clean(pl.Series(["Hi  /u/some_one,\nsee https://x.y/z *now*", "[deleted]"])).to_list()
        ['Hi , see now', None]
    """
    tidy = (
        texts.str.replace_all(_LINK, " ")
        .str.replace_all(_PERSON, " ")
        .str.replace_all(r"[*_^~`#|\\]+|&(?:[a-z]+|#[0-9]+);", " ")
        .str.replace_all(r"[\s\p{C}]+", " ")
        .str.strip_chars()
    )
    return tidy.set(tidy.is_in(_GONE), None)


def _read_corpus(path: Path, format: str | None) -> Threads:
    turns = (
        read(path, format=format, intake=Intake()).turns.select("dialog", "turn", "text").collect()
    )
    turns = turns.sort("dialog", "turn", maintain_order=True)
    same = (turns["dialog"] == turns["dialog"].shift(1)).fill_null(value=False).to_numpy()
    rows = np.arange(turns.height)
    return Threads(
        clean(turns["text"]).to_list(),
        np.where(same, rows - 1, -1),
        np.cumsum(~same) - 1,
        source="corpus folder" if is_corpus_folder(path) else "corpus",
    )


def _read_ingested(path: Path) -> Threads:
    comments = pl.read_parquet(path / "comments" / "*.parquet", columns=list(_COMMENT_COLUMNS))
    good = ~(pl.col("deleted") | pl.col("quote") | pl.col("bot")) & pl.col("english")
    comments = comments.with_columns(
        key=pl.lit("c ") + pl.col("id"),
        above=pl.when("parent_is_submission").then(pl.lit("s ")).otherwise(pl.lit("c "))
        + pl.col("parent_id"),
        text=pl.when(good.fill_null(value=True)).then("text"),
    ).select("key", "above", "thread", "text")
    parts = [comments]
    if any((path / "submissions").glob("*.parquet")):
        heads = pl.read_parquet(
            path / "submissions" / "*.parquet", columns=["id", "text", "deleted"]
        )
        parts.append(
            heads.select(
                key=pl.lit("s ") + pl.col("id"),
                above=pl.lit(None, pl.String),
                thread=pl.col("id"),
                text=pl.when(~pl.col("deleted").fill_null(value=False)).then("text"),
            )
        )
    # The same comment may be in two dumps; the order of shards must not matter.
    turns = pl.concat(parts).sort("thread", "key", "text").unique("key", keep="first")
    turns = turns.sort("thread", "key").with_row_index("row")
    parents = turns.select(key="above").join(
        turns.select("key", "row"), on="key", how="left", maintain_order="left"
    )["row"]
    return Threads(
        clean(turns["text"]).to_list(),
        parents.cast(pl.Int64).fill_null(-1).to_numpy(),
        turns["thread"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        source="ingested Reddit folder",
    )


def _read_tabbed(path: Path, topic_column: TopicColumn) -> Threads:
    texts: list[str] = []
    parents: list[int] = []
    threads: list[int] = []
    topics: dict[int, tuple[str, ...]] = {}
    for number, line in enumerate(_lines(path)):
        spoken, words = line, ""
        if topic_column == "auto":
            spoken, *rest = _BAR.split(line, maxsplit=1)
            words = rest[0] if rest else ""
        elif topic_column == "last":
            spoken, _, words = line.rpartition("\t")
        if words.split():
            topics[number] = tuple(words.split())
        for place, text in enumerate(spoken.split("\t")):
            parents.append(len(texts) - 1 if place else -1)
            texts.append(text)
            threads.append(number)
    cleaned = clean(pl.Series(texts, dtype=pl.String)).to_list()
    return Threads(cleaned, np.array(parents), np.array(threads), topics, source=TABBED)


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DialensError(
            f"{path} is not UTF-8 text ({error.reason} at {error.start})."
        ) from error
