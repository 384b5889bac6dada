"""Labelling on DuckDB: a dump worked out by hand, and what must not change a result."""

import hashlib
import json
import math
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.engagement.curation import EngineOptions, LabelOptions, Models, label, planned_steps
from dialens.engagement.curation._steps import STEPS
from tests.engagement.hand_made import (
    COMMENTS,
    REASONS,
    SUBMISSIONS,
    Written,
    comment,
    submission,
    write_work,
)

MODELS = Models(Written("p"), Written("t"))
HAND = LabelOptions(kappa=0.8, subreddits=("books",), english=True)
COLUMNS = (
    *("id", "parent_id", "thread", "subreddit", "context", "text", "re", "be", "ae", "ee", "pv"),
    *("re_adjusted", "be_adjusted", "re_norm", "be_norm", "ae_norm", "score", "z", "label"),
)


@pytest.fixture(scope="module")
def red(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hand")
    work = write_work(folder / "work", COMMENTS, SUBMISSIONS)
    return label(work, folder / "red", models=MODELS, options=HAND).folder


def posts(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in pl.read_parquet(folder / "posts.parquet").to_dicts()}


def test_posts_by_hand(red):
    """Accepted: a, b, x, n.

    re   a has the replies b, c, d; b has e (once); x has y; n has m.
    be   votes: 3, 1, −2 counts as 0, not known.
    ae   a: c has 8 content words, d is deleted and not read, c is edited: 8 + 10.
         b: the later version of e has 4. x: y has 2 and is edited. n: m has 6, edits not known.
    ee   a: (50 % + 100 %) / 2, d is not read. b 20 %, x 0 %, n 40 %.
    pv   a and x: 2·2 replies of s1 + 4 votes. b: 2·3 replies of a + 3. n: 2·1, no votes.
    """
    found = posts(red)
    assert list(found) == ["a", "b", "n", "x"]
    raw = {id: tuple(row[name] for name in ("re", "be", "ae", "pv")) for id, row in found.items()}
    assert raw == {"a": (3, 3, 18, 8), "b": (1, 1, 4, 9), "n": (1, None, 6, 2), "x": (1, 0, 12, 8)}
    assert {id: row["ee"] for id, row in found.items()} == {"a": 0.75, "b": 0.2, "n": 0.4, "x": 0.0}


ALL = ("a", "b", "x", "n")
# Medians: re of 3 1 1 1 is 1; be of 3 1 0 is 1; pv of 8 9 8 2 is 8.
RE_ADJUSTED = dict(zip(ALL, (F(3 + 9), 1 + F(8, 9), F(2), F(5)), strict=True))
BE_ADJUSTED = dict(zip(ALL, (F(3 + 9), 1 + F(8, 9), F(0), None), strict=True))
# α: medians of 12 17/9 2 5, of 12 17/9 0, and of 18 4 12 6.
RE_NORM = dict(zip(ALL, (F(24, 31), F(34, 97), F(4, 11), F(10, 17)), strict=True))  # x/(x + 7/2)
BE_NORM = dict(zip(ALL, (F(108, 125), F(1, 2), F(0), None), strict=True))  # x / (x + 17/9)
AE_NORM = dict(zip(ALL, (F(2, 3), F(4, 13), F(4, 7), F(2, 5)), strict=True))  # x / (x + 9)
EE = dict(zip(ALL, (F(3, 4), F(1, 5), F(0), F(2, 5)), strict=True))


def hand_score(id: str) -> F:
    behavioural = BE_NORM[id]
    total = 3 * RE_NORM[id] + 3 * AE_NORM[id] + 2 * EE[id] + (behavioural or 0)
    return total / (8 if behavioural is None else 9)


def test_adjusted_and_normalised_by_hand(red):
    for id, row in posts(red).items():
        for name, expected in (
            ("re_adjusted", RE_ADJUSTED[id]),
            ("be_adjusted", BE_ADJUSTED[id]),
            ("re_norm", RE_NORM[id]),
            ("be_norm", BE_NORM[id]),
            ("ae_norm", AE_NORM[id]),
            ("score", hand_score(id)),
        ):
            if expected is None:
                assert row[name] is None
            else:
                assert row[name] == pytest.approx(float(expected), rel=1e-14), (id, name)


def test_z_and_labels_by_hand(red):
    """Scores .743, .319, .312, .471: mean .461, deviation .175; z 1.61, −.81, −.86, .05."""
    mean = sum(hand_score(id) for id in ALL) / 4
    deviation = math.sqrt(sum((hand_score(id) - mean) ** 2 for id in ALL) / 4)
    found = posts(red)
    for id in ALL:
        expected = float(hand_score(id) - mean) / deviation
        assert found[id]["z"] == pytest.approx(expected, abs=1e-9)
    assert {id: round(found[id]["z"], 2) for id in ALL} == {
        "a": 1.61, "b": -0.81, "x": -0.86, "n": 0.05
    }  # fmt: skip
    assert {id: found[id]["label"] for id in ALL} == {"a": 1, "b": 0, "x": 0, "n": None}


def test_words_are_those_of_the_post_and_of_its_parent(red):
    found = {id: (row["context"], row["text"]) for id, row in posts(red).items()}
    assert found == {
        "a": ("What do you read?", "Middlemarch"),
        "b": ("Middlemarch", "p50 me too"),
        "n": ("No votes here", "I wonder"),
        "x": ("What do you read?", "Nothing"),
    }


def test_every_other_comment_has_its_reason(red):
    table = pl.read_parquet(red / "rejected" / "*.parquet")
    assert dict(table.iter_rows()) == REASONS
    assert table["id"].is_sorted()
    assert table.height == len(REASONS) == len({row["id"] for row in COMMENTS}) - 4


def test_columns_are_those_promised(red):
    for name in ("posts", "train", "validation"):
        assert pl.read_parquet(red / f"{name}.parquet").columns == list(COLUMNS)


def test_classes_are_balanced_by_the_draw_and_split_by_thread(red):
    draw = {id: hashlib.md5(f"0:{id}".encode()).hexdigest() for id in "bx"}
    kept = {"a", min(draw, key=lambda id: draw[id])}
    whole = int(hashlib.md5(b"0:s1").hexdigest(), 16)  # all of them are in the thread s1
    side = "validation" if whole < 0.2 * 2**128 else "train"
    other = {"train": "validation", "validation": "train"}[side]
    assert set(pl.read_parquet(red / f"{side}.parquet")["id"]) == kept
    assert pl.read_parquet(red / f"{other}.parquet").is_empty()


def test_alphas_of_the_paper(tmp_path):
    work = write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)
    options = LabelOptions(kappa=0.5, subreddits=("books",), english=True, alpha="paper")
    found = posts(label(work, tmp_path / "red", models=MODELS, options=options).folder)
    assert found["a"]["re_norm"] == pytest.approx(12 / 13)
    assert found["a"]["be_norm"] == pytest.approx(12 / 14)
    assert found["a"]["ae_norm"] == pytest.approx(18 / 36)


