"""Tables with a conversation a row: every shape in every kind of file reads alike.

The shapes are those of released data sets. The files were compared once with what `datasets` 5.2
writes of the same rows (`to_parquet`, `to_json`, `to_csv`, `save_to_disk`, `DatasetDict`); here
Polars writes Parquet and Arrow, and pandas, which `datasets` uses for CSV, the CSV.
"""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Intake, OnError, read

Rows = list[dict[str, Any]]
ASKED, REPLIED = 'How\'s "it", in Zürich?\nTell me 👩‍👩‍👧!', "I'm fine;\tand {you}: [here]?"
AT = datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)


def openai(asked: str = ASKED, replied: str = REPLIED) -> list[dict[str, Any]]:
    return [{"content": asked, "role": "user"}, {"content": replied, "role": "assistant"}]


def wildchat(turn: int) -> list[dict[str, Any]]:
    about = {"language": "English", "redacted": False, "toxic": False, "turn_identifier": turn}
    header = {"accept-language": "en", "user-agent": "Mozilla"}
    return [
        {**openai()[0], "country": "US", "header": header, "timestamp": None, **about},
        {**openai()[1], "country": None, "header": None, "timestamp": AT, **about},
    ]


MODERATION = [{"categories": {"hate": False}, "flagged": False}]
SHAPES: dict[str, Rows] = {
    "LMSYS-Chat-1M": [
        {
            "conversation_id": f"c{n}",
            "model": "vicuna-13b",
            "conversation": openai(),
            "turn": 1,
            "language": "English",
            "openai_moderation": MODERATION,
            "redacted": False,
        }
        for n in range(2)
    ],
    "WildChat": [
        {
            "conversation_hash": "h",  # a hash of the content: two may be alike
            "model": "gpt-3.5-turbo",
            "timestamp": AT,
            "conversation": wildchat(n),
            "turn": 1,
            "openai_moderation": MODERATION,
        }
        for n in range(2)
    ],
    "UltraChat-200k": [
        {"prompt": ASKED, "prompt_id": f"p{n}", "messages": openai()} for n in range(2)
    ],
    "UltraChat": [{"id": str(n), "data": [ASKED, REPLIED]} for n in range(2)],
    "ShareGPT": [
        {
            "id": f"s{n}",
            "conversations": [
                {"from": "system", "value": "Be kind."},
                {"from": "human", "value": ASKED},
                {"from": "gpt", "value": REPLIED},
            ],
        }
        for n in range(2)
    ],
    "OASST": [
        {
            "messages": [
                {"role": "prompter", "text": ASKED, "lang": "de"},
                {"role": "assistant", "text": REPLIED, "lang": "de"},
            ]
        }
        for _ in range(2)
    ],
    "DailyDialog": [{"dialog": [ASKED, REPLIED], "act": [1, 2], "emotion": [0, 4]}] * 2,
    "speakers": [
        {
            "dialogue": [
                {"speaker": "Ann", "text": ASKED},
                {"speaker": "HelpBot", "text": REPLIED},
            ],
            "dialogue_id": n,
        }
        for n in range(2)
    ],
    "pairs": [{"conversation": [{"human": ASKED, "assistant": REPLIED}]}] * 2,
    "columns of messages": [
        {"conversations": {"from": ["human", "gpt"], "value": [ASKED, REPLIED]}}
    ]
    * 2,
    "prompt and response": [
        {"prompt": ASKED, "response": REPLIED, "model": f"m{n}"} for n in range(2)
    ],
    "question and answer": [{"id": n, "question": ASKED, "answer": REPLIED} for n in range(2)],
    "messages and completion": [
        {"prompt": openai()[:1], "completion": openai()[1:]} for _ in range(2)
    ],
    "several responses": [{"query": ASKED, "responses": [REPLIED, REPLIED]}],
    "UltraFeedback": [
        {
            "instruction": ASKED,
            "completions": [
                {"model": name, "response": REPLIED, "overall_score": 7.5} for name in ("a", "b")
            ],
        }
    ],
    "DPO": [{"system": "Be kind.", "question": ASKED, "chosen": REPLIED, "rejected": REPLIED}],
    "binarised": [
        {"prompt": ASKED, "chosen": openai(), "rejected": openai(), "messages": openai()}
    ],
    "TRL": [{"prompt": openai()[:1], "chosen": openai()[1:], "rejected": openai()[1:]}],
}


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def parquet(rows: Rows, folder: Path) -> Path:
    frame(rows).write_parquet(folder / "chats.parquet")
    return folder / "chats.parquet"


