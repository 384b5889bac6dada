"""Comments that answer each other in a circle: all of them are found, and nobody else."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.engagement.curation import LabelOptions, Models, label
from dialens.engagement.curation._label_cycles import on_cycles
from tests.engagement.hand_made import (
    COMMENTS,
    CYCLE_REASONS,
    CYCLES,
    REASONS,
    SUBMISSIONS,
    Written,
    comment,
    write_work,
)

CYCLE = "part of a cycle"


def labelled(folder, comments, **options):
    work = write_work(folder / "work", comments, SUBMISSIONS)
    models = Models(Written("p"), Written("t"))
    red = label(work, folder / "red", models=models, options=LabelOptions(**options)).folder
    reasons = dict(pl.read_parquet(red / "rejected" / "*.parquet").iter_rows())
    return reasons, pl.read_parquet(red / "posts.parquet")


def test_cycles_by_hand(tmp_path):
    """Every other comment has the reason it had, and every post its numbers."""
    hand = {"kappa": 0.8, "subreddits": ("books",), "english": True}
    reasons, posts = labelled(tmp_path / "with", COMMENTS + CYCLES, **hand)
    assert reasons == REASONS | CYCLE_REASONS
    _, alone = labelled(tmp_path / "without", COMMENTS, **hand)
    assert posts.equals(alone)


def leads_back(parents, id):
    """Whether the way up from a comment comes by it again, step by step."""
    at = parents.get(id)
    for _ in parents:
        if at == id:
            return True
        at = parents.get(at)
    return False


@st.composite
def tangles(draw):
    """Comments that answer any other, or themselves, at any time and in any thread."""
    ids = [f"k{number}" for number in range(draw(st.integers(1, 12)))]
    return [
        comment(
            id,
            draw(st.sampled_from([*ids, "s1", "nobody"])),
            thread=draw(st.sampled_from(["s1", "s4"])),
            created=draw(st.sampled_from([None, 0, 1_136_073_600, 1_136_073_601])),
        )
        for id in ids
    ]


def comments_answered(comments):
    return {row["id"]: row["parent_id"] for row in comments if not row["parent_is_submission"]}


@settings(max_examples=8, deadline=None)
@given(more=tangles())
def test_any_tangle(more, tmp_path_factory):
    """Beside the comments of test_label, so that there is something to label."""
    own = [row for row in COMMENTS if not row["id"].startswith("k")]
    reasons, _ = labelled(tmp_path_factory.mktemp("tangle"), own + more, kappa=0.0)
    parents = comments_answered(more)
    expected = {row["id"] for row in more if leads_back(parents, row["id"])}
    assert {id for id, reason in reasons.items() if reason == CYCLE} == expected


@pytest.mark.parametrize("size", [1, 2, 3, 64, 1_000])
def test_long_cycles_with_long_ways_to_them(size):
    ring = [{"id": f"r{n}", "parent_id": f"r{(n + 1) % size}"} for n in range(size)]
    tail = [
        {"id": f"t{n}", "parent_id": f"t{n + 1}" if n < size else "r0"} for n in range(size + 1)
    ]
    line = [{"id": f"l{n}", "parent_id": f"l{n + 1}"} for n in range(size)]
    found = on_cycles(pl.DataFrame(tail + ring + line))
    assert found.to_list() == sorted(one["id"] for one in ring)
