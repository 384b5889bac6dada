"""Lines of a dump as tables of comments and submissions, with what is wrong in the rest.

Pushshift, Arctic Shift, PRAW and the plain threads file differ in types and keys, not in meaning:
times are numbers or text, `edited` is a boolean or a time, a thread is a `link_id` or a `thread`.
What a record is, is told by its keys: a comment has a thread to stand in, a submission a title; in
a plain threads file the row without a parent is the submission. Every line is decoded into a typed
record, so that a value of the wrong type is an error with a place and not a surprise later on.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import compress
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec
import polars as pl

from dialens.corpus import RecordError
from dialens.engagement.curation._dump import Block
from dialens.engagement.curation._dump_columns import LATEST, comment_columns, submission_columns

_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Key = Annotated[str, msgspec.Meta(min_length=1)]
_Time = int | float | str
_KEYS_NAMED: Final = 12
_TRUTH: Final = ("true", "false")
DELETED_AUTHOR: Final = "[deleted]"
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: no JSON or not a record's, bytes that are no text, brackets too deep."""


class Record(msgspec.Struct, gc=False):
    """What is read of a record; all its other keys are passed over."""

    id: _Key
    parent_id: str | None = None
    link_id: _Key | None = None
    thread: _Key | None = None
    subreddit: str | None = None
    created_utc: _Time | None = None
    date: str | None = None
    retrieved_on: _Time | None = None
    retrieved_utc: _Time | None = None
    score: _Whole | None = None
    score_hidden: bool | None = None
    hide_score: bool | None = None
    controversiality: bool | _Whole | None = None
    edited: bool | _Time | None = None
    author: str | msgspec.UnsetType | None = msgspec.UNSET
    body: str | None = None
    title: str | None = None
    selftext: str | None = None


@dataclass(frozen=True)
class Problem:
    """A line that cannot be read, and why."""

    line: int
    error: RecordError


@dataclass(frozen=True)
class Decoded:
    """The records of a block by kind, as dumped, and the lines that could not be read."""

    comments: pl.DataFrame
    submissions: pl.DataFrame
    problems: list[Problem]


_DECODER = msgspec.json.Decoder(Record)


def decode(block: Block) -> Decoded:
    r"""Decode the lines of a block; blank ones are passed over.

    Examples:
        >>> lines = b'{"id": "c", "link_id": "t3_s", "body": "Hi"}\n{"id": "s", "title": "T"}\n{'
        >>> decoded = decode(Block(0, 1, lines))
        >>> decoded.comments.height, decoded.submissions.height, decoded.problems[0].line
        (1, 1, 3)
    """
    lines = block.lines
    return (
        _decode_columns(block.data, lines)
        or _decode_together(block.data, lines)
        or _decode_one_by_one(block.data.split(b"\n"), block.first_line)
    )


def _decode_columns(data: bytes, lines: int) -> Decoded | None:
    """Columns without a detour through records, if all is as usual; None to look closer."""
    first = data[: data.find(b"\n") + 1] or data
    if not _is_valid(first):
        return None
    record = _DECODER.decode(first)
    numbers = isinstance(record.created_utc, int) and isinstance(record.retrieved_on, int)
    if _is_submission(record):
        submissions = submission_columns(data, lines, _is_valid, number_times=numbers)
        return None if submissions is None else Decoded(_comments([]), submissions, [])
    comments = comment_columns(data, lines, _is_valid, number_times=numbers)
    return None if comments is None else Decoded(comments, _submissions([]), [])


def _is_valid(line: bytes) -> bool:
    try:
        _DECODER.decode(line)
    except _UNREADABLE:
        return False
    return True


def _decode_together(data: bytes, lines: int) -> Decoded | None:
    """All lines together, if nothing is wrong in any; None to look closer."""
    try:
        records = _DECODER.decode_lines(data)
        # Values are found by their brackets, not by lines: there must be as many of each.
        if len(records) != lines:
            return None
        kinds = [_is_submission(record) for record in records]
        return None if None in kinds else _of_kinds(records, kinds, [])
    except (*_UNREADABLE, ValueError, OverflowError):
        return None


