"""EnDex labels: from reactions to an engagement score, a z-score and training pairs.

Follows Xu et al. (2022). What the paper leaves open is read as ``docs/methods.md`` says; two groups
of sources are scored apart and pooled as z-scores, because one of them has no votes (its reply
lists are cut at three, so a reply count there is "one, two, or more").

    python -m dialens.models.training.endex --comments FILE --reactions FILE --out posts.json.xz
"""

from __future__ import annotations

import argparse
import json
import logging
import lzma
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dialens.models.training.reddit import Comment, load_comments

_log = logging.getLogger(__name__)

DIMENSIONS = ("RE", "AE", "EE", "BE")
WEIGHTS = np.array([3.0, 3.0, 2.0, 1.0])


@dataclass(frozen=True)
class Posts:
    """Posts with the four dimensions (NaN: not known), the score and its z within the source."""

    text: list[str]
    context: list[str]
    earlier: list[str]
    thread: np.ndarray
    dimensions: np.ndarray
    score: np.ndarray
    z: np.ndarray
    rejected: dict[str, int]
    reach: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    """Replies, and how many answers deep the longest chain below goes; empty if not known."""

    def __len__(self) -> int:
        return len(self.text)

    def held_out(self, share: int = 5) -> np.ndarray:
        """Tell which posts belong to validation: whole threads, one in ``share``."""
        result: np.ndarray = (self.thread * 2654435761 % 2**32) % share == 0
        return result


def make_posts(
    comments: Sequence[Comment],
    positive_emotion: np.ndarray,
    toxic: np.ndarray | None = None,
    *,
    toxic_above: float = 0.9,
) -> Posts:
    """Score every post: a comment with a parent and at least one reply in the data.

    Args:
        comments: The table.
        positive_emotion: For each comment, the summed probability of the positive emotions.
        toxic: For each comment, the probability that it is toxic; None leaves toxic posts in.
        toxic_above: Posts above this are left out.
    """
    place = {comment.key: index for index, comment in enumerate(comments)}
    parent = np.array([place.get(one.parent or "", -1) for one in comments])
    replies: dict[int, list[int]] = {}
    for index, above in enumerate(parent):
        if above >= 0:
            replies.setdefault(int(above), []).append(index)
    rejected: Counter[str] = Counter()
    rows: list[int] = []
    raw: list[tuple[float, float, float, float, float]] = []
    for index, one in enumerate(comments):
        above = int(parent[index])
        if above < 0:
            rejected["no parent in the data"] += 1
            continue
        below = replies.get(index)
        if not below:
            rejected["no reply in the data"] += 1
            continue
        reason = one.reason or comments[above].reason
        if reason is None and toxic is not None and toxic[index] > toxic_above:
            reason = "toxic"
        if reason is not None:
            rejected[reason] += 1
            continue
        ae = max(comments[i].content_words for i in below) + 10 * sum(
            comments[i].edited for i in below
        )
        ee = float(np.clip(np.mean(positive_emotion[below]), 0, 1))
        be = popularity = np.nan
        if one.source == "votes":
            votes = comments[above].score
            popularity = np.nan if votes is None else 2 * len(replies[above]) + votes
            if not popularity > 0:
                rejected["popularity cannot be ascertained"] += 1
                continue
            be = 0.0 if one.controversial else max(0.0, float(one.score or 0))
        rows.append(index)
        raw.append((len(below), be, ae, ee, popularity))
    table = np.array(raw, dtype=float).reshape(-1, 5)
    dimensions = np.full((len(rows), 4), np.nan)
    voted = ~np.isnan(table[:, 1])
    for group in (voted, ~voted):
        if group.any():
            dimensions[group] = _dimensions(table[group])
    score, z = _scores(dimensions, voted)
    depth = _depths(parent)
    texts = [comments[i] for i in rows]
    above_rows = [int(parent[i]) for i in rows]
    return Posts(
        text=[one.text for one in texts],
        context=[comments[i].text for i in above_rows],
        earlier=[comments[int(parent[i])].text if parent[i] >= 0 else "" for i in above_rows],
        thread=np.array([int(one.thread) for one in texts], dtype=np.int64),
        dimensions=dimensions,
        score=score,
        z=z,
        reach=np.array([(len(replies[i]), depth[i]) for i in rows]).reshape(-1, 2),
        rejected=dict(rejected),
    )


