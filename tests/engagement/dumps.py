"""Reddit dumps in the format of the real ones, made up: records, and files in every packing.

    post = comment(id="c2", parent_id="t1_c1", link_id="t3_s1", body="Hello", score=3)
    write_dump(tmp_path / "RC_2006-01.zst", [post])
    comments, submissions = conversation(seed=1, comments=1_000)

Keys, their order and their types are those of Pushshift's files (RC: `created_utc` a number, RS: a
string; `edited` false or the time); nothing in the texts was written by a person on Reddit.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard

ABSENT = object()
"""Given as the value of a field, leaves the key out: `comment(edited=ABSENT)`."""

PACKINGS = (".zst", ".bz2", ".gz", ".xz", ".jsonl")

_WINDOW_LOG = 31  # what the real archives declare: a decoder must allow 2 GiB

_COMMENT: dict[str, Any] = {
    "controversiality": 0,
    "body": "A comment of a few words.",
    "subreddit_id": "t5_6",
    "link_id": "t3_s1",
    "stickied": False,
    "subreddit": "reddit.com",
    "score": 1,
    "ups": 1,
    "author_flair_css_class": None,
    "created_utc": 1136074029,
    "author_flair_text": None,
    "author": "someone",
    "id": "c1",
    "edited": False,
    "parent_id": "t3_s1",
    "gilded": 0,
    "distinguished": None,
    "retrieved_on": 1473738411,
}
_SUBMISSION: dict[str, Any] = {
    "downs": 0,
    "title": "A title",
    "retrieved_on": 1443014567,
    "url": "http://example.org/a.html",
    "distinguished": None,
    "gilded": 0,
    "num_comments": 1,
    "created_utc": "1136070000",
    "secure_media": None,
    "secure_media_embed": {},
    "edited": False,
    "domain": "example.org",
    "id": "s1",
    "stickied": False,
    "selftext": "",
    "is_self": False,
    "subreddit": "reddit.com",
    "media_embed": {},
    "ups": 1,
    "hide_score": False,
    "over_18": False,
    "author": "someone",
    "score": 1,
}
_WORDS = """the a of and to in it is that was for on you with as have be this are not but they we
at by from or an will would there what about which when can like time people just know think good
see only now look come than also after use two how our work first well way even new want because
any these give day most coffee garden castle river pizza music kernel compiler election museum
bicycle physics novel teacher orange window thunder letter market painter engine harbour weather
question answer reason garden history science""".split()  # noqa: SIM905
_SUBREDDITS = ("reddit.com", "programming", "science", "AskReddit", "cooking")


def comment(**fields: Any) -> dict[str, Any]:
    """A comment with all the keys of a Pushshift file, those given replaced."""
    return _record(_COMMENT, fields)


def submission(**fields: Any) -> dict[str, Any]:
    """A submission with the keys of a Pushshift file, those given replaced."""
    return _record(_SUBMISSION, fields)


def thread_row(**fields: Any) -> dict[str, Any]:
    """A row of the plain threads file: no votes, no author, ids without a prefix."""
    base = {
        "id": "News_2015-02-02-1",
        "parent_id": None,
        "thread": "News_2015-02-02-1",
        "subreddit": "News",
        "date": "2015-02-02",
        "body": "A title",
        "n_saved_replies": 0,
    }
    return _record(base, fields)


def conversation(
    *, seed: int, comments: int, submissions: int | None = None, prefix: str = ""
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Comments and the submissions they stand under: trees of replies with votes and edits.

    About one in fifty is deleted, quotes, was written by a bot, is edited or controversial.
    `prefix` goes before every id, so that two conversations share none.
    """
    random_ = random.Random(seed)
    roots = [
        submission(
            id=f"{prefix}s{number}",
            title=_sentence(random_, 8),
            selftext=_sentence(random_, 30) if random_.random() < 0.3 else "",
            score=random_.randint(0, 200),
            subreddit=random_.choice(_SUBREDDITS),
        )
        for number in range(submissions if submissions is not None else max(1, comments // 20))
    ]
    written: list[dict[str, Any]] = []
    threads: list[list[str]] = [[f"t3_{root['id']}"] for root in roots]
    for number in range(comments):
        thread = random_.randrange(len(roots))
        parent = random_.choice(threads[thread])
        key = f"{prefix}c{number}"
        threads[thread].append(f"t1_{key}")
        written.append(
            comment(
                id=key,
                parent_id=parent,
                link_id=f"t3_{roots[thread]['id']}",
                subreddit=roots[thread]["subreddit"],
                created_utc=1136074029 + 37 * number,
                body=_body(random_),
                author=_author(random_),
                score=int(random_.paretovariate(1.2)) - (random_.random() < 0.1) * 4,
                controversiality=int(random_.random() < 0.02),
                edited=1136080000.0 + number if random_.random() < 0.02 else False,
            )
        )
    return written, roots


def write_dump(path: Path, records: Iterable[Mapping[str, Any] | str | bytes]) -> Path:
    """Write records one a line, packed as the ending says; text and bytes are lines as they are."""
    with _opened(path) as file:
        for record in records:
            file.write(line_of(record))
    return path


def line_of(record: Mapping[str, Any] | str | bytes) -> bytes:
    """One line of a dump, compact and ASCII like the real ones."""
    if isinstance(record, str):
        record = record.encode()
    if not isinstance(record, bytes):
        record = json.dumps(record, separators=(",", ":")).encode()
    return record + b"\n"


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    match path.suffix:
        case ".zst":
            # A stream of unknown length: one whose length is known gets a smaller window.
            parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=_WINDOW_LOG)
            packer = zstandard.ZstdCompressor(compression_params=parameters)
            with path.open("wb") as raw, packer.stream_writer(raw) as file:
                yield file
        case ".bz2":
            with bz2.open(path, "wb") as file:
                yield file
        case ".gz":
            # No time of writing in the header: the same records are the same bytes.
            with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
                yield file
        case ".xz":
            with lzma.open(path, "wb", preset=1) as file:
                yield file
        case _:
            with path.open("wb") as file:
                yield file


def _record(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**base, **fields}.items() if value is not ABSENT}


def _sentence(random_: random.Random, words: int) -> str:
    return " ".join(random_.choices(_WORDS, k=random_.randint(1, words * 2))).capitalize() + "."


def _body(random_: random.Random) -> str:
    drawn = random_.random()
    if drawn < 0.02:
        return random_.choice(("[deleted]", "[removed]"))
    text = _sentence(random_, 25)
    if drawn < 0.04:
        return f"&gt; {_sentence(random_, 10)}\n\n{text}"
    if drawn < 0.06:
        return (
            f"{text} See [this *page*](http://example.org/{random_.randrange(99)}) &amp; **more**"
        )
    return text


def _author(random_: random.Random) -> str:
    drawn = random_.random()
    if drawn < 0.02:
        return "[deleted]"
    if drawn < 0.03:
        return "helpful_bot"
    return f"user{random_.randrange(5_000)}"
