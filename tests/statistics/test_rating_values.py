"""What cells of ratings say; each file of a newcomer who lost ratings without a word."""

import json
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics import LABEL, load_ratings

AGREE = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]


def table(path: Path, answers: list[str], delimiter: str = ",") -> Path:
    """Three raters, as many items as answers allow."""
    lines = [delimiter.join(("item", "rater", "value"))]
    lines += [delimiter.join((f"i{n // 3}", f"r{n % 3}", cell)) for n, cell in enumerate(answers)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_decimal_commas_behind_semicolons_are_all_numbers(tmp_path: Path) -> None:
    path = table(tmp_path / "deccomma.csv", ["3,5", "4", "2,25", "5,0", "1", "3"], ";")
    assert load_ratings(path)["value"].to_list() == [3.5, 4.0, 2.25, 5.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("lowest", "highest"),
    [
        ("1 - Not at all", "7 - Very much"),
        ("1 (not at all)", "7 (very much)"),
        ("1 = strongly disagree", "7 = strongly agree"),
        ("1: never", "7: always"),
        ("1. Low", "7. High"),
        ("1 – Gar nicht", "7 – Sehr"),
        ("Not at all (1)", "Very much (7)"),
        ("1 Poor", "7 Excellent"),
    ],
)
def test_labelled_ends_of_a_scale_are_its_ends(tmp_path: Path, lowest: str, highest: str) -> None:
    said: list[str] = []
    path = table(tmp_path / "labelled.csv", [lowest, "2", highest, "3", "6", "NA"])
    found = load_ratings(path, say=said.append)
    assert found["value"].to_list() == [1.0, 2.0, 7.0, 3.0, 6.0, None]
    assert LABEL not in found.columns
    assert "2 answers with a label beside the number" in said[0]


def test_words_need_their_order(tmp_path: Path) -> None:
    path = table(tmp_path / "words.csv", [*AGREE, "Agree"])
    with pytest.raises(DialensError, match=r'--scale "Strongly disagree,Disagree,Neutral,Agree,S'):
        load_ratings(path)
    found = load_ratings(path, scales={"": AGREE})
    assert found["value"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0, 4.0]
    scale = json.loads(found["scale"][0])
    assert scale == {"kind": "likert", "low": 1, "high": 5, "labels": AGREE}
    nominal = load_ratings(path, scales={"": ["nominal"]})
    assert nominal[LABEL].to_list() == [*AGREE, "Agree"]


def test_two_words_are_nought_and_one(tmp_path: Path) -> None:
    path = table(tmp_path / "r.csv", ["yes", "No", "yes"])
    assert load_ratings(path)[LABEL].to_list() == ["yes", "No", "yes"], "categories as they are"
    found = load_ratings(path, scales={"rating": ["no", "yes"]}, keep_words=False)
    assert found["value"].to_list() == [1.0, 0.0, 1.0]
    with pytest.raises(DialensError, match=r'line 2.*--scale "No,Yes"'):
        load_ratings(path, keep_words=False)


def test_what_cannot_be_read_stops_with_its_line_or_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('item,rater,value,remark\na,r1,3,"two\nlines"\na,r2,good,\nb,r1,4,\n')
    with pytest.raises(DialensError, match=r"r\.csv, line 4: 'good': 1 of 3.*--on-error skip"):
        load_ratings(path)
    said: list[str] = []
    found = load_ratings(path, on_error="skip", say=said.append)
    assert found["value"].to_list() == [3.0, None, 4.0]
    assert "1 answer of 3 cannot be read" in said[0]


def test_a_word_that_is_not_on_the_declared_scale(tmp_path: Path) -> None:
    path = table(tmp_path / "r.csv", ["Agree", "Maybe", "Disagree"])
    with pytest.raises(DialensError, match=r"line 3: 'Maybe' of rating is not on the scale"):
        load_ratings(path, scales={"": AGREE})
    found = load_ratings(path, scales={"": AGREE}, on_error="skip")
    assert found["value"].to_list() == [4.0, None, 2.0]


def test_qualities_are_read_each_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,quality,value\na,r1,tone,3\na,r1,kind,joke\nb,r1,kind,fact\n")
    found = load_ratings(path)
    assert found["value"].to_list() == [3.0, None, None]
    assert found[LABEL].to_list() == [None, "joke", "fact"]


def test_columns_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("Conv;Coder name;Stars\nc1;anna;4\nc1;ben;5\n")
    mapping = {"item": "Conv", "rater": "Coder name", "value": "Stars"}
    found = load_ratings(path, columns=mapping)
    assert found.select("dialog", "rater", "value").rows() == [("c1", "anna", 4), ("c1", "ben", 5)]
    with pytest.raises(DialensError, match=r"no column 'Star'\. Did you mean Stars"):
        load_ratings(path, columns=mapping | {"value": "Star"})
    with pytest.raises(DialensError, match="there is no 'valu' to map"):
        load_ratings(path, columns={"valu": "Stars"})


def test_what_is_mapped_counts_before_what_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,value,score\na,r1,1,5\nb,r1,2,6\n")
    assert load_ratings(path, columns={"value": "score"})["value"].to_list() == [5.0, 6.0]


def test_a_numeric_table_of_pandas_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    pl.DataFrame({"item": ["a", "b"], "value": [1, None]}).write_parquet(path)
    assert load_ratings(path)["value"].to_list() == [1.0, None]
