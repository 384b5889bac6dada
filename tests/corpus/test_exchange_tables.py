"""Replies in columns of their own: beside messages, and in rows of one exchange each."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens import DialensError
from dialens.corpus import Corpus, Intake, ReadOptions, read

Rows = Sequence[dict[str, Any]]


def as_jsonl(rows: Rows, folder: Path) -> Path:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_csv(rows: Rows, folder: Path, delimiter: str = ",") -> Path:
    path = folder / f"log.{'tsv' if delimiter == chr(9) else 'csv'}"
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    for row in rows:
        writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()})
    path.write_bytes(text.getvalue().encode())
    return path


def as_parquet(rows: Rows, folder: Path) -> Path:
    path = folder / "log.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return path


HOLDERS: dict[str, Callable[[Rows, Path], Any]] = {
    "jsonl": as_jsonl,
    "csv": as_csv,
    "tsv": lambda rows, folder: as_csv(rows, folder, "\t"),
    "parquet": as_parquet,
    "polars": lambda rows, folder: pl.DataFrame(rows),
    "list": lambda rows, folder: list(rows),
}
every_holder = pytest.mark.parametrize("held", HOLDERS.values(), ids=HOLDERS)


def said(corpus: Corpus) -> dict[str, list[tuple[str, str]]]:
    turns = corpus.turns.collect()
    return {
        dialog: list(zip(some["role"], some["text"], strict=True))
        for (dialog,), some in turns.group_by("dialog", maintain_order=True)
    }


def messages(*texts: str) -> list[dict[str, str]]:
    sides = ("user", "assistant")
    return [{"role": sides[n % 2], "content": text} for n, text in enumerate(texts)]


WHOLE = [("partner", "Hi"), ("agent", "Hello"), ("partner", "Where is it?"), ("agent", "Here.")]


@every_holder
@pytest.mark.parametrize("conversation", ["messages", "conversation"])
@pytest.mark.parametrize("column", ["output", "response", "completion", "answer"])
def test_a_reply_beside_messages_is_the_agents_turn(
    tmp_path: Path, held: Callable[[Rows, Path], Any], conversation: str, column: str
) -> None:
    asked = messages("Hi", "Hello", "Where is it?")
    rows = [{"id": f"d{n}", conversation: asked, column: "Here."} for n in range(2)]
    intake = Intake()
    corpus = read(held(rows, tmp_path), intake=intake)
    assert said(corpus) == {"d0": WHOLE, "d1": WHOLE}
    assert any(f"took '{column}' for the agent's reply (2 dialogues)" in n for n in intake.notes)


@every_holder
def test_a_reply_that_ends_the_messages_already_is_not_said_twice(
    tmp_path: Path, held: Callable[[Rows, Path], Any]
) -> None:
    whole = messages(*(text for _, text in WHOLE))
    intake = Intake()
    corpus = read(
        held([{"id": "d", "messages": whole, "output": "Here. "}], tmp_path), intake=intake
    )
    assert said(corpus) == {"d": WHOLE}
    assert intake.notes == []


@every_holder
def test_a_column_that_says_something_else_is_kept_and_that_is_said(
    tmp_path: Path, held: Callable[[Rows, Path], Any]
) -> None:
    whole = messages(*(text for _, text in WHOLE))
    intake = Intake()
    corpus = read(held([{"id": "d", "messages": whole, "answer": "42"}], tmp_path), intake=intake)
    assert said(corpus) == {"d": WHOLE}
    assert any("'answer' is not the agent's last turn" in note for note in intake.notes)
    assert '"answer":"42"' in str(corpus.turns.collect()["meta"][0]).replace(" ", "")


def test_tools_at_the_end_of_messages_stand_before_the_reply(tmp_path: Path) -> None:
    asked = [*messages("Hi"), {"role": "tool", "content": "42"}]
    corpus = read(as_jsonl([{"messages": asked, "output": "Hello"}], tmp_path))
    meta = corpus.turns.collect()["meta"]
    assert "after" not in str(meta[0])
    assert json.loads(meta[1])["before"][0]["content"] == "42"


EXCHANGES = [
    {"session_id": "s1", "turn": 1, "prompt": "Where is it?", "response": "Here."},
    {"session_id": "s2", "turn": 0, "prompt": "Bye", "response": "See you"},
    {"session_id": "s1", "turn": 0, "prompt": "Hi", "response": "Hello"},
]
JOINED = {"s1": WHOLE, "s2": [("partner", "Bye"), ("agent", "See you")]}


def called(rows: Rows, **names: str) -> Rows:
    return [{names.get(key, key): value for key, value in row.items()} for row in rows]


@every_holder
@pytest.mark.parametrize(
    "names",
    [
        {},
        {"prompt": "question", "response": "answer", "session_id": "conversation_id"},
        {"prompt": "user_input", "response": "bot_response", "session_id": "Chat ID"},
        {"prompt": "user", "response": "assistant", "turn": "turn_number"},
    ],
    ids=lambda names: "-".join(names.values()),
)
def test_exchanges_of_one_conversation_are_one_dialogue(
    tmp_path: Path, held: Callable[[Rows, Path], Any], names: dict[str, str]
) -> None:
    intake = Intake()
    corpus = read(held(called(EXCHANGES, **names), tmp_path), intake=intake)
    assert said(corpus) == dict(reversed(JOINED.items()))
    assert any("joined 2 rows into 1 dialogue by" in note for note in intake.notes)


@every_holder
def test_exchanges_by_the_columns_that_the_user_names(
    tmp_path: Path, held: Callable[[Rows, Path], Any]
) -> None:
    rows = called(EXCHANGES, prompt="Frage", response="Antwort", session_id="Fall", turn="Nr")
    columns = ["prompt=Frage", "response=Antwort"]
    one_by_one = read(held(rows, tmp_path), options=ReadOptions().with_columns(columns))
    assert len(said(one_by_one)) == 3
    given = ReadOptions().with_columns([*columns, "dialog=Fall", "turn=Nr"])
    assert said(read(held(rows, tmp_path), options=given)) == JOINED
    with pytest.raises(DialensError, match="no column 'Anwort'"):
        read(
            held(rows, tmp_path),
            options=ReadOptions().with_columns(["prompt=Frage", "response=Anwort"]),
        )


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["prompt=Frage"], {"prompt": "Frage", "response": "bot_response"}),
        (["response=Antwort"], {"prompt": "user_input", "response": "Antwort"}),
        (["response=Antwort"], {"prompt": "user", "response": "Antwort"}),
    ],
)
def test_one_side_may_be_named_where_the_other_is_known(
    tmp_path: Path, columns: list[str], names: dict[str, str]
) -> None:
    rows = called(EXCHANGES, **names)
    given = ReadOptions().with_columns(columns)
    assert said(read(as_csv(rows, tmp_path), options=given))["s1"] == WHOLE


@pytest.mark.parametrize("names", [("user", "model"), ("user", "response"), ("prompt", "model")])
def test_ids_of_users_and_names_of_models_are_not_taken_for_words(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    with pytest.raises(DialensError, match="Columns: "):
        read(as_jsonl([dict.fromkeys(names, "x")], tmp_path))


def test_exchanges_follow_their_times(tmp_path: Path) -> None:
    times = ["01/05/2024 11:59", "02/05/2024 10:00", "01/05/2024 11:58"]
    rows = [
        {
            "session_id": row["session_id"],
            "date": time,
            "user": row["prompt"],
            "bot": row["response"],
        }
        for row, time in zip(EXCHANGES, times, strict=True)
    ]
    assert said(read(as_csv(rows, tmp_path)))["s1"] == WHOLE
    unread = [{**row, "date": f"Mittwoch {str(row['date'])[-5:]}"} for row in rows]
    with pytest.raises(DialensError, match="do not stand in their order"):
        read(as_csv(unread, tmp_path))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (
            [
                {"prompt": "Hi", "response": "Hello"},
                {"prompt": "User: Hi\nBot: Hello\nUser: Bye", "response": "See you"},
            ],
            "repeat what was said before",
        ),
        (
            [
                {"prompt": messages("Hi"), "response": "Hello"},
                {"prompt": messages("Hi", "Hello", "Bye"), "response": "See you"},
            ],
            "repeat what was said before",
        ),
        (
            [{"prompt": "Hi", "response": "Hello"}, {"prompt": "Hi", "response": "Good day"}],
            "answer the same prompt",
        ),
        (
            [
                {"turn": 1, "prompt": "Hi", "response": "Hello"},
                {"turn": 1, "prompt": "Hi", "response": "Good day"},
                {"turn": 2, "prompt": "Bye", "response": "See you"},
            ],
            "answer the same prompt",
        ),
        (
            [
                {"prompt": "Hi", "response": "Hello", "model": "a"},
                {"prompt": "Bye", "response": "See you", "model": "b"},
            ],
            "are answered by several agents",
        ),
    ],
    ids=["growing text", "growing messages", "samples", "samples by turn", "agents"],
)
def test_rows_of_one_id_that_are_no_sequence_stay_dialogues(
    tmp_path: Path, rows: Rows, why: str
) -> None:
    intake = Intake()
    path = as_jsonl([{"conversation_id": "c", **row} for row in rows], tmp_path)
    corpus = read(path, intake=intake)
    assert len(said(corpus)) == len(rows)
    assert any(f"where they {why} ({len(rows)} rows)" in note for note in intake.notes)


def test_each_agents_answers_to_the_same_prompts_are_a_dialogue(tmp_path: Path) -> None:
    rows = [
        {"conversation_id": "c", "model": model, "prompt": prompt, "response": f"{model}: {prompt}"}
        for prompt in ("Hi", "Bye")
        for model in ("a", "b")
    ]
    found = said(read(as_jsonl(rows, tmp_path)))
    assert [[text for _, text in talk] for talk in found.values()] == [
        ["Hi", "a: Hi", "Bye", "a: Bye"],
        ["Hi", "b: Hi", "Bye", "b: Bye"],
    ]


def test_cases_of_a_test_are_no_conversations(tmp_path: Path) -> None:
    rows = [{"case": "billing", "prompt": prompt, "response": "Yes"} for prompt in ("Hi", "Bye")]
    assert len(said(read(as_jsonl(rows, tmp_path)))) == 2
    given = ReadOptions().with_columns(["dialog=case"])
    assert len(said(read(as_jsonl(rows, tmp_path), options=given))) == 1


def test_a_word_said_twice_does_not_part_a_conversation(tmp_path: Path) -> None:
    rows = [
        {"conversation_id": "c", "prompt": prompt, "response": f"{place}"}
        for place, prompt in enumerate(["Hi", "Yes", "Yes", "Bye"])
    ]
    assert len(said(read(as_jsonl(rows, tmp_path)))["c"]) == 8


def test_an_exchange_that_cannot_be_read_takes_its_dialogue_along(tmp_path: Path) -> None:
    rows = [*EXCHANGES, {"session_id": "s1", "turn": 2, "prompt": "And?", "response": None}]
    with pytest.raises(DialensError, match="line 4: field `response` is empty"):
        read(as_jsonl(rows, tmp_path))
    intake = Intake()
    corpus = read(as_jsonl(rows, tmp_path), on_error="skip")
    assert list(said(corpus)) == ["s2"]
    assert corpus.manifest["counts"]["rejected"] == 1
    assert intake.rejected == 0
