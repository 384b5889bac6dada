"""The posts with their words: whose they are, and that slices neither lose nor move any."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.engagement.curation import EngineOptions, LabelOptions, Models, label
from dialens.engagement.curation import _label_output as label_output
from dialens.engagement.curation._label_output import write_places, write_posts
from tests.engagement.hand_made import comment, submission, write_work
from tests.engagement.test_label_command import forest

NEITHER = Models(None, None)
TABLES = ("posts", "train", "validation")


def labelled(work: Path, red: Path, **engine: Any) -> dict[str, pl.DataFrame]:
    options = LabelOptions(kappa=0.1)
    label(work, red, models=NEITHER, options=options, engine=EngineOptions(**engine))
    return {name: pl.read_parquet(red / f"{name}.parquet") for name in TABLES}


def test_words_of_duplicates_and_of_a_submission_with_the_id_of_a_comment(tmp_path):
    """k is a comment, fetched twice, and a submission; m answers the one and n the other."""
    submissions = [submission("s1", text="First"), submission("k", score=9, text="Title of k")]
    comments = [
        comment("k", "s1", text="Old words", retrieved=1_400_000_000),
        comment("k", "s1", text="New words"),
        comment("m", "k", thread="s1", text="To the comment"),
        comment("m2", "m", thread="s1", content_words=30),
        comment("n", "k", parent_is_submission=True, thread="k", text="To the submission"),
        comment("n2", "n", thread="k"),
    ]
    work = write_work(tmp_path / "work", comments, submissions)
    posts = labelled(work, tmp_path / "red")["posts"]
    assert posts.select("id", "context", "text").rows() == [
        ("k", "First", "New words"),
        ("m", "New words", "To the comment"),
        ("n", "Title of k", "To the submission"),
    ]


def test_parents_that_are_not_in_the_data(tmp_path):
    """Named by a comment with a reply and by ones without, or not named at all."""
    comments = [
        comment("a", "s1"),
        comment("b", "a", thread="s1", content_words=30),
        comment("c", "b", thread="s1"),
        comment("o", "s9"),
        comment("o1", "o", thread="s9"),
        comment("o2", "s9"),
        comment("p", "nobody"),
        comment("q", "s1", parent_id=None, parent_is_submission=False),
        # The submission s1 is there; a comment of that id is not.
        comment("r", "s1", parent_is_submission=False),
    ]
    work = write_work(tmp_path / "work", comments, [submission("s1", score=5)])
    labelled(work, tmp_path / "red")
    reasons = dict(pl.read_parquet(tmp_path / "red" / "rejected" / "*.parquet").iter_rows())
    assert reasons == {
        **dict.fromkeys(("o", "o2", "p", "q", "r"), "no parent in the data"),
        **dict.fromkeys(("c", "o1"), "no reply in the data"),
    }


@pytest.mark.parametrize("most", [1_000, 3])
def test_slices_change_no_row(tmp_path, monkeypatch, most):
    """Slices of 32 posts, or of more where there may be only three of them."""
    work = write_work(tmp_path / "work", *forest(1_500), shards=3)
    whole = labelled(work, tmp_path / "whole", threads=2)
    monkeypatch.setattr(label_output, "LEAST_POSTS", 32)
    monkeypatch.setattr(label_output, "MOST_SLICES", most)
    cut = labelled(work, tmp_path / "cut", threads=2)
    assert whole["posts"].height > 10 * 32
    for name in TABLES:
        assert cut[name].equals(whole[name]), name


def test_places_follow_the_order_of_the_files(tmp_path):
    for number, ids in enumerate((["a", "b"], ["c", "d", "e"])):
        one = pl.DataFrame({"id": ids}).with_columns(
            parent_id=pl.lit("s1"), parent_is_submission=pl.lit(value=True)
        )
        one.write_parquet(tmp_path / f"numbers-{number}.parquet")
    (tmp_path / "places").mkdir()
    write_places(sorted(tmp_path.glob("*.parquet")), tmp_path / "places", 2)
    made = pl.read_parquet(tmp_path / "places")
    assert made.select("id", "place", "slice").rows() == [
        ("a", 0, 0), ("b", 1, 0), ("c", 2, 1), ("d", 3, 1), ("e", 4, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("places", [[0], [0, 1, 1], [0, 2]])
@pytest.mark.parametrize("wrong", ["context", "text"])
def test_words_that_do_not_fit_the_posts_are_not_written(tmp_path, places, wrong):
    work = write_work(
        tmp_path / "work",
        [comment("a", "s1"), comment("b", "a", thread="s1", content_words=30), comment("c", "b")],
        [submission("s1", score=5)],
    )
    posts = labelled(work, tmp_path / "red")["posts"]
    posts.with_columns(side=pl.lit(None, pl.String)).write_parquet(tmp_path / "numbers.parquet")
    words = {name: tmp_path / name for name in ("context", "text")}
    for name, folder in words.items():
        (folder / "slice=0").mkdir(parents=True)
        lines = pl.DataFrame({"place": places if name == wrong else [1, 0], "text": "x"})
        lines.write_parquet(folder / "slice=0" / "data.parquet")
    with pytest.raises(RuntimeError, match="from place 0 on"):
        write_posts([tmp_path / "numbers.parquet"], words, tmp_path / "out", lambda _: None)
    assert not list((tmp_path / "out").iterdir())
