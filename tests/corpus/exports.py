"""What the tests of exports share: writing them, and what was read from them."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dialens.corpus import Corpus

Turns = dict[str, list[tuple[str, str, str]]]


def put(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def zipped(path: Path, files: Mapping[str, object]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return path


def said(corpus: Corpus) -> Turns:
    """Speaker, role and text of every turn, by dialogue."""
    turns: Turns = {}
    columns = corpus.turns.select("dialog", "speaker", "role", "text").collect()
    for dialog, *turn in columns.iter_rows():
        turns.setdefault(dialog, []).append(tuple(turn))
    return turns


def agents(corpus: Corpus) -> dict[str, str]:
    return dict(corpus.turns.select("dialog", "agent").unique().collect().iter_rows())


def meta(corpus: Corpus, turn: int) -> dict[str, Any]:
    row = corpus.turns.filter(pl.col("turn") == turn).select("meta").collect().item(0, 0)
    return json.loads(row) if row else {}


def ratings(corpus: Corpus, *columns: str) -> list[tuple[object, ...]]:
    return corpus.ratings.select(*columns).collect().rows()
