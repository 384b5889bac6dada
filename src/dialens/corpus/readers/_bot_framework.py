"""Transcripts of Microsoft's Bot Framework: lists of activities, as the Emulator saves them.

Activities of one conversation are a dialogue, in their order. Whose role is `bot` is the agent.
Activities other than messages (typing, joining, events) and cards without words are no turns.
"""

from collections.abc import Iterator
from typing import Any

from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._fields import moment, object_in
from dialens.corpus.readers._posts import ChatReader, Post
from dialens.corpus.readers._rows import rows


def _recognises(source: Source) -> bool:
    first = source.first or {}
    author, talk = first.get("from"), first.get("conversation")
    known = (
        isinstance(author, dict) and isinstance(talk, dict) and isinstance(first.get("type"), str)
    )
    return known and bool({"channelId", "recipient", "serviceUrl"} & first.keys())


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    for row in rows(source):
        try:
            if row.problem:
                raise row.problem
            yield _post(row.content, source, row.line)
        except RecordError as error:
            intake.reject(source.path, row.line, error)


def _post(activity: dict[str, Any], source: Source, line: int) -> Post:
    author = object_in(activity, "from")
    name = author.get("name") or author.get("role") or author.get("id")
    if not name:
        raise RecordError("is missing", field="from", seen=activity.get("id"))
    text, shown = activity.get("text"), activity.get("attachments")
    is_message = activity.get("type") == "message"
    if is_message and not shown and not isinstance(text, str):
        raise RecordError("is missing or no text", field="text", seen=text)
    spoken = is_message and isinstance(text, str) and bool(text or not shown)
    answered = activity.get("replyToId")
    return Post(
        str(object_in(activity, "conversation").get("id") or source.stem),
        line,
        str(name),
        text if isinstance(text, str) else str(activity.get("type")),
        moment(activity.get("timestamp")),
        bot=author.get("role") == "bot",
        aside=not spoken,
        reply_to=str(answered) if answered else None,
        meta={"message_id": str(activity["id"])} if activity.get("id") else None,
    )


BOT_FRAMEWORK = ChatReader(
    name="bot-framework",
    summary="Microsoft Bot Framework transcripts: activities, conversation by conversation",
    example=(
        '[{"type": "message", "id": "0", "timestamp": "2024-05-01T10:29:00Z", '
        '"channelId": "emulator", "from": {"id": "b", "name": "Weather", "role": "bot"}, '
        '"conversation": {"id": "c1"}, "text": "Hello!"}, '
        '{"type": "message", "id": "1", "timestamp": "2024-05-01T10:30:00Z", '
        '"channelId": "emulator", "from": {"id": "u", "name": "Ann", "role": "user"}, '
        '"conversation": {"id": "c1"}, "text": "Is it raining?"}, '
        '{"type": "message", "id": "2", "timestamp": "2024-05-01T10:30:05Z", '
        '"channelId": "emulator", "from": {"id": "b", "name": "Weather", "role": "bot"}, '
        '"conversation": {"id": "c1"}, "text": "A little, I hear.", "replyToId": "1"}]\n'
    ),
    recognises=_recognises,
    posts=_posts,
)
