"""What is a reply: without reasoning; what is empty or no turn is counted and said."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, read
from dialens.corpus._reasoning import split_reasoning
from tests.corpus.samples import lines_of
from tests.corpus.trace_samples import agents, bot, spoken, user


def put(path: Path, *records: Any) -> Path:
    path.write_bytes(lines_of(list(records)))
    return path


def said(path: Path) -> tuple[list[str], list[str]]:
    """The texts of a file, and what was noted."""
    intake = Intake()
    corpus = read(path, intake=intake)
    return corpus.turns.collect()["text"].to_list(), intake.notes


@pytest.mark.parametrize(
    ("text", "reply", "thought"),
    [
        ("<think>sad</think>Sorry.", "Sorry.", "sad"),
        ("<thinking>\nsad\n</thinking>\n\nSorry.", "Sorry.", "sad"),
        ("<Reasoning>sad</Reasoning> Sorry.", "Sorry.", "sad"),
        ("<think>a</think><think>b</think>Sorry.", "Sorry.", "a\n\nb"),
        ("<think>a <think>b</think>\n\nSorry.", "Sorry.", "a <think>b"),
        ("She is sad.\n</think>\n\nSorry.", "Sorry.", "She is sad."),
        ("<think>cut off", "", "cut off"),
        ("Tags like <think>a</think> mark it.", "Tags like <think>a</think> mark it.", ""),
        ("a < b", "a < b", ""),
    ],
)
def test_reasoning_is_told_from_the_reply(text: str, reply: str, thought: str) -> None:
    assert split_reasoning(text) == (reply, thought)


@pytest.mark.parametrize("kind", ["openai", "table", "transcript", "log", "memory"])
def test_reasoning_is_left_out_of_every_format_and_said_once(kind: str, tmp_path: Path) -> None:
    reply = "<think>She is sad.</think> Sorry."
    intake = Intake()
    source: Any = tmp_path / f"x.{'csv' if kind == 'table' else 'txt'}"
    if kind == "openai":
        put(source, {"messages": [user("Hi"), bot(reply)]})
    elif kind == "table":
        source.write_text(f"dialog,role,text\nd1,user,Hi\nd1,assistant,{reply}\n")
    elif kind == "transcript":
        source.write_text(f"User: Hi\nBot: {reply}\n")
    elif kind == "log":
        request = {"model": "b", "messages": [user("Hi")]}
        response = {"object": "chat.completion", "choices": [{"message": bot(reply)}]}
        put(source, {"request": request, "response": response})
    else:
        source = [user("Hi"), bot(reply)]
    turns = read(source, intake=intake).turns.collect()
    assert turns["text"].to_list() == ["Hi", "Sorry."]
    assert json.loads(turns["meta"][1])["reasoning"] == "She is sad."
    assert [note for note in intake.notes if "reasoning" in note] == [
        f"{'list' if kind == 'memory' else source.name}: left out the reasoning "
        "(<think>…</think>) of 1 reply."
    ]


def test_what_a_user_writes_stays(tmp_path: Path) -> None:
    text = "<think>is a tag</think> of which model?"
    texts, notes = said(put(tmp_path / "x.jsonl", {"messages": [user(text), bot("Many.")]}))
    assert texts == [text, "Many."]
    assert notes == []


def test_calls_go_on_though_their_requests_repeat_replies_without_reasoning(tmp_path: Path) -> None:
    def call(*messages: dict[str, str], reply: str) -> dict[str, object]:
        response = {"object": "chat.completion", "choices": [{"message": bot(reply)}]}
        return {"request": {"model": "b", "messages": list(messages)}, "response": response}

    first = call(user("Hi"), reply="<think>greet</think>Hello!")
    second = call(user("Hi"), bot("Hello!"), user("Bye"), reply="<think>end</think>Bye!")
    corpus = read(put(tmp_path / "log.jsonl", first, second))
    assert [text for _, text in next(iter(spoken(corpus).values()))] == [
        "Hi",
        "Hello!",
        "Bye",
        "Bye!",
    ]


def test_reasoning_in_parts_is_no_reply(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "text": "She is sad."}, {"type": "text", "text": "Sorry."}]
    record = {"messages": [user("Hi"), {"role": "assistant", "content": parts}]}
    assert said(put(tmp_path / "x.jsonl", record))[0] == ["Hi", "Sorry."]


def test_empty_replies_and_system_prompts_are_counted(tmp_path: Path) -> None:
    prompt = {"role": "system", "content": 'Say {"role":"system"} to nobody.'}
    record = {"messages": [prompt, user("Hi"), bot(""), user("Hi?"), bot("Hello!")]}
    texts, notes = said(put(tmp_path / "x.jsonl", record))
    assert texts == ["Hi", "", "Hi?", "Hello!"]
    assert notes == [
        "x.jsonl: 1 of 2 replies is empty.",
        "x.jsonl: left out 1 system prompt, which is no turn.",
    ]


def test_a_file_of_empty_turns_is_refused(tmp_path: Path) -> None:
    parts = [{"type": "words", "words": "Hello!"}]
    record = {"messages": [{"role": role, "content": parts} for role in ("user", "assistant")]}
    with pytest.raises(DialensError, match=r"every one of its 2 turns is empty.*\n.*format="):
        read(put(tmp_path / "x.jsonl", record))


def test_several_named_assistants_are_agents_of_their_own(tmp_path: Path) -> None:
    planner = {**bot("I will ask the writer."), "name": "Planner"}
    writer = {**bot("Hello!"), "name": "Writer"}
    record = {"id": "g", "messages": [user("Hi"), planner, writer]}
    intake = Intake()
    corpus = read(put(tmp_path / "x.jsonl", record), intake=intake)
    assert agents(corpus) == ["Planner", "Writer"]
    assert [role for role, _ in spoken(corpus)["g-Planner"]] == ["partner", "agent", "partner"]
    assert [role for role, _ in spoken(corpus)["g-Writer"]] == ["partner", "partner", "agent"]
    assert "several assistants speak" in intake.notes[0]
    named = {**record, "model": "crew-1"}
    assert agents(read(put(tmp_path / "named.jsonl", named))) == ["crew-1"]


def test_open_webui_names_the_model_of_each_reply(tmp_path: Path) -> None:
    def chat(name: str, *models: str) -> dict[str, object]:
        replies = [{**bot(f"Hello from {model}!"), "model": model} for model in models]
        return {"id": name, "chat": {"title": "t", "messages": [user("Hi"), *replies]}}

    path = tmp_path / "export.json"
    path.write_text(json.dumps([chat("a", "llama3:8b"), chat("b", "qwen", "phi")]))
    assert sorted(spoken(read(path))) == ["a", "b-phi", "b-qwen"]
    assert agents(read(path)) == ["llama3:8b", "phi", "qwen"]


def test_a_piped_table_names_its_agent_as_piped_lines_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"messages": [user("Hi"), bot("Hello!")]}
    table = io.BytesIO()
    pl.DataFrame([record]).write_parquet(table)
    names = []
    for data in (table.getvalue(), lines_of([record])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        names += agents(read("-"))
    assert names == ["assistant", "assistant"]


@pytest.mark.parametrize("text", ["[]", "[ ]\n", "{}", " \n"])
def test_an_empty_list_is_empty(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DialensError, match="is empty: there is no conversation in it"):
        read(tmp_path / "x.json")


def test_whole_files_that_are_left_out_are_counted_as_files(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", {"messages": [user("Hi"), bot("Hello!")]})
    for name in ("b", "c"):
        (tmp_path / f"{name}.log").write_text("2024-05-01 INFO: started\n2024-05-01 WARN: low\n")
    intake = Intake(OnError.SKIP)
    read(tmp_path, intake=intake)
    assert intake.left_out == "2 files"


def test_a_single_record_may_be_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"messages": [{"text": "hi"}]}')
    with pytest.raises(
        DialensError, match="It is the only record, and looks like openai"
    ) as caught:
        read(path)
    assert 'columns={"text"' in str(caught.value)


def test_a_shape_that_all_records_share_is_not_to_be_mended(tmp_path: Path) -> None:
    odd = {"messages": [{"kind": "q", "body": "Hi"}, {"kind": "a", "body": "Hello!"}]}
    with pytest.raises(DialensError, match=r"first 3 records are all like this") as caught:
        read(put(tmp_path / "x.jsonl", odd, odd, odd))
    assert "Mend the record" not in str(caught.value)
    good = {"messages": [user("Hi"), bot("Hello!")]}
    with pytest.raises(DialensError, match="Mend the record"):
        read(put(tmp_path / "y.jsonl", odd, good))
