"""Telegram Desktop's export in JSON: `result.json` of one chat, or of all chats.

Each day of a chat is a dialogue. In a chat with a bot (`bot_chat`) the bot is the agent; a message
sent `via_bot` is a person's. A text that is a list of formatted pieces is joined. Events, stickers,
calls and pictures without a caption are no turns.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Record, Source, json_values
from dialens.corpus.readers._bundles import files_of
from dialens.corpus.readers._fields import moment
from dialens.corpus.readers._posts import ChatReader, Post, said_before_messages

_CHAT_TYPES = (
    "personal_chat",
    "bot_chat",
    "saved_messages",
    "replies",
    "verify_codes",
    "private_group",
    "private_supergroup",
    "public_supergroup",
    "private_channel",
    "public_channel",
)
_TYPE = re.compile(rb'"type"\s*:\s*"(%s)"' % "|".join(_CHAT_TYPES).encode())
_ALL_CHATS = re.compile(
    rb'\A\s*\{.*("chats"\s*:\s*\{.{0,2000}?"list"\s*:\s*\[\s*[{\]]|"personal_information"\s*:\s*\{)',
    re.DOTALL,
)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FILES = r"result\.json"


def _recognises(source: Source) -> bool:
    return any(map(_recognises_file, files_of(source, _FILES)))


def _recognises_file(source: Source) -> bool:
    if _one_chat(source) is not None:
        return True
    return _ALL_CHATS.match(source.head) is not None and (
        _TYPE.search(source.head) is not None or b'"contacts"' in source.head
    )


def _one_chat(source: Source) -> dict[str, Any] | None:
    """What the export of a single chat says of it, before the messages."""
    about = said_before_messages(source)
    return about if about is not None and about.get("type") in _CHAT_TYPES else None


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    for file in files_of(source, _FILES, intake):
        about = _one_chat(file)
        if about is not None:
            yield from _chat(about, json_values(file, depth=2), file, intake)
        else:
            yield from _all_chats(file, intake)


def _all_chats(source: Source, intake: Intake) -> Iterator[Post]:
    for record in json_values(source, depth=3):
        try:
            if record.problem:
                raise record.problem
            if b'"messages"' not in record.raw:
                continue  # contacts and sessions stand in lists of their own
            chat = _RAW.decode(record.raw)
            messages = msgspec.json.decode(chat["messages"], type=list[msgspec.Raw])
            about: dict[str, Any] = {
                key: msgspec.json.decode(chat[key]) for key in ("name", "type", "id") if key in chat
            }
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))
            continue
        yield from _chat(about, _inside(record, messages), source, intake)


def _inside(record: Record, messages: list[msgspec.Raw]) -> Iterator[Record]:
    """The messages of a chat as records, with the lines on which they stand."""
    at, line = 0, record.line
    for number, raw in enumerate(map(bytes, messages), 1):
        place = record.raw.find(raw, at)
        line += record.raw.count(b"\n", at, place)
        at = place
        yield Record(line, raw, None, number)


def _chat(
    about: Mapping[str, Any], records: Iterator[Record], source: Source, intake: Intake
) -> Iterator[Post]:
    name = about.get("name") or about.get("id") or source.stem
    bot = f"user{about.get('id')}" if about.get("type") == "bot_chat" else None
    for record in records:
        try:
            if record.problem:
                raise record.problem
            message = _OBJECT.decode(record.raw)
            if "id" not in message and "type" not in message:
                continue  # no message: `json_values` gives whatever stands at that depth
            yield _post(message, str(name), bot, str(about.get("name") or ""), record.line)
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))


def _post(message: dict[str, Any], chat: str, bot: str | None, bot_name: str, line: int) -> Post:
    when = moment(message.get("date_unixtime")) or moment(message.get("date"))
    # The day is the one of the user's own clock, which `date` shows.
    day = str(message.get("date") or when or "unknown")[:10]
    dialog = f"{chat}-{day}"
    if message.get("type") != "message":
        what = str(message.get("action") or message.get("type"))
        return Post(dialog, line, str(message.get("actor") or "Telegram"), what, when, aside=True)
    if "text" not in message:
        raise RecordError("is missing", field="text", seen=message.get("id"))
    text = _text(message["text"])
    media = message.get("media_type") or next(
        (
            kind
            for kind in ("photo", "file", "poll", "location_information", "contact_information")
            if kind in message
        ),
        None,
    )
    speaker = str(message.get("from") or message.get("from_id") or "Deleted Account")
    is_bot = bot is not None and (message.get("from_id") == bot or speaker == bot_name)
    meta = {
        **({"media": media} if media else {}),
        **({"via_bot": message["via_bot"]} if message.get("via_bot") else {}),
        **({"forwarded_from": message["forwarded_from"]} if message.get("forwarded_from") else {}),
        **({"message_id": message["id"]} if "id" in message else {}),
    }
    answered = message.get("reply_to_message_id")
    return Post(
        dialog,
        line,
        speaker,
        text,
        when,
        bot=is_bot,
        aside=bool(media and not text),
        reply_to=None if answered is None else str(answered),
        meta=meta or None,
    )


def _text(content: object) -> str:
    """A text, or its formatted pieces one after another."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RecordError("is wrong: expected a string or a list", field="text", seen=content)
    pieces = []
    for number, piece in enumerate(content):
        words = piece.get("text") if isinstance(piece, dict) else piece
        if not isinstance(words, str):
            raise RecordError("is wrong: expected text", field=f"text[{number}]", seen=piece)
        pieces.append(words)
    return "".join(pieces)


TELEGRAM = ChatReader(
    name="telegram",
    summary="Telegram Desktop's export in JSON: result.json of one chat or of all, or its folder",
    example="""{
 "name": "Weather",
 "type": "bot_chat",
 "id": 7001,
 "messages": [
  {"id": 1, "type": "message", "date": "2024-05-01T10:29:00", "date_unixtime": "1714559340",
   "from": "Weather", "from_id": "user7001", "text": "Good morning!"},
  {"id": 2, "type": "message", "date": "2024-05-01T10:30:00", "date_unixtime": "1714559400",
   "from": "Ann", "from_id": "user42", "text": "Is it raining?"},
  {"id": 3, "type": "message", "date": "2024-05-01T10:30:05", "date_unixtime": "1714559405",
   "from": "Weather", "from_id": "user7001", "text": "A little, I hear."}
 ]
}
""",
    recognises=_recognises,
    posts=_posts,
)
