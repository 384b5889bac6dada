"""Folders of data sets: splits, shards, configurations and the cache of the hub."""

from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.corpus import read
from tests.corpus.nested_samples import (
    SHAPES,
    column,
    frame,
    saved,
    snapshot,
)


def test_splits_do_not_mix(tmp_path: Path) -> None:
    home = tmp_path / "chats"
    for split in ("train", "test"):
        saved(SHAPES["LMSYS-Chat-1M"], tmp_path / split).rename(tmp_path / f"{split}-moved")
        (tmp_path / split).rmdir()
        home.mkdir(exist_ok=True)
        (tmp_path / f"{split}-moved").rename(home / split)
    (home / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    corpus = read(home)
    assert column(corpus, "dialog") == ["train/c0", "train/c1", "test/c0", "test/c1"]
    assert column(corpus, "system") == ["chats"]


def test_the_cache_of_the_hub(tmp_path: Path) -> None:
    home = tmp_path / "datasets--someone--Chats"
    snapshot(SHAPES["ShareGPT"], tmp_path)
    (home / "snapshots").mkdir(parents=True)
    (tmp_path / "chats").rename(home / "snapshots" / "0f3c")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("0f3c")
    for path in (home, home / "snapshots" / "0f3c"):
        assert column(read(path), "agent") == ["Chats"]


def test_configurations_and_split_folders(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / "chats" / "default" / split).mkdir(parents=True)
        path = tmp_path / "chats" / "default" / split / "0000.parquet"
        frame(SHAPES["DailyDialog"][:1]).write_parquet(path)
    corpus = read(tmp_path / "chats")
    assert column(corpus, "dialog") == ["test/chats-1", "train/chats-1"]


def test_parquet_files_with_names_of_their_own_are_several_sources(tmp_path: Path) -> None:
    for name in ("v1", "v2"):
        frame(SHAPES["pairs"][:1]).write_parquet(tmp_path / f"{name}.parquet")
    assert column(read(tmp_path), "agent") == ["v1", "v2"]


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    home = saved(SHAPES["LMSYS-Chat-1M"], tmp_path)
    (home / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(DialensError, match=r"not saved whole: data-00001-of-00002\.arrow"):
        read(home)
