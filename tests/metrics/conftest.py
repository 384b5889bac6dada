"""Tiny models and what they say of a few talks, once for the tests of a file."""

from __future__ import annotations

import pytest

from dialens.corpus import Corpus
from dialens.metrics import Resources, ScorerSet, Scores, score
from tests.metrics.model_talks import TALKS
from tests.metrics.tiny_models import tiny_scorers


@pytest.fixture(scope="module")
def scorers() -> ScorerSet:
    """Scorers whose models have random weights."""
    return tiny_scorers()


@pytest.fixture(scope="module")
def scores(scorers: ScorerSet) -> Scores:
    """All metrics of the talks."""
    return score(Corpus.of(TALKS), resources=Resources(scorers=scorers))