def test_without_models_dimension_and_filter_drop_out(tmp_path):
    work = write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)
    done = label(work, tmp_path / "red", models=Models(None, None), options=HAND)
    found = posts(done.folder)
    assert "t" in found  # toxic, but nobody looked
    assert {row["ee"] for row in found.values()} == {None}
    row = found["x"]
    assert row["score"] == pytest.approx((3 * row["re_norm"] + 3 * row["ae_norm"]) / 7)


# What must not change a result


def outcome(folder: Path, comments, submissions, *, shards=1, options=None, **engine):
    """The bytes of everything that is not about the run, or the error."""
    work = write_work(folder / "work", comments, submissions, shards=shards)
    chosen = options or LabelOptions(kappa=0.1)
    try:
        done = label(
            work, folder / "red", models=MODELS, options=chosen, engine=EngineOptions(**engine)
        )
    except DialensError as error:
        return str(error).replace(str(folder), "")
    red = done.folder
    names = ["posts.parquet", "train.parquet", "validation.parquet"]
    rejected = sorted((red / "rejected").iterdir())
    return [(red / name).read_bytes() for name in names] + [path.read_bytes() for path in rejected]


@st.composite
def threads(draw, names=("s1", "s2", "s3")):
    """Trees of comments under some submissions, some fields missing, some rows twice."""
    submissions = [
        submission(name, score=draw(st.sampled_from([None, 0, 3, 12]))) for name in names
    ]
    comments: list[dict[str, Any]] = []
    for number in range(draw(st.integers(6, 24))):
        parent = draw(st.sampled_from([*names, *(row["id"] for row in comments)]))
        thread = parent if parent in names else next(
            row["thread"] for row in comments if row["id"] == parent
        )  # fmt: skip
        comments.append(
            comment(
                f"{names[0]}c{number}".replace("s", "k"),
                parent,
                thread=thread,
                score=draw(st.sampled_from([None, -3, 0, 1, 7])),
                edited=draw(st.sampled_from([None, False, True])),
                content_words=draw(st.integers(1, 9)),
                deleted=draw(st.integers(0, 9)) == 0,
                text=f"p{draw(st.integers(0, 9))}0 t{draw(st.sampled_from([0, 0, 0, 90]))}",
            )
        )
    again = draw(st.lists(st.sampled_from(comments), max_size=3))
    comments += [
        {
            **row,
            "retrieved": draw(st.sampled_from([None, 1, 1_500_000_000, 2**31])),
            "score": draw(st.sampled_from([None, 1, 8])),
        }
        for row in again
    ]
    return comments, submissions


