"""The tables, the corpus made of them, and batches that cut no dialogue in two."""

from itertools import accumulate
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.corpus import (
    RATINGS,
    REFERENCES,
    TURNS,
    Corpus,
    Dialogue,
    Rating,
    RecordError,
    Tables,
    Turn,
    read,
    write_corpus,
)
from dialens.corpus import _dialogue as dialogue
from dialens.corpus._tables import batch_ends, dialog_starts, whole_dialogs


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(1, 8), st.integers(1, 8))
def test_batches_are_whole_and_do_not_depend_on_the_chunks(
    lengths: list[int], rows: int, chunk: int
) -> None:
    dialog = [f"d{number}" for number, length in enumerate(lengths) for _ in range(length)]
    frame = pl.DataFrame({"dialog": dialog})
    parts = list(whole_dialogs(frame.iter_slices(chunk), rows=rows))
    assert [part["dialog"].to_list() for part in parts] == [
        part["dialog"].to_list() for part in whole_dialogs([frame], rows=rows)
    ]
    assert pl.concat(parts).equals(frame)
    ends = batch_ends(dialog_starts(frame["dialog"]), frame.height, rows=rows)
    assert list(accumulate(part.height for part in parts)) == [*ends, frame.height]
    seen: set[str] = set()
    for part in parts:
        ids = set(part["dialog"])
        assert not ids & seen
        seen |= ids
        assert part.height <= rows or len(ids) == 1


def test_tables_have_the_columns_of_the_design() -> None:
    corpus = Corpus.of([Dialogue("s", "b", "d", [Turn("B", "agent", "x")], [Rating("q", 1.0)])])
    assert corpus.turns.collect_schema() == TURNS
    assert corpus.ratings.collect_schema() == RATINGS
    assert corpus.references.collect_schema() == REFERENCES


@pytest.mark.parametrize(
    ("talk", "what"),
    [
        (Dialogue("s", "b", "d", []), "holds no turn"),
        (Dialogue("s", "b", "", [Turn("B", "agent", "x")]), "is empty"),
        (Dialogue("s", "b", "d", [Turn("B", "boss", "x")]), "is not a role"),
        (
            Dialogue("s", "b", "d", [Turn("B", "agent", "x")], [Rating("q", 1.0, turn=1)]),
            "is not a turn",
        ),
        (
            Dialogue("s", "b", "d", [Turn("B", "agent", "x")], [Rating("q", float("nan"))]),
            "is not a number",
        ),
    ],
)
def test_dialogues_made_by_hand_are_checked(talk: Dialogue, what: str) -> None:
    with pytest.raises(RecordError, match=what):
        Corpus.of([talk])
    fine = Dialogue("s", "b", "d", [Turn("B", "agent", "x")])
    with pytest.raises(RecordError, match="duplicate"):
        Corpus.of([fine, fine])


def test_a_manifest_says_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("User: hi\nBot: ho\n")
    manifest = read(path, spool=tmp_path / "spool").manifest
    assert manifest["source"]["name"] == "t.txt"
    assert manifest["source"]["format"] == "transcript"
    assert len(manifest["source"]["sha256"]) == 64
    assert manifest["counts"] == {
        "systems": 1,
        "agents": 1,
        "dialogs": 1,
        "turns": 2,
        "ratings": 0,
        "references": 0,
        "rejected": 0,
    }
    assert set(manifest["files"]) == {"turns.parquet", "ratings.parquet", "references.parquet"}


def test_long_turns_make_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory follows the text: a few long turns fill a batch as many short ones do."""
    monkeypatch.setattr(dialogue, "_BATCH_CHARACTERS", 100)
    talks = [Dialogue("s", "b", f"d{i}", [Turn("B", "agent", "x" * 60)]) for i in range(5)]
    assert [part.turns.height for part in dialogue.batches(talks)] == [2, 2, 1]


def test_dialogues_and_agents_are_counted_as_they_are_written(tmp_path: Path) -> None:
    talks = [
        Dialogue(f"s{n % 2}", f"b{n % 3}", f"d{n}", [Turn("B", "agent", "x")] * (1 + n % 4))
        for n in range(23)
    ]
    whole = Corpus.of(talks).turns.collect()
    parts = [Tables.of(part) for part in whole_dialogs([whole], rows=5)]
    corpus = write_corpus([Tables.of(), *parts], tmp_path / "corpus", source={})
    counts = {"systems": 2, "agents": 6, "dialogs": 23, "turns": whole.height}
    assert counts.items() <= corpus.manifest["counts"].items()
