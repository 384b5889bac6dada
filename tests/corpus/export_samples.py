"""The sample conversations as chat apps, bot platforms and public data sets export them."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable
from typing import Any

from tests.corpus.samples import (
    TALKS,
    Break,
    Record,
    Sample,
    Talk,
    array_of,
    json_sample,
    lines_of,
)

_WHO = {"partner": "Ann", "agent": "Helper"}
_BASE = 1714557600  # 2024-05-01 10:00 UTC


def _said(talks: tuple[Talk, ...]) -> list[tuple[int, int, str, str, str]]:
    """The number of the talk, the time, the speaker's role and name, the text of every turn."""
    return [
        (number, _BASE + number * 86_400 + place, role, _WHO[role], text)
        for number, talk in enumerate(talks)
        for place, (role, text) in enumerate(zip(talk.roles, talk.texts, strict=True))
    ]


def _chatgpt(talk: Talk) -> Record:
    mapping: Record = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    authors = {"partner": "user", "agent": "assistant"}
    for place, (role, text) in enumerate(zip(talk.roles, talk.texts, strict=True)):
        mapping[f"n{place}"] = {
            "id": f"n{place}",
            "parent": f"n{place - 1}" if place else "root",
            "children": [f"n{place + 1}"] if place + 1 < len(talk.texts) else [],
            "message": {
                "author": {"role": authors[role]},
                "content": {"content_type": "text", "parts": [text]},
                "recipient": "all",
            },
        }
    leaf = f"n{len(talk.texts) - 1}"
    return {"conversation_id": talk.id, "mapping": mapping, "current_node": leaf}


def _claude(talk: Talk) -> Record:
    senders = {"partner": "human", "agent": "assistant"}
    return {
        "uuid": talk.id,
        "name": "",
        "chat_messages": [
            {"sender": senders[role], "text": text, "content": [{"type": "text", "text": text}]}
            for role, text in zip(talk.roles, talk.texts, strict=True)
        ],
    }


def _rasa(talk: Talk) -> Record:
    kinds = {"partner": "user", "agent": "bot"}
    events = [
        {"event": kinds[role], "timestamp": _BASE + place, "text": text}
        for place, (role, text) in enumerate(zip(talk.roles, talk.texts, strict=True))
    ]
    listen = {"event": "action", "name": "action_listen", "timestamp": _BASE - 1}
    return {"sender_id": talk.id, "slots": {}, "events": [listen, *events]}


def _oasst(talk: Talk) -> Record:
    roles = {"partner": "prompter", "agent": "assistant"}
    below: list[Record] = []
    for place in range(len(talk.texts) - 1, -1, -1):
        name = f"{talk.id}.{place}" if place else talk.id
        message = {
            "message_id": name,
            "role": roles[talk.roles[place]],
            "text": talk.texts[place],
            "replies": below,
        }
        below = [message]
    return {"message_tree_id": talk.id, "tree_state": "ready_for_export", "prompt": below[0]}


def _dialogflow(talk: Talk) -> Record:
    pairs = list(zip(talk.texts[::2], talk.texts[1::2], strict=True))
    return {
        "name": f"projects/p/locations/global/agents/a/conversations/{talk.id}",
        "interactions": [
            {
                "request": {"queryInput": {"text": {"text": asked}, "languageCode": "en"}},
                "response": {"queryResult": {"responseMessages": [{"text": {"text": [said]}}]}},
                "createTime": f"2024-05-01T10:00:{place:02}Z",
            }
            for place, (asked, said) in enumerate(pairs)
        ],
    }


def _botpress(talks: tuple[Talk, ...]) -> list[Record]:
    directions = {"partner": "incoming", "agent": "outgoing"}
    return [
        {
            "id": f"m{when}",
            "conversationId": talks[number].id,
            "direction": directions[role],
            "userId": name,
            "payload": {"type": "text", "text": text},
            "createdAt": f"2024-05-0{number + 1}T10:00:{when % 86_400 % 60:02}Z",
        }
        for number, when, role, name, text in _said(talks)
    ]


def _telegram(talks: tuple[Talk, ...]) -> list[Record]:
    ids = {"partner": "user42", "agent": "user7"}
    return [
        {
            "id": when,
            "type": "message",
            "date": f"2024-05-0{number + 1}T10:00:00",
            "date_unixtime": str(when),
            "from": name,
            "from_id": ids[role],
            "text": text,
        }
        for number, when, role, name, text in _said(talks)
    ]