def arrow_file(rows: Rows, folder: Path) -> Path:
    frame(rows).write_ipc(folder / "chats.arrow")
    return folder / "chats.arrow"


def stream(rows: Rows, path: Path) -> None:
    """A stream with a batch a row, as record batches follow each other in a long one."""
    whole = io.BytesIO()
    frame(rows).write_ipc_stream(whole)
    path.write_bytes(whole.getvalue())


def arrow_stream(rows: Rows, folder: Path) -> Path:
    stream(rows, folder / "chats.arrow")
    return folder / "chats.arrow"


def saved(rows: Rows, folder: Path) -> Path:
    """As `Dataset.save_to_disk` lays it out."""
    home = folder / "chats"
    home.mkdir(parents=True)
    names = [f"data-{n:05}-of-{len(rows):05}.arrow" for n in range(len(rows))]
    for name, row in zip(names, rows, strict=True):
        stream([row], home / name)
    (home / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": name} for name in names], "_split": "train"})
    )
    (home / "dataset_info.json").write_text('{"features": {}}')
    return home


def snapshot(rows: Rows, folder: Path) -> Path:
    """As a repository of the hub."""
    home = folder / "chats"
    (home / "data").mkdir(parents=True)
    (home / "README.md").write_text("---\nlicense: mit\n---\n")
    (home / ".gitattributes").write_text("*.parquet filter=lfs\n")
    for n, row in enumerate(rows):
        frame([row]).write_parquet(home / "data" / f"train-{n:05}-of-{len(rows):05}.parquet")
    return home


def jsonl(rows: Rows, folder: Path) -> Path:
    path = folder / "chats.jsonl"
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    return path


def array(rows: Rows, folder: Path) -> Path:
    (folder / "chats.json").write_text(json.dumps(rows, default=str, indent=1))
    return folder / "chats.json"


def csv_of_json(rows: Rows, folder: Path) -> Path:
    cells = [
        {k: json.dumps(v, default=str) if isinstance(v, list | dict) else v for k, v in row.items()}
        for row in rows
    ]
    pl.DataFrame(cells).write_csv(folder / "chats.csv")
    return folder / "chats.csv"


def csv_of_pandas(rows: Rows, folder: Path) -> Path:
    """Lists as Python shows them."""
    pd.DataFrame(rows).to_csv(folder / "chats.csv")
    return folder / "chats.csv"


def tsv_of_arrays(rows: Rows, folder: Path) -> Path:
    """Lists as NumPy shows them: what pandas has read from Parquet, it holds as arrays."""
    table = pd.DataFrame(
        {
            key: pd.Series([_array(row[key]) for row in rows], dtype=object)
            for key in dict.fromkeys(key for row in rows for key in row)
        }
    )
    table.to_csv(folder / "chats.tsv", sep="\t", index=False)
    return folder / "chats.tsv"


def _array(value: object) -> object:
    if not isinstance(value, list):
        return value
    made = np.empty(len(value), dtype=object)
    made[:] = value
    return made


FILES: dict[str, Callable[[Rows, Path], Path]] = {
    function.__name__: function
    for function in (
        parquet,
        arrow_file,
        arrow_stream,
        saved,
        snapshot,
        jsonl,
        array,
        csv_of_json,
        csv_of_pandas,
        tsv_of_arrays,
    )
}


def said(corpus: Corpus) -> list[tuple[str, str]]:
    return corpus.turns.select("role", "text").collect().rows()


def column(corpus: Corpus, name: str) -> list[str]:
    return corpus.turns.collect()[name].unique(maintain_order=True).to_list()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_in_every_file(shape: str, file: str, tmp_path: Path) -> None:
    corpus = read(FILES[file](SHAPES[shape], tmp_path))
    assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * 2
    assert len(column(corpus, "dialog")) == 2


