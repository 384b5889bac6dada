"""The same dumps on DuckDB, on Spark in one process and on a cluster: equal row by row."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dialens.engagement.curation import EngineOptions, LabelOptions, Models, ingest, label
from dialens.engagement.curation._shard_scoring import LexiconScorer
from tests.engagement.dumps import conversation, write_dump
from tests.engagement.hand_made import (
    COMMENTS,
    CYCLES,
    SUBMISSIONS,
    Written,
    write_work,
)
from tests.spark_cluster import need_spark, running_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of py4j's own sockets
]

MEMORY = 600 * 2**20


@pytest.fixture(scope="module")
def java():
    need_spark()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Two dumps of comments that overlap and one of submissions, through the real ingest."""
    folder = tmp_path_factory.mktemp("parity")
    comments, submissions = conversation(seed=5, comments=3_000)
    half = len(comments) // 2
    write_dump(folder / "RC_1.zst", comments[: half + 100])
    write_dump(folder / "RC_2.bz2", comments[half:])
    write_dump(folder / "RS_1.gz", submissions)
    ingest(
        [folder / name for name in ("RC_1.zst", "RC_2.bz2", "RS_1.gz")], folder / "work", workers=1
    )
    return folder / "work"


MODELS = Models(LexiconScorer(), None)
OPTIONS = LabelOptions(kappa=0.5)


@pytest.fixture(scope="module")
def expected(work):
    red = work.parent / "red-duckdb"
    return label(work, red, models=MODELS, options=OPTIONS, engine=EngineOptions(threads=2)).folder


@pytest.fixture(scope="module")
def cluster(java, tmp_path_factory) -> Iterator[str]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running.url


def assert_same(found: Path, expected: Path) -> None:
    for name in ("posts", "train", "validation"):
        ours, theirs = (pl.read_parquet(red / f"{name}.parquet") for red in (found, expected))
        exact = [column for column, kind in theirs.schema.items() if not kind.is_float()]
        assert ours.select(exact).equals(theirs.select(exact)), name
        assert_frame_equal(ours, theirs, check_exact=False, rel_tol=0, abs_tol=1e-9)
    ours, theirs = (pl.read_parquet(red / "rejected" / "*.parquet") for red in (found, expected))
    assert ours.equals(theirs)
    cards = [json.loads((red / "card.json").read_text()) for red in (found, expected)]
    for name in ("counts", "reasons", "missing", "subreddits", "dates", "steps"):
        assert cards[0][name] == cards[1][name]


def test_there_is_something_to_compare(expected):
    card = json.loads((expected / "card.json").read_text())
    assert card["counts"]["comment_duplicates"] == 100
    assert min(card["counts"]["engaging"], card["counts"]["not_engaging"]) >= 20
    assert card["steps"]["emotion_texts"] > 1_024  # more than one shard for the model


def test_spark_on_a_cluster_of_two_workers(cluster, work, expected, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    engine = EngineOptions(engine="spark", master=cluster, memory=MEMORY)
    red = work.parent / "red-cluster"
    assert_same(label(work, red, models=MODELS, options=OPTIONS, engine=engine).folder, expected)


def test_by_hand_on_spark(java, tmp_path):
    """The dump worked out by hand in test_label, with cycles and toxicity, on this machine."""
    from pyspark import cloudpickle

    import tests.engagement.hand_made as module

    work = write_work(tmp_path / "work", COMMENTS + CYCLES, SUBMISSIONS)
    options = LabelOptions(kappa=0.8, subreddits=("books",), english=True)
    models = Models(Written("p"), Written("t"))
    mine = label(work, tmp_path / "duckdb", models=models, options=options).folder
    engine = EngineOptions(engine="spark", master="local[2]", memory=MEMORY)
    cloudpickle.register_pickle_by_value(module)  # the workers do not see the tests
    try:
        red = label(
            work, tmp_path / "on Spark", models=models, options=options, engine=engine
        ).folder
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    assert_same(red, mine)
    labels = pl.read_parquet(red / "posts.parquet").select("id", "label")
    assert dict(labels.iter_rows()) == {"a": 1, "b": 0, "n": None, "x": 0}
