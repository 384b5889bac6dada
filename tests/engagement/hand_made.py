"""Comments and submissions small enough to work out by hand, and folders as ingest leaves them.

Texts carry their own scores: "p75" is 75 % positive emotion, "t90" is 90 % toxic.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import sha256_file
from dialens.engagement.curation import _work_folder as work_folder

_COMMENT: dict[str, Any] = {
    "parent_is_submission": False,
    "thread": "s1",
    "subreddit": "books",
    "created": 1_136_073_600,  # 2006-01-01
    "retrieved": 1_500_000_000,
    "score": 1,
    "controversial": False,
    "edited": False,
    "text": "p50",
    "words": 10,
    "content_words": 5,
    "deleted": False,
    "quote": False,
    "bot": False,
    "english": True,
}
_SUBMISSION: dict[str, Any] = {
    "subreddit": "books",
    "created": 1_136_073_600,
    "retrieved": 1_500_000_000,
    "score": 1,
    "text": "A title",
    "deleted": False,
}


def comment(id: str, parent: str, **fields: Any) -> dict[str, Any]:
    """A comment; a parent whose id begins with `s` is a submission and gives the thread."""
    made = {**_COMMENT, "id": id, "parent_id": parent}
    if parent.startswith("s"):
        made |= {"parent_is_submission": True, "thread": parent}
    return {**made, **fields}


def submission(id: str, **fields: Any) -> dict[str, Any]:
    return {**_SUBMISSION, "id": id, **fields}


def write_work(
    folder: Path,
    comments: Sequence[dict[str, Any]],
    submissions: Sequence[dict[str, Any]] = (),
    *,
    shards: int = 2,
) -> Path:
    """A finished work folder with the rows dealt out over shards."""
    (folder / work_folder.DONE_FOLDER).mkdir(parents=True)
    for kind, rows, schema in (
        (work_folder.COMMENTS_FOLDER, comments, work_folder.COMMENTS),
        (work_folder.SUBMISSIONS_FOLDER, submissions, work_folder.SUBMISSIONS),
    ):
        (folder / kind).mkdir()
        for number in range(shards):
            table = pl.DataFrame(list(rows[number::shards]), schema=schema)
            if not table.height:
                continue
            name = f"part-{kind.encode().hex()[:12]}-{number:05d}"
            path = folder / kind / f"{name}.parquet"
            table.write_parquet(path)
            about = {"bytes": path.stat().st_size, "sha256": sha256_file(path)}
            counts = {"comments": 0, "submissions": 0, kind: table.height}
            marker = {"key": name, **counts, "rejects": 0, "files": {f"{kind}/{path.name}": about}}
            (folder / work_folder.DONE_FOLDER / f"{name}.json").write_text(json.dumps(marker))
    (folder / work_folder.INGEST_RECORD).write_text(json.dumps({"sources": []}))
    return folder


@dataclass(frozen=True)
class Written:
    """Reads the percentage that stands in the text after a letter."""

    letter: str

    @property
    def signature(self) -> str:
        return f"written:{self.letter}"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        found = (re.search(rf"\b{self.letter}(\d+)", text) for text in texts)
        return np.array([10_000 * int(one[1]) if one else 0 for one in found], dtype=np.int64)


SUBMISSIONS = [
    submission("s1", score=4, text="What do you read?"),
    submission("s2", deleted=True),
    submission("s4", score=None, text="No votes here"),
    submission("s5", score=None),
    submission("s6", score=0),
    # The same submission fetched earlier: its 99 votes must not count.
    submission("s1", score=99, text="What do you", retrieved=1_400_000_000),
]

COMMENTS = [
    # Under s1 (4 votes, 2 direct replies: a and x).
    comment("a", "s1", score=3, text="Middlemarch"),
    comment("b", "a", thread="s1", score=1, content_words=5, text="p50 me too"),
    comment("c", "a", thread="s1", content_words=8, edited=True, text="p100 oh yes"),
    comment("d", "a", thread="s1", content_words=20, edited=None, deleted=True, text="p99"),
    comment("e", "b", thread="s1", content_words=4, text="p20 hm"),
    # e as it was fetched earlier, longer and merrier: it must not count, nor as a second reply.
    comment("e", "b", thread="s1", content_words=9, text="p90", retrieved=1_400_000_000),
    comment("x", "s1", score=-2, text="Nothing"),
    comment("y", "x", thread="s1", score=5, content_words=2, edited=True, text="p0 why"),
    comment("w", "y", thread="s1"),
    # Without votes: n answers s4, which has none either.
    comment("n", "s4", score=None, text="I wonder"),
    comment("m", "n", thread="s4", score=None, content_words=6, edited=None, text="p40 so do I"),
    # Votes of the parent alone are hidden.
    comment("h", "s5", score=7),
    comment("hh", "h", thread="s5"),
    # One of each that is left out, with a reply to it.
    comment("k1", "k1", thread="s6"),
    comment("k2", "k3", thread="s6"),
    comment("k3", "k2", thread="s6"),
    comment("o", "zzz", thread="s6"),
    comment("o2", "o", thread="s6"),
    comment("o3", "zzz", thread="s6"),
    comment("r", "s6", subreddit="films"),
    comment("r2", "r", thread="s6"),
    comment("g", "s6", deleted=True),
    comment("g2", "g", thread="s6"),
    comment("g3", "g2", thread="s6"),
    comment("i", "s6", bot=True),
    comment("i2", "i", thread="s6"),
    comment("q", "s6", quote=True),
    comment("q2", "q", thread="s6"),
    comment("j", "s6", words=0, content_words=0, text=""),
    comment("j2", "j", thread="s6"),
    comment("f", "s6", english=False),
    comment("f2", "f", thread="s6"),
    comment("t", "s6", text="t90 you fool"),
    comment("t2", "t", thread="s6"),
    comment("u", "s6"),
    comment("u2", "u", thread="s6", deleted=True),
    # Under the deleted submission.
    comment("v", "s2"),
    comment("v2", "v", thread="s2"),
]

NO_REPLY = "c d e w m hh o2 r2 g3 i2 q2 j2 f2 t2 u2 v2"

REASONS = {
    **dict.fromkeys(NO_REPLY.split(), "no reply in the data"),
    **dict.fromkeys(("k1", "k2", "k3"), "part of a cycle"),
    **dict.fromkeys(("o", "o3"), "no parent in the data"),
    "r": "subreddit not chosen",
    "g": "deleted or removed",
    "g2": "parent deleted or removed",
    "v": "parent deleted or removed",
    "i": "bot",
    "q": "quote",
    "j": "empty",
    "f": "not English",
    "t": "toxic",
    "u": "no reply with text",
    "y": "popularity cannot be ascertained",  # 2·1 reply of x − 2 votes = 0
    "h": "popularity cannot be ascertained",  # votes of s5 are hidden, its own are not
}

CYCLES = [
    # Three, of which each but the first came after the one it answers.
    comment("l1", "l3", thread="s6", created=1_136_073_601),
    comment("l2", "l1", thread="s6", created=1_136_073_602),
    comment("l3", "l2", thread="s6", created=1_136_073_603),
    # Four within the same second, one of them deleted.
    comment("m1", "m2", thread="s6"),
    comment("m2", "m4", thread="s6"),
    comment("m3", "m1", thread="s6", deleted=True),
    comment("m4", "m3", thread="s6"),
    # Three at times that nobody knows, and three of different threads.
    *(comment(f"p{n}", f"p{(n + 1) % 3}", thread="s6", created=None) for n in range(3)),
    *(comment(f"z{n}", f"z{(n + 1) % 3}", thread=f"s{n + 4}") for n in range(3)),
    # They answer one of three, but nothing leads back to them.
    comment("l4", "l1", thread="s6", bot=True),
    comment("l5", "l4", thread="s6"),
    # Came before what they answer, as clocks may have it, and are no cycle.
    comment("w1", "s6", thread="s6", bot=True, created=1_136_073_700),
    comment("w2", "w1", thread="s6", bot=True),
    comment("w3", "w2", thread="s6"),
]
"""More comments, none of them a post: to be read together with those above."""

CYCLE_REASONS = {
    **dict.fromkeys(("l1", "l2", "l3", "m1", "m2", "m3", "m4"), "part of a cycle"),
    **dict.fromkeys(("p0", "p1", "p2", "z0", "z1", "z2"), "part of a cycle"),
    **dict.fromkeys(("l4", "w1", "w2"), "bot"),
    **dict.fromkeys(("l5", "w3"), "no reply in the data"),
}
