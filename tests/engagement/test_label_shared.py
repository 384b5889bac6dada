"""Real Reddit, end to end: what the cards must say if the paper's figures mean anything."""

from pathlib import Path

import polars as pl
import pytest

from dialens.engagement.curation import EngineOptions, Labelled, LabelOptions, Models, ingest, label
from dialens.engagement.curation._shard_scoring import LexiconScorer

pytestmark = pytest.mark.slow


def made(dumps: list[Path], folder: Path, **options) -> Labelled:
    ingest(dumps, folder / "work")
    return label(
        folder / "work",
        folder / "red",
        models=Models(LexiconScorer(), None),
        options=LabelOptions(**options),
        engine=EngineOptions(threads=2),
    )


@pytest.fixture(scope="module")
def months(shared_data, tmp_path_factory):
    """All comments of December 2005 to March 2006, and some of their submissions."""
    reddit = shared_data / "reddit"
    dumps = [reddit / "RC_2005-12.zst"]
    dumps += sorted(reddit.glob("RC_2006-*.bz2")) + sorted(reddit.glob("RS_2006-*.bz2"))
    return made(dumps, tmp_path_factory.mktemp("months"))


@pytest.fixture(scope="module")
def modern(shared_data, tmp_path_factory):
    """Whole threads of today, fetched through the API."""
    reddit = shared_data / "reddit"
    dumps = [
        reddit / "praw_complete_threads_comments.jsonl.gz",
        reddit / "praw_api_submissions.jsonl.gz",
    ]
    return made(dumps, tmp_path_factory.mktemp("modern"))


def check(done: Labelled) -> None:
    """What holds of any Reddit data if labels mean what the paper says."""
    card = done.card.content
    counts = card["counts"]
    assert counts["posts"] + counts["rejected"] == counts["comments"]
    for row in card["table_1"]:
        if row["engaging"] is not None:
            assert row["engaging"]["mean"] > row["not_engaging"]["mean"], row["name"]
    # Class means of the score lie more than κ deviations from the mean, as .709 and .259 do.
    overall = card["score"]
    score = card["table_1"][-1]
    assert score["engaging"]["mean"] > overall["mean"] + overall["deviation"]
    assert score["not_engaging"]["mean"] < overall["mean"] - overall["deviation"]
    table = pl.read_parquet(done.folder / "posts.parquet")
    assert table["z"].mean() == pytest.approx(0, abs=1e-9)
    assert table["z"].std(ddof=0) == pytest.approx(1, abs=1e-9)
    assert table["id"].is_sorted()
    assert table["id"].n_unique() == table.height
    for name in ("re_norm", "ae_norm", "be_norm", "ee", "score"):
        known = table[name].drop_nulls()
        assert known.is_between(0, 1).all(), name
    assert table.filter(pl.col("text") == "").is_empty()
    parts = [pl.read_parquet(done.folder / f"{name}.parquet") for name in ("train", "validation")]
    assert not set(parts[0]["thread"]) & set(parts[1]["thread"])
    both = pl.concat(parts)["label"]
    assert (both == 1).sum() == (both == 0).sum() == both.len() / 2


def test_the_four_months(months):
    check(months)
    card = months.card.content
    assert card["counts"]["comments"] == 27_695
    assert card["counts"]["posts"] > 1_000
    assert card["missing"]["posts_without_votes"] == 0
    # The median post has one reply, as in the paper.
    assert card["medians"]["re"] == 1


def test_replies_are_those_in_the_data(months):
    """`re` against a plain count of the shards."""
    work = months.folder.parent / "work"
    comments = pl.read_parquet(work / "comments" / "*.parquet").unique("id")
    counted = (
        comments.filter(~pl.col("parent_is_submission"))
        .group_by(id=pl.col("parent_id"))
        .agg(counted=pl.len())
    )
    table = pl.read_parquet(months.folder / "posts.parquet").join(counted, on="id", how="left")
    assert (table["re"] == table["counted"]).all()


def test_modern_threads(modern):
    check(modern)
    assert modern.card.content["counts"]["posts"] > 100
