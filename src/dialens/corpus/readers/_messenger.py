"""Facebook's and Instagram's data export in JSON: `message_1.json` of a chat of Messenger.

Each day of a chat is a dialogue, and the export's order, newest first, is turned round. The export
writes every byte of its UTF-8 as a character; that is put right. Pictures, calls and reactions
without words are no turns.
"""

from collections.abc import Iterator
from typing import Any

from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._posts import ChatReader, Post, in_time
from dialens.corpus.readers._rows import rows

_MEDIA = ("photos", "videos", "audio_files", "gifs", "sticker", "share", "files", "call_duration")


def _recognises(source: Source) -> bool:
    first = source.first or {}
    messages = first.get("messages")
    return (
        isinstance(first.get("participants"), list)
        and isinstance(messages, list)
        and any(isinstance(item, dict) and "sender_name" in item for item in messages)
    )


def _posts(source: Source, intake: Intake) -> list[Post]:
    return in_time(_of_chats(source, intake))


def _of_chats(source: Source, intake: Intake) -> Iterator[Post]:
    for row in rows(source):
        try:
            if row.problem:
                raise row.problem
            messages = row.content.get("messages")
            if not isinstance(messages, list):
                raise RecordError("is missing or no list", field="messages", seen=messages)
            title = _mended(str(row.content.get("title") or source.stem))
            posts = [
                _post(message, title, f"messages[{number}]", row.line)
                for number, message in enumerate(messages)
            ]
        except RecordError as error:
            intake.reject(source.path, row.line, error)
            continue
        yield from reversed(posts)


def _post(message: Any, chat: str, place: str, line: int) -> Post:
    if not isinstance(message, dict):
        raise RecordError("is wrong: expected an object", field=place, seen=message)
    speaker = message.get("sender_name")
    if not isinstance(speaker, str):
        raise RecordError("is missing or no text", field=f"{place}.sender_name", seen=message)
    when = moment(message.get("timestamp_ms"))
    text = message.get("content")
    media = [key for key in _MEDIA if key in message]
    return Post(
        f"{chat}-{when.date().isoformat() if when else 'unknown'}",
        line,
        _mended(speaker) or "Deleted account",
        _mended(text) if isinstance(text, str) else "",
        when,
        aside=not isinstance(text, str) or bool(message.get("is_unsent")),
        meta={"media": media} if media else None,
    )


def _mended(text: str) -> str:
    """A text whose UTF-8 was written byte by byte; others as they are.

    Examples:
        >>> _mended("cafÃ©"), _mended("café")
        ('café', 'café')
    """
    try:
        return text.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text


MESSENGER = ChatReader(
    name="messenger",
    summary="Facebook Messenger's export in JSON: message_1.json; each day is a dialogue",
    example=(
        '{"participants": [{"name": "Ann"}, {"name": "WeatherBot"}], "messages": ['
        '{"sender_name": "WeatherBot", "timestamp_ms": 1714559405000, "content": "A little."}, '
        '{"sender_name": "Ann", "timestamp_ms": 1714559400000, "content": "Is it raining?"}]}\n'
    ),
    recognises=_recognises,
    posts=_posts,
)
