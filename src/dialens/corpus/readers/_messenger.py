"""Facebook's and Instagram's data export in JSON: `message_1.json` of a chat of Messenger.

Each day of a chat is a dialogue, and the export's order, newest first, is turned round. The export
writes every byte of its UTF-8 as a character; that is put right. Pictures, calls and reactions
without words are no turns.
"""

from typing import Any

import msgspec

from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Source, json_values
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._posts import ChatReader, Post, in_time

_MEDIA = ("photos", "videos", "audio_files", "gifs", "sticker", "share", "files", "call_duration")
_MARKS = (b'"participants"', b'"messages"', b'"sender_name"', b'"timestamp_ms"')
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def _recognises(source: Source) -> bool:
    return source.head.lstrip().startswith(b"{") and all(mark in source.head for mark in _MARKS)


def _posts(source: Source, intake: Intake) -> list[Post]:
    chat = _mended(str((source.first or {}).get("title") or source.stem))
    posts = []
    for record in json_values(source, depth=2):
        try:
            if record.problem:
                raise record.problem
            message = _OBJECT.decode(record.raw)
            if message.keys() <= {"name"}:
                continue  # one of the participants
            posts.append(_post(message, chat, record.line))
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))
    return in_time(reversed(posts))


def _post(message: dict[str, Any], chat: str, line: int) -> Post:
    speaker, text = message.get("sender_name"), message.get("content")
    if not isinstance(speaker, str):
        raise RecordError("is missing or no text", field="sender_name", seen=speaker)
    if not isinstance(text, str | None):
        raise RecordError("is wrong: expected a string", field="content", seen=text)
    when = moment(message.get("timestamp_ms"))
    media = [key for key in _MEDIA if key in message]
    return Post(
        f"{chat}-{when.date().isoformat() if when else 'unknown'}",
        line,
        _mended(speaker) or "Deleted account",
        _mended(text or ""),
        when,
        aside=text is None or bool(media and not text) or bool(message.get("is_unsent")),
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
        '{"sender_name": "Ann", "timestamp_ms": 1714559400000, "content": "Is it raining?"}, '
        '{"sender_name": "WeatherBot", "timestamp_ms": 1714559300000, "content": "Hello!"}]}\n'
    ),
    recognises=_recognises,
    posts=_posts,
)
