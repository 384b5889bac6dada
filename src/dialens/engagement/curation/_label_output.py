"""The output of labelling: posts, training and validation parts, and rejected comments.

Posts are numbered in the order of ids, and their place in that order says to which slice a post
belongs. An engine writes texts into slices as it finds them, so that they need not all be sorted,
and one slice at a time is in memory. One writer with fixed groups of rows makes the same bytes
whatever engine, threads or memory made the tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import polars as pl

from dialens.base import Advance, TableSink, atomic_file

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
"""Rows of a row group. Until one is full its rows stay in memory, and with them the texts of all
slices they come from: few posts of a slice are for validation."""
_LEVEL: Final = 1  # of zstandard: half the time of the usual 3, for a tenth more on the disk
LEAST_POSTS: Final = 65_536
"""In a slice: some 40 MB of texts."""
MOST_SLICES: Final = 128
"""Each is a file that is open while texts are written."""
_PLACES: Final = pl.Schema(
    {
        "id": pl.String,
        "parent_id": pl.String,
        "parent_is_submission": pl.Boolean,
        "place": pl.Int64,
        "slice": pl.Int64,
    }
)


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a table, in their order."""
    return sorted(folder.rglob("*.parquet"))


def posts_a_slice(posts: int) -> int:
    """How many posts a slice has: a multiple of the least, so that there are not too many slices.

    Examples:
        >>> posts_a_slice(1_000_000), posts_a_slice(10_000_000)
        (65536, 131072)
    """
    return LEAST_POSTS * max(1, -(-posts // (LEAST_POSTS * MOST_SLICES)))


def write_places(numbers: Sequence[Path], folder: Path, rows: int) -> None:
    """Write the place of every post, its slice, and whose words belong to it.

    Args:
        numbers: Files in the order of ids.
        folder: Where the table goes.
        rows: Posts in a slice.
    """
    posts_table = pl.scan_parquet(list(numbers)).select("id", "parent_id", "parent_is_submission")
    posts: int = posts_table.select(pl.len()).collect().item()
    with TableSink(folder / "part-00000.parquet", _PLACES) as sink:
        for number, start in enumerate(range(0, posts, rows)):
            batch = posts_table.slice(start, rows).collect()
            place = pl.int_range(start, start + batch.height, eager=True)
            sink.write(batch.with_columns(place=place, slice=pl.lit(number, pl.Int64)))


def write_posts(
    numbers: Sequence[Path], words: Mapping[str, Path], folder: Path, advance: Advance
) -> dict[str, int]:
    """Write all accepted posts, and those chosen for training and validation.

    Args:
        numbers: Files in the order of ids, with `side` beside the columns of the posts.
        words: For each column of words a folder with a folder ``slice=N`` for each slice of the
            posts, with the text for every `place`.
        folder: Where posts.parquet, train.parquet and validation.parquet go.
        advance: Called with the number of posts written.

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
    numbered = pl.scan_parquet(list(numbers)).select(*kept, "side")
    rows: int = numbered.select(pl.len()).collect().item()
    size = posts_a_slice(rows)
    for number, start in enumerate(range(0, rows, size)):
        posts = numbered.slice(start, size).collect()
        texts = [
            _texts(folder / f"slice={number}", start, posts.height).alias(name)
            for name, folder in words.items()
        ]
        yield posts.with_columns(texts)


def _texts(folder: Path, start: int, posts: int) -> pl.Series:
    """The texts of the posts from a place on, in their order."""
    texts = pl.read_parquet(parts_of(folder), hive_partitioning=False).sort("place")
    expected = pl.int_range(start, start + posts, eager=True)
    if texts.height != posts or not (texts["place"] == expected).all():
        raise RuntimeError(f"{folder} has not one text for every post from place {start} on")
    return texts["text"]


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
