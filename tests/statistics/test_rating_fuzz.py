"""Files of ratings, damaged at random: read, or refused in a sentence that names them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dialens.base import DialensError
from dialens.statistics import load_ratings
from tests.corpus.mutations import Mutation, damaged
from tests.corpus.test_fuzz import MUTATIONS

ROWS = [
    {"item": f"i{n % 4}", "rater": f"r{n % 3}", "quality": "fun", "value": n % 5 + 1}
    for n in range(12)
]
HEAD = "item,rater,quality,value\n"
LINES = "".join(f"{row['item']},{row['rater']},fun,{row['value']}\n" for row in ROWS)
RESULT = [{"from_name": "fun", "to_name": "text", "type": "rating", "value": {"rating": 3}}]
TASKS = [
    {"id": n, "data": {"text": "hi"}, "annotations": [{"completed_by": 1, "result": RESULT}]}
    for n in range(3)
]
QUALTRICS = (
    "StartDate,ResponseId,Q1_1\nStart Date,Response ID,How fun? - a\n"
    '"{""ImportId"":""startDate""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1_1""}"\n'
    "2024-01-01,R_1,1\n2024-01-01,R_2,3\n"
)
POTATO = {"displayed_text": "x", "label_annotations": {"fun": {"3": "true"}}}


def _parquet() -> bytes:
    out = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(out)
    return out.getvalue()


FILES = {
    "long.csv": (HEAD + LINES).encode(),
    "long.tsv": (HEAD + LINES).replace(",", "\t").encode(),
    "long.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "long.parquet": _parquet(),
    "wide.csv": b"item,r1,r2\ni1,1,2\ni2,3,3\ni3,5,4\n",
    "label_studio.json": json.dumps(TASKS).encode(),
    "potato.jsonl": "".join(
        json.dumps({"id": f"i{n}", **POTATO}) + "\n" for n in range(3)
    ).encode(),
    "qualtrics.csv": QUALTRICS.encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_ratings_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert load_ratings(tmp_path / name)["value"].is_not_null().all()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@settings(
    max_examples=50,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(mutations=MUTATIONS)
def test_no_file_breaks_the_readers_of_ratings(
    name: str, tmp_path_factory: pytest.TempPathFactory, mutations: list[Mutation]
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / name
    data = FILES[name]
    for mutation in mutations:
        data = damaged(data, mutation)
    path.write_bytes(data)
    try:
        said = f"{name} has {load_ratings(path).height} ratings"
    except DialensError as error:
        said = str(error)
    assert name in said
