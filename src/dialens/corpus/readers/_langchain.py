"""Messages of LangChain: what `messages_to_dict`, `dumpd`, `dumps` and `model_dump` write.

A list of messages is a dialogue, whether it is the whole file, a line, an element of a list or
stands under `messages`, or under `values.messages` as in the state of a thread of LangGraph. Rows
of a message store (`session_id` with one `message` each) are put
together by session. The agent is the model named in a reply's `response_metadata`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dialens.corpus._dialogue import Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import UNDECODABLE, Record, Source, json_records, lines
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._exchanges import exchange_of
from dialens.corpus.readers._messages import name_in
from dialens.corpus.readers._payloads import decoded, is_langchain, messages_in
from dialens.corpus.readers._rows import Row, columns, rows

_LIST = "messages"
_THREADS = ("thread_id", "session_id", "conversation_id")
_SESSIONS = ("session_id", "sessionId", "SessionId", "thread_id")
_STORED = ("message", "History", "history")
_LOOKED_AT = 20


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    first = source.first
    if first is not None:
        return _is_conversation(first)
    if source.head.lstrip()[:1] == b"[":
        return any(row.problem is None and _is_conversation(row.content) for row in _some(source))
    names = columns(source)
    cells = any(name in names for name in _SESSIONS) and any(name in names for name in _STORED)
    return cells and any(_is_conversation(row.content) for row in _some(source))


def _some(source: Source) -> Iterator[Row]:
    for number, row in enumerate(_rows(source)):
        if number == _LOOKED_AT:
            return
        yield row


def _is_conversation(content: dict[str, Any]) -> bool:
    content = _state_of(content)
    if is_langchain(content):
        return True
    stored = decoded(content.get(next((key for key in _STORED if key in content), "")))
    if isinstance(stored, dict) and any(key in content for key in _SESSIONS):
        return is_langchain(stored)
    listed = decoded(content.get(_LIST, stored))
    return isinstance(listed, list) and any(
        isinstance(item, dict) and is_langchain(item) for item in listed
    )


def _state_of(content: dict[str, Any]) -> dict[str, Any]:
    """The state of a thread of LangGraph (`values.messages`) as a record with messages."""
    values = content.get("values")
    if _LIST in content or not isinstance(values, dict) or _LIST not in values:
        return content
    rest = {key: value for key, value in content.items() if key != "values"}
    return {**rest, _LIST: values[_LIST]}


def _rows(source: Source) -> Iterator[Row]:
    """Rows that each hold one list of messages."""
    start = source.head.lstrip()
    if not start.startswith(b"["):
        return _gathered(rows(source))
    by_line = _is_list(start.split(b"\n", 1)[0]) and b"\n[" in start
    return _gathered(_values(lines(source) if by_line else json_records(source)))


def _values(records: Iterable[Record]) -> Iterator[Row]:
    for record in records:
        try:
            if record.problem:
                raise record.problem
            value = msgspec.json.decode(record.raw)
        except UNREADABLE as error:
            yield Row(record.line, {}, as_record_error(error, record), record.number)
            continue
        content = value if isinstance(value, dict) else {_LIST: value}
        yield Row(record.line, content, number=record.number)


def _gathered(parts: Iterable[Row]) -> Iterator[Row]:
    """Messages that stand one by one are brought together: of a session, or of the whole file."""
    sessions: dict[str | None, tuple[Row, list[Any]]] = {}
    broken = False
    for row in parts:
        stored = next((key for key in _STORED if key in row.content), None)
        session = name_in(row.content, _SESSIONS) if stored else None
        alone = is_langchain(row.content)
        broken = broken or row.problem is not None
        if row.problem or not (alone or (stored and session)):
            yield row
            continue
        _, messages = sessions.setdefault(session, (row, []))
        message = row.content if alone else decoded(row.content[stored or ""])
        messages += message if isinstance(message, list) else [message]
    for session, (row, messages) in sessions.items():
        if session is None and broken:  # half of a conversation is no conversation
            continue
        content = {_LIST: messages} if session is None else {"id": session, _LIST: messages}
        yield Row(row.line, content, number=row.number)


def _is_list(raw: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(raw), list)
    except UNDECODABLE:
        return False


def _parse(row: Row, source: Source) -> Iterable[Item]:
    content = _state_of(row.content)
    if _LIST not in content:
        raise RecordError("is missing", field=_LIST, seen=", ".join(content))
    found = messages_in(decoded(content[_LIST]), role="user", path=_LIST)
    if found is None:
        raise RecordError("holds no message", field=_LIST, seen=content[_LIST])
    said = exchange_of(found, None).turns
    name = name_in(content, ("id",))
    yield Call(
        said,
        len(said),
        id=name,
        thread=name_in(content, _THREADS) or name or f"{source.stem}-{row.number}",
        model=_model(said) or name_in(content, ("model",)),
        kept={key: value for key, value in content.items() if key not in (_LIST, "id", *_THREADS)},
    )


def _model(turns: Iterable[Turn]) -> str | None:
    for turn in turns:
        message = (turn.meta or {}).get("message")
        about = message.get("response_metadata") if isinstance(message, dict) else None
        if isinstance(about, dict):
            name = name_in(about, ("model_name", "model"))
            if name:
                return name
    return None


LANGCHAIN = CallReader(
    name="langchain",
    summary="LangChain messages: messages_to_dict, dumps, model_dump; lists, JSONL, message stores",
    example=(
        '{"id": "d1", "messages": [{"type": "human", "data": {"content": "Hello!"}}, '
        '{"type": "ai", "data": {"content": "Hello, how are you?", '
        '"response_metadata": {"model_name": "bot-1"}}}]}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
    rows=_rows,
    joint=False,
)
