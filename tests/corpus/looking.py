"""What tests of readers write, and what they look at in a corpus."""

import json
from pathlib import Path
from typing import Any

from dialens.corpus import Corpus


def given(corpus: Corpus, *columns: str) -> list[tuple[object, ...]]:
    return corpus.ratings.select(columns).collect().rows()


def told(corpus: Corpus, *columns: str) -> list[tuple[object, ...]]:
    return corpus.turns.select(columns).collect().rows()


def metas(corpus: Corpus) -> list[dict[str, Any] | None]:
    return [json.loads(m) if m else None for m in corpus.turns.collect()["meta"]]


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path
