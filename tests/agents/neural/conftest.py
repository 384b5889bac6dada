"""A small world: two dozen short conversations, and networks small enough to train in a second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dialens.agents.neural import Shape
from dialens.agents.neural._conversations import Threads, read_threads
from dialens.agents.neural._prepare import Prepared, prepare
from dialens.models.topics import TopicTable, from_entries

TALKS = (
    ("do you like tea", "yes, i drink green tea every morning", "with milk or without?"),
    ("what is your dog called", "my dog is called rex", "rex is a fine name for a dog"),
    ("how was the film", "the film was long and slow", "then i will watch another one"),
    ("where do you live", "i live near the sea", "the sea is far from here"),
    ("did you see the game", "no, i missed the game", "our team lost again"),
    ("is it raining", "it has been raining all day", "take an umbrella with you"),
    ("what did you eat", "i had bread and soup", "soup is good on a cold day"),
    ("are you tired", "a little, i slept badly", "go to bed early tonight"),
)


@pytest.fixture(scope="session")
def topics() -> TopicTable:
    entries = pl.DataFrame(
        {
            "term": ["tea", "milk", "soup", "dog", "rex", "game", "team", "film", "sea"],
            "category": ["food", "food", "food", "pets", "pets", "play", "play", "art", "place"],
        }
    ).with_columns(weight=pl.lit(1.0))
    return from_entries("small", entries)


@pytest.fixture(scope="session")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("talks") / "talks.txt"
    file.write_text("".join("\t".join(talk) + "\n" for talk in TALKS * 3))
    return file


@pytest.fixture(scope="session")
def threads(talks: Path) -> Threads:
    return read_threads(talks, format="tabbed")


def small_shape(kind: str, **sizes: int) -> Shape:
    given = {"embedding": 16, "hidden": 24, "attention": 12, "topic_words": 3, "topics": 2}
    return Shape(kind, **{"vocabulary": 400, **given, **sizes})


@pytest.fixture(scope="session")
def prepared(threads: Threads, topics: TopicTable) -> Prepared:
    return prepare(threads, small_shape("thred"), topics=topics, held_out=0.1, seed=3)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Networks this small take longer to share out than to compute."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