@settings(max_examples=8, deadline=None)
@given(data=threads(), shuffle=st.randoms(use_true_random=False), shards=st.integers(1, 4))
def test_order_shards_threads_and_memory_change_nothing(data, shuffle, shards, tmp_path_factory):
    comments, submissions = data
    first = outcome(tmp_path_factory.mktemp("one"), comments, submissions)
    comments, submissions = comments[:], submissions[:]
    shuffle.shuffle(comments)
    shuffle.shuffle(submissions)
    other = tmp_path_factory.mktemp("two")
    again = outcome(other, comments, submissions, shards=shards, threads=2, memory=400 * 2**20)
    assert first == again


@settings(max_examples=8, deadline=None)
@given(data=threads(), more=threads(names=("s7", "s8")))
def test_an_unrelated_thread_changes_only_what_rests_on_medians(data, more, tmp_path_factory):
    """Ids, words, raw dimensions, popularity and reasons stay."""
    tables = []
    for comments, submissions in (data, (data[0] + more[0], data[1] + more[1])):
        folder = tmp_path_factory.mktemp("unrelated")
        if isinstance(outcome(folder, comments, submissions), str):
            return  # too little to label
        red = folder / "red"
        own = {row["id"] for row in data[0]}
        raw = ["id", "context", "text", "thread", "re", "be", "ae", "ee", "pv"]
        kept = pl.read_parquet(red / "posts.parquet", columns=raw)
        reasons = pl.read_parquet(red / "rejected" / "*.parquet")
        tables.append([t.filter(pl.col("id").is_in(own)).to_dicts() for t in (kept, reasons)])
    assert tables[0] == tables[1]


@settings(max_examples=5, deadline=None)
@given(counts=st.lists(st.integers(1, 6), min_size=3, max_size=8, unique=True))
def test_score_grows_with_replies(counts, tmp_path_factory):
    """Posts that differ in nothing but the number of equal replies."""
    submissions = [submission(f"s{number}", score=5) for number in range(len(counts))]
    comments = []
    for number, count in enumerate(counts):
        comments.append(comment(f"k{number}", f"s{number}"))
        comments += [
            comment(f"k{number}r{place}", f"k{number}", thread=f"s{number}")
            for place in range(count)
        ]
    folder = tmp_path_factory.mktemp("grows")
    assert not isinstance(outcome(folder, comments, submissions), str)
    table = pl.read_parquet(folder / "red" / "posts.parquet").sort("re")
    assert table["re"].to_list() == sorted(counts)
    assert table["score"].is_sorted()
    assert table["score"].n_unique() == len(counts)


# Going on, and doing nothing twice


def test_a_finished_dataset_is_not_made_again(red, tmp_path):
    work = red.parent / "work"
    before = (red / "run.json").read_bytes()
    assert not label(work, red, models=MODELS, options=HAND).fresh
    assert (red / "run.json").read_bytes() == before
    other = LabelOptions(kappa=0.7, subreddits=("books",), english=True)
    again = write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)
    assert label(again, tmp_path / "red", models=MODELS, options=HAND).fresh
    assert label(again, tmp_path / "red", models=MODELS, options=other).fresh
    record = json.loads((tmp_path / "red" / "run.json").read_text())
    assert record["arguments"]["kappa"] == 0.7


def test_an_unfinished_run_goes_on(tmp_path):
    """The posts cannot be written where they belong: steps are kept and not done again."""
    work = write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)
    red = tmp_path / "red"
    (red / ".work").mkdir(parents=True)
    (red / "posts.parquet").mkdir()
    with pytest.raises(DialensError, match="cannot be written to: Is a directory"):
        label(work, red, models=MODELS, options=HAND)
    assert not (red / "run.json").exists()
    (red / "posts.parquet").rmdir()
    label(work, red, models=MODELS, options=HAND)
    record = json.loads((red / "run.json").read_text())
    assert all(step["reused"] for step in record["steps"].values())
    assert set(posts(red)) == set(ALL)


def test_the_plan_names_every_step(tmp_path):
    work = write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)
    assert [name for name, _, _ in planned_steps(work)] == [step.name for step in STEPS]