AGENTS = {
    "LMSYS-Chat-1M": ["vicuna-13b"],
    "WildChat": ["gpt-3.5-turbo"],
    "UltraFeedback": ["a", "b"],
    "prompt and response": ["m0", "m1"],
    "DPO": ["chosen", "rejected"],
    "binarised": ["chosen", "rejected"],
    "TRL": ["chosen", "rejected"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_agent_is_called_by_its_model_or_else_its_file(shape: str, tmp_path: Path) -> None:
    corpus = read(parquet(SHAPES[shape], tmp_path))
    assert column(corpus, "agent") == AGENTS.get(shape, ["chats"])
    assert column(corpus, "system") == ["chats"]


@pytest.mark.parametrize(
    ("shape", "ids"),
    [
        ("LMSYS-Chat-1M", ["c0", "c1"]),
        ("WildChat", ["h", "h-2"]),
        ("UltraChat-200k", ["p0", "p1"]),
        ("speakers", ["0", "1"]),
        ("question and answer", ["0", "1"]),
        ("DailyDialog", ["chats-1", "chats-2"]),
        ("several responses", ["chats-1-1", "chats-1-2"]),
        ("DPO", ["chats-1-chosen", "chats-1-rejected"]),
    ],
)
def test_ids(shape: str, ids: list[str], tmp_path: Path) -> None:
    assert column(read(parquet(SHAPES[shape], tmp_path)), "dialog") == ids


def test_plain_columns_stay_with_the_first_turn(tmp_path: Path) -> None:
    lmsys = json.loads(read(parquet(SHAPES["LMSYS-Chat-1M"], tmp_path)).turns.collect()["meta"][0])
    assert lmsys == {"record": {"turn": 1, "language": "English", "redacted": False}}
    wild = read(parquet(SHAPES["WildChat"], tmp_path)).turns.collect()["meta"]
    first, second = json.loads(wild[0]), json.loads(wild[1])
    assert first["message"]["country"] == "US"
    assert first["message"]["header"] == {"accept-language": "en", "user-agent": "Mozilla"}
    assert first["record"] == {"timestamp": "2023-04-09 00:02:53+00", "turn": 1}
    assert "country" not in second["message"]
    share = json.loads(read(parquet(SHAPES["ShareGPT"], tmp_path)).turns.collect()["meta"][0])
    assert share["before"] == [{"role": "system", "content": "Be kind."}]


def test_the_same_question_answered_by_two_models_is_two_dialogues(tmp_path: Path) -> None:
    rows = [{"id": 1, "model": m, "prompt": "Hi", "response": m} for m in ("x", "y", "y")]
    corpus = read(jsonl(rows, tmp_path))
    assert column(corpus, "dialog") == ["1", "1-y", "1-2"]
    assert column(corpus, "agent") == ["x", "y"]


def test_an_instruction_with_an_input_is_one_prompt(tmp_path: Path) -> None:
    rows = [
        {"instruction": "Translate.", "input": "Hund", "output": "dog"},
        {"instruction": "Say hi.", "input": "", "output": "Hi."},
    ]
    assert said(read(jsonl(rows, tmp_path))) == [
        ("partner", "Translate.\n\nHund"),
        ("agent", "dog"),
        ("partner", "Say hi."),
        ("agent", "Hi."),
    ]


def test_what_was_said_before_comes_before_the_prompt(tmp_path: Path) -> None:
    rows = [{"history": [["a", "b"]], "instruction": "c", "output": "d"}]
    assert [text for _, text in said(read(array(rows, tmp_path)))] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("file", ["parquet", "jsonl", "csv_of_pandas", "saved"])
def test_human_and_assistant_in_one_text(file: str, tmp_path: Path) -> None:
    start = "\n\nHuman: Hi\n\nAssistant: Hello.\n\nIt is late.\n\nHuman: So?\n\nAssistant:"
    rows = [{"chosen": f"{start} Good.", "rejected": f"{start} Bad."}]
    corpus = read(FILES[file](rows, tmp_path))
    shared = [("partner", "Hi"), ("partner", "Hello.\n\nIt is late."), ("partner", "So?")]
    assert said(corpus) == [*shared, ("agent", "Good."), *shared, ("agent", "Bad.")]
    guanaco = [{"text": "### Human: Hi\n### Assistant: Hello"}]
    assert said(read(jsonl(guanaco, tmp_path))) == [("partner", "Hi"), ("agent", "Hello")]


def test_a_preference_is_kept_as_the_arena_keeps_it(tmp_path: Path) -> None:
    rows = [
        {
            "id": "q1",
            "prompt": "Hi",
            "chosen": "Hello!",
            "rejected": "What.",
            "chosen_model": "kind",
            "rejected_model": "curt",
        }
    ]
    corpus = read(parquet(rows, tmp_path))
    assert column(corpus, "agent") == ["kind", "curt"]
    ratings = corpus.ratings.select("dialog", "quality", "level", "value", "condition", "factors")
    first, second = ratings.collect().rows()
    assert first[:5] == ("q1-chosen", "preference", "dialog", 1.0, "q1")
    assert second[:5] == ("q1-rejected", "preference", "dialog", 0.0, "q1")
    assert json.loads(first[5]) == {"side": "chosen", "against": "curt", "verdict": "chosen"}


@pytest.mark.parametrize("file", FILES)
def test_battles_of_the_arena_in_tables(file: str, tmp_path: Path) -> None:
    rows = [
        {
            "question_id": "b1",
            "model_a": "x",
            "model_b": "y",
            "winner": "model_b",
            "judge": "arena_user_1",
            "conversation_a": openai("Hi", "Yes."),
            "conversation_b": openai("Hi", "Hello."),
            "turn": 1,
            "anony": True,
            "tstamp": 1682351591.5,
        }
    ]
    corpus = read(FILES[file](rows, tmp_path))
    assert column(corpus, "dialog") == ["b1-a", "b1-b"]
    assert corpus.ratings.select("agent", "value").collect().rows() == [("x", 0.0), ("y", 1.0)]


# --- folders


def test_splits_do_not_mix(tmp_path: Path) -> None:
    home = tmp_path / "chats"
    for split in ("train", "test"):
        saved(SHAPES["LMSYS-Chat-1M"], tmp_path / split).rename(tmp_path / f"{split}-moved")
        (tmp_path / split).rmdir()
        home.mkdir(exist_ok=True)
        (tmp_path / f"{split}-moved").rename(home / split)
    (home / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    corpus = read(home)
    assert column(corpus, "dialog") == ["train/c0", "train/c1", "test/c0", "test/c1"]
    assert column(corpus, "system") == ["chats"]


def test_the_cache_of_the_hub(tmp_path: Path) -> None:
    home = tmp_path / "datasets--someone--Chats"
    snapshot(SHAPES["ShareGPT"], tmp_path)
    (home / "snapshots").mkdir(parents=True)
    (tmp_path / "chats").rename(home / "snapshots" / "0f3c")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("0f3c")
    for path in (home, home / "snapshots" / "0f3c"):
        assert column(read(path), "agent") == ["Chats"]


def test_configurations_and_split_folders(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / "chats" / "default" / split).mkdir(parents=True)
        path = tmp_path / "chats" / "default" / split / "0000.parquet"
        frame(SHAPES["DailyDialog"][:1]).write_parquet(path)
    corpus = read(tmp_path / "chats")
    assert column(corpus, "dialog") == ["test/chats-1", "train/chats-1"]


def test_parquet_files_with_names_of_their_own_are_several_sources(tmp_path: Path) -> None:
    for name in ("v1", "v2"):
        frame(SHAPES["pairs"][:1]).write_parquet(tmp_path / f"{name}.parquet")
    assert column(read(tmp_path), "agent") == ["v1", "v2"]


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    home = saved(SHAPES["LMSYS-Chat-1M"], tmp_path)
    (home / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(DialensError, match=r"not saved whole: data-00001-of-00002\.arrow"):
        read(home)


# --- lists of messages


@pytest.mark.parametrize(
    ("content", "dialogs"),
    [
        (openai(), 1),
        ([{"role": "developer", "content": "Be kind."}, *openai()], 1),
        ([openai(), openai()], 2),
        ([[ASKED, REPLIED], [ASKED, REPLIED]], 2),
        ({"messages": openai()}, 1),
        ([{"messages": openai()}, {"messages": openai()}], 2),
        ({"conversations": [{"id": 1, "messages": openai()}, {"id": 2, "messages": openai()}]}, 2),
        ([{"from": "human", "value": ASKED}, {"from": "gpt", "value": REPLIED}], 1),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_lists_of_messages(content: Any, dialogs: int, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(content, indent=indent))
    corpus = read(path)
    assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * dialogs
    assert len(column(corpus, "dialog")) == dialogs
    assert said(read(content)) == said(corpus)


def test_a_list_a_line_is_a_conversation_a_line(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(f"{json.dumps(openai())}\n{json.dumps(openai())}\n")
    assert column(read(path), "dialog") == ["chats-1", "chats-2"]
    path.write_text("".join(f"{json.dumps(message)}\n" for message in openai()))
    assert said(read(path)) == [("partner", ASKED), ("agent", REPLIED)]


# --- what cannot be read


@pytest.mark.parametrize("file", ["parquet", "arrow_stream", "jsonl", "csv_of_json"])
def test_columns_that_hold_no_conversation_are_named(file: str, tmp_path: Path) -> None:
    path = FILES[file]([{"colour": "red", "size": 3}], tmp_path)
    with pytest.raises(DialensError, match=r"(?s)Columns: colour, size\..*prompt"):
        read(path)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"messages": None}, "row 2: field `messages` is empty"),
        ({"messages": []}, "row 2: field `messages` holds no message"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, r"row 2: .*is not a known role"),
        ({"messages": [{"role": "system", "content": "x"}]}, "row 2: .*no message of a user"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_or_left_out(
    row: dict[str, Any], what: str, tmp_path: Path
) -> None:
    path = parquet([{"messages": openai()}, row, {"messages": openai()}], tmp_path)
    with pytest.raises(DialensError, match=what):
        read(path)
    intake = Intake(OnError.SKIP)
    assert column(read(path, intake=intake), "dialog") == ["chats-1", "chats-3"]
    assert intake.rejected == 1


@pytest.mark.parametrize("file", ["parquet", "arrow_stream", "arrow_file"])
def test_a_file_that_was_cut_off(file: str, tmp_path: Path) -> None:
    path = FILES[file](SHAPES["LMSYS-Chat-1M"], tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DialensError, match="is not a whole"):
        read(path)


def test_an_array_that_numpy_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chats.csv"
    path.write_text("id,dialog\n1,\"['a' 'b']\"\n2,\"['a' 'b' ... 'y' 'z']\"\n")
    with pytest.raises(DialensError, match=r"line 3: field `dialog` is neither JSON nor a whole"):
        read(path)


def test_a_table_with_a_turn_a_row_stays_one(tmp_path: Path) -> None:
    rows = [{"dialog": "d", "role": "user", "text": "Human: hi"}]
    for file in (parquet, arrow_stream, arrow_file):
        assert said(read(file(rows, tmp_path))) == [("partner", "Human: hi")]
    with pytest.raises(DialensError, match=r"plainly speaker or role\. Columns: dialog, text"):
        read(parquet([{"dialog": "d", "text": "hi"}], tmp_path), format="parquet")


@pytest.mark.parametrize("orient", ["columns", "split"])
def test_data_frames_as_pandas_writes_them_to_json(tmp_path: Path, orient: Any) -> None:
    rows = [{"conversation": openai(), "model": "m1"}, {"conversation": openai(), "model": "m2"}]
    path = tmp_path / "chats.json"
    for frame in (pd.DataFrame(rows), pd.DataFrame(rows, index=[4, 9])):
        frame.to_json(path, orient=orient)
        corpus = read(path)
        assert said(corpus) == [("partner", ASKED), ("agent", REPLIED)] * 2
        assert column(corpus, "agent") == ["m1", "m2"]
    turns = pd.DataFrame(
        [("c", "user", ASKED), ("c", "bot", REPLIED)], columns=["chat_id", "sender", "message"]
    )
    turns.to_json(path, orient=orient)
    assert said(read(path)) == [("partner", ASKED), ("agent", REPLIED)]
