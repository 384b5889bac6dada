"""Sheets with other column names: guessed where there is no doubt, else named by the user."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from dialens import DialensError
from dialens.corpus import Corpus, Intake, ReadOptions, read

SAID = [
    ("c1", "Customer", "Where is my parcel?"),
    ("c1", "Bot", "It arrives today, at last."),
    ("c2", "Customer", "Hello; are you there?"),
    ("c2", "Bot", "Always.\nAsk me."),
]


def sheet(
    path: Path, header: list[str], rows: Sequence[tuple[object, ...]], delimiter: str = ","
) -> Path:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(header)
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode())
    return path


def options(columns: list[str] | None = None, roles: list[str] | None = None) -> ReadOptions:
    return ReadOptions().with_columns(columns or []).with_roles(roles or [])


def told(corpus: Corpus) -> list[tuple[object, ...]]:
    return corpus.turns.select("dialog", "role", "text").collect().rows()


EXPECTED = [(d, "agent" if who == "Bot" else "partner", text) for d, who, text in SAID]


@pytest.mark.parametrize(
    ("header", "delimiter", "speakers"),
    [
        (["Conversation ID", "Who", "Message"], ",", {}),
        (["session_id", "role", "content"], ";", {"Bot": "assistant", "Customer": "user"}),
        (["thread", "sender_type", "body"], "\t", {"Bot": "BOT"}),
        (["ChatID", "Author", "Utterance"], "|", {}),
    ],
)
def test_plain_names_are_guessed_and_the_guess_is_said(
    tmp_path: Path, header: list[str], delimiter: str, speakers: dict[str, str]
) -> None:
    if delimiter == "|":
        path = tmp_path / "chats.parquet"
        pl.DataFrame(SAID, schema=header, orient="row").write_parquet(path)
    else:
        rows = [(d, speakers.get(who, who), text) for d, who, text in SAID]
        path = sheet(tmp_path / "chats.csv", header, rows, delimiter)
    intake = Intake()
    assert told(read(path, intake=intake)) == EXPECTED
    (note,) = intake.notes
    assert "for dialog" in note
    assert "for text" in note


def test_a_sheet_without_conversations_is_one_conversation_in_the_order_of_its_times(
    tmp_path: Path,
) -> None:
    rows = [
        ("2024-05-01 10:31", "Bot", "second"),
        ("2024-05-01 10:30", "Customer", "first"),
        ("2024-05-01 10:32", "Customer", "third"),
    ]
    path = sheet(tmp_path / "log.csv", ["timestamp", "sender", "message"], rows)
    intake = Intake()
    assert told(read(path, intake=intake)) == [
        ("log", "partner", "first"),
        ("log", "agent", "second"),
        ("log", "partner", "third"),
    ]
    assert any("the whole file is one" in note for note in intake.notes)


@pytest.mark.parametrize(
    ("times", "order"),
    [
        (["1714559460", "1714559400"], ["b", "a"]),
        (["1714559460000", "1714559400000"], ["b", "a"]),
        (["Monday", "Sunday"], ["a", "b"]),
    ],
)
def test_times_in_seconds_and_words_that_are_no_times(
    tmp_path: Path, times: list[str], order: list[str]
) -> None:
    rows = [(times[0], "Bot", "a"), (times[1], "User", "b")]
    path = sheet(tmp_path / "log.csv", ["time", "sender", "message"], rows)
    assert read(path).turns.collect()["text"].to_list() == order


def test_turns_of_a_foreign_sheet_may_count_from_one(tmp_path: Path) -> None:
    rows = [("c", 30, "Bot", "z"), ("c", 10, "User", "x"), ("c", 20, "Bot", "y")]
    path = sheet(tmp_path / "log.csv", ["session", "turn_number", "speaker", "message"], rows)
    corpus = read(path).turns.collect()
    assert corpus.select("turn", "text").rows() == [(0, "x"), (1, "y"), (2, "z")]


def test_columns_and_roles_that_the_user_names(tmp_path: Path) -> None:
    names = {"Bot": "Kim", "Customer": "Lee"}
    rows = [(d, names[who], text, "note") for d, who, text in SAID]
    path = sheet(tmp_path / "x.csv", ["Fall", "Wer", "Inhalt", "text"], rows)
    given = options(["text=Inhalt", "dialog=Fall", "speaker=Wer"], ["agent=Kim", "user=Lee"])
    corpus = read(path, options=given)
    assert told(corpus) == EXPECTED
    assert corpus.turns.collect()["agent"].unique().to_list() == ["Kim"]
    assert '"note"' in corpus.turns.collect()["meta"][0]
    only_agent = options(["text=inhalt", "dialog=Fall", "speaker=Wer"], ["agent=kim"])
    assert told(read(path, options=only_agent)) == EXPECTED


def test_an_error_holds_the_option_that_mends_it(tmp_path: Path) -> None:
    names = {"Bot": "Kim", "Customer": "Lee Ann"}
    rows = [(d, names[who], text, "x") for d, who, text in SAID]
    path = sheet(tmp_path / "x.csv", ["ticket", "sender", "message", "Message Text"], rows)
    with pytest.raises(DialensError, match="could each be text") as first:
        read(path, format="csv", intake=Intake())
    pasted = re.search(r"--column \S+", str(first.value))
    assert pasted is not None
    columns = shlex.split(pasted.group())[1::2]
    with pytest.raises(DialensError, match="which speaker is the agent") as second:
        read(path, options=options(columns), intake=Intake())
    pasted = re.search(r"--role agent=\S+", str(second.value))
    assert pasted is not None
    mended = options(columns, shlex.split(pasted.group())[1:])
    assert told(read(path, options=mended)) == EXPECTED


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_table_of_something_else_names_its_columns_at_once(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"question_asked": ["a", "b"], "reply_given": ["c", "d"], "mark": [1, 2]})
    path = tmp_path / f"x.{ending}"
    if ending == "csv":
        frame.write_csv(path)
    elif ending == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_ndjson(path)
    with pytest.raises(DialensError, match="question_asked, reply_given, mark") as error:
        read(path, intake=Intake())
    assert "--column" in str(error.value)


def test_a_turn_a_record(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        [(d, "assistant" if who == "Bot" else "user", text) for d, who, text in SAID],
        schema=["session_id", "role", "content"],
        orient="row",
    )
    rows.write_ndjson(tmp_path / "log.jsonl")
    rows.write_json(tmp_path / "log.json")
    for name in ("log.jsonl", "log.json"):
        assert told(read(tmp_path / name)) == EXPECTED
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"session_id": "c9", "role": "user", "content": "cut o')
    with pytest.raises(DialensError, match=r"log\.jsonl, line 5: ends in the middle"):
        read(tmp_path / "log.jsonl")


def test_a_column_or_speaker_that_is_not_there(tmp_path: Path) -> None:
    path = sheet(tmp_path / "x.csv", ["dialog", "speaker", "text"], SAID)
    with pytest.raises(DialensError, match=r"no column 'Mesage'.*Columns: dialog, speaker, text"):
        read(path, options=options(["text=Mesage"]))
    with pytest.raises(DialensError, match=r"nobody is called 'Kim'.*Customer and Bot"):
        read(path, options=options(roles=["agent=Kim"]))
    with pytest.raises(DialensError, match=r"'Bot' speaks too.*--role agent=Bot"):
        read(
            sheet(tmp_path / "y.csv", ["dialog", "speaker", "text"], [*SAID, ("c2", "Kim", "Hm.")]),
            options=options(roles=["agent=Kim", "user=Customer"]),
            intake=Intake(),
        )


@pytest.mark.parametrize("entry", ["text", "words=Message", "text="])
def test_options_that_make_no_sense(entry: str) -> None:
    with pytest.raises(DialensError, match="--column takes OURS=THEIRS"):
        options([entry])
    with pytest.raises(DialensError, match="--role takes ROLE=NAME"):
        options(roles=[entry])


def test_instructions_in_a_sheet_are_no_turns(tmp_path: Path) -> None:
    rows = [("c", "system", "Be kind."), ("c", "user", "Hi"), ("c", "assistant", "Hello")]
    path = sheet(tmp_path / "x.csv", ["session_id", "role", "content"], rows)
    intake = Intake()
    assert told(read(path, intake=intake)) == [("c", "partner", "Hi"), ("c", "agent", "Hello")]
    assert any("left out 1 rows of the role system" in note for note in intake.notes)
    rows = [("c", "user", "Hi"), ("c", "system", "Hello")]
    path = sheet(tmp_path / "y.csv", ["session_id", "role", "content"], rows)
    assert told(read(path)) == [("c", "partner", "Hi"), ("c", "agent", "Hello")]


def test_somebody_is_named_by_the_column_of_speakers_beside_that_of_roles(tmp_path: Path) -> None:
    rows = [
        ("h", "customer", "Ann", "Where is it?"),
        ("h", "bot", "Shoppy", "Here."),
        ("h", "system", "", "Tim joined."),
        ("h", "human_agent", "Tim", "Hello, Tim here."),
    ]
    header = ["chat_id", "author_type", "author", "body"]
    path = sheet(tmp_path / "handoff.csv", header, rows)
    with pytest.raises(DialensError, match="seen: human_agent"):
        read(path)
    corpus = read(path, options=options(roles=["agent=Shoppy"]))
    assert [role for _, role, _ in told(corpus)] == ["partner", "agent", "partner"]
    assert corpus.turns.collect()["agent"].unique().to_list() == ["Shoppy"]
    with pytest.raises(DialensError, match=r"nobody is called 'Zoe'.*human_agent.*Ann, Shoppy"):
        read(path, options=options(roles=["agent=Zoe"]))


def test_tickets_of_a_help_desk(tmp_path: Path) -> None:
    rows = [(7, "end-user", "Ann", "Where is it?", True), (7, "agent", "Tim", "Here.", True)]
    header = ["ticket_id", "author_role", "author_name", "comment_body", "public"]
    corpus = read(sheet(tmp_path / "tickets.csv", header, rows))
    assert [role for _, role, _ in told(corpus)] == ["partner", "agent"]
    assert corpus.turns.collect()["agent"].unique().to_list() == ["Tim"]
