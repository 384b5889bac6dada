"""Exports of bot platforms, and ConvoKit's marked machines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Source, read
from dialens.corpus.readers._botpress import BOTPRESS as BOTPRESS_READER
from dialens.corpus.readers._rasa import RASA
from tests.corpus.exports import agents, meta, put, said

# Rasa, Botpress, Dialogflow

EVENTS: list[dict[str, Any]] = [
    {"event": "action", "name": "action_session_start", "timestamp": 1.0},
    {"event": "session_started", "timestamp": 1.0},
    {"event": "action", "name": "action_listen", "timestamp": 1.0},
    {
        "event": "user",
        "text": "/greet",
        "timestamp": 2.0,
        "parse_data": {"intent": {"name": "greet"}},
    },
    {"event": "bot", "text": "Hello!", "timestamp": 2.5, "metadata": {"assistant_id": "sky"}},
    {"event": "user", "text": "Rain?", "timestamp": 3.0, "parse_data": {"intent": {"name": "ask"}}},
    {"event": "slot", "name": "place", "value": "here", "timestamp": 3.0},
    {"event": "action", "name": "action_forecast", "timestamp": 3.1},
    {"event": "bot", "text": "Yes.", "timestamp": 3.2, "data": {"buttons": [{"title": "More"}]}},
    {"event": "bot", "text": None, "timestamp": 3.3, "data": {"image": "cloud.png"}},
    {"event": "action", "name": "action_session_start", "timestamp": 90000.0},
    {"event": "session_started", "timestamp": 90000.0},
    {"event": "user", "text": "And now?", "timestamp": 90001.0},
    {"event": "bot", "text": "Sun.", "timestamp": 90002.0},
]


def rasa_rows(kind: str) -> list[dict[str, Any]]:
    if kind == "tracker":
        return [{"sender_id": "x", "slots": {}, "latest_message": {}, "events": EVENTS}]
    if kind == "broker":
        return [{"sender_id": "x", **event} for event in EVENTS]
    return [
        {"id": number, "sender_id": "x", "type_name": event["event"], "data": json.dumps(event)}
        for number, event in enumerate(EVENTS)
    ]


@pytest.mark.parametrize("kind", ["tracker", "broker", "table"])
def test_rasa_sessions_are_dialogues(kind: str, tmp_path: Path) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rasa_rows(kind))
    corpus = read(put(tmp_path / "events.jsonl", text))
    assert said(corpus) == {
        "x": [("sky", "agent", "Hello!"), ("user", "partner", "Rain?"), ("sky", "agent", "Yes.")],
        "x-2": [("user", "partner", "And now?"), ("sky", "agent", "Sun.")],
    }
    assert set(agents(corpus).values()) == {"sky"}


@pytest.mark.parametrize(
    "text",
    [
        'version: "3.1"\nstories:\n- story: a\n  steps:\n  - intent: ask\n  - action: utter_a\n',
        "stories:\n- story: a\n  steps:\n  - user: |\n      rain\n    intent: ask\n  - action: b\n",
        "## rain\n* ask\n  - utter_yes\n",
    ],
)
def test_rasa_stories_are_refused_with_the_reason(text: str, tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"(?s)stories\.yml holds Rasa stories.*Give trackers"):
        read(put(tmp_path / "stories.yml", text))


def test_notes_in_markdown_are_no_stories(tmp_path: Path) -> None:
    for name, text in {
        "notes.md": "## Rain\n* ask about it\n  - at noon\n",
        "ci.yml": "rules:\n- alert: a\njobs:\n  steps:\n  - run: b\n",
    }.items():
        assert not RASA.recognises(Source(put(tmp_path / name, text)))


BOTPRESS = [
    {
        "id": "3",
        "conversationId": "c",
        "direction": "outgoing",
        "type": "image",
        "payload": {"imageUrl": "a.png"},
        "createdAt": "2024-05-01T10:00:03Z",
    },
    {
        "id": "2",
        "conversationId": "c",
        "direction": "outgoing",
        "type": "choice",
        "payload": {"text": "Yes.", "options": []},
        "createdAt": "2024-05-01T10:00:02Z",
    },
    {
        "id": "1",
        "conversationId": "c",
        "direction": "incoming",
        "type": "text",
        "payload": {"text": "Rain?"},
        "userId": "u1",
        "createdAt": "2024-05-01T10:00:01Z",
    },
]


@pytest.mark.parametrize("kind", ["page", "list", "conversation", "csv", "plain csv", "version 12"])
def test_botpress_messages_in_any_order(kind: str, tmp_path: Path) -> None:
    if kind == "csv":
        frame = pl.DataFrame(
            {
                "conversationId": ["c"] * 3,
                "direction": [row["direction"] for row in BOTPRESS],
                "userId": [row.get("userId") for row in BOTPRESS],
                "payload": [json.dumps(row["payload"]) for row in BOTPRESS],
                "createdAt": [row["createdAt"] for row in BOTPRESS],
            }
        )
        path = put(tmp_path / "weather.csv", frame.write_csv())
    elif kind == "version 12":
        rows = [
            {
                "conversationId": "c",
                "authorId": row.get("userId"),
                "sentOn": row["createdAt"],
                "payload": row["payload"],
            }
            for row in BOTPRESS
        ]
        path = put(tmp_path / "weather.json", rows)
    elif kind == "plain csv":
        text = (
            "conversationId,direction,userId,text,createdAt\n"
            "c,outgoing,,Yes.,2024-05-01T10:00:02Z\nc,incoming,u1,Rain?,2024-05-01T10:00:01Z\n"
        )
        path = put(tmp_path / "weather.csv", text)
    elif kind == "conversation":
        inside = [{k: v for k, v in row.items() if k != "conversationId"} for row in BOTPRESS]
        path = put(tmp_path / "weather.json", [{"id": "c", "messages": inside}])
    else:
        content = {"messages": BOTPRESS, "meta": {}} if kind == "page" else BOTPRESS
        path = put(tmp_path / "weather.json", content)
    corpus = read(path)
    assert said(corpus) == {"c": [("u1", "partner", "Rain?"), ("bot", "agent", "Yes.")]}
    assert agents(corpus) == {"c": "weather"}


def test_a_sheet_of_another_platform_is_not_taken_for_botpress(tmp_path: Path) -> None:
    text = "conversationId,direction,text\nc,inbound,Rain?\n"
    assert not BOTPRESS_READER.recognises(Source(put(tmp_path / "sheet.csv", text)))


REQUEST = {
    "session": "projects/p/s/1",
    "queryInput": {"text": {"text": "Rain?"}, "languageCode": "en"},
}
RESPONSE = {
    "responseId": "r",
    "queryResult": {
        "text": "Rain?",
        "responseMessages": [
            {"text": {"text": ["Yes."]}, "source": "VIRTUAL_AGENT"},
            {"text": {"text": ["Take a coat."]}},
            {"payload": {"chips": []}},
        ],
        "match": {"intent": {"displayName": "ask.rain"}},
    },
}
WELCOME = {
    "queryResult": {"triggerEvent": "WELCOME", "responseMessages": [{"text": {"text": ["Hi!"]}}]}
}
LOG = "projects/p/logs/dialogflow-runtime.googleapis.com%2Frequests"


def entry(payload: object, when: str) -> dict[str, Any]:
    return {
        "insertId": when,
        "jsonPayload": payload,
        "labels": {"session_id": "1", "agent_id": "a"},
        "logName": LOG,
        "timestamp": f"2024-05-01T10:00:{when}Z",
    }


NAME = "projects/p/locations/global/agents/a/conversations/1"
DIALOGFLOW: dict[str, Callable[[], object]] = {
    "history": lambda: {
        "name": NAME,
        "interactions": [
            {"request": REQUEST, "response": RESPONSE, "createTime": "2024-05-01T10:00:09Z"},
            {
                "request": {"queryInput": {"event": {}}},
                "response": WELCOME,
                "createTime": "2024-05-01T10:00:01Z",
            },
        ],
    },
    "bigquery": lambda: [
        {"conversation_name": NAME, "turn_position": "2", "request": REQUEST, "response": RESPONSE},
        {"conversation_name": NAME, "turn_position": "1", "request": None, "response": WELCOME},
    ],
    "bigquery text": lambda: [
        {
            "conversation_name": NAME,
            "turn_position": place,
            "request": json.dumps(asked),
            "response": json.dumps(told),
        }
        for place, asked, told in [
            (1, {"queryInput": {"event": {}}}, WELCOME),
            (2, REQUEST, RESPONSE),
        ]
    ],
    "cloud logging": lambda: [
        entry(RESPONSE, "09"),
        entry(REQUEST, "08"),
        entry(WELCOME, "01"),
    ],
    "responses alone": lambda: [entry(RESPONSE, "09"), entry(WELCOME, "01")],
}


@pytest.mark.parametrize("kind", DIALOGFLOW)
def test_dialogflow_exchanges(kind: str, tmp_path: Path) -> None:
    corpus = read(put(tmp_path / "weather.json", DIALOGFLOW[kind]()))
    assert said(corpus) == {
        "1": [
            ("agent", "agent", "Hi!"),
            ("user", "partner", "Rain?"),
            ("agent", "agent", "Yes.\nTake a coat."),
        ]
    }
    assert agents(corpus) == {"1": "weather"}
    assert meta(corpus, 2)["intent"] == "ask.rain"


def test_dialogflows_csv_from_bigquery(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "conversation_name": [NAME],
            "turn_position": [1],
            "request": [json.dumps(REQUEST)],
            "response": [json.dumps(RESPONSE)],
        }
    )
    corpus = read(put(tmp_path / "weather.csv", frame.write_csv()))
    assert [text for _, _, text in said(corpus)["1"]] == ["Rain?", "Yes.\nTake a coat."]


def test_dialogflow_es_responses(tmp_path: Path) -> None:
    lines = [
        {
            "responseId": f"r{number}",
            "session": "projects/p/agent/sessions/1",
            "queryResult": {"queryText": asked, "fulfillmentText": told},
        }
        for number, (asked, told) in enumerate([("Rain?", "Yes."), ("When?", "Noon.")])
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    turns = said(read(put(tmp_path / "es.jsonl", text)))
    assert [text for _, _, text in turns["1"]] == ["Rain?", "Yes.", "When?", "Noon."]


# ConvoKit 5


def test_convokits_marked_machines_are_agents(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    who = [("p1", "Rain?"), ("sim", "Who knows."), ("helper", "Let us look."), ("p1", "Yes!")]
    lines = [
        {
            "id": f"u{place}",
            "conversation_id": "u0",
            "speaker": speaker,
            "text": text,
            "reply_to": None,
            "timestamp": place,
            "meta": {},
        }
        for place, (speaker, text) in enumerate(who)
    ]
    put(folder / "utterances.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    speakers = {
        "p1": {"meta": {"is_ai": False, "ai_meta": {"role": "participant"}}, "vectors": []},
        "sim": {"meta": {"is_ai": True, "ai_meta": {"role": "participant"}}, "vectors": []},
        "helper": {
            "meta": {
                "is_ai": True,
                "ai_meta": {"role": "public assistant", "config": {"model": "lm-1"}},
            },
            "vectors": [],
        },
    }
    put(folder / "speakers.json", speakers)
    put(folder / "conversations.json", {"u0": {"meta": {}, "vectors": []}})
    put(folder / "corpus.json", {"has_ai": True})
    corpus = read(folder)
    assert agents(corpus) == {"u0": "lm-1"}
    assert [role for _, role, _ in said(corpus)["u0"]] == ["partner", "partner", "agent", "partner"]
