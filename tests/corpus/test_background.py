"""What a speaker was given to speak from: where it is found, and what does not count."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens import read
from dialens.corpus import background, backgrounds


@pytest.mark.parametrize(
    ("meta", "found"),
    [
        ({"background": "I sail."}, "I sail."),
        ({"background": ["I sail.", " ", "I cook.\nI read."]}, "I sail.\nI cook.\nI read."),
        ({"fact": "your persona: i sail.\nyour persona: i cook."}, "i sail.\ni cook."),
        ({"background": "", "fact": "Ships float."}, "Ships float."),
        ({"background": "This.", "fact": "Not this."}, "This."),
        ({"fact": "_nofact\n"}, None),
        ({"fact": 7}, None),
        ({"background": {"text": "hidden"}}, None),
        ({"background": None}, None),
        ({"bot_profile": ["i sail."], "persona": "i cook."}, None),  # perhaps nobody saw it
        ({}, None),
    ],
)
def test_what_counts(meta: dict[str, Any], found: str | None) -> None:
    assert background(meta) == found
    assert backgrounds(pl.DataFrame({"meta": [None, json.dumps(meta)]})) == [None, found]


def test_without_meta() -> None:
    assert backgrounds(pl.DataFrame({"text": ["Hi"]})) == [None]
    assert backgrounds(pl.DataFrame(schema={"meta": pl.String})) == []


def test_a_column_of_a_table(tmp_path: Path) -> None:
    file = tmp_path / "talk.csv"
    file.write_text(
        "dialog,turn,speaker,role,text,background\n"
        "d,0,U,partner,Hi,\n"
        'd,1,B,agent,Ahoy,"I sail.\nI cook."\n'
    )
    turns = read(file).turns.sort("turn").collect()
    assert backgrounds(turns) == [None, "I sail.\nI cook."]


def test_the_fact_of_usr(tmp_path: Path) -> None:
    file = tmp_path / "usr.json"
    answer = {"response": "Aye !", "model": "bot", "Engaging": [2, 3]}
    entry = {"context": "Hi\n", "fact": "your persona: i sail.\n", "responses": [answer]}
    file.write_text(json.dumps([entry]))
    turns = read(file).turns.sort("turn").collect()
    assert backgrounds(turns) == [None, "i sail."]
