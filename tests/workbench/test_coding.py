"""Flags as ratings: what a coder left unflagged counts only where the coder looked."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialens.statistics import load_ratings
from dialens.workbench import Code, Index, Notebook, Unit, code_counts, coded_ratings
from tests.workbench.by_hand import built, corpus_folder


@pytest.fixture
def index(tmp_path: Path) -> Index:
    corpus_folder(tmp_path / "talks")
    return built(tmp_path, tmp_path / "index")


def test_nothing_is_coded(index: Index, tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    assert code_counts(index, book) == []
    assert coded_ratings(index, book).height == 0


def test_two_coders(index: Index, tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    book.write_code(Code(1, "warm", "feels with people"))
    for coder, turns in (("ann", ["exam-calm", "cat-calm"]), ("bob", ["exam-calm"])):
        for dialog in turns:
            book.flag(Unit("talks", dialog, 1), 1, coder)
    book.write_note(Unit("talks", "cat-calm"), "read, nothing to flag", "bob")
    book.flag(Unit("talks", "exam-curt", 3), 2, "ann")
    book.flag(Unit("talks", "cat-curt"), 1, "ann")
    warm, second = code_counts(index, book)
    assert (warm.turns, warm.dialogs, warm.by_coder) == (2, 1, {"ann": 3, "bob": 1})
    assert second.name == "flag 2"
    # Both looked at two conversations with two turns of the agent each: ann 1 0 1 0, bob 1 0 0 0.
    # Three ones and five zeros: expected 2·3·5/(8·7), observed 2/8.
    assert warm.turns_compared == 4
    assert warm.alpha == pytest.approx(1 - (2 / 8) / (30 / 56))
    ratings = coded_ratings(index, book)
    # ann looked at all four conversations, bob at two; each has two turns of the agent, two codes.
    assert ratings.height == (4 + 2) * 2 * 2
    assert ratings.filter(rater="ann", quality="warm")["value"].sum() == 2


def test_the_table_is_read_by_other_commands(index: Index, tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    book.flag(Unit("talks", "exam-calm", 1), 1, "ann")
    book.flag(Unit("talks", "exam-calm", 3), 1, "bob")
    coded_ratings(index, book).write_csv(tmp_path / "flags.csv")
    read = load_ratings(tmp_path / "flags.csv")
    assert sorted(read["value"].to_list()) == [0.0, 0.0, 1.0, 1.0]
    assert set(read["rater"]) == {"ann", "bob"}
