"""UTF-16 and Windows-1252, as Excel and Windows write them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dialens import DialensError
from dialens.corpus import Intake, read

TEXT = "dialog\trole\ttext\nd\tuser\tGrüße aus Malmö – ça va?\nd\tassistant\t“Très bien”, 3 €\n"
SAID = ["Grüße aus Malmö – ça va?", "“Très bien”, 3 €"]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (TEXT.encode("utf-16"), "utf-16-le"),  # Excel's "Unicode text"
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("cp1252"), "cp1252"),
        (gzip.compress(TEXT.encode("cp1252"), mtime=0), "cp1252"),
        (TEXT.encode("utf-8-sig"), None),
        (TEXT.encode(), None),
    ],
    ids=["utf-16", "utf-16-be", "cp1252", "cp1252, packed", "utf-8 with a mark", "utf-8"],
)
def test_a_sheet_in_any_encoding_of_windows(tmp_path: Path, data: bytes, named: str | None) -> None:
    path = tmp_path / "chats.txt"
    path.write_bytes(data)
    intake = Intake()
    assert read(path, intake=intake).turns.collect()["text"].to_list() == SAID
    assert [note for note in intake.notes if "UTF-8" in note] == (
        [f"chats.txt is not UTF-8; it was read as {named}."] if named else []
    )


def test_other_formats_too(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_bytes("User: Wie spät?\nBot: Fünf.\n".encode("cp1252"))
    assert read(path).turns.collect()["text"].to_list() == ["Wie spät?", "Fünf."]
    path = tmp_path / "chats.jsonl"
    record = '{"messages": [{"role": "user", "content": "Wie spät?"}]}\n'
    path.write_bytes(record.encode("utf-16"))
    assert read(path).turns.collect()["text"].to_list() == ["Wie spät?"]


def test_beyond_the_first_piece(tmp_path: Path) -> None:
    rows = "".join(f"d{n},user,plain words\nd{n},bot,yes\n" for n in range(60_000))
    path = tmp_path / "chats.csv"
    path.write_bytes(f"dialog,role,text\n{rows}last,user,Grüße\n".encode("cp1252"))
    assert path.stat().st_size > 2**20
    assert read(path).turns.collect()["text"][-1] == "Grüße"


def test_one_damaged_record_does_not_change_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "chats.csv"
    path.write_bytes("dialog,role,text\nd,user,Grüße\ne,user,caf".encode() + b"\xe9\n")
    with pytest.raises(DialensError, match=r"line 3: .*UTF-8"):
        read(path)
