"""Tiny models and what they say of a few talks, once for the tests of a file."""

from __future__ import annotations

import pytest

from dialens.corpus import Corpus
from dialens.metrics import ModelSet, Resources, Scores, score
from tests.metrics.model_talks import TALKS
from tests.metrics.tiny_models import tiny_folder


@pytest.fixture(scope="module")
def models() -> ModelSet:
    """Models with random weights."""
    return ModelSet(folder=tiny_folder())


@pytest.fixture(scope="module")
def scores(models: ModelSet) -> Scores:
    """All metrics of the talks."""
    return score(Corpus.of(TALKS), resources=Resources(models=models))