def _decode_one_by_one(lines: list[bytes], first_line: int) -> Decoded:
    records: list[Record] = []
    kinds: list[bool | None] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=first_line):
        if not line or line.isspace():
            continue
        try:
            record, kind = _decode_line(line)
        except RecordError as error:
            problems.append(Problem(number, error))
            continue
        records.append(record)
        kinds.append(kind)
    return _of_kinds(records, kinds, problems)


def _of_kinds(
    records: list[Record], is_submission: list[bool | None], problems: list[Problem]
) -> Decoded:
    return Decoded(
        _comments(list(compress(records, [not kind for kind in is_submission]))),
        _submissions(list(compress(records, is_submission))),
        problems,
    )


def _decode_line(line: bytes) -> tuple[Record, bool]:
    """A record and whether it is a submission; what is wrong with the line is a RecordError."""
    try:
        return _typed(line)
    except _UNREADABLE as error:
        try:
            return _typed(_with_whole_characters(line))
        except (*_UNREADABLE, ValueError):
            raise _unreadable(error) from error


def _typed(line: bytes) -> tuple[Record, bool]:
    try:
        record = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise _of_wrong_type(error, line) from error
    for name in ("created_utc", "retrieved_on", "retrieved_utc", "date"):
        value = getattr(record, name)
        try:
            _seconds(value) if name != "date" else _midnight(value)
        except (ValueError, OverflowError) as error:
            raise RecordError("is not a time", field=name, seen=value) from error
    try:
        _is_edited(record)
    except ValueError as error:
        raise RecordError("is not a time", field="edited", seen=record.edited) from error
    kind = _is_submission(record)
    if kind is None:
        raise _neither(msgspec.json.decode(line))
    return record, kind


def _with_whole_characters(line: bytes) -> bytes:
    """A line with `?` for half a surrogate pair, as dumps of cut-off emoji have them.

    msgspec is strict about them where Python's own parser is not.
    """
    return json.dumps(json.loads(line.decode()), ensure_ascii=False).encode(errors="replace")


def _unreadable(error: Exception) -> RecordError:
    if isinstance(error, UnicodeDecodeError):
        return RecordError(
            "holds bytes that are not UTF-8",
            remedy="Save the file as UTF-8, or leave such records out with --on-error skip.",
        )
    why = "brackets within brackets, too deep" if isinstance(error, RecursionError) else error
    return RecordError(
        f"is not JSON ({why})",
        remedy="If it is the last line the file was cut off: fetch it again. Or leave such "
        "records out with --on-error skip.",
    )


def _of_wrong_type(error: msgspec.ValidationError, line: bytes) -> RecordError:
    what, _, place = str(error).partition(" - at `$")
    field = place.strip("`.")
    if "missing required field" in what or not field:
        value = msgspec.json.decode(line)
        return _neither(value) if isinstance(value, dict) else _no_object(value)
    return RecordError(f"has the wrong type: {what[0].lower()}{what[1:]}", field=field)


def _no_object(value: object) -> RecordError:
    kind = "a JSON array" if isinstance(value, list) else f"a JSON {type(value).__name__}"
    return RecordError(
        f"holds {kind} where a record was expected",
        remedy="A dump has one JSON object a line. Is this another kind of file?",
    )


def _is_submission(record: Record) -> bool | None:
    """What a record is; None if it is neither a submission nor a comment in a thread."""
    if record.link_id is not None:
        return False
    if record.title is not None:
        return True
    if record.thread is not None:
        return None if record.body is None else record.parent_id is None
    return False if (record.parent_id or "").startswith("t3_") else None


def _neither(value: dict[str, Any]) -> RecordError:
    seen = ", ".join(list(value)[:_KEYS_NAMED]) + (", …" if len(value) > _KEYS_NAMED else "")
    return RecordError(
        f"is neither a comment nor a submission: its keys are {seen or 'none'}",
        remedy="A comment has id, link_id, parent_id and body; a submission has id and title. "
        "Name Reddit dumps (RC_*, RS_*, PRAW or Arctic Shift files), or leave such records out "
        "with --on-error skip.",
    )


