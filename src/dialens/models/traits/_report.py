"""How well a trait model predicts people it has not seen: correlations with intervals.

Intervals are percentile intervals of a bootstrap over *people*: all texts of a person enter or
leave a resample together, because texts of one person are not independent. Resampling works on
per-person sums, so no prediction is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialens.base import Estimate

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation(Estimate):
    """Pearson's r with a 95 % interval over people; `n` counts pairs (people, or texts)."""

    def as_metric(self) -> dict[str, float | int | None]:
        """The figure as a card writes it."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}

    def __str__(self) -> str:
        """One line for a terminal."""
        if self.value is None or self.low is None or self.high is None:
            return f"not defined (n = {self.n})"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] (n = {self.n})"


@dataclass(frozen=True)
class TraitReport:
    """Cross-validation by person of one trait model.

    Attributes:
        target: What was predicted.
        features: Feature blocks that were offered.
        unit: ``person`` (texts of a person pooled) or ``text``.
        folds: Number of folds.
        seed: Seed of folds and bootstrap.
        n_persons: People.
        n_texts: Texts.
        by_person: r of the out-of-fold prediction of people (mean over texts if unit is ``text``).
        by_text: r of the out-of-fold prediction of single texts.
        per_fold: r within each held-out fold, at the level of ``unit``.
        baseline: r of the best line on the logarithm of the number of tokens, by the same folds.
        penalties: Penalty chosen inside the training part of each fold.
        topic_weights: Weight of the topic block chosen there.
        dropped: Rows left out, by what they lacked.
    """

    target: str
    features: tuple[str, ...]
    unit: str
    folds: int
    seed: int
    n_persons: int
    n_texts: int
    by_person: Correlation
    by_text: Correlation
    per_fold: tuple[float | None, ...]
    baseline: Correlation
    penalties: tuple[float, ...]
    topic_weights: tuple[float, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return asdict(self)

    @property
    def headline(self) -> str:
        """The name, among :meth:`as_metrics`, of the figure at the level that was fitted."""
        return f"r_{self.unit}"

    @property
    def weakness(self) -> str:
        """What the interval by person says against the model, as a sentence; empty if nothing."""
        low, high = self.by_person.low, self.by_person.high
        if low is None or high is None:
            what = "There is no interval"
        elif high < 0:
            what = "The interval lies below 0"
        elif low <= 0:
            what = "The interval includes 0"
        else:
            return ""
        return f"{what}: no evidence that this model works on unseen people."

    def as_metrics(self) -> dict[str, Any]:
        """The figures as a card writes them."""
        return {
            "r_person": self.by_person.as_metric(),
            "r_text": self.by_text.as_metric(),
            "baseline_length_r_person": self.baseline.as_metric(),
        }

    def __str__(self) -> str:
        """A few lines for a terminal."""
        folds = ", ".join("–" if r is None else f"{r:.2f}" for r in self.per_fold)
        lines = [
            f"{self.target}: ridge over {' + '.join(self.features)}, "
            f"{self.folds} folds by person, seed {self.seed}",
            f"  {self.n_texts:,} texts of {self.n_persons:,} people; one label a {self.unit}",
            f"  r by person  {self.by_person}",
            f"  r by text    {self.by_text}",
            f"  r per fold   {folds}",
            f"  length only  {self.baseline}",
        ]
        if self.dropped:
            gaps = ", ".join(f"{n:,} with {what}" for what, n in self.dropped.items())
            lines.append(f"  left out     {gaps}")
        return "\n".join(lines)


def correlation(
    truth: Vector,
    predicted: Vector,
    person: NDArray[np.intp],
    *,
    seed: int,
    resamples: int = 2000,
) -> Correlation:
    """Correlate, with a bootstrap interval over people.

    Args:
        truth: What was measured.
        predicted: What was predicted; NaN is left out and counted.
        person: Whose value it is, as numbers from 0.
        seed: Seed of the resampling.
        resamples: How many.

    Examples:
        >>> truth = np.array([1.0, 2.0, 3.0, 4.0])
        >>> print(correlation(truth, 2 * truth, np.arange(4), seed=1))
        1.000 [1.000, 1.000] (n = 4)
    """
    known = np.isfinite(predicted) & np.isfinite(truth)
    missing = int((~known).sum())
    y, p = truth[known], predicted[known]
    y, p = y - (y.mean() if len(y) else 0.0), p - (p.mean() if len(p) else 0.0)
    _, person = np.unique(person[known], return_inverse=True)
    people = int(person.max()) + 1 if len(person) else 0
    columns = (np.ones_like(y), y, p, y * y, p * p, y * p)
    sums = np.stack([np.bincount(person, c, minlength=people) for c in columns], axis=1)
    value = float(_r(sums.sum(axis=0))) if len(y) else np.nan
    if people < 3 or not np.isfinite(value):
        return Correlation(n=len(y), n_missing=missing)
    draws = np.random.default_rng(seed).multinomial(
        people, np.full(people, 1 / people), size=resamples
    )
    values = _r((draws.astype(np.float64) @ sums).T)
    values = values[np.isfinite(values)]
    if not len(values):
        return Correlation(value, n=len(y), n_missing=missing)
    low, high = np.quantile(values, [0.025, 0.975])
    return Correlation(value, float(low), float(high), n=len(y), n_missing=missing)


def _r(sums: Vector) -> Vector:
    n, y, p, yy, pp, yp = sums
    spread = (yy - y * y / n) * (pp - p * p / n)
    tiny = 1e-12 * np.abs(yy * pp)
    root = np.sqrt(np.where(spread > tiny, spread, np.nan))
    result: Vector = np.clip((yp - y * p / n) / root, -1.0, 1.0)
    return result
