"""The judgement sets at hand: every unit is read, as many as their documentation says."""

import re
from pathlib import Path

import polars as pl
import pytest

from dialens.corpus import read


def documented(readme: str) -> dict[str, int]:
    """The table «file | units» of the folder's documentation."""
    section = readme.split("## human_judgements")[1].split("\n## ")[0]
    units: dict[str, int] = {}
    for row in re.findall(r"^\| ([a-z0-9_, ]+) \| ([\d, ]+)", section, re.MULTILINE):
        files = row[0].split(", ")
        counts = [int(n.replace(",", "")) for n in re.findall(r"\d{1,3}(?:,\d{3})*", row[1])]
        units |= dict(zip(files, counts, strict=True))
    return units


def test_all_units_are_read(shared_data: Path) -> None:
    expected = documented((shared_data / "README.md").read_text())
    found = {}
    for path in sorted((shared_data / "human_judgements").glob("*.jsonl.gz")):
        corpus = read(path)
        turns = corpus.turns.collect()
        found[path.name.split(".")[0]] = turns["dialog"].n_unique()
        ratings = corpus.ratings.collect()
        assert ratings.height, path
        assert ratings["dialog"].is_in(turns["dialog"].implode()).all()
        assert ratings["value"].is_finite().all()
        last = turns.group_by("dialog").agg(pl.col("turn").max())
        rated = ratings.filter(level="turn").join(last, on="dialog", suffix="_last")
        assert (rated["turn"] == rated["turn_last"]).all()
    assert found == expected


@pytest.mark.parametrize("name", ["usr_personachat", "dailydialog_zhao", "grade_dailydialog"])
def test_in_a_rated_turn_only_the_response_is_the_agents(name: str, shared_data: Path) -> None:
    turns = read(shared_data / "human_judgements" / f"{name}.jsonl.gz").turns.collect()
    assert turns.filter(role="agent").height == turns["dialog"].n_unique()
