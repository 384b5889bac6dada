"""The data export of claude.ai: `conversations.json` with `chat_messages`, its folder or the zip.

`human` is the partner, `assistant` the agent, called by its `model` where the file names one and
`Claude` otherwise. The turn's text is what its content says in words; thoughts, tool calls and
their results stand in `meta`, and so do attachments and files. Where messages name their parents,
what is read is the branch that ends in the current message, else in the last one.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._bundles import BundledReader
from dialens.corpus.readers._fields import moment

_ROLES = {"human": "partner", "assistant": "agent"}
_ABOUT = ("name", "summary", "model")
_KEPT = ("attachments", "files")


class _Message(msgspec.Struct):
    sender: str
    text: str = ""
    content: list[dict[str, Any]] | None = None
    uuid: str | None = None
    parent_message_uuid: str | None = None
    created_at: str | None = None
    attachments: list[Any] = []
    files: list[Any] = []


class _Conversation(msgspec.Struct):
    chat_messages: list[_Message]
    uuid: str | None = None
    name: str | None = None
    summary: str | None = None
    model: str | None = None
    current_leaf_message_uuid: str | None = None


_DECODER = msgspec.json.Decoder(_Conversation)


def _recognises(source: Source) -> bool:
    return isinstance((source.first or {}).get("chat_messages"), list)


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    talk = _DECODER.decode(record.raw)
    branch = _branch(talk)
    agent = talk.model or "Claude"
    turns: list[Turn] = []
    aside: list[dict[str, object]] = []
    for number, message in enumerate(talk.chat_messages):
        if message.sender not in _ROLES:
            raise RecordError(
                "is not a known sender",
                field=f"chat_messages[{number}].sender",
                seen=message.sender,
                remedy="Known senders: human, assistant. Leave such records out with "
                "--on-error skip.",
            )
        if number not in branch:
            continue
        role = _ROLES[message.sender]
        text, other = _text(message)
        extra: dict[str, object] = {
            key: getattr(message, key) for key in _KEPT if getattr(message, key)
        }
        if other:
            extra["content"] = other
        if not text and (other or extra):
            aside.append({"sender": message.sender, **extra})
            continue
        meta = {**({"before": aside} if aside else {}), **extra}
        speaker = agent if role == "agent" else "human"
        turns.append(Turn(speaker, role, text, moment(message.created_at), meta=meta or None))
        aside = []
    if not turns:
        return  # opened and never used
    if aside:
        turns[-1].meta = {**(turns[-1].meta or {}), "after": aside}
    about = {key: getattr(talk, key) for key in _ABOUT if getattr(talk, key)}
    if about:
        turns[0].meta = {**(turns[0].meta or {}), "record": about}
    yield Dialogue(source.stem, agent, talk.uuid or f"{source.stem}-{record.number}", turns)


def _branch(talk: _Conversation) -> set[int]:
    """The places of the messages on the branch that was read last."""
    messages = talk.chat_messages
    places = {message.uuid: number for number, message in enumerate(messages) if message.uuid}
    parents = [message.parent_message_uuid for message in messages]
    if len(places) < len(messages) or all(parent is None for parent in parents):
        return set(range(len(messages)))
    last = places.get(talk.current_leaf_message_uuid or "", len(messages) - 1)
    branch: set[int] = set()
    place: int | None = last
    while place is not None and place not in branch:
        branch.add(place)
        place = places.get(parents[place] or "")
    return branch


def _text(message: _Message) -> tuple[str, list[dict[str, Any]]]:
    """The words of a message, and its parts that are none."""
    if not message.content:
        return message.text, []
    spoken = [part for part in message.content if part.get("type") == "text"]
    other = [part for part in message.content if part.get("type") != "text"]
    return "\n\n".join(str(part.get("text") or "") for part in spoken), other


CLAUDE = BundledReader(
    RecordReader(
        name="claude",
        summary="The data export of claude.ai: conversations.json, its folder or the zip",
        example=(
            '[{"uuid": "c1", "name": "Rain", "created_at": "2024-05-01T10:30:00Z", '
            '"chat_messages": [{"uuid": "m1", "sender": "human", "text": "Is it raining?", '
            '"created_at": "2024-05-01T10:30:00Z"}, {"uuid": "m2", "sender": "assistant", '
            '"text": "A little, I hear.", "created_at": "2024-05-01T10:30:05Z"}]}]\n'
        ),
        recognises=_recognises,
        parse=_parse,
    ),
    pattern=r"conversations(-\d+)?\.json",
)
