"""Made-up Reddit dumps of any size in the real format, for `curation.py`.

Keys, their order and types are those of Pushshift's files; the archive declares the real window of
2 GiB. Lengths (median 18 words, mean about 37), words (Zipf's law over 200,000, punctuation on
some: about one in nine is new in half a million) and shares of mark-up, edits and deletions follow
the real months of 2006. The same seed gives the same bytes.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from dialens.text import stop_words

SUBREDDITS = 2_000
AUTHORS = 200_000
VOCABULARY = 200_000
MEDIAN_WORDS, SPREAD_OF_WORDS = 18, 1.2
BLOCK = 100_000
START, MONTH_S = 1_425_168_000, 31 * 86_400
_WINDOW_LOG = 31
_DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", np.uint8)
_TABLE = 2**23
Numbers = NDArray[np.int64]


def make_dumps(comments: Path, submissions: Path, count: int, *, seed: int = 0) -> None:
    """Write a dump of so many comments and one of the submissions they stand under."""
    comments.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    words = _Words(rng)
    threads = _Threads(rng, count)
    _write(submissions, _submissions(rng, words, threads))
    _write(comments, _comments(rng, words, threads))


class _Threads:
    """Who answers whom: thread and parent of every comment, in the order of time."""

    def __init__(self, rng: np.random.Generator, comments: int) -> None:
        sizes = np.minimum(rng.pareto(1.3, comments) * 3 + 1, 20_000).astype(np.int64)
        self.count = int(np.searchsorted(np.cumsum(sizes), comments)) + 1
        thread = np.repeat(np.arange(self.count), sizes[: self.count])[:comments]
        self.started = np.sort(rng.integers(START, START + MONTH_S, self.count))
        written = self.started[thread] + rng.exponential(14_400, comments).astype(np.int64)
        order = np.argsort(written, kind="stable")
        self.created, self.thread = written[order], thread[order]
        # Comments of a thread one after another: which of the earlier ones is answered.
        by_thread = np.argsort(self.thread, kind="stable")
        first = np.searchsorted(self.thread[by_thread], np.arange(self.count))
        place = np.arange(comments) - first[self.thread[by_thread]]
        answered = np.floor(rng.random(comments) ** 1.5 * (place + 1)).astype(np.int64) - 1
        answered[rng.random(comments) < 0.3] = -1  # the submission itself
        self.parent = np.empty(comments, np.int64)
        above = by_thread[np.maximum(first[self.thread[by_thread]] + answered, 0)]
        self.parent[by_thread] = np.where(answered < 0, -1, above)
        self.subreddit = np.minimum(rng.zipf(1.4, self.count), SUBREDDITS)


class _Words:
    """Running text: stop words are the most frequent, the rest is invented."""

    def __init__(self, rng: np.random.Generator) -> None:
        common = sorted(stop_words().terms)
        rng.shuffle(common)
        sounds = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
        letters = rng.integers(len(sounds), size=(VOCABULARY, 5))
        lengths = rng.integers(2, 6, VOCABULARY)
        made = [
            "".join(sounds[i] for i in row[:n]) for row, n in zip(letters, lengths, strict=True)
        ]
        words = [*common, *made][:VOCABULARY]
        odds = 1 / (np.arange(VOCABULARY) + 2.7)
        ends = np.cumsum(odds) / odds.sum()
        drawn = np.searchsorted(ends, (np.arange(_TABLE) + 0.5) / _TABLE)
        marks = rng.choice(
            ["", ",", ".", "?", "!", "...", '"', "'s", ")"],
            _TABLE,
            p=[0.868, 0.05, 0.055, 0.006, 0.004, 0.005, 0.004, 0.004, 0.004],
        )
        self._pieces = [words[i] + mark for i, mark in zip(drawn, marks, strict=True)]

    def texts(self, rng: np.random.Generator, lengths: Numbers) -> Iterator[str]:
        drawn = rng.integers(_TABLE, size=int(lengths.sum())).tolist()
        start = 0
        for end in np.cumsum(lengths).tolist():
            said = [self._pieces[i] for i in drawn[start:end]]
            said[0] = said[0].capitalize()
            yield " ".join(said)
            start = end


def _lengths(rng: np.random.Generator, count: int, median: float) -> Numbers:
    drawn = rng.lognormal(np.log(median), SPREAD_OF_WORDS, count)
    return np.clip(drawn, 1, 1_500).astype(np.int64)


def _ids(numbers: Numbers, width: int) -> list[str]:
    """Base 36, as Reddit's own."""
    digits = numbers[:, None] // 36 ** np.arange(width - 1, -1, -1) % 36
    return np.ascontiguousarray(_DIGITS[digits]).view(f"S{width}").ravel().astype(str).tolist()


def _comment_ids(numbers: Numbers) -> list[str]:
    return _ids(numbers + 36**6 * 12, 7)


