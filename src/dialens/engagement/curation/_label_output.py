"""What labelling leaves for people: posts, training and validation parts, and rejected comments.

Numbers of the posts lie in the order of ids and their words in slices of that order, so one slice
at a time is in memory. One writer with fixed groups of rows makes the same bytes whatever engine,
threads or memory made the tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import polars as pl

from dialens.base import Advance, TableSink, atomic_file
from dialens.engagement.curation._label_engine import parts_of
from dialens.engagement.curation._label_slices import posts_a_slice

POSTS: Final = pl.Schema(
    {
        "id": pl.String,
        "parent_id": pl.String,
        "thread": pl.String,
        "subreddit": pl.String,
        "context": pl.String,
        "text": pl.String,
        "re": pl.Int64,
        "be": pl.Int64,
        "ae": pl.Int64,
        "ee": pl.Float64,
        "pv": pl.Int64,
        "re_adjusted": pl.Float64,
        "be_adjusted": pl.Float64,
        "re_norm": pl.Float64,
        "be_norm": pl.Float64,
        "ae_norm": pl.Float64,
        "score": pl.Float64,
        "z": pl.Float64,
        "label": pl.Int8,
    }
)
"""One row an accepted post; `be` and its kin are null where votes are not known."""

FILES: Final = {
    "posts": "posts.parquet",
    "train": "train.parquet",
    "validation": "validation.parquet",
}
WORDS: Final = {"context": "context", "text": "post"}
"""Columns that are words, and whose they are."""
_PART: Final = 2**20
_GROUP: Final = 16_384
"""Rows together in a file. Until a group is full its rows are held back, and with them the texts of
all slices they come from: few posts of a slice are for validation."""
_LEVEL: Final = 1  # of zstandard: half the time of the usual 3, for a tenth more on the disk


def write_posts(
    numbers: Sequence[Path], words: Mapping[str, Path], folder: Path, advance: Advance
) -> dict[str, int]:
    """Write all accepted posts, and those chosen for training and validation.

    Args:
        numbers: Files in the order of ids, with `side` beside the columns of the posts.
        words: For each column of words a folder with a folder ``slice=N`` for each slice of the
            posts, with the text for every `place`.
        folder: Where posts.parquet, train.parquet and validation.parquet go.
        advance: Told how many posts were written.

    Returns:
        Rows of each file.
    """
    with ExitStack() as open_files:
        sinks = {
            name: open_files.enter_context(
                TableSink(
                    open_files.enter_context(atomic_file(folder / file)),
                    POSTS,
                    row_group=_GROUP,
                    level=_LEVEL,
                )
            )
            for name, file in FILES.items()
        }
        for posts in _slices(numbers, words):
            for group in posts.iter_slices(_GROUP):
                sinks["posts"].write(group)
                for side in ("train", "validation"):
                    sinks[side].write(group.filter(pl.col("side") == side))
                advance(group.height)
    return {name: sink.rows for name, sink in sinks.items()}


def _slices(numbers: Sequence[Path], words: Mapping[str, Path]) -> Iterator[pl.DataFrame]:
    """The posts with their words and their side, slice by slice."""
    kept = [pl.col(name).cast(kind) for name, kind in POSTS.items() if name not in WORDS]
    known = pl.scan_parquet(list(numbers)).select(*kept, "side")
    rows: int = known.select(pl.len()).collect().item()
    size = posts_a_slice(rows)
    for number, start in enumerate(range(0, rows, size)):
        posts = known.slice(start, size).collect()
        texts = [
            _texts(folder / f"slice={number}", start, posts.height).alias(name)
            for name, folder in words.items()
        ]
        yield posts.with_columns(texts)


def _texts(folder: Path, start: int, posts: int) -> pl.Series:
    """The texts of the posts from a place on, in their order."""
    found = pl.read_parquet(parts_of(folder), hive_partitioning=False).sort("place")
    expected = pl.int_range(start, start + posts, eager=True)
    if found.height != posts or not (found["place"] == expected).all():
        raise RuntimeError(f"{folder} has not one text for every post from place {start} on")
    return found["text"]


def write_rejected(parts: Sequence[Path], folder: Path) -> int:
    """Write ids and reasons, in the order of ids, as files of about a million rows.

    Returns:
        How many rows there are.
    """
    table = pl.scan_parquet(list(parts)).select("id", "reason")
    rows: int = table.select(pl.len()).collect().item()
    for number, start in enumerate(range(0, rows, _PART)):
        with atomic_file(folder / f"part-{number:05d}.parquet") as scratch:
            table.slice(start, _PART).sink_parquet(
                scratch, compression_level=_LEVEL, row_group_size=_GROUP
            )
    return rows
