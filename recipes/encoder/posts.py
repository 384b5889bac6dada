"""Posts with their reactions, read from labelled datasets: what engagement is learned from.

`dialens engagement label` makes such a dataset (a RED folder) from Reddit dumps, after Xu et al.
(2022). Read here are the columns of its tables that ``docs/engagement.md`` names; nothing is scored
or labelled again. Several folders may be read together: each was scored among its own posts, so
that a source without votes and one with votes are pooled as z-scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.engagement import POSTS, TRAIN, VALIDATION, read_posts

DIMENSIONS = {"RE": "re_norm", "AE": "ae_norm", "EE": "ee", "BE": "be_norm"}
"""EnDex's dimensions and the columns that hold them."""

NOT_LABELLED = -1

_PARTS = {False: TRAIN, True: VALIDATION}
_NEEDED = (
    *("id", "parent_id", "thread", "context", "text", "re", "score", "z", "label"),
    *DIMENSIONS.values(),
)


@dataclass(frozen=True)
class Posts:
    """Accepted posts, their reactions and labels, one row each.

    Attributes:
        text: What was posted.
        context: What it answers.
        earlier: What that answers in turn, where it is an accepted post itself; otherwise empty.
        thread: Number of the thread.
        dimensions: RE, AE, EE, BE, normalised (NaN: not known).
        score: Of EnDex.
        z: The score among the posts of its dataset, standardised.
        label: 1 engaging, 0 not, -1 between the classes.
        held_out: Whether its thread is for validation.
        reach: Replies, and how many answers deep the longest chain of posts below goes.
    """

    text: list[str]
    context: list[str]
    earlier: list[str]
    thread: np.ndarray
    dimensions: np.ndarray
    score: np.ndarray
    z: np.ndarray
    label: np.ndarray
    held_out: np.ndarray
    reach: np.ndarray

    def __len__(self) -> int:
        return len(self.text)


def load_posts(folders: Sequence[Path], limit: int | None = None) -> Posts:
    """Read RED folders.

    Threads of a validation table are held out whole, with the posts that were not labelled.

    Args:
        folders: That `dialens engagement label` wrote.
        limit: At most so many posts of each, the first in the order of ids.

    Raises:
        DialensError: A table is missing or lacks a column, or a thread is both for training and
            for validation.
    """
    split: dict[bool, set[str]] = {False: set(), True: set()}
    tables = []
    for folder in folders:
        tables.append(_with_links(read_posts(folder / POSTS, needed=_NEEDED)).head(limit or 2**62))
        for held_out, name in _PARTS.items():
            split[held_out] |= set(read_posts(folder / name, needed=("thread",))["thread"])
    shared = split[False] & split[True]
    if shared:
        raise DialensError(
            f"{', '.join(map(str, folders))}: {len(shared):,} threads are both for training and "
            f"for validation ({min(shared)!r} for one). Label all dumps with the same --seed and "
            "--validation-share."
        )
    table = pl.concat(tables)
    return Posts(
        text=table["text"].to_list(),
        context=table["context"].to_list(),
        earlier=table["earlier"].to_list(),
        thread=table["thread"].rank("dense").to_numpy().astype(np.int64),
        dimensions=table.select(DIMENSIONS.values()).to_numpy(),
        score=table["score"].to_numpy(),
        z=table["z"].to_numpy(),
        label=table["label"].to_numpy(),
        held_out=table["thread"].is_in(sorted(split[True])).to_numpy(),
        reach=table.select("re", "depth").to_numpy().astype(float),
    )


def _with_links(posts: pl.DataFrame) -> pl.DataFrame:
    posts = posts.with_columns(
        pl.col(*DIMENSIONS.values()).cast(pl.Float64).fill_null(float("nan")),
        pl.col("label").fill_null(NOT_LABELLED),
    )
    place = pl.DataFrame({"parent_id": posts["id"], "above": np.arange(len(posts))})
    above = posts.select("parent_id").join(place, on="parent_id", how="left", maintain_order="left")
    before = above["above"].to_numpy()
    known = above["above"].is_not_null().to_numpy()
    parent = np.where(known, np.nan_to_num(before), -1).astype(np.int64)
    contexts = posts["context"].to_list()
    return posts.with_columns(
        earlier=pl.Series([contexts[row] if row >= 0 else "" for row in parent], dtype=pl.String),
        depth=1 + chain_depths(parent),  # a post has a reply, and the last one's is no post
    )


def chain_depths(parent: np.ndarray) -> np.ndarray:
    """Return how many answers deep the longest chain below each row goes.

    Examples:
        >>> chain_depths(np.array([-1, 0, 1, 0])).tolist()
        [2, 1, 0, 0]
    """
    # Levels from the root downwards, then each level tells the one above; links into a cycle stop.
    level = np.zeros(len(parent), dtype=np.int64)
    for step in range(1, len(parent)):
        below = (parent >= 0) & (level[parent] == step - 1) & (level == step - 1)
        if not below.any() or step > 1000:
            break
        level[below] = step
    depth = np.zeros(len(parent), dtype=np.int64)
    for step in range(int(level.max(initial=0)), 0, -1):
        rows = np.flatnonzero((level == step) & (parent >= 0))
        np.maximum.at(depth, parent[rows], depth[rows] + 1)
    return depth
