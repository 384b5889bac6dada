"""A labelled dataset (RED folder) as later steps read it, and draws that follow content.

Every choice among posts goes by a hash of the seed and the post's id. The order of rows, and posts
that have nothing to do with a choice, cannot change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from dialens.base import DialensError

POSTS = "posts.parquet"
TRAIN = "train.parquet"
VALIDATION = "validation.parquet"
PARTS = {"train": TRAIN, "validation": VALIDATION}

POST_COLUMNS = ("id", "parent_id", "thread", "context", "text", "label")
"""What every table of labelled posts must have; the reactions behind a label may be more."""


def read_posts(file: Path, *, needed: Sequence[str] = POST_COLUMNS) -> pl.DataFrame:
    """Read one table of a RED folder, in the order of ids.

    Raises:
        DialensError: If the file is missing, is no Parquet, or lacks a column.
    """
    if not file.exists():
        raise DialensError(
            f"{file} is missing: give a folder that `dialens engagement label` wrote "
            f"(it holds {POSTS}, {TRAIN} and {VALIDATION})."
        )
    try:
        table = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DialensError(f"{file} cannot be read as Parquet: {error}. Make it again.") from error
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise DialensError(
            f"{file} has no column {', '.join(missing)}; it has: {', '.join(table.columns)}. "
            "Give a folder that `dialens engagement label` wrote."
        )
    return table.sort("id")


def read_parts(folder: Path) -> dict[str, pl.DataFrame]:
    """Read the training and the validation part of a RED folder, each with both classes.

    Raises:
        DialensError: If one is missing, or lacks a class.
    """
    parts = {name: read_posts(folder / file) for name, file in PARTS.items()}
    for name, table in parts.items():
        for label in (0, 1):
            if not (table["label"] == label).any():
                raise DialensError(
                    f"{folder / PARTS[name]} has no post with label {label}: there is nothing to "
                    "tell apart. Label more data, or with a smaller --kappa."
                )
    shared = set(parts["train"]["thread"]) & set(parts["validation"]["thread"])
    if shared:
        raise DialensError(
            f"{folder}: {len(shared):,} threads are in both {TRAIN} and {VALIDATION} "
            f"({min(shared)!r} for one). Split by thread, as `dialens engagement label` does."
        )
    return parts


def draw_key(seed: int, name: str) -> str:
    """Return the place of a name in the order of a draw: MD5 of seed and name, in hex.

    The same as `md5(seed || ':' || name)` in SQL, by which labelling balances and splits.

    Examples:
        >>> draw_key(0, "c1") == draw_key(0, "c1"), draw_key(0, "c1") == draw_key(1, "c1")
        (True, False)
    """
    return hashlib.md5(f"{seed}:{name}".encode(), usedforsecurity=False).hexdigest()


def in_draw_order(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return the rows in the order of a draw: the first n are a sample of n.

    Examples:
        >>> table = pl.DataFrame({"id": ["a", "b", "c"]})
        >>> in_draw_order(table, 0).equals(in_draw_order(table.reverse(), 0))
        True
    """
    keys = pl.Series("draw_key", [draw_key(seed, name) for name in table["id"]], dtype=pl.String)
    return table.with_columns(keys).sort("draw_key", "id").drop("draw_key")


def is_held_out(thread: str, seed: int, share: float) -> bool:
    """Tell whether a thread belongs to validation, by the rule of `dialens engagement label`.

    Examples:
        >>> is_held_out("t", 0, 0.0), is_held_out("t", 0, 1.0)
        (False, True)
    """
    return int(draw_key(seed, thread)[:8], 16) < share * 2**32


def with_earlier(table: pl.DataFrame, posts: pl.DataFrame | None, turns: int) -> list[str]:
    r"""Return the context of each row: the parent's text and, where known, what came before it.

    A parent that is an accepted post itself has its own parent's text in `posts`, and so on.

    Args:
        table: Rows with context and parent_id.
        posts: All accepted posts; not needed for one turn.
        turns: How many turns at most, joined by line breaks, the last one last.

    Examples:
        >>> posts = pl.DataFrame({"id": ["b"], "parent_id": ["a"], "context": ["first"]})
        >>> table = pl.DataFrame({"parent_id": ["b", "x"], "context": ["second", "other"]})
        >>> with_earlier(table, posts, 2)
        ['first\nsecond', 'other']
    """
    before: Mapping[str, tuple[str | None, str]] = {}
    if posts is not None and turns > 1:
        rows: Iterable[tuple[str, str | None, str]] = posts.select(
            "id", "parent_id", "context"
        ).iter_rows()
        before = {name: (parent, context) for name, parent, context in rows}
    contexts = []
    for parent, context in table.select("parent_id", "context").iter_rows():
        said = [context or ""]
        while len(said) < turns and parent in before:
            parent, earlier = before[parent]
            said.insert(0, earlier or "")
        contexts.append("\n".join(said))
    return contexts