def _seconds(value: _Time | None) -> int | None:
    if value is None:
        return None
    seconds = int(float(value)) if isinstance(value, str) else int(value)
    if not -LATEST < seconds < LATEST:
        raise OverflowError("beyond what a clock shows")
    return seconds


def _is_edited(record: Record) -> bool | None:
    edited = record.edited
    if isinstance(edited, str):
        return bool(float(edited)) if edited not in _TRUTH else edited == _TRUTH[0]
    return None if edited is None else bool(edited)


def _midnight(day: str | None) -> int | None:
    if day is None:
        return None
    parsed = date.fromisoformat(day)
    return int(datetime(parsed.year, parsed.month, parsed.day, tzinfo=UTC).timestamp())


def _comments(records: list[Record]) -> pl.DataFrame:
    threads = _values(records, "link_id")
    if None in threads:
        threads = [record.link_id or record.thread or record.parent_id for record in records]
    return pl.DataFrame(
        [
            *_common(records),
            pl.Series("parent_id", _values(records, "parent_id"), pl.String),
            pl.Series("thread", threads, pl.String),
            _scores(records, hidden="score_hidden"),
            _flags("controversial", _values(records, "controversiality")),
            _flags("edited", list(map(_is_edited, records))),
            pl.Series("body", _values(records, "body"), pl.String),
        ]
    )


def _submissions(records: list[Record]) -> pl.DataFrame:
    # In a plain threads file the submission's title is in `body`.
    titles = [record.body if record.title is None else record.title for record in records]
    return pl.DataFrame(
        [
            *_common(records),
            _scores(records, hidden="hide_score"),
            pl.Series("title", titles, pl.String),
            pl.Series("selftext", _values(records, "selftext"), pl.String),
        ]
    )


def _common(records: list[Record]) -> list[pl.Series]:
    return [
        pl.Series("id", _values(records, "id"), pl.String),
        pl.Series("subreddit", _values(records, "subreddit"), pl.String),
        _times("created", records, "created_utc", _days),
        _times("retrieved", records, "retrieved_on", lambda rest: _values(rest, "retrieved_utc")),
        _authors(_values(records, "author")),
    ]


def _values(records: list[Record], name: str) -> list[Any]:
    return list(map(attrgetter(name), records))


def _times(
    name: str, records: list[Record], field: str, otherwise: Callable[[list[Record]], list[Any]]
) -> pl.Series:
    values = _values(records, field)
    if None in values:
        others = otherwise(records)
        values = [
            other if value is None else value for value, other in zip(values, others, strict=True)
        ]
    seconds = [_seconds(value) for value in values]
    return pl.Series(name, seconds, pl.Int64, strict=True)


def _days(records: list[Record]) -> list[Any]:
    days = _values(records, "date")
    return days if days.count(None) == len(days) else [_midnight(day) for day in days]


def _scores(records: list[Record], *, hidden: str) -> pl.Series:
    scores = _values(records, "score")
    flags = _values(records, hidden)
    if True in flags:  # what is shown of a hidden score is not the score
        scores = [None if flag else score for score, flag in zip(scores, flags, strict=True)]
    return pl.Series("score", scores, pl.Int64)


def _flags(name: str, values: list[Any]) -> pl.Series:
    if values.count(0) == len(values):  # false, too: the usual case by far
        return pl.repeat(False, len(values), eager=True).alias(name)
    return pl.Series(name, [None if value is None else bool(value) for value in values], pl.Boolean)


def _authors(values: list[Any]) -> pl.Series:
    if None in values or msgspec.UNSET in values:
        # Null is how PRAW says that the account is gone; no key at all says nothing.
        gone = {None: DELETED_AUTHOR, msgspec.UNSET: None}
        values = [gone.get(value, value) for value in values]
    return pl.Series("author", values, pl.String)
