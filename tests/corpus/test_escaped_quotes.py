r"""CSV in which a backslash escapes quotes, as Spark writes it, beside CSV that doubles them.

`files/spark_escapes.csv` was written by Spark (`df.write.option("header", True).csv(…)`) from the
texts in `SPARK`.
"""

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, Source, convert, read
from dialens.corpus.readers._cells import csv_rows
from tests.corpus.test_reading_apart import same_for_all

FILES = Path(__file__).parent / "files"
SPARK = [
    "plain",
    'he said "yes"',
    'he said "yes, really"',
    "a\nb",
    "C:\\dir\\",
    "a,b\\",
    '"q" and end\\',
    r"\\",
    r"a\nb",
    r"a\"b",
    r"a\\" + '"b,c',
    "",
    "lead and trail",  # Spark took off the spaces around it
    "",  # null, which has no quotes in the file
    '"',
    '""',
    "\\",
    r"\"",
    ',"\\',
    'a "b" c',
    "x\ry",
    '"z",',  # Spark took off the end of a line before it
    'end quote"',
    "#c",
    '"start\\',
    r"a\,b",
    r"\N",
    'tab\t"t"',
    r"a\\,b\\",
    r'[]{}"\u00e9",',
]
NOTE = "quotes in cells are escaped by a backslash, as Spark writes them, and were read so."
WORDS = st.text(st.sampled_from('"\\,;\n a'), max_size=8)


def written(path: Path, *rows: str) -> Path:
    path.write_text("".join(f"{row}\n" for row in ("dialog,role,text", *rows)), newline="")
    return path


def texts_of(path: Path, intake: Intake | None = None) -> list[str]:
    return read(path, intake=intake).turns.collect()["text"].to_list()


def cells_of(path: Path, delimiter: str = ",") -> list[list[str]]:
    rows = list(csv_rows(Source(path), delimiter))
    assert not any(problem for _, _, problem in rows)
    return [cells for _, cells, _ in rows]


def escaped(cells: list[str], delimiter: str = ",") -> str:
    """A line as Spark writes it where every cell is quoted."""
    return delimiter.join(
        '"' + cell.replace("\\", "\\\\").replace('"', '\\"') + '"' for cell in cells
    )


def test_what_spark_wrote_is_read_as_it_was() -> None:
    intake = Intake()
    assert texts_of(FILES / "spark_escapes.csv", intake) == SPARK
    assert f"spark_escapes.csv: {NOTE}" in intake.notes


def test_duckdb_reads_the_same() -> None:
    columns = dict.fromkeys(("dialog", "turn", "role", "text", "model"), "VARCHAR")
    rows = duckdb.read_csv(
        str(FILES / "spark_escapes.csv"),
        header=True,
        sep=",",
        quotechar='"',
        escapechar="\\",
        columns=columns,
        auto_detect=False,
    ).fetchall()
    assert [row[3] or "" for row in rows] == SPARK
    _, *ours = cells_of(FILES / "spark_escapes.csv")
    assert ours == [[cell or "" for cell in row] for row in rows]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (r'"C:\"', "C:\\"),
        (r'"C:\dir\",', None),
        (r"C:\dir\ ", "C:\\dir\\ "),
        (r'"\frac{a}{b}, \\ ""x"""', r'\frac{a}{b}, \\ "x"'),
        (r'"{""a"": ""\""x\\""""}"', r'{"a": "\"x\\""}'),
        (r'"a\\b"', r"a\\b"),
        (r"a\"b", r"a\"b"),
    ],
)
def test_doubled_quotes_stay_the_rule(tmp_path: Path, cell: str, text: str | None) -> None:
    path = written(tmp_path / "a.csv", f'd1,partner,"a ""b"""\nd1,agent,{cell}')
    if text is None:  # a delimiter too many: refused as before
        with pytest.raises(DialensError, match="line 3: has 4 cells where the header has 3"):
            read(path)
        return
    intake = Intake()
    assert texts_of(path, intake) == ['a "b"', text]
    assert not any("backslash" in note for note in intake.notes)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1), st.sampled_from(",;"))
