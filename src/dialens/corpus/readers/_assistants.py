"""Threads of OpenAI's Assistants API: messages one by one, or pages of them, newest first.

A message is `{"object": "thread.message", "thread_id": …, "created_at": …, "role": …, "content":
[{"type": "text", "text": {"value": …}}]}`. A thread is a dialogue, in the order of the times,
whatever the order of the file. The agent is the assistant that replied most (`assistant_id`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dialens.corpus._intake import RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._fields import text_in
from dialens.corpus.readers._messages import turns_of
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._rows import Row, rows

_OBJECT = "thread.message"


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    return any(message.get("object") == _OBJECT for message in _messages(source.first or {}))


def _messages(content: dict[str, Any]) -> list[dict[str, Any]]:
    page = content.get("data", content.get("messages"))
    listed = page if isinstance(page, list) else [content]
    return [message for message in listed if isinstance(message, dict)]


def _threads(source: Source) -> Iterator[Row]:
    """A row for each thread; what cannot be decoded is passed on."""
    threads: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    known: dict[str, int] = {}
    for row in rows(source):
        if row.problem:
            yield row
            continue
        for message in _messages(row.content):
            own = text_in(message, "id")
            if own is not None and own in known:
                again = f"is a duplicate: the same message already stands in line {known[own]}"
                yield Row(row.line, {}, RecordError(again, field="id", seen=own), row.number)
                continue
            if own is not None:
                known[own] = row.line
            name = str(message.get("thread_id") or f"{source.stem}-{row.number}")
            threads.setdefault(name, (row.line, []))[1].append(message)
    for number, (name, (line, messages)) in enumerate(threads.items(), 1):
        yield Row(line, {"thread_id": name, "messages": messages}, number=number)


def _parse(row: Row, source: Source) -> Iterable[Item]:
    given = row.content["messages"]
    messages = _in_order(given)
    try:
        turns = turns_of(messages, field="data")
    except RecordError:
        turns_of(given, field="data")  # its place in the file, if it is another
        raise
    if not turns:
        raise RecordError("holds no message of a user or an assistant", field="data")
    for turn in turns:
        about = (turn.meta or {}).get("message")
        turn.created_at = moment(about.get("created_at")) if isinstance(about, dict) else None
    replied = Counter(
        message["assistant_id"]
        for message in messages
        if message.get("role") == "assistant" and isinstance(message.get("assistant_id"), str)
    )
    yield Call(
        turns,
        len(turns),
        thread=row.content["thread_id"],
        model=replied.most_common(1)[0][0] if replied else None,
    )


def _in_order(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The oldest first; those of one second in the order of the conversation."""
    times = [
        message["created_at"]
        for message in messages
        if isinstance(message.get("created_at"), int | float)
    ]
    if len(times) < len(messages):
        return messages
    ordered = messages[::-1] if times[0] > times[-1] else messages
    return sorted(ordered, key=lambda message: message["created_at"])


ASSISTANTS = CallReader(
    name="assistants",
    summary="Threads of OpenAI's Assistants API: messages or pages of them, newest first or last",
    example=(
        '{"object": "list", "data": [{"id": "m2", "object": "thread.message", "created_at": 2, '
        '"thread_id": "t1", "role": "assistant", "assistant_id": "asst_1", "content": '
        '[{"type": "text", "text": {"value": "Hello, how are you?", "annotations": []}}]}, '
        '{"id": "m1", "object": "thread.message", "created_at": 1, "thread_id": "t1", '
        '"role": "user", "content": [{"type": "text", "text": {"value": "Hello!"}}]}]}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
    rows=_threads,
    joint=False,
)
