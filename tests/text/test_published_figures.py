"""The function-word lists against the paper: adjusted R² of style matching alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.text import function_words, tokenise_texts


def shares(texts: list[str]) -> np.ndarray:
    tokens = tokenise_texts(texts)
    words = pl.Series([word for text in tokens for word in text]).unique()
    known = dict(zip(words, function_words().weights(words), strict=True))
    return np.array([np.mean([known[word] for word in text], axis=0) for text in tokens])


@pytest.mark.parametrize(
    ("dataset", "quality", "n", "published"),
    [
        ("dailydialog_zhao", "appropriateness", 900, 0.013),
        ("usr_personachat", "Overall", 300, 0.019),
        ("dailydialog_gupta", "appropriateness", 500, 0.004),
    ],
)
def test_style_matching_explains_as_much_as_published(
    shared_data: Path, dataset: str, quality: str, n: int, published: float
) -> None:
    file = shared_data / "human_judgements" / f"{dataset}.jsonl.gz"
    units = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    rating = np.array([np.mean(unit["ratings"][quality]) for unit in units])
    a = shares([unit["response"] for unit in units])
    b = shares([" ".join(turn["text"] for turn in unit["context"]) for unit in units])
    matching = np.mean(1 - np.abs(a - b) / (a + b + 0.0001), axis=1)
    assert len(matching) == n
    r = np.corrcoef(matching, rating)[0, 1]
    adjusted = 1 - (1 - r**2) * (n - 1) / (n - 2)
    assert adjusted == pytest.approx(published, abs=0.01)