def _telegram_file(messages: list[Record]) -> bytes:
    about = '{\n "name": "Helper",\n "type": "bot_chat",\n "id": 7,\n "messages": '
    return about.encode() + array_of(messages).rstrip() + b"\n}\n"


def _messenger(talks: tuple[Talk, ...]) -> list[Record]:
    messages = [
        {"sender_name": name, "timestamp_ms": 1000 * when, "content": text}
        for _, when, role, name, text in _said(talks)
    ]
    return [
        {**message, "sender_name": "HelperBot" if message["sender_name"] == "Helper" else "Ann"}
        for message in reversed(messages)
    ]


def _messenger_file(messages: list[Record]) -> bytes:
    about = '{\n "participants": [{"name": "Ann"}, {"name": "HelperBot"}],\n "messages": '
    return about.encode() + array_of(messages).rstrip() + b"\n}\n"


def _messenger_break(change: Callable[[Record], Any], field: str) -> Callable[[], Break]:
    return _message_break(_messenger, _messenger_file, change, 4, field)


def _bot_framework(talks: tuple[Talk, ...]) -> list[Record]:
    roles = {"partner": "user", "agent": "bot"}
    return [
        {
            "type": "message",
            "id": str(when),
            "channelId": "emulator",
            "from": {"id": name, "name": name, "role": roles[role]},
            "conversation": {"id": talks[number].id},
            "text": text,
        }
        for number, when, role, name, text in _said(talks)
    ]


def _discord(talks: tuple[Talk, ...]) -> list[Record]:
    return [
        {
            "id": str(when),
            "type": "Default",
            "timestamp": f"2024-05-0{number + 1}T10:00:00+00:00",
            "content": text,
            "author": {"id": name, "name": name, "isBot": role == "agent"},
        }
        for number, when, role, name, text in _said(talks)
    ]


def _discord_file(messages: list[Record]) -> bytes:
    about = '{\n "guild": {"id": "1"},\n "channel": {"id": "2", "name": "talks"},\n "messages": '
    return about.encode() + array_of(messages).rstrip() + b'\n,"messageCount": 8}\n'


def _slack(talks: tuple[Talk, ...]) -> list[Record]:
    return [
        {
            "type": "message",
            "ts": f"{when}.000100",
            "thread_ts": f"{_BASE + number * 86_400}.000100",
            "text": text,
            **({"bot_id": "B1", "username": name} if role == "agent" else {"user": "U1"}),
        }
        for number, when, role, name, text in _said(talks)
    ]


def _whatsapp(talks: tuple[Talk, ...]) -> list[str]:
    names = {"partner": "Ann", "agent": "Help Bot"}
    return [
        f"0{number + 1}/05/2024, 10:00 - {names[role]}: {text}"
        for number, _, role, _, text in _said(talks)
    ]


def _text_lines(rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _whatsapp_break() -> Break:
    rows = _whatsapp(TALKS)
    return Break(_text_lines(["no time before this", *rows]), 1, "time", len(TALKS))


_COLUMNS = ("id", "model_a", "model_b", "prompt", "response_a", "response_b")
_WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")


def _battles(talks: tuple[Talk, ...]) -> list[list[str]]:
    rows = []
    for talk in talks:
        asked = json.dumps(talk.texts[::2], ensure_ascii=False)
        said = json.dumps(talk.texts[1::2], ensure_ascii=False)
        rows.append([talk.id, "bot-1", "bot-2", asked, said, said, "0", "1", "0"])
    return rows


def _cells(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[*_COLUMNS, *_WINNERS], *rows])
    return text.getvalue().encode()


def _battle_break(column: int, value: str, field: str) -> Callable[[], Break]:
    def build() -> Break:
        rows = _battles(TALKS)
        rows[1][column] = value
        return Break(_cells(rows), 3, field, len(TALKS) - 1)

    return build


def _message_break(
    messages: Callable[[tuple[Talk, ...]], list[Record]],
    pack: Callable[[list[Record]], bytes],
    change: Callable[[Record], Any],
    line: int,
    field: str,
) -> Callable[[], Break]:
    """The second message is broken; every talk has others that survive."""

    def build() -> Break:
        told = [copy.deepcopy(message) for message in messages(TALKS)]
        change(told[2])
        return Break(pack(told), line + 2, field, len(TALKS))

    return build


