"""Transcripts: where turns begin, whose they are, and folders of them."""

from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, read
from tests.corpus.looking import given, told, write
from tests.corpus.samples import TALKS
from tests.corpus.text_samples import SAMPLE


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("A: x\nB: y\n\nA: z\n", [("t-1", "x"), ("t-1", "y"), ("t-2", "z")]),
        ("A: x\n\nB: y\n\nA: z\n", [("t-1", "x"), ("t-1", "y"), ("t-1", "z")]),
        ("A: x\n\nB: y\n---\nA: z\n", [("t-1", "x"), ("t-1", "y"), ("t-2", "z")]),
        ("A: x\n  more: of it\nB:y\n", [("t-1", "x"), ("t-1", "of it"), ("t-1", "y")]),
        ("A: x\nmore of it\n", [("t-1", "x\nmore of it")]),
        ("A: see\nhttp://a.b\nB: ok\n", [("t-1", "see\nhttp://a.b"), ("t-1", "ok")]),
        ("**A:** x\n**B**: y\n", [("t-1", "x"), ("t-1", "y")]),
        ("A:\nB: y\n", [("t-1", ""), ("t-1", "y")]),
        ("## User\n\nx: 1\n\n- y\n\n## Bot\nz\n", [("t-1", "x: 1\n- y"), ("t-1", "z")]),
        (
            "# One\n### 🧑 **User:**\nx\n### 🤖 Bot\ny\n# Two\n### User\nz\n",
            [("t-1", "x"), ("t-1", "y"), ("t-2", "z")],
        ),
        (
            "# Ann\nx\n# Bob\n## Steps\ny\n# Ann\nz\n# Bob\nw\n",
            [("t-1", "x"), ("t-1", "## Steps\ny"), ("t-1", "z"), ("t-1", "w")],
        ),
    ],
)
def test_transcript_shapes(text: str, turns: list[tuple[str, str]], tmp_path: Path) -> None:
    assert told(read(write(tmp_path / "t.txt", text)), "dialog", "text") == turns


def test_a_document_with_headings_is_no_transcript(tmp_path: Path) -> None:
    text = "# Title\n\nWords.\n\n## Aims\n\nMore.\n\n## Methods\n\nMore.\n\n## Results\n\nEnd.\n"
    with pytest.raises(DialensError, match="no format that dialens recognises"):
        read(write(tmp_path / "t.md", text))


@pytest.mark.parametrize(
    ("speakers", "agent"),
    [
        (("Ann", "Bob"), "Bob"),
        (("Bot", "Ann"), "Bot"),
        (("Virtual Assistant", "Ann"), "Virtual Assistant"),
        (("Eliza", "Human"), "Eliza"),
        (("User", "Eliza"), "Eliza"),
        (("Abbot", "Ann"), "Ann"),
    ],
)
def test_transcript_agent(speakers: tuple[str, str], agent: str, tmp_path: Path) -> None:
    text = "".join(f"{name}: hello\n" for name in speakers)
    corpus = read(write(tmp_path / "t.txt", text))
    rows = told(corpus, "speaker", "role", "agent")
    assert [row for row in rows if row[1] == "agent"] == [(agent, "agent", agent)]


def test_transcript_times(tmp_path: Path) -> None:
    text = "[2024-05-01 10:30:05] Ann: hi\n[10:31] Bot: hello\n2024-05-01T10:32:00Z Ann: bye\n"
    turns = read(write(tmp_path / "t.txt", text)).turns.collect()
    moments = [moment and moment.isoformat() for moment in turns["created_at"]]
    assert moments == ["2024-05-01T10:30:05+00:00", None, "2024-05-01T10:32:00+00:00"]
    assert turns["meta"].to_list() == [None, '{"time":"10:31"}', None]


def test_a_folder_of_logs_names_conversations_by_their_files(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "b").mkdir(parents=True)
    write(logs / "a.txt", "User: hi\nBot: ho\n")
    write(logs / "b" / "a.txt", "User: one\nBot: two\n")
    SAMPLE["openai"].build(logs)
    SAMPLE["csv"].place(logs / "c", SAMPLE["csv"].encode((TALKS[0],)).replace(b"d1", b"x1"))
    write(logs / "c" / "talks.ratings.csv", "dialog,quality,value\nx1,fun,3\n")
    corpus = read(logs)
    first = corpus.turns.collect().unique("dialog", keep="first", maintain_order=True)
    assert first.select("dialog", "system").rows() == [
        ("a-1", "a"),
        ("b/a-1", "b/a"),
        ("x1", "c/talks"),
        ("d1", "talks"),
        ("d2", "talks"),
        ("d3", "talks"),
    ]
    assert given(corpus, "dialog", "value") == [("x1", 3.0)]


def test_a_folder_with_a_file_that_is_no_chat(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "User: hi\nBot: ho\n")
    write(tmp_path / "b.bin", "\x00\x01 nothing")
    with pytest.raises(DialensError, match=r"b\.bin is a binary file in no format"):
        read(tmp_path)
    intake = Intake(OnError.SKIP)
    assert read(tmp_path, intake=intake).turns.collect().height == 2
    assert intake.rejected == 1
    assert intake.rejects[0].file.endswith("b.bin")
    (tmp_path / "c").mkdir()
    with pytest.raises(DialensError, match="c holds no file with conversations"):
        read(tmp_path / "c")
