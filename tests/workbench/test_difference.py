"""Which dialogues make a difference: every number is worked out by hand from `rated`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.workbench import (
    Behind,
    Workbench,
    behind,
    collections_of,
    compare_command,
    newest_first,
    not_compared,
    open_comparison,
    paired_parts,
    unpaired_parts,
)
from tests.workbench.folders import copied, dialens
from tests.workbench.rated import CURT, LONG_WORDS, OTHER_WORDS


def found(bench: Workbench, a: str, b: str, metric: str = "length") -> Behind:
    opened = open_comparison(bench.catalogue.get("compared"), bench.catalogue)
    row = opened.row(metric, a, b)
    assert row is not None
    made = behind(opened, row, bench.index, collections_of(bench.catalogue))
    assert isinstance(made, Behind), made
    return made


def dialog(bench: Workbench, talk: int) -> str:
    return str(bench.index.sql("select dialog from dialogs where talk = ?", (talk,))[0][0])


def test_shared_openings_are_the_parts_of_a_paired_difference(rated: Workbench) -> None:
    made = found(rated, "long", CURT)
    (parts,) = made.parts
    assert made.paired
    assert made.changed == ""
    assert made.agents == (("long",), (CURT,))
    assert parts.units == 12
    # long − curt: −2, 2, 3, …, 12; together 75.
    assert parts.difference == pytest.approx(75 / 12)
    assert [part.difference for part in parts.first] == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
    assert [part.share for part in parts.first] == pytest.approx([d / 75 for d in range(12, 2, -1)])
    assert parts.first_share == pytest.approx(75 / 75)
    assert parts.for_it == 11
    assert parts.balance == pytest.approx(75 / 79)
    (against,) = parts.against
    assert (against.value_a, against.value_b, against.difference) == (1, 3, -2)
    assert against.share == pytest.approx(-2 / 75)
    assert dialog(rated, parts.first[0].talk) == "long-11"
    assert parts.first[0].other is not None
    assert dialog(rated, parts.first[0].other) == f"{CURT}-11"


def test_without_shared_openings_each_agents_dialogues_are_the_parts(rated: Workbench) -> None:
    made = found(rated, "long", "other")
    long, other = made.parts
    assert not made.paired
    total, theirs = sum(LONG_WORDS), sum(OTHER_WORDS)
    mean = theirs / 8
    assert long.difference == pytest.approx(total / 12 - mean)
    assert other.difference == pytest.approx(long.difference)
    assert dialog(rated, long.first[0].talk) == "long-11"
    assert long.first[0].share == pytest.approx((13 - mean) / (total - 12 * mean))
    assert long.first[0].value_b == pytest.approx(mean)
    assert [part.value_b for part in other.first] == [4] * 7
    assert sum(part.share or 0 for part in (*other.first, *other.against)) == pytest.approx(1)


values = st.lists(st.floats(-100, 100), min_size=1, max_size=8)


@given(values, values)
def test_shares_of_all_parts_add_up(a: list[float], b: list[float]) -> None:
    sides = ["a"] * len(a) + ["b"] * len(b)
    table = pl.DataFrame({"side": sides, "talk": range(len(sides)), "value": a + b})
    for parts in unpaired_parts(table):
        assert parts.difference == pytest.approx(sum(a) / len(a) - sum(b) / len(b), abs=1e-9)
        every = (*parts.first, *parts.against)
        if parts.first_share is not None and len(every) == parts.units:
            assert sum(part.share or 0 for part in every) == pytest.approx(1)


def test_parts_that_cancel_out_have_no_shares() -> None:
    table = pl.DataFrame(
        {
            "side": ["a", "b"] * 3,
            "context": [1, 1, 2, 2, 3, 3],
            "talk": range(6),
            "value": [5.0, 1.0, 1.0, 5.0, 2.1, 2.0],
        }
    )
    parts = paired_parts(table)
    assert parts is not None
    assert parts.first_share is None
    assert [part.share for part in parts.first] == [None, None]
    assert [round(part.difference, 1) for part in parts.first] == [4.0, 0.1]
    assert [part.difference for part in parts.against] == [-4.0]


def test_what_has_no_value_is_counted_and_left_out() -> None:
    table = pl.DataFrame(
        {
            "side": ["a", "b", "a", "b", "a"],
            "context": [1, 1, 2, 2, 3],
            "talk": range(5),
            "value": [5.0, 1.0, None, 5.0, 2.0],
        }
    )
    parts = paired_parts(table)
    assert parts is not None
    assert (parts.units, parts.missing, parts.difference) == (1, 1, 4.0)
    assert paired_parts(table.filter(pl.col("context") == 2)) is None
    assert unpaired_parts(table.filter(side="a")) == ()


def test_several_dialogues_on_one_opening_count_with_their_mean() -> None:
    table = pl.DataFrame(
        {
            "side": ["a", "a", "b", "a", "b"],
            "context": [1, 1, 1, 2, 2],
            "talk": range(5),
            "value": [4.0, 2.0, 1.0, 3.0, 2.0],
        }
    )
    parts = paired_parts(table)
    assert parts is not None
    assert [(part.value_a, part.difference) for part in parts.first] == [(3.0, 2.0), (3.0, 1.0)]


def test_runs_are_found_by_the_names_that_compare_gives_them(
    made_rated: Path, tmp_path: Path
) -> None:
    folder = copied(made_rated, tmp_path)
    shutil.copytree(folder / "scores", folder / "again")
    dialens(folder, "compare", "scores", "again", "-o", "versions")
    bench = Workbench.open(folder, cache=tmp_path / "indexes")
    opened = open_comparison(bench.catalogue.get("versions"), bench.catalogue)
    assert {run.name for run in opened.runs} == {"scores", "again"}
    row = opened.row("length", "again / long", "scores / long")
    assert row is not None
    made = behind(opened, row, bench.index, collections_of(bench.catalogue))
    assert isinstance(made, Behind)
    assert made.paired
    assert [parts.difference for parts in made.parts] == [0.0]
    bench.close()


def test_scores_that_changed_since_are_told(made_rated: Path, tmp_path: Path) -> None:
    folder = copied(made_rated, tmp_path)
    path = folder / "compared" / "comparison.parquet"
    pl.read_parquet(path).with_columns(n_a=pl.col("n_a") + 1).write_parquet(path)
    bench = Workbench.open(folder, cache=tmp_path / "indexes")
    assert "Compare again" in found(bench, "long", "other").changed
    bench.close()


def test_what_was_scored_on_the_way_says_how_to_keep_it(made_rated: Path, tmp_path: Path) -> None:
    folder = copied(made_rated, tmp_path)
    record = folder / "compared" / "run.json"
    content = json.loads(record.read_text("utf-8"))
    content["arguments"]["runs"] = [str(folder / "talks")]
    record.write_text(json.dumps(content), "utf-8")
    bench = Workbench.open(folder, cache=tmp_path / "indexes")
    opened = open_comparison(bench.catalogue.get("compared"), bench.catalogue)
    assert opened.runs == ()
    assert "dialens score" in opened.unseen
    assert opened.lines[0].startswith("long ")
    bench.close()


def test_a_damaged_table_is_named_with_the_remedy(made_rated: Path, tmp_path: Path) -> None:
    folder = copied(made_rated, tmp_path)
    (folder / "compared" / "comparison.parquet").write_bytes(b"PAR1 no")
    bench = Workbench.open(folder, cache=tmp_path / "indexes")
    with pytest.raises(DialensError, match="Compare again to replace it"):
        open_comparison(bench.catalogue.get("compared"), bench.catalogue)
    bench.close()


def test_what_is_not_compared_yet_is_known(rated: Workbench) -> None:
    assert not_compared(rated.catalogue) == []
    (scores,) = rated.catalogue.of("scores")
    assert compare_command(scores).startswith("dialens compare ")
    assert newest_first(rated.catalogue.items)[0].name == "compared"
