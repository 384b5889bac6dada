"""Exports of assistants and public data sets: dialogues, agents, roles, ratings."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, read
from tests.corpus.exports import agents, meta, put, ratings, said, zipped

# ChatGPT and Claude


def node(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    metadata = more.pop("metadata", {})
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1714559400.0,
        "content": content,
        "metadata": metadata,
        "recipient": "all",
        **more,
    }
    return {"id": name, "message": message, "parent": parent, "children": []}


def chatgpt(name: str = "c1") -> dict[str, Any]:
    """A conversation with an answer asked for again, hidden instructions and a search."""
    slug = {"model_slug": "gpt-4o"}
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": []},
        node(
            "sys",
            "root",
            "system",
            "",
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        node(
            "custom",
            "sys",
            "user",
            "",
            content={"content_type": "user_editable_context", "user_profile": "I am a sailor."},
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        node("q", "custom", "user", "Will it rain?"),
        node("old", "q", "assistant", "No idea.", metadata={"model_slug": "gpt-3.5"}),
        node("blank", "q", "assistant", "", metadata=slug),
        node(
            "call",
            "blank",
            "assistant",
            "",
            content={"content_type": "code", "language": "json", "text": "search('rain')"},
            recipient="web",
            metadata=slug,
        ),
        node("found", "call", "tool", "It will rain."),
        node(
            "new",
            "found",
            "assistant",
            "Yes, at noon.\ue200cite\ue202turn0search1\ue201",
            metadata=slug,
        ),
        node(
            "picture",
            "new",
            "user",
            "",
            content={
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer"}, "And this cloud?"],
            },
        ),
        node("last", "picture", "assistant", "A cumulus.", metadata=slug),
    ]
    mapping = {entry["id"]: entry for entry in nodes}
    for entry in nodes:
        if entry["parent"]:
            mapping[entry["parent"]]["children"].append(entry["id"])
    return {
        "title": "Rain",
        "id": name,
        "conversation_id": name,
        "current_node": "last",
        "default_model_slug": "auto",
        "mapping": mapping,
    }


def test_chatgpt_reads_the_branch_that_was_seen_last(tmp_path: Path) -> None:
    corpus = read(put(tmp_path / "conversations.json", [chatgpt()]))
    assert said(corpus) == {
        "c1": [
            ("user", "partner", "Will it rain?"),
            ("gpt-4o", "agent", "Yes, at noon."),
            ("user", "partner", "And this cloud?"),
            ("gpt-4o", "agent", "A cumulus."),
        ]
    }
    assert agents(corpus) == {"c1": "gpt-4o"}
    first, second = meta(corpus, 0), meta(corpus, 1)
    assert first["before"][0]["content"]["user_profile"] == "I am a sailor."
    assert first["record"]["title"] == "Rain"
    assert [aside["role"] for aside in second["before"]] == ["assistant", "tool"]
    assert "turn0search1" in second["content"]["parts"][0]


def test_chatgpt_without_a_current_node_or_a_slug(tmp_path: Path) -> None:
    talk = chatgpt()
    del talk["current_node"], talk["default_model_slug"]
    for entry in talk["mapping"].values():
        if entry["message"]:
            entry["message"]["metadata"].pop("model_slug", None)
    corpus = read(put(tmp_path / "conversations.json", [talk]))
    assert agents(corpus) == {"c1": "ChatGPT"}
    assert said(corpus)["c1"][-1] == ("ChatGPT", "agent", "A cumulus.")


def test_a_chatgpt_conversation_that_was_never_used_is_nothing(tmp_path: Path) -> None:
    empty = {**chatgpt("c2"), "mapping": {"root": {"message": None, "children": []}}}
    assert list(said(read(put(tmp_path / "conversations.json", [chatgpt(), empty])))) == ["c1"]


CLAUDE = {
    "uuid": "k1",
    "name": "Rain",
    "account": {"uuid": "a"},
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Will it rain?", "content": []},
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "```\nThis block is not supported on your current device yet.\n```\n\nYes.",
            "content": [
                {"type": "thinking", "thinking": "Clouds?"},
                {"type": "tool_use", "name": "search", "input": {}},
                {"type": "tool_result", "content": []},
                {"type": "text", "text": "Yes."},
            ],
            "created_at": "2024-05-01T10:30:05.123456Z",
        },
        {"uuid": "m3", "sender": "human", "text": "", "attachments": [{"file_name": "sky.txt"}]},
        {"uuid": "m4", "sender": "assistant", "text": "A cumulus.", "content": []},
    ],
}


def test_claude_reads_the_words_of_each_message(tmp_path: Path) -> None:
    corpus = read(
        put(
            tmp_path / "conversations.json", [CLAUDE, {**CLAUDE, "uuid": "k2", "chat_messages": []}]
        )
    )
    assert said(corpus) == {
        "k1": [
            ("human", "partner", "Will it rain?"),
            ("Claude", "agent", "Yes."),
            ("Claude", "agent", "A cumulus."),
        ]
    }
    assert [part["type"] for part in meta(corpus, 1)["content"]][:2] == ["thinking", "tool_use"]
    assert meta(corpus, 2)["before"][0]["attachments"] == [{"file_name": "sky.txt"}]


def test_claude_follows_parents_where_messages_name_them(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    texts = [
        ("a", root, "human", "Hi"),
        ("b", "a", "assistant", "Old"),
        ("c", "a", "assistant", "New"),
    ]
    messages = [
        {"uuid": name, "parent_message_uuid": parent, "sender": sender, "text": text}
        for name, parent, sender, text in texts
    ]
    talk = {"uuid": "k", "model": "claude-3", "chat_messages": messages}
    corpus = read(put(tmp_path / "conversations.json", [talk]))
    assert said(corpus) == {"k": [("human", "partner", "Hi"), ("claude-3", "agent", "New")]}


@pytest.mark.parametrize("kind", ["folder", "zip", "wrapped zip"])
def test_an_export_is_read_as_it_was_fetched(kind: str, tmp_path: Path) -> None:
    files: dict[str, object] = {
        "conversations-000.json": [chatgpt("c1")],
        "conversations-001.json": [chatgpt("c2")],
        "user.json": {"id": "u", "email": "ann@example.org"},
        "chat.html": "<html></html>",
    }
    if kind == "folder":
        source = tmp_path / "export"
        for name, content in files.items():
            put(source / name, content)
    else:
        top = "data-2024/" if kind == "wrapped zip" else ""
        source = zipped(tmp_path / "export.zip", {top + name: one for name, one in files.items()})
    corpus = read(source)
    assert list(said(corpus)) == ["c1", "c2"]
    assert corpus.turns.collect()["system"].unique().to_list() == ["export"]
    claude = zipped(tmp_path / "claude.zip", {"conversations.json": [CLAUDE], "users.json": []})
    assert list(said(read(claude))) == ["k1"]


def test_what_stands_beside_an_export_and_is_not_read_is_noted(tmp_path: Path) -> None:
    put(tmp_path / "export" / "conversations.json", [chatgpt()])
    put(tmp_path / "export" / "user.json", {"id": "u"})
    put(tmp_path / "export" / "monday.txt", "User: hi\nBot: ho\n")
    intake = Intake()
    assert list(said(read(tmp_path / "export", intake=intake))) == ["c1"]
    assert "not read: monday.txt." in intake.notes[0]


def test_a_damaged_zip_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": [chatgpt()]})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DialensError, match=r"export\.zip cannot be unpacked"):
        read(path)


def test_a_broken_record_in_a_zip_is_named_with_its_file(tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": [chatgpt(), {"mapping": 3}]})
    with pytest.raises(DialensError, match=r"export\.zip/conversations\.json, line 1: .*mapping"):
        read(path)


def test_exports_among_other_files_of_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "logs" / "gpt" / "conversations.json", [chatgpt()])
    put(tmp_path / "logs" / "gpt" / "user.json", {"id": "u"})
    put(tmp_path / "logs" / "claude.json", [CLAUDE])
    chat = "[31.12.23, 21:41:07] Ann: Hi\n[31.12.23, 21:41:09] Bot: Ho\n"
    put(tmp_path / "logs" / "phone" / "_chat.txt", chat)
    put(tmp_path / "logs" / "phone" / "0001-PHOTO.jpg", "no picture")
    dialogs = sorted(said(read(tmp_path / "logs")))
    assert dialogs == ["c1", "k1", "phone-2023-12-31"]


# OpenAssistant


def oasst(name: str, role: str, text: str, *replies: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"message_id": name, "role": role, "text": text, "replies": list(replies), **more}


TREE = {
    "message_tree_id": "t",
    "prompt": oasst(
        "t",
        "prompter",
        "Rain?",
        oasst(
            "worse", "assistant", "Dunno.", rank=1, labels={"quality": {"value": 0.25, "count": 3}}
        ),
        oasst(
            "best",
            "assistant",
            "Yes.",
            oasst(
                "more",
                "prompter",
                "When?",
                oasst("noon", "assistant", "Noon.", synthetic=True, model_name="lm-1"),
            ),
            oasst("silent", "prompter", "Thanks."),
            rank=0,
            labels={"quality": {"value": 0.75, "count": 4}},
        ),
        oasst("gone", "assistant", "Spam", deleted=True, rank=2),
    ),
}


def flat(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """The tree as messages, with labels in columns as the hub's Parquet files have them."""
    rows: list[dict[str, Any]] = []

    def walk(message: dict[str, Any], parent: str | None) -> None:
        labels = message.get("labels") or {}
        rows.append(
            {
                "message_id": message["message_id"],
                "parent_id": parent,
                "message_tree_id": "t",
                "role": message["role"],
                "text": message["text"],
                "rank": message.get("rank"),
                "deleted": message.get("deleted", False),
                "synthetic": message.get("synthetic", False),
                "model_name": message.get("model_name"),
                "labels": {
                    "name": list(labels),
                    "value": [one["value"] for one in labels.values()],
                    "count": [one["count"] for one in labels.values()],
                },
            }
        )
        for reply in message["replies"]:
            walk(reply, message["message_id"])

    walk(tree["prompt"], None)
    return rows


