"""Reddit threads as what USL-H and DialogRPT learn from: which reply was given, which drew more.

DialogRPT (Gao et al. 2020) compares two replies to the *same* parent, posted within an hour of each
other: what the parent is, and how many people came by, then counts for both. The votes and times
that this needs are in some files only; the largest one has neither, and saves at most three
replies a parent, so that "more replies" there means up to three and the hour cannot be checked.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from recipes.encoder.posts import chain_depths
from recipes.reddit import read_posts

RANKED = ("width", "depth", "updown")
HOUR = 3600.0
_CHARACTERS = 700  # beyond what 128 tokens hold
_PAIRS_A_SIBLING = 4


@dataclass(frozen=True)
class Threads:
    """Comments as columns; ``parent`` is a row or -1, a missing number is NaN.

    ``family`` is the same for replies to the same parent, also where the parent itself is not in
    the data; -1 where a row replies to nothing.
    """

    text: list[str]
    parent: np.ndarray
    family: np.ndarray
    thread: np.ndarray
    votes: np.ndarray
    created: np.ndarray
    usable: np.ndarray
    held_out: np.ndarray

    def __len__(self) -> int:
        return len(self.text)

    def replies(self) -> np.ndarray:
        """Return how many direct replies each has."""
        above = self.parent[self.parent >= 0]
        result: np.ndarray = np.bincount(above, minlength=len(self))
        return result

    def answered(self, *, held_out: bool) -> np.ndarray:
        """Return the rows that reply to a parent in the data, both usable, of one part."""
        rows = np.flatnonzero((self.parent >= 0) & self.usable & (self.held_out == held_out))
        result: np.ndarray = rows[self.usable[self.parent[rows]]]
        return result


@dataclass(frozen=True)
class RankedPairs:
    """Two replies to the same parent, the one that drew more first, and by how much."""

    higher: np.ndarray
    lower: np.ndarray
    gap: np.ndarray

    def __len__(self) -> int:
        return len(self.higher)

    def take(self, rows: np.ndarray) -> RankedPairs:
        """Return some of the pairs."""
        return RankedPairs(self.higher[rows], self.lower[rows], self.gap[rows])


def make_threads(posts: pl.DataFrame) -> Threads:
    """Put posts into columns; threads are held out by their name alone, one in eight.

    Args:
        posts: As :func:`recipes.reddit.read_posts` returns them.
    """
    keys = pl.DataFrame({"parent": posts["key"], "row": np.arange(len(posts))})
    above = posts.select("parent").join(keys, on="parent", how="left", maintain_order="left")["row"]
    parent = above.fill_null(-1).to_numpy().astype(np.int64)
    family = posts["parent"].rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    held_out = {thread: zlib.crc32(thread.encode()) % 8 == 0 for thread in posts["thread"].unique()}
    return Threads(
        text=posts["text"].str.head(_CHARACTERS).to_list(),
        parent=np.where(parent == np.arange(len(posts)), -1, parent),
        family=family,
        thread=posts["thread"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        votes=posts["votes"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        created=posts["created"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        usable=posts["usable"].to_numpy(),
        held_out=np.array([held_out[thread] for thread in posts["thread"]]),
    )


def ranked_pairs(
    threads: Threads, what: str, *, held_out: bool, seed: int, least: float = 1
) -> RankedPairs:
    """Return pairs of siblings of which one drew at least so much more.

    Args:
        threads: Where from.
        what: `width` (direct replies), `depth` (longest chain of answers below) or `updown`
            (votes; a reply below one vote is never the better one).
        held_out: Which part of the threads.
        seed: Of the choice where a parent has very many pairs; its replies are then compared
            with four others each, on average.
        least: Smallest difference.

    Examples:
        >>> posts = pl.DataFrame(
        ...     {
        ...         "key": ["a", "b", "c", "d", "e"],
        ...         "parent": [None, "a", "a", "b", "b"],
        ...         "thread": ["t"] * 5,
        ...         "text": ["text"] * 5,
        ...         "votes": [None] * 5,
        ...         "created": [None] * 5,
        ...         "usable": [True] * 5,
        ...     }
        ... )
        >>> threads = make_threads(posts)
        >>> pairs = ranked_pairs(threads, "width", held_out=bool(threads.held_out[0]), seed=0)
        >>> pairs.higher.tolist(), pairs.lower.tolist(), pairs.gap.tolist()
        ([1], [2], [2.0])
    """
    measures = {
        "width": lambda: threads.replies().astype(float),
        "depth": lambda: chain_depths(threads.parent).astype(float),
        "updown": lambda: threads.votes,
    }
    value = measures[what]()
    known = threads.usable & ~np.isnan(value) & (threads.family >= 0)
    known &= (threads.parent < 0) | threads.usable[threads.parent]
    rows = np.flatnonzero(known & (threads.held_out == held_out))
    rows = rows[np.argsort(threads.family[rows], kind="stable")]
    generator = np.random.default_rng(seed)
    starts = np.flatnonzero(np.diff(threads.family[rows], prepend=-2))
    pairs: list[tuple[int, int]] = []
    for siblings in np.split(rows, starts[1:]):
        if len(siblings) > 1:
            pairs += _of_one_parent(siblings, value, threads.created, what, least, generator)
    higher, lower = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return RankedPairs(higher, lower, value[higher] - value[lower])


def _of_one_parent(
    siblings: np.ndarray,
    value: np.ndarray,
    created: np.ndarray,
    what: str,
    least: float,
    generator: np.random.Generator,
) -> list[tuple[int, int]]:
    left, right = np.triu_indices(len(siblings), 1)
    left, right = siblings[left], siblings[right]
    swap = value[right] > value[left]
    high, low = np.where(swap, right, left), np.where(swap, left, right)
    apart = np.abs(created[high] - created[low])
    good = (value[high] - value[low] >= least) & (np.isnan(apart) | (apart <= HOUR))
    if what == "updown":
        good &= value[high] > 0
    chosen = np.flatnonzero(good)
    # One thread of hundreds of siblings must not outweigh all others.
    most = _PAIRS_A_SIBLING * len(siblings)
    if len(chosen) > most:
        chosen = generator.permutation(chosen)[:most]
    return [(int(high[i]), int(low[i])) for i in chosen]


def load_threads(folder: Path, limit: int | None = None) -> Threads:
    """Read the folder of an ingest, or about so many posts of it."""
    whole = make_threads(read_posts(folder))
    return whole if limit is None or limit >= len(whole) else _some_threads(whole, limit)


def _some_threads(whole: Threads, limit: int) -> Threads:
    # Whole threads, taken evenly, so that a rehearsal sees every kind of source.
    share = max(1, len(whole) // limit)
    rows = np.flatnonzero(whole.thread % share == 0)
    place = np.full(len(whole) + 1, -1)
    place[rows] = np.arange(len(rows))
    return Threads(
        text=[whole.text[i] for i in rows],
        parent=place[whole.parent[rows]],
        family=whole.family[rows],
        thread=whole.thread[rows],
        votes=whole.votes[rows],
        created=whole.created[rows],
        usable=whole.usable[rows],
        held_out=whole.held_out[rows],
    )
