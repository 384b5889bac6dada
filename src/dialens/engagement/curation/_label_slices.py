"""Slices of neighbouring posts, so that texts can be put in order without sorting all of them.

Numbers of posts lie in the order of ids; the place in that order says to which slice a post
belongs. Texts are dealt out to slices as they are found, and a slice fits in memory.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from dialens.base import TableSink

LEAST_POSTS: Final = 65_536
"""In a slice: some 40 MB of texts."""
MOST_SLICES: Final = 128
"""Each is a file that is open while texts are dealt out."""
_PLACES: Final = pl.Schema(
    {
        "id": pl.String,
        "parent_id": pl.String,
        "parent_is_submission": pl.Boolean,
        "place": pl.Int64,
        "slice": pl.Int64,
    }
)


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
    known = pl.scan_parquet(list(numbers)).select("id", "parent_id", "parent_is_submission")
    posts: int = known.select(pl.len()).collect().item()
    with TableSink(folder / "part-00000.parquet", _PLACES) as sink:
        for number, start in enumerate(range(0, posts, rows)):
            some = known.slice(start, rows).collect()
            place = pl.int_range(start, start + some.height, eager=True)
            sink.write(some.with_columns(place=place, slice=pl.lit(number, pl.Int64)))
