"""Finding metrics: by name, by family, from other packages."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from dialens.base import DialensError, DialensWarning
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import MetricCard, metric, metrics, score, select, turn_mean


@metric("shouting", meaning="Share of turns that shout", family="surface", range=(0.0, 1.0))
def shouting(resources):
    def value(batch):
        return batch.turns["text"].str.contains("!").to_numpy().astype(np.float64)

    return turn_mean("shouting", value)


TWO = [shouting]
WRONG = "not a card"


GROUP = "dialens.metrics"
Install = Callable[[str, str], None]


@pytest.mark.parametrize("name", ["shouting", "TWO"])
def test_metrics_of_other_packages(installed: Install, name: str) -> None:
    installed(GROUP, f"{__name__}:{name}")
    assert isinstance(metrics()["shouting"], MetricCard)


def test_a_name_that_is_taken_is_refused(
    monkeypatch: pytest.MonkeyPatch, installed: Install
) -> None:
    taken = metric("length", meaning="X", family="x")(cast(Any, lambda resources: None))
    monkeypatch.setattr("tests.metrics.test_registry.TWO", [taken])
    installed(GROUP, f"{__name__}:TWO")
    with pytest.warns(DialensWarning, match="'length'"):
        assert metrics()["length"] is not taken


@pytest.mark.parametrize("value", ["no.such.module:x", f"{__name__}:WRONG"])
def test_a_broken_package_is_named(installed: Install, value: str) -> None:
    installed(GROUP, value)
    with pytest.warns(DialensWarning, match="theirs"):
        assert "length" in metrics()


def test_did_you_mean() -> None:
    with pytest.raises(DialensError, match="Did you mean emotional_entropy"):
        select(["emotional_entropi"])


def test_a_card_of_ones_own() -> None:
    talk = [Turn("B", "agent", "hey!"), Turn("B", "agent", "hm")]
    scores = score(Corpus.of([Dialogue("s", "b", "d", talk)]), metrics=[shouting, "length"])
    assert scores.wide("agent").select("shouting", "length").row(0) == (0.5, 1.0)
