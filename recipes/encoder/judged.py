"""Replies that people have judged: read them, and compare a model with the plain baselines.

:data:`SETS` are for reporting: nothing in this package trains on them or chooses by them. What is
chosen by human judgement is chosen on :data:`DEVELOPMENT`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dialens.base import DialensError
from dialens.corpus import background
from dialens.models import content_words
from dialens.statistics import partial_pearson, pearson, percentile_estimate, spearman

SETS = (
    ("better", "engagement"),
    ("grade_dailydialog", "coherence"),
    ("usr_personachat", "Engaging"),
    ("usr_personachat", "Overall"),
)
DEVELOPMENT = (
    ("dailydialog_zhao", "appropriateness"),
    ("dailydialog_gupta", "appropriateness"),
    ("holistic_context", "context coherence"),
    ("conture_turn", "overall impression"),
    ("convai2_wild", "thumb"),
)


@dataclass(frozen=True)
class Judged:
    """Units of one set with the mean judgement of one quality.

    `backgrounds` holds what the speaker was given to speak from, where the set tells.
    """

    name: str
    contexts: list[list[str]]
    backgrounds: list[str | None]
    replies: list[str]
    mean: np.ndarray

    def inputs(self, turns: int) -> list[tuple[str, str]]:
        """Return pairs whose context is the last ``turns`` turns."""
        pairs = zip(self.contexts, self.replies, strict=True)
        return [("\n".join(context[-turns:]), reply) for context, reply in pairs]


def read_judged(folder: Path, sets: Sequence[tuple[str, str]] = SETS) -> list[Judged]:
    """Read some sets of rated turns from a folder of ``*.jsonl.gz``."""
    found = []
    for name, quality in sets:
        file = folder / f"{name}.jsonl.gz"
        if not file.exists():
            raise DialensError(f"{file} is missing: it holds the judgements of {quality}")
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            units = [json.loads(line) for line in lines]
        units = [u for u in units if u["level"] == "turn" and quality in u["ratings"]]
        found.append(
            Judged(
                name=f"{name}: {quality}",
                contexts=[[turn["text"] for turn in unit["context"]] for unit in units],
                backgrounds=[background(unit.get("extra") or {}) for unit in units],
                replies=[unit["response"] for unit in units],
                mean=np.array([float(np.mean(unit["ratings"][quality])) for unit in units]),
            )
        )
    return found


def baselines(replies: list[str], *, seed: int = 0) -> dict[str, np.ndarray]:
    """Return Random, Question, Specificity as the metric counts it, and its logarithm."""
    words = content_words(replies)
    return {
        "Random": np.random.default_rng(seed).random(len(replies)),
        "Question": np.array([float("?" in reply) for reply in replies]),
        "Specificity": words,
        "log Specificity": np.log1p(words),
    }


def compare(scores: np.ndarray, judged: Judged) -> dict[str, dict[str, float | int | str]]:
    """Return correlations with judgement, with intervals, and the one given log length."""
    truth = judged.mean
    length = np.log1p([len(reply.split()) for reply in judged.replies])
    n = len(truth)
    return {
        "pearson": percentile_estimate(lambda rows: pearson(scores[rows], truth[rows]), n).as_dict(
            digits=4
        ),
        "spearman": percentile_estimate(
            lambda rows: spearman(scores[rows], truth[rows]), n
        ).as_dict(digits=4),
        "pearson given log length": percentile_estimate(
            lambda rows: partial_pearson(scores[rows], truth[rows], length[rows]), n
        ).as_dict(digits=4),
        "pearson with log length": percentile_estimate(
            lambda rows: pearson(scores[rows], length[rows]), n
        ).as_dict(digits=4),
    }
