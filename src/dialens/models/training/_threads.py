r"""Reddit threads as what USL-H and DialogRPT learn from: which reply was given, which drew more.

python -m dialens.models.training._threads --data FOLDER --out threads.json.xz

DialogRPT (Gao et al. 2020) compares two replies to the *same* parent, posted within an hour of each
other: what the parent is, and how many people came by, then counts for both. The votes and times
that this needs are in some files only; the largest one has neither, and saves at most three
replies a parent, so that "more replies" there means up to three and the hour cannot be checked.
"""

from __future__ import annotations

import argparse
import json
import logging
import lzma
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dialens.models.training._endex import chain_depths
from dialens.models.training._reddit import Comment, read_comments

RANKED = ("width", "depth", "updown")
HOUR = 3600.0
_CHARACTERS = 700  # beyond what 128 tokens hold
_PAIRS_A_SIBLING = 4

_log = logging.getLogger(__name__)


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


def make_threads(comments: Iterable[Comment]) -> Threads:
    """Put comments into columns; threads are held out by their name alone, one in eight."""
    rows = list({comment.key: comment for comment in comments}.values())
    number = {comment.key: place for place, comment in enumerate(rows)}
    known: dict[str, int] = {}
    families: dict[str, int] = {}
    parent = [number.get(one.parent or "", -1) for one in rows]
    return Threads(
        text=[one.text[:_CHARACTERS] for one in rows],
        parent=np.array([-1 if above == i else above for i, above in enumerate(parent)]),
        family=np.array(
            [families.setdefault(one.parent, len(families)) if one.parent else -1 for one in rows]
        ),
        thread=np.array([known.setdefault(one.thread, len(known)) for one in rows]),
        votes=np.array([np.nan if one.score is None else one.score for one in rows], float),
        created=np.array([np.nan if one.created is None else one.created for one in rows], float),
        usable=np.array([one.reason is None for one in rows]),
        held_out=np.array([zlib.crc32(one.thread.encode()) % 8 == 0 for one in rows]),
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
        >>> comments = [
        ...     Comment(str(i), p, "t", f"text {i}", 1, "noscore")
        ...     for i, p in enumerate([None, "0", "0", "1", "1"])
        ... ]
        >>> threads = make_threads(comments)
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
    found: list[tuple[int, int]] = []
    for siblings in np.split(rows, starts[1:]):
        if len(siblings) > 1:
            found += _of_one_parent(siblings, value, threads.created, what, least, generator)
    higher, lower = np.array(found, dtype=np.int64).reshape(-1, 2).T
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


def save_threads(threads: Threads, file: Path) -> None:
    """Write the columns."""
    record = {
        "text": threads.text,
        "parent": threads.parent.tolist(),
        "family": threads.family.tolist(),
        "thread": threads.thread.tolist(),
        "votes": _numbers(threads.votes),
        "created": _numbers(threads.created),
        "usable": threads.usable.astype(int).tolist(),
        "held_out": threads.held_out.astype(int).tolist(),
    }
    with lzma.open(file, "wt", encoding="utf-8", preset=6) as out:
        json.dump(record, out, ensure_ascii=False)


def load_threads(file: Path, limit: int | None = None) -> Threads:
    """Read what :func:`save_threads` wrote, or its first rows and its last."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        raw = json.load(lines)
    whole = Threads(
        text=raw["text"],
        parent=np.array(raw["parent"], dtype=np.int64),
        family=np.array(raw["family"], dtype=np.int64),
        thread=np.array(raw["thread"], dtype=np.int64),
        votes=np.array([np.nan if one is None else one for one in raw["votes"]], float),
        created=np.array([np.nan if one is None else one for one in raw["created"]], float),
        usable=np.array(raw["usable"], dtype=bool),
        held_out=np.array(raw["held_out"], dtype=bool),
    )
    return whole if limit is None or limit >= len(whole) else _some_threads(whole, limit)


def _some_threads(whole: Threads, limit: int) -> Threads:
    # Whole threads, taken evenly over the files, so that a rehearsal sees every kind of file.
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


def _numbers(values: np.ndarray) -> list[int | None]:
    return [None if np.isnan(one) else int(one) for one in values]


def counts(threads: Threads, least: Sequence[float] = (1, 2, 4, 20)) -> dict[str, object]:
    """Return how many pairs there are of each kind, for the card."""
    return {
        what: {
            part: {
                f"gap of {gap:g}": len(ranked_pairs(threads, what, held_out=out, seed=0, least=gap))
                for gap in least
            }
            for part, out in (("training", False), ("held out", True))
        }
        for what in RANKED
    }


def main() -> None:
    """Read the Reddit files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the Reddit files")
    parser.add_argument("--out", type=Path, required=True, help="where the columns go (.json.xz)")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    threads = make_threads(read_comments(given.data))
    save_threads(threads, given.out)
    _log.info("%d comments, %d usable", len(threads), threads.usable.sum())
    _log.info("%s", json.dumps(counts(threads)))


if __name__ == "__main__":
    main()
