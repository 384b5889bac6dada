"""One small source in every format of text or tables, and ways to break each."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from dialens.corpus import Corpus, Dialogue, Tables, Turn, write_corpus
from tests.corpus.samples import (
    ODD,
    TALKS,
    Break,
    Record,
    Sample,
    Talk,
    json_sample,
    lines_of,
)


def _messages(talk: Talk, user: str, agent: str, role: str, text: str) -> list[Record]:
    who = {"partner": user, "agent": agent}
    return [{role: who[r], text: t} for r, t in zip(talk.roles, talk.texts, strict=True)]


def _openai(talk: Talk) -> Record:
    return {"id": talk.id, "messages": _messages(talk, "user", "assistant", "role", "content")}


def _sharegpt(talk: Talk) -> Record:
    return {"id": talk.id, "conversations": _messages(talk, "human", "gpt", "from", "value")}


def _dataset(talk: Talk) -> Record:
    said = _messages(talk, "user", "assistant", "role", "content")
    return {"conversation_id": talk.id, "model": "bot-1", "conversation": said, "turn": 1}


def _dstc10_turn(talk: Talk) -> Record:
    return {
        "dialogue_id": talk.id,
        "model": "bot",
        "context": "\n".join(talk.texts[:-1]),
        "response": talk.texts[-1],
        "reference": ["Maybe."],
        "annotations": {"overall": [3, 4], "relevance": [2.5]},
    }


def _dstc10_dialog(talk: Talk) -> Record:
    return {
        "dialogue_id": talk.id,
        "model": "bot",
        "dialog": _messages(talk, "human", "model", "speaker", "text"),
        "annotations": {"Overall": [3, 4], "Error recovery": []},
    }


def _fed(talk: Talk) -> Record:
    names = {"partner": "User", "agent": "System"}
    said = [f"{names[r]}: {t}" for r, t in zip(talk.roles, talk.texts, strict=True)]
    return {
        "context": "\n".join(said[:-1]),
        "response": said[-1],
        "system": "Meena",
        "annotations": {"Engaging": [2, 1, "N/A (unclear)"], "Overall": [4, 3, 3]},
    }


def _usr(talk: Talk) -> Record:
    return {
        "context": "\n".join(talk.texts[:-1]) + "\n",
        "fact": "your persona: i like dogs.\n",
        "annotators": ["r1", "r2"],
        "responses": [{"response": talk.texts[-1] + "\n", "model": "S2S", "Overall": [4, 5]}],
    }


def _parlai(talk: Talk) -> Record:
    acts = _messages(talk, "human", "bot_1", "id", "text")
    return {"dialog": [acts[n : n + 2] for n in range(0, len(acts), 2)], "dialog_id": talk.id}


def _arena(talk: Talk) -> Record:
    said = _messages(talk, "user", "assistant", "role", "content")
    return {
        "question_id": talk.id,
        "model_a": "bot-1",
        "model_b": "bot-2",
        "winner": "model_b",
        "judge": "arena_user_1",
        "conversation_a": said,
        "conversation_b": copy.deepcopy(said),
        "turn": 1,
        "language": "English",
        "tstamp": 1682351591.5,
    }


def _rated(talk: Talk) -> Record:
    return {
        "dataset": "demo",
        "unit_id": talk.id,
        "level": "turn",
        "system": "bot",
        "context": _messages(Talk("", talk.texts), "A", "B", "speaker", "text")[:-1],
        "response": talk.texts[-1],
        "ratings": {"engaging": [4, None, 5]},
        "raters": ["r1", "r2", "r3"],
    }


def _utterances(talks: tuple[Talk, ...]) -> list[list[Record]]:
    who = {"partner": "ann", "agent": "helpbot"}
    return [
        [
            {
                "id": f"{talk.id}.{place}" if place else talk.id,
                "conversation_id": talk.id,
                "speaker": who[role],
                "reply_to": None if place == 0 else talk.id,
                "timestamp": 1682351591 + place,
                "text": text,
                "meta": {"mood": "fine"},
            }
            for place, (role, text) in enumerate(zip(talk.roles, talk.texts, strict=True))
        ]
        for talk in talks
    ]


def _convokit(talks: tuple[Talk, ...]) -> bytes:
    """Conversations are interleaved, as they are in corpora sorted by time."""
    told = _utterances(talks)
    order = [
        utterances[place]
        for place in range(max(map(len, told)))
        for utterances in told
        if place < len(utterances)
    ]
    return lines_of(order)


def _convokit_break(change: Callable[[Record], None], field: str) -> Callable[[], Break]:
    def build() -> Break:
        told = _utterances(TALKS)
        change(told[1][0])
        records = [record for utterances in told for record in utterances]
        return Break(lines_of(records), 3, field, len(TALKS))

    return build


def _rows(talks: tuple[Talk, ...]) -> list[list[str]]:
    return [
        [talk.id, str(place), role, text]
        for talk in talks
        for place, (role, text) in enumerate(zip(talk.roles, talk.texts, strict=True))
    ]


_COLUMNS = ["dialog", "turn", "role", "text"]


def _cells(rows: list[list[str]], delimiter: str) -> bytes:
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in [_COLUMNS, *rows]]
    return "".join(delimiter.join(row) + "\n" for row in quoted).encode()


def _delimited(name: str, delimiter: str) -> Sample:
    def broken(column: int | None, value: str, field: str) -> Callable[[], Break]:
        def build() -> Break:
            rows = _rows(TALKS)
            if column is None:
                del rows[3][3]
            else:
                rows[3][column] = value
            return Break(_cells(rows, delimiter), 5, field, len(TALKS) - 1)

        return build

    return Sample(
        name,
        f"talks.{name}",
        lambda talks: _cells(_rows(talks), delimiter),
        breaks={
            "wrong type": broken(1, "two", "turn"),
            "missing field": broken(None, "", ""),
            "odd role": broken(2, ODD, "role"),
            "gap": broken(1, "7", "turn"),
        },
    )


def _turn_records(talks: tuple[Talk, ...], odd: str | None = None) -> bytes:
    keys = ("session_id", "role", "content")
    rows = [(row[0], row[2], row[-1]) for row in _rows(talks)]
    if odd is not None:
        rows[3] = (rows[3][0], odd, rows[3][2])
    records = (json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(record + "\n" for record in records).encode()


def _transcript(talks: tuple[Talk, ...]) -> bytes:
    names = {"partner": "Ann", "agent": "Bot"}
    blocks = [
        "".join(f"{names[r]}: {t}\n" for r, t in zip(talk.roles, talk.texts, strict=True))
        for talk in talks
    ]
    return "---\n".join(blocks).encode()


def _headings(talks: tuple[Talk, ...]) -> bytes:
    names = {"partner": "User", "agent": "Assistant"}
    texts = [
        "\n".join(
            f"## {names[role]}\n\n{text}\n"
            for role, text in zip(talk.roles, talk.texts, strict=True)
        )
        for talk in talks
    ]
    return "---\n".join(texts).encode()


def _transcript_break() -> Break:
    first, second, third = (_transcript((talk,)) for talk in TALKS)
    return Break(b"---\n".join([first, b"no one says this\n" + second, third]), 4, "speaker", 2)


def _parquet(talks: tuple[Talk, ...]) -> bytes:
    frame = pl.DataFrame(_rows(talks), schema=_COLUMNS, orient="row")
    return _parquet_bytes(frame.with_columns(pl.col("turn").cast(pl.Int64)))


def _parquet_bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _parquet_break(column: str, value: object, field: str) -> Callable[[], Break]:
    def build() -> Break:
        frame = pl.DataFrame(_rows(TALKS), schema=_COLUMNS, orient="row")
        changed = frame[column].to_list()
        changed[3] = value
        frame = frame.with_columns(pl.Series(column, changed, pl.String))
        return Break(_parquet_bytes(frame), 4, field, len(TALKS) - 1)

    return build


TEXT_SAMPLES = (
    json_sample(
        "openai",
        "talks.jsonl",
        _openai,
        text=("messages", 1, "content"),
        role=("messages", 0, "role"),
    ),
    json_sample(
        "sharegpt",
        "talks.json",
        _sharegpt,
        text=("conversations", 1, "value"),
        role=("conversations", 0, "from"),
        array=True,
    ),
    json_sample(
        "dataset",
        "talks.jsonl",
        _dataset,
        text=("conversation", 1, "content"),
        role=("conversation", 0, "role"),
    ),
    json_sample(
        "dstc10-turn",
        "talks_eval.json",
        _dstc10_turn,
        text=("response",),
        array=True,
        only_response=True,
    ),
    json_sample(
        "dstc10-dialog", "talks_eval.json", _dstc10_dialog, text=("dialog", 1, "text"), array=True
    ),
    json_sample(
        "fed",
        "fed_data.json",
        _fed,
        text=("response",),
        needed=("annotations",),
        array=True,
        only_response=True,
        has_ids=False,
    ),
    json_sample(
        "usr",
        "pc_usr_data.json",
        _usr,
        text=("context",),
        needed=("responses", 0, "model"),
        array=True,
        only_response=True,
        has_ids=False,
    ),
    json_sample("parlai", "talks.jsonl", _parlai, text=("dialog", 0, 1, "text")),
    json_sample(
        "arena",
        "battles.json",
        _arena,
        text=("conversation_b", 1, "content"),
        role=("conversation_a", 0, "role"),
        array=True,
        twice=True,
    ),
    json_sample(
        "rated-units", "units.jsonl", _rated, text=("context", 0, "text"), only_response=True
    ),
    Sample(
        "turns",
        "talks.jsonl",
        _turn_records,
        breaks={
            "odd role": lambda: Break(_turn_records(TALKS, ODD), 4, "role", len(TALKS) - 1),
        },
    ),
    _delimited("csv", ","),
    _delimited("tsv", "\t"),
    Sample(
        "transcript",
        "talks.txt",
        _transcript,
        has_ids=False,
        breaks={"missing field": _transcript_break},
        truncation_shows=False,
    ),
    Sample("transcript", "talks.md", _headings, has_ids=False, truncation_shows=False),
    Sample(
        "convokit",
        "utterances.jsonl",
        _convokit,
        folder="talks",
        beside={
            "speakers.json": '{"ann": {"meta": {}, "vectors": []}}',
            "conversations.json": '{"d1": {"meta": {"title": "Greetings"}, "vectors": []}}',
            "corpus.json": "{}",
            "index.json": '{"utterances-index": {}, "version": 1}',
        },
        breaks={
            "wrong type": _convokit_break(lambda said: said.update(text=5), "text"),
            "missing field": _convokit_break(lambda said: said.pop("text"), "text"),
        },
    ),
    json_sample(
        "files",
        "monday.jsonl",
        _openai,
        text=("messages", 1, "content"),
        role=("messages", 0, "role"),
        folder="logs",
        beside={"README.md": "About these logs", ".hidden": "x"},
    ),
    replace(
        _delimited("parts", ","),
        file="part-00000-6f3c.csv",
        folder="chats",
        beside={"_SUCCESS": "", "part-00001-6f3c.csv": ""},
    ),
)
PARQUET = Sample(
    "parquet",
    "talks.parquet",
    _parquet,
    breaks={
        "wrong type": _parquet_break("turn", "two", "turn"),
        "missing field": _parquet_break("text", None, "text"),
        "odd role": _parquet_break("role", ODD, "role"),
        "gap": _parquet_break("turn", "7", "turn"),
    },
)


def corpus_folder(root: Path) -> Path:
    """The talks in our own folder."""
    talks = [
        Dialogue("s", "bot", t.id, [Turn(r, r, x) for r, x in zip(t.roles, t.texts, strict=True)])
        for t in TALKS
    ]
    corpus = Corpus.of(talks)
    tables = Tables(*(f.collect() for f in (corpus.turns, corpus.ratings, corpus.references)))
    write_corpus([tables], root / "corpus", source={})
    return root / "corpus"


SAMPLES = (*TEXT_SAMPLES, PARQUET)
SAMPLE: dict[str, Sample] = {sample.name: sample for sample in TEXT_SAMPLES}
