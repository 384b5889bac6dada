"""F1 of several labels a text, and the thresholds that make it best."""

from __future__ import annotations

import numpy as np


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