def test_what_doubles_quotes_is_read_as_by_the_standard_library(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("rfc") / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([("a", "b"), *rows])
    assert cells_of(path, delimiter) == [["a", "b"], *map(list, rows)]


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1), st.sampled_from(",;"))
def test_what_escapes_quotes_is_read_where_it_cannot_be_anything_else(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("escaped") / "a.csv"
    content = "".join(escaped([*row], delimiter) + "\n" for row in [("a", "b"), *rows])
    path.write_text(content, newline="")
    try:
        doubled = list(
            csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
        )
    except csv.Error:
        doubled = []
    if len({len(row) for row in doubled}) == 1:
        assert cells_of(path, delimiter) == doubled
    else:
        assert cells_of(path, delimiter) == [["a", "b"], *map(list, rows)]


def test_as_mysql_and_redshift_escape_the_ends_of_lines_and_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", '"d1","partner","a\\\nb\\, c"', r'"d1","agent","say \"x\""')
    assert texts_of(path) == ["a\nb, c", 'say "x"']


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(r'd2,partner,"as ""doubled"", too"', id="both kinds"),
        pytest.param(r'd2,partner,"a stray "quote"', id="stray quote"),
        pytest.param(r'd2,partner,one,"a \"cell\" too many"', id="cell too many"),
    ],
)
def test_a_file_that_is_neither_is_refused_as_before(tmp_path: Path, odd: str) -> None:
    path = written(tmp_path / "a.csv", r'd1,partner,"say \"x\" now"', "d1,agent,ok", odd)
    with pytest.raises(DialensError, match=r"a\.csv, line 2: cannot be taken apart into cells"):
        read(path)


def test_each_part_of_a_table_decides_for_itself(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    written(folder / "part-00000.csv", r'd1,partner,"say \"x\", please"', r'd2,partner,"\"y\"\\"')
    written(folder / "part-00001.csv", r'd1,agent,"C:\"', r'd2,agent,"a ""b"""')
    intake = Intake()
    found = read(folder, intake=intake).turns.sort("dialog", "turn").collect()
    assert found["text"].to_list() == ['say "x", please', "C:\\", '"y"\\', 'a "b"']
    assert [note for note in intake.notes if "backslash" in note] == [f"chats: {NOTE}"]


def test_conversations_a_row_and_other_columns_are_read_so(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text('prompt,response\n"Say \\"x\\", please","\\"x\\", \\\\"\n')
    intake = Intake()
    assert texts_of(path, intake) == ['Say "x", please', '"x", \\']
    assert intake.notes[-1] == f"set.csv: {NOTE}"


def test_what_stands_before_a_damage_decides(tmp_path: Path) -> None:
    path = tmp_path / "set.csv.gz"
    rows = [f'"Say \\"{n}\\", please {n * 7919 % 10007}","\\"{n}\\", ok"\n' for n in range(20_000)]
    path.write_bytes(gzip.compress(("prompt,response\n" + "".join(rows)).encode())[:-20_000])
    intake = Intake(OnError.SKIP)
    texts = texts_of(path, intake)
    assert texts[:2] == ['Say "0", please 0', '"0", ok']
    assert len(texts) > 10_000
    assert intake.rejected == 1


@dataclass(frozen=True)
class Pieces(Source):
    """A file whose text comes in pieces of one byte."""

    def chunks(self) -> Iterator[bytes]:
        yield from (bytes([byte]) for byte in self.path.read_bytes())


def test_a_backslash_and_its_quote_may_come_in_two_pieces(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", r'd1,partner,"say \"x\" now"')
    *_, (line, cells, problem) = csv_rows(Pieces(path))
    assert (line, cells, problem) == (2, ["d1", "partner", 'say "x" now'], None)


# --- rows that cannot be taken apart

STRAY = (
    'd1,partner,"Hello, you"',
    'd1,agent,"Hi, there"',
    'd2,partner,"a stray "quote, here',
    'd2,agent,"Fine, thanks"',
    'd3,partner,"an open one, here',
    'd3,agent,"Yes, sure"',
    'd4,partner,"Good, bye"',
    'd4,agent,"Bye, bye"',
)
"""Eight rows. That of line 6 is not closed before the quote that opens a cell of line 7."""


def test_lines_that_an_open_quote_takes_in_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", *STRAY)
    intake = Intake(OnError.SKIP)
    texts = texts_of(path, intake)
    assert texts == ["Hello, you", "Hi, there", "Fine, thanks", "Good, bye", "Bye, bye"]
    assert intake.left_out == "2 records with 1 line below them"
    assert len(texts) + intake.rejected + intake.rejected_below == len(STRAY)
    said = "cannot be taken apart into cells (',' expected after '\"')"
    assert [(reject.line, reject.reason) for reject in intake.rejects] == [
        (4, said),
        (6, f"{said}, and takes 1 line below with it"),
    ]


def test_such_lines_are_counted_in_tables_of_several_files(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for number in (0, 1):
        written(
            folder / f"part-0000{number}.csv", *(row.replace("d", f"e{number}", 1) for row in STRAY)
        )
    intake = Intake(OnError.SKIP)
    convert(folder, tmp_path / "out", intake=intake)
    assert intake.left_out == "4 records with 2 lines below them"


def test_such_lines_are_counted_where_files_are_read_side_by_side(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for name in ("monday", "tuesday"):
        written(folder / f"{name}.csv", *STRAY)
    expected = same_for_all(folder, tmp_path, on_error="skip")
    assert expected.said[-1] == "4 records with 2 lines below them"