def _depths(parent: np.ndarray) -> np.ndarray:
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


def popularity_adjusted(raw: np.ndarray, popularity: np.ndarray) -> np.ndarray:
    """Return ``x + (M_pv / M_x)·(x / PV)·x``, M being medians (a zero one: the smallest above)."""
    middle = float(np.median(raw))
    if middle <= 0:
        middle = float(raw[raw > 0].min()) if (raw > 0).any() else 1.0
    result: np.ndarray = raw + np.median(popularity) / middle * (raw / popularity) * raw
    return result


def normalised(values: np.ndarray) -> np.ndarray:
    """Return ``x / (x + α)``, α being the median (a zero one: the smallest above)."""
    middle = float(np.median(values))
    if middle <= 0:
        middle = float(values[values > 0].min()) if (values > 0).any() else 1.0
    result: np.ndarray = values / (values + middle)
    return result


def _dimensions(table: np.ndarray) -> np.ndarray:
    replies, votes, attention, emotion, popularity = table.T
    behaviour = np.full(len(table), np.nan)
    if not np.isnan(votes).any():
        replies = popularity_adjusted(replies, popularity)
        behaviour = normalised(popularity_adjusted(votes, popularity))
    return np.stack([normalised(replies), normalised(attention), emotion, behaviour], axis=1)


def _scores(dimensions: np.ndarray, voted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = ~np.isnan(dimensions)
    total = (np.nan_to_num(dimensions) * WEIGHTS).sum(1) / (known * WEIGHTS).sum(1)
    z = np.zeros_like(total)
    for group in (voted, ~voted):
        if group.any():
            spread = total[group].std()
            z[group] = (total[group] - total[group].mean()) / (spread if spread > 0 else 1.0)
    return total, z


def save_posts(posts: Posts, file: Path) -> None:
    """Write posts; a text that is here a post and there a context is written once."""
    number: dict[str, int] = {}
    columns = {
        name: [number.setdefault(text, len(number)) for text in texts]
        for name, texts in (
            ("text", posts.text),
            ("context", posts.context),
            ("earlier", posts.earlier),
        )
    }
    record = {
        "texts": list(number),
        **columns,
        "thread": posts.thread.tolist(),
        "dimensions": np.round(posts.dimensions, 4).tolist(),
        "score": np.round(posts.score, 4).tolist(),
        "z": np.round(posts.z, 4).tolist(),
        "reach": posts.reach.tolist(),
        "rejected": posts.rejected,
    }
    with lzma.open(file, "wt", encoding="utf-8", preset=6) as out:
        json.dump(record, out, ensure_ascii=False)


def load_posts(file: Path, limit: int | None = None) -> Posts:
    """Read what :func:`save_posts` wrote, or the first posts of it."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        record = json.load(lines)
    texts = record["texts"]
    return Posts(
        text=[texts[i] for i in record["text"][:limit]],
        context=[texts[i] for i in record["context"][:limit]],
        earlier=[texts[i] for i in record["earlier"][:limit]],
        thread=np.array(record["thread"][:limit], dtype=np.int64),
        dimensions=np.array(record["dimensions"][:limit], dtype=float),
        score=np.array(record["score"][:limit], dtype=float),
        z=np.array(record["z"][:limit], dtype=float),
        reach=np.array(record["reach"][:limit], dtype=float),
        rejected=record["rejected"],
    )


def main() -> None:
    """Score the posts of a table of comments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comments", type=Path, required=True)
    parser.add_argument("--reactions", type=Path, required=True, help="from linear or reactions")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    known = np.load(given.reactions)
    posts = make_posts(load_comments(given.comments), known["positive"], known["toxic"])
    save_posts(posts, given.out)
    _log.info("%d posts; left out: %s", len(posts), posts.rejected)
    _log.info("engaging %d, not engaging %d", (posts.z > 1).sum(), (posts.z < -1).sum())
    length = np.log1p([len(text.split()) for text in posts.text])
    _log.info("z with log length: %.3f", np.corrcoef(posts.z, length)[0, 1])


if __name__ == "__main__":
    main()
