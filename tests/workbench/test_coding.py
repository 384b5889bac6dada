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
    # ann looked at all four conversations, bob at two; each has two turns of the agent, two codes,
    # and for code 1, which was given to a whole conversation, a row as a whole.
    assert ratings.height == (4 + 2) * 2 * 2 + (4 + 2)
    whole = ratings.filter(quality="warm (whole conversation)")
    assert whole.filter(value=1.0).select("rater", "dialog", "level").rows() == [
        ("ann", "cat-curt", "dialog")
    ]
    assert ratings.filter(rater="ann", quality="warm")["value"].sum() == 2


def test_a_code_given_to_the_partner_counts_on_all_turns(index: Index, tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    given = [("ann", 0, 1), ("ann", 1, 1), ("bob", 0, 1), ("bob", 2, 1), ("ann", 3, 2)]
    for coder, turn, code in given:
        book.flag(Unit("talks", "exam-calm", turn), code, coder)
    book.flag(Unit("talks", "gone", 4), 2, "ann")
    first, second = code_counts(index, book)
    # Code 1 over the four turns: ann 1 1 0 0, bob 1 0 1 0; four ones, four zeros, two turns differ.
    # Observed 4/8, expected 2·4·4/(8·7).
    assert (first.every_turn, first.turns_compared) == (True, 4)
    assert first.alpha == pytest.approx(1 - (4 / 8) / (32 / 56))
    # Code 2 was given to the agent alone: turns 1 and 3.
    assert (second.every_turn, second.turns_compared) == (False, 2)
    ratings = coded_ratings(index, book)
    assert ratings["value"].sum() == book.flags().height
    assert ratings.height == 2 * 4 + 2 * 2 + 1
    assert ratings.filter(dialog="gone")["agent"].to_list() == [None]


def test_the_table_is_read_by_other_commands(index: Index, tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    book.flag(Unit("talks", "exam-calm", 1), 1, "ann")
    book.flag(Unit("talks", "exam-calm", 3), 1, "bob")
    coded_ratings(index, book).write_csv(tmp_path / "flags.csv")
    read = load_ratings(tmp_path / "flags.csv")
    assert sorted(read["value"].to_list()) == [0.0, 0.0, 1.0, 1.0]
    assert set(read["rater"]) == {"ann", "bob"}