@pytest.mark.parametrize("kind", ["trees", "messages", "parquet"])
def test_oasst_scores_every_reply_once(kind: str, tmp_path: Path) -> None:
    if kind == "parquet":
        path = tmp_path / "train.parquet"
        pl.DataFrame(flat(TREE)).write_parquet(path)
    else:
        records = [TREE] if kind == "trees" else flat(TREE)
        path = put(tmp_path / "a.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    corpus = read(path)
    assert said(corpus) == {
        "t": [
            ("prompter", "partner", "Rain?"),
            ("volunteers", "agent", "Yes."),
            ("prompter", "partner", "When?"),
            ("lm-1", "agent", "Noon."),
        ],
        "t-2": [("prompter", "partner", "Rain?"), ("volunteers", "agent", "Dunno.")],
    }
    assert agents(corpus) == {"t": "lm-1", "t-2": "volunteers"}
    assert sorted(ratings(corpus, "dialog", "turn", "quality", "value")) == [
        ("t", 1, "preference", 1.0),
        ("t", 1, "quality", 0.75),
        ("t-2", 1, "preference", 0.0),
        ("t-2", 1, "quality", 0.25),
    ]


def test_an_oasst_reply_below_the_top_shows_what_was_given(tmp_path: Path) -> None:
    second = oasst("b2", "assistant", "Later.", rank=1)
    first = oasst("b1", "assistant", "Noon.", rank=0)
    more = oasst("q2", "prompter", "When?", second, first)
    tree = {
        "message_tree_id": "q",
        "prompt": oasst("q", "prompter", "Rain?", oasst("a", "assistant", "Yes.", more)),
    }
    turns = said(read(put(tmp_path / "a.jsonl", json.dumps(tree) + "\n")))
    assert [role for _, role, _ in turns["q"]] == ["partner", "agent", "partner", "agent"]
    assert turns["q-2"][1:] == [
        ("volunteers", "partner", "Yes."),
        ("prompter", "partner", "When?"),
        ("volunteers", "agent", "Later."),
    ]


def test_prompts_that_nobody_answered_are_counted(tmp_path: Path) -> None:
    alone = {"message_tree_id": "p", "prompt": oasst("p", "prompter", "Hello?")}
    lines = "".join(json.dumps(tree) + "\n" for tree in (alone, TREE))
    intake = Intake()
    assert list(said(read(put(tmp_path / "a.jsonl", lines), intake=intake))) == ["t", "t-2"]
    assert intake.notes == ["a.jsonl: left out 1 prompt without a reply."]


def test_an_oasst_message_without_its_parent_is_named(tmp_path: Path) -> None:
    rows = [row for row in flat(TREE) if row["message_id"] != "more"]
    path = put(tmp_path / "a.jsonl", "".join(json.dumps(one) + "\n" for one in rows))
    with pytest.raises(DialensError, match=r"a\.jsonl, line 4: field `parent_id`.*more"):
        read(path)


# Kaggle's Arena


def test_kaggle_battles_become_two_dialogues_with_votes(tmp_path: Path) -> None:
    header = (
        "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie"
    )
    rows = [
        '30,m1,m2,"[""Rain?"",""When?""]","[""Yes."",null]","[""No."",""Never,""]",0,1,0',
        '31,m1,m2,"[""Hi\\nthere""]","[""Hey""]","[""Ho""]",0,0,1',
    ]
    corpus = read(put(tmp_path / "train.csv", "\n".join([header, *rows]) + "\n"))
    assert said(corpus)["30-a"] == [
        ("user", "partner", "Rain?"),
        ("m1", "agent", "Yes."),
        ("user", "partner", "When?"),
        ("m1", "agent", ""),
    ]
    assert said(corpus)["31-b"] == [("user", "partner", "Hi\nthere"), ("m2", "agent", "Ho")]
    assert ratings(corpus, "dialog", "agent", "quality", "value", "condition") == [
        ("30-a", "m1", "preference", 0.0, "30"),
        ("30-b", "m2", "preference", 1.0, "30"),
        ("31-a", "m1", "preference", 0.5, "31"),
        ("31-b", "m2", "preference", 0.5, "31"),
    ]


def test_kaggles_test_file_has_neither_models_nor_votes(tmp_path: Path) -> None:
    text = 'id,prompt,response_a,response_b\n1,"[""Hi""]","[""Hey""]","[""Ho""]"\n'
    corpus = read(put(tmp_path / "test.csv", text))
    assert agents(corpus) == {"1-a": "a", "1-b": "b"}
    assert ratings(corpus, "value") == []
