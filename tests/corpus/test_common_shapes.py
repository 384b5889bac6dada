"""Shapes that tools write and users have: parts, threads, templates, pairs, chat exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.corpus import Corpus, Intake, read
from tests.corpus.samples import lines_of
from tests.corpus.trace_samples import agents, bot, spoken, user

TALK = [("partner", "Hi"), ("agent", "Hello!"), ("partner", "Bye"), ("agent", "Take care!")]
TEXTS = [text for _, text in TALK]
MODEL = ("user", "assistant")


def put(path: Path, *records: Any) -> Path:
    path.write_bytes(lines_of(list(records)))
    return path


def only(corpus: Corpus) -> list[tuple[str, str]]:
    (talk,) = spoken(corpus).values()
    return talk


def in_parts(roles: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {"role": roles[place % 2], "parts": [{"text": text}]} for place, text in enumerate(TEXTS)
    ]


VERCEL = [
    {"id": str(place), "role": MODEL[place % 2], "parts": [{"type": "step-start"}, part]}
    for place, part in enumerate({"type": "text", "text": text} for text in TEXTS)
]
TOOL_STEP = {"role": "assistant", "parts": [{"type": "step-start"}, {"type": "tool-weather"}]}
PYDANTIC = [
    {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be nice."}]},
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]},
    {
        "kind": "response",
        "model_name": "bot-1",
        "parts": [
            {"part_kind": "thinking", "content": "greet"},
            {"part_kind": "text", "content": "Hello!"},
        ],
    },
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Bye"}]},
    {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": "{}"}]},
    {"kind": "request", "parts": [{"part_kind": "tool-return", "content": "1"}]},
    {
        "kind": "response",
        "model_name": "bot-1",
        "parts": [{"part_kind": "text", "content": "Take care!"}],
    },
]
CHATML = "".join(
    f"<|im_start|>{MODEL[place % 2]}\n{text}<|im_end|>\n" for place, text in enumerate(TEXTS)
)
LLAMA = "<|begin_of_text|>" + "".join(
    f"<|start_header_id|>{MODEL[place % 2]}<|end_header_id|>\n\n{text}<|eot_id|>"
    for place, text in enumerate(TEXTS)
)
LANGGRAPH: list[dict[str, Any]] = [
    {"type": ("human", "ai")[place % 2], "content": text, "additional_kwargs": {}}
    for place, text in enumerate(TEXTS)
]


@pytest.mark.parametrize(
    "record",
    [
        {"contents": in_parts(("user", "model")), "systemInstruction": {"parts": []}},
        {"id": "c", "messages": [*VERCEL[:3], TOOL_STEP, VERCEL[3]]},
        {"messages": PYDANTIC},
        {"text": CHATML},
        {"text": "<|im_start|>system\nBe nice.<|im_end|>\n" + CHATML + "<|im_start|>assistant\n"},
        {"text": LLAMA},
        {"thread_id": "t", "values": {"messages": LANGGRAPH}},
    ],
    ids=["gemini", "vercel", "pydantic-ai", "chatml", "chatml-prompt", "llama", "langgraph"],
)
def test_a_record_is_read(record: Any, tmp_path: Path) -> None:
    assert only(read(put(tmp_path / "x.jsonl", record))) == TALK


@pytest.mark.parametrize("messages", [in_parts(("user", "model")), PYDANTIC])
def test_a_bare_list_is_one_conversation(messages: Any, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(messages))
    assert only(read(tmp_path / "x.json")) == TALK


def test_pydantic_ai_names_its_model(tmp_path: Path) -> None:
    assert agents(read(put(tmp_path / "x.jsonl", {"messages": PYDANTIC}))) == ["bot-1"]


def test_gemini_in_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"contents": [in_parts(("user", "model"))]}).write_parquet(tmp_path / "x.parquet")
    assert only(read(tmp_path / "x.parquet")) == TALK


def thread_message(place: int, created: int) -> dict[str, Any]:
    text = {"value": TEXTS[place], "annotations": []}
    return {
        "object": "thread.message",
        "thread_id": "t1",
        "created_at": created,
        "role": MODEL[place % 2],
        "assistant_id": "asst_1" if place % 2 else None,
        "content": [{"type": "text", "text": text}],
    }


@pytest.mark.parametrize("times", [(1, 2, 3, 4), (1, 1, 2, 2)])
@pytest.mark.parametrize("page", [True, False])
def test_threads_of_assistants_are_put_in_order(
    times: tuple[int, ...], page: bool, tmp_path: Path
) -> None:
    messages = [thread_message(place, time) for place, time in enumerate(times)][::-1]
    records = [{"object": "list", "data": messages}] if page else messages
    corpus = read(put(tmp_path / "x.jsonl", *records))
    assert only(corpus) == TALK
    assert agents(corpus) == ["asst_1"]
    assert corpus.turns.collect()["created_at"].null_count() == 0


def bedrock(output: Any, **more: Any) -> dict[str, object]:
    messages = [{"role": "user", "content": [{"text": "Hi"}]}]
    return {
        "schemaType": "ModelInvocationLog",
        "timestamp": "2026-01-01T12:00:00Z",
        "modelId": "bot-1",
        "input": {"inputBodyJson": {"messages": messages}},
        "output": {"outputBodyJson": output},
        **more,
    }


@pytest.mark.parametrize(
    "output",
    [
        {"output": {"message": {"role": "assistant", "content": [{"text": "Hello!"}]}}},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hello!"}]},
        [{"contentBlockDelta": {"delta": {"text": piece}}} for piece in ("Hel", "lo!")],
        [{"type": "content_block_delta", "delta": {"text": piece}} for piece in ("Hel", "lo!")],
    ],
)
def test_logs_of_bedrock(output: Any, tmp_path: Path) -> None:
    intake = Intake()
    failed = bedrock(None, errorCode="ThrottlingException")
    corpus = read(put(tmp_path / "x.jsonl", bedrock(output), failed), intake=intake)
    assert only(corpus) == TALK[:2]
    assert agents(corpus) == ["bot-1"]
    assert intake.notes == ["x.jsonl: left out 1 failed call (ThrottlingException)."]


EARLIER = [user("Hi"), bot("Hello!"), user("Bye")]
HUMAN = "\n\nHuman: Hi\n\nAssistant: Hello!\n\nHuman: Bye\n\nAssistant: "


@pytest.mark.parametrize(
    "record",
    [
        {"chosen": [*EARLIER, bot("Take care!")], "rejected": [*EARLIER, bot("No.")]},
        {"prompt": EARLIER, "chosen": [bot("Take care!")], "rejected": [bot("No.")]},
        {"chosen": f"{HUMAN}Take care!", "rejected": f"{HUMAN}No."},
        {
            "input": {"messages": EARLIER},
            "preferred_output": [bot("Take care!")],
            "non_preferred_output": [bot("No.")],
        },
    ],
    ids=["ultrafeedback", "trl", "hh", "openai"],
)
def test_of_a_pair_only_what_differs_is_the_agents(record: Any, tmp_path: Path) -> None:
    corpus = read(put(tmp_path / "x.jsonl", record))
    given = [("partner", text) for text in TEXTS[:3]]
    assert spoken(corpus) == {
        "x-1-chosen": [*given, ("agent", "Take care!")],
        "x-1-rejected": [*given, ("agent", "No.")],
    }
    assert agents(corpus) == ["chosen", "rejected"]
    assert corpus.ratings.collect()["value"].to_list() == [1.0, 0.0]


def test_pairs_that_part_early_keep_what_follows(tmp_path: Path) -> None:
    sides = {
        "chosen": [user("Hi"), bot("Hello!"), user("Bye"), bot("Take care!")],
        "rejected": [user("Hi"), bot("What?"), user("Bye"), bot("Take care!")],
    }
    same = {"chosen": [user("Hi"), bot("Hello!")], "rejected": [user("Hi"), bot("Hello!")]}
    talks = spoken(read(put(tmp_path / "x.jsonl", sides, same)))
    roles = {name: [role for role, _ in talk] for name, talk in talks.items()}
    assert roles["x-1-chosen"] == roles["x-1-rejected"] == ["partner", "agent"] * 2
    assert roles["x-2-chosen"] == roles["x-2-rejected"] == ["partner", "agent"]


def test_messenger_is_turned_round_and_its_characters_are_mended(tmp_path: Path) -> None:
    day = 1714559400000
    messages = [
        {"sender_name": "WeatherBot", "timestamp_ms": day + 9000, "content": "Ð\x94a, a bit."},
        {"sender_name": "Ann", "timestamp_ms": day + 5000, "photos": [{"uri": "a.jpg"}]},
        {"sender_name": "Ann", "timestamp_ms": day, "content": "Rain in the cafÃ©?"},
        {"sender_name": "WeatherBot", "timestamp_ms": day - 86_400_000, "content": "Good morning!"},
    ]
    content = {"participants": [{"name": "Ann"}], "title": "Weather", "messages": messages}
    (tmp_path / "message_1.json").write_text(json.dumps(content))
    corpus = read(tmp_path / "message_1.json")
    assert spoken(corpus) == {
        "Weather-2024-04-30": [("agent", "Good morning!")],
        "Weather-2024-05-01": [("partner", "Rain in the café?"), ("agent", "Дa, a bit.")],
    }
    assert agents(corpus) == ["WeatherBot"]


def test_transcripts_of_the_bot_framework(tmp_path: Path) -> None:
    def activity(number: int, talk: str, who: str, **more: Any) -> dict[str, Any]:
        role = "bot" if who == "Shop" else "user"
        author = {"id": who, "name": who, "role": role}
        about = {"type": "message", "id": str(number), "channelId": "emulator"}
        return {**about, "from": author, "conversation": {"id": talk}, **more}

    activities = [
        activity(0, "c1", "Shop", type="conversationUpdate"),
        activity(1, "c1", "Ann", text="Hi"),
        activity(2, "c2", "Ben", text="Bye"),
        activity(3, "c1", "Shop", text="Hello!", replyToId="1"),
        activity(4, "c2", "Shop", text="Take care!"),
    ]
    (tmp_path / "x.transcript").write_text(json.dumps(activities))
    corpus = read(tmp_path / "x.transcript")
    assert spoken(corpus) == {"c1": TALK[:2], "c2": TALK[2:]}
    assert agents(corpus) == ["Shop"]


def test_markdown_with_headings_between_conversations(tmp_path: Path) -> None:
    chats = [
        f"## Chat {number}\n\n**User:** Hi\n\n**Assistant:** Hello!\n\n### Note\n\nagain\n\n"
        for number in range(2)
    ]
    (tmp_path / "x.md").write_text("".join(chats))
    reply = ("agent", "Hello!\n### Note\nagain")
    assert list(spoken(read(tmp_path / "x.md")).values()) == [[TALK[0], reply]] * 2
