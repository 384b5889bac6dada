"""How good a model is: F1 with thresholds, area under the curve, correlations, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Measured:
    """A value with its 95 % bootstrap interval and the number of rows it stands on."""

    value: float
    low: float
    high: float
    n: int

    def as_dict(self) -> dict[str, float | int]:
        """Return it as a card writes it."""
        return {
            "value": round(self.value, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
            "n": self.n,
        }


def measured(
    function: Callable[[np.ndarray], float], n: int, *, draws: int = 1000, seed: int = 0
) -> Measured:
    """Measure a function of row numbers, and bootstrap it over rows.

    Examples:
        >>> values = np.arange(10.0)
        >>> measured(lambda rows: float(values[rows].mean()), 10, draws=50).value
        4.5
    """
    generator = np.random.default_rng(seed)
    value = function(np.arange(n))
    drawn = [function(generator.integers(0, n, n)) for _ in range(draws)]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Measured(value, float(low), float(high), n)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return probabilities."""
    result: np.ndarray = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
    return result


def f1_by_label(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the F1 of each column of two boolean tables."""
    both = (predicted & truth).sum(0)
    either = predicted.sum(0) + truth.sum(0)
    result: np.ndarray = 2 * both / np.maximum(either, 1)
    return result


def macro_f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean F1 over columns."""
    return float(f1_by_label(predicted, truth).mean())


def best_thresholds(chances: np.ndarray, truth: np.ndarray, *, trust: float = 30.0) -> np.ndarray:
    """Choose each label's threshold for F1, leaning on calibration where a label is rare.

    Where a label has few positives, the threshold that happens to be best on them says little. With
    calibrated probabilities the threshold of best *expected* F1 follows from the probabilities of
    all rows alone; the two are mixed by the number of positives (``trust`` gives equal weight).
    """
    found = np.empty(chances.shape[1])
    for column in range(chances.shape[1]):
        order = np.sort(chances[:, column])[::-1]
        hits = truth[np.argsort(-chances[:, column], kind="stable"), column]
        positives = int(truth[:, column].sum())
        taken = np.arange(1, len(order) + 1)
        observed = 2 * np.cumsum(hits) / (taken + max(positives, 1))
        observed = np.convolve(observed, np.ones(5) / 5, mode="same")
        expected = 2 * np.cumsum(order) / (taken + order.sum())
        weight = positives / (positives + trust)
        place = int(np.argmax(weight * observed + (1 - weight) * expected))
        after = order[min(place + 1, len(order) - 1)]
        found[column] = (order[place] + after) / 2
    return found


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the chance that a positive scores above a negative (ties count half)."""
    positive = int(truth.sum())
    negative = len(truth) - positive
    if not positive or not negative:
        return float("nan")
    total = ranks(scores)[truth.astype(bool)].sum()
    return float((total - positive * (positive + 1) / 2) / (positive * negative))


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, ties shared.

    Examples:
        >>> ranks(np.array([5.0, 1.0, 5.0])).tolist()
        [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    result: np.ndarray = (last - (counts - 1) / 2)[inverse]
    return result


def pearson(left: np.ndarray, right: np.ndarray) -> float:
    """Return the correlation; NaN if a side is constant."""
    left, right = left - left.mean(), right - right.mean()
    size = float(np.sqrt((left**2).sum() * (right**2).sum()))
    return float((left * right).sum() / size) if size > 0 else float("nan")


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    """Return the correlation of ranks."""
    return pearson(ranks(left), ranks(right))


def partial(left: np.ndarray, right: np.ndarray, given: np.ndarray) -> float:
    """Return the correlation of what a straight line in ``given`` leaves of both sides."""
    base = np.stack([np.ones_like(given), given], axis=1)

    def rest(values: np.ndarray) -> np.ndarray:
        result: np.ndarray = values - base @ np.linalg.lstsq(base, values, rcond=None)[0]
        return result

    return pearson(rest(left), rest(right))
