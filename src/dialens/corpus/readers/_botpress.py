"""Botpress messages: pages of the messages API, lists of messages, or a CSV of them.

`{"messages": [{conversationId, direction, payload, userId, createdAt}]}` is what the API of
Botpress Cloud answers, newest first; version 12 keeps `{conversationId, authorId, sentOn,
payload}`, where the bot's messages have no author. A conversation is a dialogue, in the order of
the times.
What the bot sends (`outgoing`) is the agent's. Messages without words are no turns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import UNDECODABLE, Source, json_records
from dialens.corpus.readers._cells import first_row, table_rows
from dialens.corpus.readers._fields import moment
from dialens.corpus.readers._posts import ChatReader, Post, in_time

_DECODER = msgspec.json.Decoder(dict[str, Any])
_PAYLOAD = msgspec.json.Decoder(dict[str, Any] | str)
_DIRECTIONS = ("incoming", "outgoing")
_WORDS = ("text", "markdown", "title", "subtitle", "body")


def _recognises(source: Source) -> bool:
    first = source.first
    if first is None:
        return _is_message(first_row(source))
    messages = first.get("messages")
    if isinstance(messages, list):
        whole = {"conversationId": first["id"]} if "id" in first else {}
        return bool(messages) and all(
            isinstance(message, dict) and _is_message({**whole, **message})
            for message in messages[:5]
        )
    return _is_message(first)


def _is_message(message: Mapping[str, Any]) -> bool:
    return (
        "conversationId" in message
        and ("payload" in message or "text" in message)
        and ("sentOn" in message or message.get("direction") in _DIRECTIONS)
    )


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    return iter(
        in_time(_tabled(source, intake) if source.first is None else _listed(source, intake))
    )


def _listed(source: Source, intake: Intake) -> Iterator[Post]:
    for record in json_records(source):
        try:
            if record.problem:
                raise record.problem
            content = _DECODER.decode(record.raw)
            page = content.get("messages", [content])
            if not isinstance(page, list):
                raise RecordError("is wrong: expected a list", field="messages", seen=page)
            inside = "messages" in content
            posts = [
                _post(message, f"messages[{number}]." if inside else "", record.line, content)
                for number, message in enumerate(page)
            ]
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))
            continue
        yield from posts


def _tabled(source: Source, intake: Intake) -> Iterator[Post]:
    for line, row in table_rows(source, intake):
        message: dict[str, Any] = {key: value or None for key, value in row.items()}
        try:
            if row.get("payload", "").lstrip()[:1] in ("{", '"'):
                message["payload"] = _PAYLOAD.decode(row["payload"])
            yield _post(message, "", line, {})
        except UNDECODABLE:
            wrong = RecordError("is not valid JSON", field="payload", seen=row["payload"])
            intake.reject(source.path, line, wrong)
        except RecordError as error:
            intake.reject(source.path, line, error)


def _post(message: Any, place: str, line: int, page: Mapping[str, Any]) -> Post:
    """A message; what it lacks is taken from its page, which may be a whole conversation."""
    if not isinstance(message, dict):
        raise RecordError("is wrong: expected an object", field=place.rstrip("."), seen=message)
    dialog = message.get("conversationId", page.get("id") if place else None)
    if not isinstance(dialog, str | int) or dialog == "":
        raise RecordError("is missing", field=f"{place}conversationId", seen=dialog)
    bot = _is_bot(message, place)
    payload = message.get("payload", message.get("text"))
    if payload is None:
        raise RecordError("is missing", field=f"{place}payload", seen=message.get("id"))
    text = _text(payload, f"{place}payload")
    person = message.get("userId") or message.get("authorId") or "user"
    kind = message.get("type") or (payload.get("type") if isinstance(payload, dict) else None)
    return Post(
        dialog=str(dialog),
        line=line,
        speaker="bot" if bot else str(person),
        text=text or "",
        created_at=moment(message.get("createdAt") or message.get("sentOn")),
        bot=bot,
        aside=text is None,
        meta={"payload": payload} if text is None or kind not in (None, "text") else None,
    )


def _is_bot(message: Mapping[str, Any], place: str) -> bool:
    direction = message.get("direction")
    if direction is None:
        return not message.get("authorId")
    if direction not in _DIRECTIONS:
        raise RecordError(
            "is neither `incoming` nor `outgoing`", field=f"{place}direction", seen=direction
        )
    return bool(direction == "outgoing")


def _text(payload: object, place: str) -> str | None:
    """The words of a message, those of its cards and items too; None if there are none."""
    if isinstance(payload, str):
        return payload
    if not isinstance(payload, dict):
        raise RecordError("is wrong: expected an object", field=place, seen=payload)
    if "text" in payload and not isinstance(payload["text"], str | None):
        raise RecordError("is wrong: expected text", field=f"{place}.text", seen=payload["text"])
    words = [payload[key] for key in _WORDS if isinstance(payload.get(key), str)]
    for number, item in enumerate(payload.get("items") or []):
        inner = item.get("payload", item) if isinstance(item, dict) else item
        words.append(_text(inner, f"{place}.items[{number}]"))
    said = [word for word in words if word is not None]
    return "\n".join(said) if said else None


BOTPRESS = ChatReader(
    name="botpress",
    summary="Botpress messages: JSON pages of its API, lists of messages, or a CSV of them",
    example=(
        '{"messages": [{"id": "m2", "conversationId": "c1", "direction": "outgoing", '
        '"type": "text", "payload": {"text": "A little, I hear."}, "userId": "bot", '
        '"createdAt": "2024-05-01T10:30:05Z"}, {"id": "m1", "conversationId": "c1", '
        '"direction": "incoming", "type": "text", "payload": {"text": "Is it raining?"}, '
        '"userId": "u1", "createdAt": "2024-05-01T10:30:00Z"}], "meta": {}}\n'
    ),
    recognises=_recognises,
    posts=_posts,
    agent=UNKNOWN,
)
