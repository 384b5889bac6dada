"""Discord channels as DiscordChatExporter writes them, in JSON or CSV.

Each day of a channel is a dialogue. Authors whom Discord marks as bots are agents; the CSV has no
such mark. Joins, pins, calls, and messages with nothing but attachments or embeds are no turns.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from dialens.corpus._intake import Intake
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Source, json_values
from dialens.corpus.readers._cells import header_of, table_rows
from dialens.corpus.readers._fields import moment
from dialens.corpus.readers._posts import ChatReader, Post, said_before_messages

_SPOKEN = ("Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "0", "19", "20", "23")
_COLUMNS = ("AuthorID", "Author", "Date", "Content")
_CSV_TIMES = ("%m/%d/%Y %I:%M %p", "%m/%d/%Y %H:%M", "%d-%b-%y %I:%M %p", "%d/%m/%Y %H:%M")
_KEPT = ("attachments", "embeds", "stickers", "reactions")


class _Author(msgspec.Struct):
    id: str | int
    name: str
    nickname: str | None = None
    isBot: bool = False


class _Reference(msgspec.Struct):
    messageId: str | int | None = None


class _Message(msgspec.Struct):
    id: str | int
    timestamp: str
    author: _Author
    content: str
    type: str | int = "Default"
    reference: _Reference | None = None
    attachments: list[Any] = []
    embeds: list[Any] = []
    stickers: list[Any] = []
    reactions: list[Any] = []


_MESSAGE = msgspec.json.Decoder(_Message)


def _recognises(source: Source) -> bool:
    return _about(source) is not None or _is_table(source)


def _about(source: Source) -> dict[str, Any] | None:
    """What a JSON export says of its channel, before the messages."""
    about = said_before_messages(source)
    return about if about is not None and {"guild", "channel"} <= about.keys() else None


def _is_table(source: Source) -> bool:
    return tuple(header_of(source)[:4]) == _COLUMNS


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    if _is_table(source):
        yield from _table(source, intake)
        return
    channel = (_about(source) or {}).get("channel")
    name = str((channel.get("name") if isinstance(channel, dict) else None) or source.stem)
    for record in json_values(source, depth=2):
        try:
            if record.problem:
                raise record.problem
            if b'"author"' not in record.raw and b'"content"' not in record.raw:
                continue  # part of what is said of the server
            yield _post(_MESSAGE.decode(record.raw), name, record.line)
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))


def _post(message: _Message, channel: str, line: int) -> Post:
    extra: dict[str, object] = {
        key: getattr(message, key) for key in _KEPT if getattr(message, key)
    }
    silent = not message.content and bool(extra)
    answered = message.reference.messageId if message.reference else None
    return Post(
        dialog=f"{channel}-{message.timestamp[:10]}",
        line=line,
        speaker=message.author.nickname or message.author.name,
        text=message.content,
        created_at=moment(message.timestamp),
        bot=message.author.isBot,
        aside=silent or str(message.type) not in _SPOKEN,
        reply_to=None if answered is None else str(answered),
        meta={"message_id": str(message.id), **extra},
    )


def _table(source: Source, intake: Intake) -> Iterator[Post]:
    for line, row in table_rows(source, intake):
        when = _csv_time(row["Date"])
        attached = row.get("Attachments") or ""
        yield Post(
            dialog=f"{source.stem}-{when.date().isoformat() if when else 'unknown'}",
            line=line,
            speaker=row["Author"].removesuffix("#0000"),
            text=row["Content"],
            created_at=when,
            aside=bool(attached and not row["Content"]),
            meta={"attachments": attached} if attached else None,
        )


def _csv_time(text: str) -> datetime | None:
    for form in _CSV_TIMES:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return moment(text)


DISCORD = ChatReader(
    name="discord",
    summary="A Discord channel as DiscordChatExporter writes it, JSON or CSV",
    example="""{
  "guild": {"id": "1", "name": "Weather"},
  "channel": {"id": "2", "type": "GuildTextChat", "name": "help"},
  "exportedAt": "2024-05-02T08:00:00+00:00",
  "messages": [
    {"id": "9", "type": "Default", "timestamp": "2024-05-01T10:29:00+00:00",
     "content": "Good morning!", "author": {"id": "7", "name": "cloud", "isBot": true}},
    {"id": "10", "type": "Default", "timestamp": "2024-05-01T10:30:00+00:00",
     "content": "Is it raining?", "author": {"id": "42", "name": "ann", "isBot": false}},
    {"id": "11", "type": "Reply", "timestamp": "2024-05-01T10:30:05+00:00",
     "content": "A little, I hear.", "author": {"id": "7", "name": "cloud", "isBot": true},
     "reference": {"messageId": "10"}}
  ],
  "messageCount": 3
}
""",
    recognises=_recognises,
    posts=_posts,
)
