"""Tables without a header, as Spark writes CSV by default: refused, not misread."""

from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.corpus import Source, read
from dialens.corpus._reading import choose
from dialens.corpus.readers import readers

ROWS = (
    "c01854,5,assistant,[1854.5] movie fear,2026-10-02T10:22:46.000Z,gamma",
    "c00111,2,user,[111.2] trust movie,2026-10-03T18:38:49.000Z,beta",
    "c01232,0,user,[1232.0] travel the fear,2026-10-03T09:33:26.000Z,gamma",
)
OUTPUTS = "question,[bot-1] Kindly: {{question}}"


def refusal(path: Path, format: str | None = None) -> str:
    with pytest.raises(DialensError) as refused:
        read(path, format=format)
    return str(refused.value)


def table(path: Path, *rows: str) -> Path:
    path.write_text("".join(row + "\n" for row in rows))
    return path


@pytest.mark.parametrize("format", [None, "csv"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_first_row_of_data_is_no_header(
    tmp_path: Path, format: str | None, delimiter: str
) -> None:
    path = table(tmp_path / "a.csv", *(row.replace(",", delimiter) for row in ROWS))
    said = refusal(path, format)
    assert said.startswith(
        f"{path} is a table that seems to have no header: its first row looks like data (c"
    )
    assert "Write the names of the columns as the first line" in said
    assert "Needed are text, and speaker or role; dialog tells conversations apart" in said


def test_a_table_in_parts_without_headers(tmp_path: Path) -> None:
    for number, row in enumerate(ROWS):
        table(tmp_path / f"part-0000{number}-c000.csv", row, ROWS[0])
    assert f"{tmp_path / 'part-00000-c000.csv'} is a table that seems to have no header" in refusal(
        tmp_path
    )


@pytest.mark.parametrize(
    "rows",
    [
        ("c1,user,Hi", "c1,assistant,Hello"),  # an id comes again
        ("c1,3,Hi", "c2,4,Hello"),  # a number
        ("c1,01.05.2026 10:00,Hi", "c2,02.05.2026 11:00,Hello"),
    ],
)
def test_what_makes_a_row_data(tmp_path: Path, rows: tuple[str, ...]) -> None:
    assert "seems to have no header" in refusal(table(tmp_path / "a.csv", *rows))


def test_a_header_of_unknown_columns_is_a_header(tmp_path: Path) -> None:
    said = refusal(table(tmp_path / "a.csv", "when,amount", "1,2", "3,4"))
    assert "is a table without a column that is plainly dialog, text and speaker or role" in said
    assert "seems to have no header" not in said


def test_keys_of_an_object_are_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"2026-10-01": 1, "5": 2}')
    assert "seems to have no header" not in refusal(path)


@pytest.mark.parametrize(
    "rows",
    [
        (OUTPUTS, "Is it raining?,[PASS] A little."),
        (OUTPUTS, "Is it raining?,[FAIL] (0.50) A little."),
        (f"{OUTPUTS},Reasoning,Grader Reason,Comment", "Is it raining?,[PASS] A little.,,,"),
        (f"{OUTPUTS},Grader Reason,Comment", "Is it raining?,A little.,,"),
        (f"Description,{OUTPUTS},Status,Score,Named Scores,Grader Reason,Comment",),
        ('question,"[bot-1] Kindly,', 'answer: {{question}}",Status', "Is it?,Yes,PASS"),
    ],
    ids=["2023", "as downloaded", "2024", "verdicts apart", "no rows", "label of two lines"],
)
def test_what_promptfoo_wrote_in_its_time_is_still_known(
    tmp_path: Path, rows: tuple[str, ...]
) -> None:
    path = table(tmp_path / "a.csv", *rows)
    assert choose(Source(path), None, readers()).name == "promptfoo"


def test_a_row_that_begins_with_brackets_is_not_promptfoo(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", *ROWS)
    assert not any(r.recognises(Source(path)) for r in readers() if r.name == "promptfoo")
