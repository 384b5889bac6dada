"""Ratings from every place they may stand in, and tables that cannot be ratings."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import RATINGS, convert
from dialens.statistics import LABEL, load_ratings, rated_items

UNIT = {
    "dataset": "demo",
    "level": "turn",
    "system": "bot",
    "context": [{"speaker": "A", "text": "How was your day?"}],
    "response": "Lovely!",
    "scale": {"engaging": [1, 5]},
    "raters": ["r1", "r2"],
}


@pytest.fixture
def units(tmp_path: Path) -> Path:
    path = tmp_path / "units.jsonl"
    rows = [
        {**UNIT, "unit_id": f"u{i}", "ratings": {"engaging": [i, i + 1]}, "extra": {"arm": arm}}
        for i, arm in enumerate(("a", "b", "a"), start=1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rated_units_and_the_corpus_made_of_them_are_the_same(units: Path) -> None:
    folder = units.parent / "corpus"
    convert(units, folder)
    first, second = load_ratings(units), load_ratings(folder)
    assert first.columns[: len(RATINGS)] == RATINGS.names()
    assert first.equals(second)
    assert first["value"].to_list() == [1, 2, 2, 3, 3, 4]
    assert rated_items(first).n_unique() == 3


def test_factors_are_found_in_what_the_source_knew_else(units: Path) -> None:
    assert load_ratings(units, factors=["arm"])["arm"].to_list() == ["a", "a", "b", "b", "a", "a"]
    with pytest.raises(DialensError, match=r"no column or factor 'harm'.*arm"):
        load_ratings(units, factors=["harm"])


TABLE = (
    "Item;Annotator;Question;Score;factors;round\n"
    'a;r1;fluent;3;"{""anchor"": 100, ""layout"": ""one""}";1\n'
    'a;r2;fluent;N/A;"{""anchor"": 50}";1\n'
    "b;r1;fluent;4.5;;2\n"
)


@pytest.mark.parametrize("packed", [False, True])
def test_tables_under_other_peoples_names(tmp_path: Path, *, packed: bool) -> None:
    path = tmp_path / ("ratings.csv.gz" if packed else "ratings.csv")
    path.write_bytes(gzip.compress(TABLE.encode()) if packed else TABLE.encode())
    table = load_ratings(path)
    assert table.select("dialog", "rater", "quality", "value").rows() == [
        ("a", "r1", "fluent", 3.0),
        ("a", "r2", "fluent", None),
        ("b", "r1", "fluent", 4.5),
    ]
    assert table["anchor"].null_count() == 3, "the column of ours is not overwritten"
    assert table["layout"].to_list() == ["one", None, None]
    assert table["round"].to_list() == ["1", "1", "2"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "json"])
def test_tables_in_other_files(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {"dialog": ["a", "b"], "turn": [0, None], "value": [1, 2], "arm": ["x", "y"]}
    )
    path = tmp_path / f"ratings.{ending}"
    write = {"parquet": "write_parquet", "jsonl": "write_ndjson", "json": "write_json"}[ending]
    getattr(frame, write)(path)
    table = load_ratings(path, factors=["arm"])
    assert table["value"].to_list() == [1.0, 2.0]
    assert table["level"].to_list() == ["turn", "dialog"]
    assert table["arm"].to_list() == ["x", "y"]
    assert rated_items(table).n_unique() == 2


def test_a_folder_with_a_table_of_ratings(tmp_path: Path) -> None:
    RATINGS.to_frame().vstack(
        pl.DataFrame([{"dialog": "d", "quality": "q", "value": 1.0}], schema=RATINGS)
    ).write_parquet(tmp_path / "ratings.parquet")
    assert load_ratings(tmp_path).height == 1


def test_words_are_kept_where_there_are_only_words(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,value\na,good\nb,funny\nc,\n")
    table = load_ratings(path)
    assert table["value"].null_count() == 3
    assert table[LABEL].to_list() == ["good", "funny", None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,value\na,1\n,2\n", r"row 2: field `dialog` is empty"),
        ("item,turn,value\na,x,1\n", r"row 1: field `turn` cannot be understood; seen: 'x'"),
        ("item,value\na,1\nb,2,3\n", r"line 3: has 3 cells where the header has 2"),
        ("dialog,role,text\nd,agent,hello\n", "holds no ratings"),
        ("a,b\n1,2\n", r"columns item \(or dialog\) and value.* rater, agent.*found: a and b\."),
        ("rater,item,value\n", r"holds no ratings.*found: rater, item and value, and no row"),
        ("", "the file is empty"),
        ("item;value\na;1,500\nb;2,000\n", r"`value`: '1,500' may be a number with decimals"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(content)
    with pytest.raises(DialensError, match=message):
        load_ratings(path)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_are_numbers_where_commas_do_not_delimit(
    tmp_path: Path, delimiter: str
) -> None:
    path = tmp_path / "r.csv"
    rows = [("item", "rating"), ("a", "3,7"), ("b", "-0,125"), ("c", "4"), ("d", "NA")]
    path.write_text("".join(f"{delimiter.join(row)}\n" for row in rows))
    table = load_ratings(path)
    assert table["value"].to_list() == [3.7, -0.125, 4.0, None]
    assert LABEL not in table.columns


def test_a_comma_in_a_comma_table_stays_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('item,value\na,"3,7"\n')
    assert load_ratings(path)[LABEL].to_list() == ["3,7"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="does not exist"):
        load_ratings(tmp_path / "nothing.csv")


def test_a_factor_called_like_a_column_is_the_level_when_asked_for(tmp_path: Path) -> None:
    """`anchor` is the value that was shown; grouping by it means the condition."""
    rows = [
        {
            "item": "i",
            "rater": "r",
            "value": 1,
            "anchor": "100",
            "factors": '{"anchor": "numerical"}',
        },
        {"item": "j", "rater": "r", "value": 2, "anchor": None, "factors": '{"anchor": "none"}'},
    ]
    path = tmp_path / "ratings.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load_ratings(path)["anchor"].to_list() == ["100", None]
    assert load_ratings(path, factors=["anchor"])["anchor"].to_list() == ["numerical", "none"]
