"""The tables a labelling leaves: numbers and words put side by side.

Both lie in the order of ids, so nothing is looked up and little is in memory. One writer with
fixed groups of rows makes the same bytes whatever engine, threads or memory made the tables.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import polars as pl

from dialens.storage import atomic_file

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
_GROUP: Final = 65_536
_PART: Final = 16 * _GROUP


def write_posts(numbers: Sequence[Path], words: Sequence[Path], folder: Path) -> dict[str, int]:
    """Write all accepted posts, and those chosen for training and validation.

    Args:
        numbers: Files in the order of ids, with `side` beside the columns of the posts.
        words: Files in the same order with two rows a post, its text and then its context.
        folder: Where posts.parquet, train.parquet and validation.parquet go.

    Returns:
        Rows of each file.
    """
    known, said = pl.scan_parquet(list(numbers)), pl.scan_parquet(list(words))
    text = said.filter(~pl.col("is_context")).select(of_text="id", text="text")
    context = said.filter(pl.col("is_context")).select(of_context="id", context="text")
    whole = pl.concat([known, text, context], how="horizontal")
    _check_order(whole)
    posts = whole.select("side", *(pl.col(name).cast(kind) for name, kind in POSTS.items()))
    chosen = {
        "posts": posts,
        "train": posts.filter(pl.col("side") == "train"),
        "validation": posts.filter(pl.col("side") == "validation"),
    }
    with ExitStack() as files:
        # All in one go: what they have in common is read once.
        writing = [
            _sink(table.drop("side"), files.enter_context(atomic_file(folder / FILES[name])))
            for name, table in chosen.items()
        ]
        pl.collect_all(writing, engine="streaming")
    return {name: _rows(folder / file) for name, file in FILES.items()}


def write_rejected(parts: Sequence[Path], folder: Path) -> int:
    """Write ids and reasons, in the order of ids, as files of about a million rows.

    Returns:
        How many rows there are.
    """
    table = pl.scan_parquet(list(parts)).select("id", "reason")
    rows: int = table.select(pl.len()).collect().item()
    for number, start in enumerate(range(0, rows, _PART)):
        _write(table.slice(start, _PART), folder / f"part-{number:05d}.parquet")
    return rows


def _check_order(whole: pl.LazyFrame) -> None:
    off = pl.any_horizontal(pl.col("id").ne_missing(pl.col(of)) for of in ("of_text", "of_context"))
    if whole.select(off.any()).collect(engine="streaming").item():
        raise RuntimeError("numbers and words of the posts are not in the same order")


def _write(table: pl.LazyFrame, path: Path) -> None:
    with atomic_file(path) as scratch:
        _sink(table, scratch).collect(engine="streaming")


def _sink(table: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    return table.sink_parquet(path, compression="zstd", row_group_size=_GROUP, lazy=True)


def _rows(path: Path) -> int:
    rows: int = pl.scan_parquet(path).select(pl.len()).collect().item()
    return rows
