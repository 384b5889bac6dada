"""What is particular to CSV and Parquet: columns, order, types, faults in their lines."""

from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, read
from tests.corpus.looking import given, metas, told, write


def test_csv_fills_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "Dialog,Speaker,Text,mood\nd,Ann,hi,ok\nd,SupportBot,,\n")
    corpus = read(path)
    columns = ("system", "agent", "dialog", "turn", "speaker", "role", "text")
    assert told(corpus, *columns) == [
        ("t", "SupportBot", "d", 0, "Ann", "partner", "hi"),
        ("t", "SupportBot", "d", 1, "SupportBot", "agent", ""),
    ]
    assert metas(corpus)[0] == {"mood": "ok"}


def test_csv_rows_of_a_dialog_may_stand_anywhere(tmp_path: Path) -> None:
    text = "dialog,turn,role,text\nb,1,agent,b1\na,0,user,a0\nb,0,user,b0\na,1,assistant,a1\n"
    assert told(read(write(tmp_path / "t.csv", text)), "dialog", "turn", "role", "text") == [
        ("b", 0, "partner", "b0"),
        ("b", 1, "agent", "b1"),
        ("a", 0, "partner", "a0"),
        ("a", 1, "agent", "a1"),
    ]


def test_csv_agent_may_stand_on_its_own_rows_only(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "dialog,role,text,agent\nd,user,hi,\nd,agent,yo,bot-2\n")
    assert told(read(path), "agent") == [("bot-2",), ("bot-2",)]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("dialog,role,text,role\nd,user,hi,user\n", 1, "`role` stands twice"),
        ("dialog,role,text,agent\nd,user,hi,a\nd,agent,ho,b\n", 3, "`agent` changes.*b after a"),
        ("dialog,role,text,system\nd,user,hi,a\nd,agent,ho,b\n", 3, "`system` changes"),
        ("dialog,turn,role,text\nd,0,user,a\nd,0,agent,b\n", 3, "`turn` is out of sequence"),
        ("dialog,turn,role,text\nd,1,user,a\nd,2,agent,b\n", 2, "1 where 0 was expected"),
        ("dialog,turn,role,text\nd,0,user,a\nd,,agent,b\n", 3, "`turn` is out of sequence"),
        ("dialog,turn,role,text\nd,1.5,user,a\n", 2, "`turn` is not a whole number; seen: 1.5"),
        ("dialog,role,text\n,user,a\n", 2, "`dialog` is missing"),
        (
            "dialog,role,text,created_at\nd,user,a,noon\n",
            2,
            "`created_at` is not a time; seen: noon",
        ),
        ("dialog,role,text,meta\nd,user,a,[1]\n", 2, "`meta` is not a JSON object"),
        ('dialog,role,text\nd,user,"a"b\n', 2, "cannot be taken apart"),
        ('dialog,role,text\nd,user,"a\nb\n', 2, "cannot be taken apart"),
    ],
)
def test_csv_faults(text: str, line: int, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(DialensError, match=rf"^{path}, line {line}: .*{said}"):
        read(path, format="csv")


def test_csv_times_in_several_forms(tmp_path: Path) -> None:
    forms = ["2024-05-01", "2024-05-01 10:30", "2024-05-01T10:30:00Z", "2024-05-01T12:30:00+02:00"]
    rows = "".join(f"d,user,x,{form}\n" for form in forms)
    path = write(tmp_path / "t.csv", "dialog,role,text,created_at\n" + rows)
    seen = [moment.isoformat() for moment in read(path).turns.collect()["created_at"]]
    assert seen == ["2024-05-01T00:00:00+00:00", *["2024-05-01T10:30:00+00:00"] * 3]


def test_csv_semicolons_and_multiline_cells_keep_line_numbers(tmp_path: Path) -> None:
    text = 'dialog;role;text\nd;user;"two\n\nlines"\nd;boss;x\n'
    with pytest.raises(DialensError, match="line 5: field `role`"):
        read(write(tmp_path / "t.csv", text))


def test_csv_ratings_beside_must_be_of_its_dialogs(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "dialog,role,text\nd,user,hi\n")
    beside = tmp_path / "t.ratings.csv"
    write(beside, "dialog,level,quality,value\nd,dialog,fun,4\ne,dialog,fun,4\nd,dialog,fun,x\n")
    with pytest.raises(
        DialensError, match=rf"{beside}, line 3: field `dialog` is not in the turns"
    ):
        read(path)
    intake = Intake(OnError.SKIP)
    assert given(read(path, intake=intake), "dialog", "value") == [("d", 4.0)]
    assert [(reject.line, reject.field) for reject in intake.rejects] == [
        (3, "dialog"),
        (4, "value"),
    ]


def test_large_tables_are_spooled_and_sorted_in_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    from dialens.corpus import _tabular as tabular

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(tabular, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(tabular, "_SHARE", 7)
    rows = [f"d{n % 10},{n // 10},{'agent' if n // 10 % 2 else 'user'},t{n}\n" for n in range(50)]
    path = write(tmp_path / "t.csv", "dialog,turn,role,text\n" + "".join(rows))
    turns = read(path).turns.collect()
    assert turns.height == 50
    assert turns["turn"].to_list() == [0, 1, 2, 3, 4] * 10
    assert turns["dialog"].n_unique() == 10
    assert list(scratch.iterdir()) == []


def test_parquet_with_other_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"dialog": [7, 7], "speaker": ["a", "b"], "text": ["x", "y"]})
    frame.with_columns(pl.lit({"k": 1}).alias("meta")).write_parquet(tmp_path / "t.parquet")
    corpus = read(tmp_path / "t.parquet")
    assert told(corpus, "dialog", "role", "text") == [("7", "partner", "x"), ("7", "agent", "y")]
    assert metas(corpus)[0] == {"k": 1}
    frame.with_columns(pl.lit(1).alias("text")).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DialensError, match="`text` is not text; seen: a column of type Int32"):
        read(tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(DialensError, match=r"t\.parquet is not a whole Parquet file"):
        read(tmp_path / "t.parquet")