def _message_sample(
    name: str,
    file: str,
    messages: Callable[[tuple[Talk, ...]], list[Record]],
    pack: Callable[[list[Record]], bytes],
    *,
    first: int,
    text: str,
    ids: tuple[str, ...],
    **options: Any,
) -> Sample:
    """A format of messages that belong to chats; `first` is the line of the first of them."""
    outer, _, inner = text.partition(".")

    def wrong(message: Record) -> None:
        target = message[outer] if inner else message
        target[inner or outer] = {"no": "text"}

    def missing(message: Record) -> None:
        del message[outer]

    return Sample(
        name,
        file,
        lambda talks: pack(messages(talks)),
        has_ids=False,
        ids=ids,
        breaks={
            "wrong type": _message_break(messages, pack, wrong, first, text),
            "missing field": _message_break(messages, pack, missing, first, outer),
        },
        **options,
    )


_DAYS = tuple(f"2024-05-0{day}" for day in (1, 2, 3))

EXPORT_SAMPLES = (
    json_sample(
        "chatgpt",
        "conversations.json",
        _chatgpt,
        text=("mapping", "n1", "message", "content"),
        needed=("mapping",),
        role=("mapping", "n1", "message", "author", "role"),
        array=True,
    ),
    json_sample(
        "claude",
        "conversations.json",
        _claude,
        text=("chat_messages", 1, "text"),
        needed=("chat_messages",),
        role=("chat_messages", 0, "sender"),
        array=True,
    ),
    json_sample("rasa", "trackers.jsonl", _rasa, text=("events", 1, "text")),
    json_sample(
        "oasst",
        "trees.jsonl",
        _oasst,
        text=("prompt", "replies", 0, "text"),
        role=("prompt", "role"),
    ),
    json_sample(
        "dialogflow",
        "history.jsonl",
        _dialogflow,
        text=("interactions", 0, "request", "queryInput", "text", "text"),
        needed=("interactions",),
        has_ids=False,
        ids=tuple(talk.id for talk in TALKS),
    ),
    _message_sample(
        "botpress",
        "messages.jsonl",
        _botpress,
        lines_of,
        first=1,
        text="payload.text",
        ids=tuple(talk.id for talk in TALKS),
    ),
    _message_sample(
        "bot-framework",
        "chat.transcript",
        _bot_framework,
        array_of,
        first=2,
        text="text",
        ids=tuple(talk.id for talk in TALKS),
    ),
    Sample(
        "messenger",
        "message_1.json",
        lambda talks: _messenger_file(_messenger(talks)),
        has_ids=False,
        ids=tuple(f"message_1-{day}" for day in _DAYS),
        breaks={
            "wrong type": _messenger_break(lambda one: one.update(content={"no": 1}), "content"),
            "missing field": _messenger_break(lambda one: one.pop("sender_name"), "sender_name"),
        },
        truncation_shows=False,  # what is left is what was said last
    ),
    _message_sample(
        "telegram",
        "result.json",
        _telegram,
        _telegram_file,
        first=6,
        text="text",
        ids=tuple(f"Helper-{day}" for day in _DAYS),
    ),
    _message_sample(
        "discord",
        "talks.json",
        _discord,
        _discord_file,
        first=5,
        text="content",
        ids=tuple(f"talks-{day}" for day in _DAYS),
    ),
    _message_sample(
        "slack",
        "talks/2024-05-01.json",
        _slack,
        array_of,
        first=2,
        text="text",
        ids=tuple(f"talks-{_BASE + day * 86_400}.000100" for day in range(3)),
        folder="export",
        beside={
            "users.json": '[{"id": "U1", "name": "ann", "profile": {"real_name": "Ann"}}]',
            "channels.json": '[{"id": "C1", "name": "talks"}]',
        },
    ),
    Sample(
        "whatsapp",
        "chat.txt",
        lambda talks: _text_lines(_whatsapp(talks)),
        has_ids=False,
        ids=tuple(f"chat-{day}" for day in _DAYS),
        breaks={"missing field": _whatsapp_break},
        truncation_shows=False,
    ),
    Sample(
        "arena-csv",
        "train.csv",
        lambda talks: _cells(_battles(talks)),
        twice=True,
        breaks={
            "wrong type": _battle_break(4, "no list", "response_a"),
            "missing field": _battle_break(0, "", "id"),
            "odd verdict": _battle_break(6, "1", "winner_model_a"),
        },
    ),
)