def _thread_ids(numbers: Numbers) -> list[str]:
    return _ids(numbers + 36**5 * 2, 6)


def _comments(rng: np.random.Generator, words: _Words, threads: _Threads) -> Iterator[bytes]:
    total = len(threads.thread)
    for begin in range(0, total, BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, total))
        count = len(rows)
        thread, parent = threads.thread[rows], threads.parent[rows]
        links = [f"t3_{key}" for key in _thread_ids(thread)]
        above = _comment_ids(np.maximum(parent, 0))
        scores = (rng.pareto(1.2, count) + 1).astype(np.int64) - 5 * (rng.random(count) < 0.1)
        created = threads.created[rows]
        edited = np.where(rng.random(count) < 0.03, created + 600, 0).tolist()
        controversial = (rng.random(count) < 0.03).astype(int).tolist()
        author = rng.integers(AUTHORS, size=count).tolist()
        kind = rng.random(count).tolist()
        encode = msgspec.json.encode
        lines = [
            encode(
                {
                    "controversiality": controversial[i],
                    "body": _marked_up(text, kind[i]),
                    "subreddit_id": f"t5_{place}",
                    "link_id": links[i],
                    "stickied": False,
                    "subreddit": f"subreddit_{place}",
                    "score": score,
                    "ups": score,
                    "author_flair_css_class": None,
                    "created_utc": time,
                    "author_flair_text": None,
                    "author": _author(author[i], kind[i]),
                    "id": key,
                    "edited": edited[i] or False,
                    "parent_id": links[i] if up < 0 else f"t1_{above[i]}",
                    "gilded": 0,
                    "distinguished": None,
                    "retrieved_on": 1_440_000_000,
                }
            )
            for i, (text, key, up, score, place, time) in enumerate(
                zip(
                    words.texts(rng, _lengths(rng, count, MEDIAN_WORDS)),
                    _comment_ids(rows),
                    parent.tolist(),
                    scores.tolist(),
                    threads.subreddit[thread].tolist(),
                    created.tolist(),
                    strict=True,
                )
            )
        ]
        yield b"\n".join(lines) + b"\n"


def _submissions(rng: np.random.Generator, words: _Words, threads: _Threads) -> Iterator[bytes]:
    for begin in range(0, threads.count, BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, threads.count))
        count = len(rows)
        scores = (rng.pareto(0.9, count) * 3).clip(0, 60_000).astype(np.int64).tolist()
        below = words.texts(rng, _lengths(rng, count, 40))
        own = (rng.random(count) < 0.3).tolist()
        lines = [
            json.dumps(
                {
                    "downs": 0,
                    "title": title,
                    "retrieved_on": 1_443_014_567,
                    "url": f"http://example.org/{key}.html",
                    "gilded": 0,
                    "num_comments": 1,
                    "created_utc": str(time),
                    "edited": False,
                    "domain": "example.org",
                    "id": key,
                    "selftext": text if has_text else "",
                    "is_self": has_text,
                    "subreddit": f"subreddit_{place}",
                    "ups": score,
                    "hide_score": False,
                    "over_18": False,
                    "author": f"user{score % 997}",
                    "score": score,
                },
                separators=(",", ":"),
            ).encode()
            for title, text, key, has_text, score, time, place in zip(
                words.texts(rng, _lengths(rng, count, 9)),
                below,
                _thread_ids(rows),
                own,
                scores,
                threads.started[rows].tolist(),
                threads.subreddit[rows].tolist(),
                strict=True,
            )
        ]
        yield b"\n".join(lines) + b"\n"


def _marked_up(text: str, kind: float) -> str:
    if kind < 0.05:
        return "[deleted]" if kind < 0.04 else "[removed]"
    if kind < 0.10:
        return f"&gt; {text[: len(text) // 3]}\n\n{text}"
    if kind < 0.14:
        return f"{text} [here](http://example.org/{int(kind * 1e6)}) &amp; *there*"
    if kind < 0.26:
        return text.replace(". ", ".\n\n", 3)
    if kind < 0.31:
        return f"*{text}*"
    if kind < 0.34:
        return f"{text} http://www.example.org/{int(kind * 1e6)}.html"
    return text


def _author(number: int, kind: float) -> str:
    if kind < 0.05:
        return "[deleted]"
    return "helpful_bot" if number < 1_000 else f"user{number}"


def _write(path: Path, blocks: Iterator[bytes]) -> None:
    # A stream of unknown length: one whose length is known gets a smaller window.
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=_WINDOW_LOG)
    packer = zstandard.ZstdCompressor(compression_params=parameters)
    scratch = path.with_suffix(".partial")
    with scratch.open("wb") as raw, packer.stream_writer(raw) as file:
        for block in blocks:
            file.write(block)
    scratch.rename(path)
