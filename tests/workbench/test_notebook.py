"""The notebook: what two people write at once is kept, and what cannot be written is said."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.workbench import NOTEBOOK, WHOLE, Code, Notebook, Unit

UNIT = Unit("talks", "d/1 <b>'\"", 3)


def test_nothing_is_written_until_something_is(tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    assert (book.flags().height, book.notes().height, book.codes(), book.views()) == (0, 0, (), ())
    assert list(tmp_path.iterdir()) == []


def test_flags_come_and_go(tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    for _ in range(2):
        book.flag(UNIT, 1, "ann")
    book.flag(UNIT, 2, "ann")
    book.flag(UNIT, 1, "bob")
    assert book.flags().select("dialog", "turn", "code", "coder").rows() == [
        (UNIT.dialog, 3, 1, "ann"),
        (UNIT.dialog, 3, 2, "ann"),
        (UNIT.dialog, 3, 1, "bob"),
    ]
    book.flag(UNIT, 1, "ann", on=False)
    book.flag(UNIT, 1, "ann", on=False)
    book.clear(UNIT, "bob")
    assert book.flags().select("code", "coder").rows() == [(2, "ann")]


@pytest.mark.parametrize("code", [0, 10, -1])
def test_flags_are_one_to_nine(tmp_path: Path, code: int) -> None:
    book = Notebook(tmp_path)
    with pytest.raises(DialensError, match="1 to 9"):
        book.flag(UNIT, code, "ann")
    with pytest.raises(DialensError, match="1 to 9"):
        book.write_code(Code(code, "x"))


def test_notes_code_book_and_views(tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    book.write_note(Unit("talks", "d"), "  odd ", "ann")
    book.write_note(Unit("talks", "d"), "odder", "ann")
    assert book.notes().select("turn", "note").rows() == [(WHOLE, "odder")]
    book.write_note(Unit("talks", "d"), " ", "ann")
    assert book.notes().height == 0
    with pytest.raises(DialensError, match="10,000"):
        book.write_note(UNIT, "x" * 10_001, "ann")
    book.write_code(Code(2, "rude", "says something that hurts"))
    book.write_code(Code(1, "warm"))
    assert [code.name for code in book.codes()] == ["warm", "rude"]
    book.write_code(Code(1, " "))
    assert [code.number for code in book.codes()] == [2]
    book.save_view("low", "sort=empathy")
    book.save_view("low", "sort=-empathy")
    assert [(view.name, view.address) for view in book.views()] == [("low", "sort=-empathy")]
    book.save_view("low", "")
    assert book.views() == ()


def test_two_workbenches_share_one_notebook(tmp_path: Path) -> None:
    one, other = Notebook(tmp_path), Notebook(tmp_path)
    one.flag(UNIT, 1, "ann")
    assert other.flags().height == 1
    before = other.version()
    one.flag(UNIT, 2, "ann")
    assert other.version() != before

    def many(book: Notebook, coder: str) -> None:
        for turn in range(50):
            book.flag(Unit("talks", "d", turn), 1, coder)

    threads = [
        threading.Thread(target=many, args=(book, coder))
        for book, coder in ((one, "ann"), (other, "bob"), (one, "cem"), (other, "dot"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.flags().height == other.flags().height == 202


def test_a_file_that_is_none_is_left_alone(tmp_path: Path) -> None:
    content = b"not a database, but somebody's only copy " * 50
    (tmp_path / NOTEBOOK).write_bytes(content)
    with pytest.raises(DialensError, match=r"workbench\.sqlite cannot be used"):
        Notebook(tmp_path)
    assert (tmp_path / NOTEBOOK).read_bytes() == content


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / NOTEBOOK) as database:
        database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(DialensError, match="newer"):
        Notebook(tmp_path)


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    book = Notebook(tmp_path / "gone")
    with pytest.raises(DialensError, match="cannot be used"):
        book.flag(UNIT, 1, "ann")
