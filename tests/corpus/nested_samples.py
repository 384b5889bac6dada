"""Released data sets' shapes of a conversation a row, and writers of every kind of file.

The files were compared once with what `datasets` 5.2 writes of the same rows (`to_parquet`,
`to_json`, `to_csv`, `save_to_disk`, `DatasetDict`); here Polars writes Parquet and Arrow, and
pandas, which `datasets` uses for CSV, the CSV.
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

from dialens.corpus import Corpus

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
