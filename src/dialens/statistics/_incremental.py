"""What one group of metrics adds to another: adjusted R², and R² on dialogues not seen.

Giorgi et al. (2023) fit three linear models to the mean human rating: A (an automatic metric), P
(a psychological one, or all of them) and P+A; they compare the absolute residuals of A and P+A
with a paired t-test. Both models are fitted to the very units they are judged on, so P+A can only
look better. Beside their figures stands R² under cross-validation by cluster: every unit is
predicted by a model that has seen neither it nor another answer to the same context.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from dialens.statistics._bootstrap import Floats, Ints, Mask
from dialens.statistics.correlation import standard_scores

FOLDS = 10
REPEATS = 10
_FLAT = 1e-12
_FEWEST_UNITS = 10


@dataclass(frozen=True)
class Fit:
    """A linear model of the standardised rating.

    Attributes:
        r2: Adjusted for the number of predictors.
        r2_plain: Not adjusted.
        coefficients: Of the standardised predictors.
        residuals: Of the units, in standard deviations of the rating.
        predictors: How many the data can tell apart.
    """

    r2: float
    r2_plain: float
    coefficients: Floats
    residuals: Floats
    predictors: int


def fit(x: Floats, y: Floats) -> Fit:
    """Ordinary least squares with an intercept; all variables standardised first.

    Examples:
        >>> result = fit(np.array([[1.0], [2], [3], [4], [5]]), np.array([1.0, 3, 2, 5, 4]))
        >>> round(result.r2_plain, 3), round(result.r2, 3), result.predictors
        (0.64, 0.52, 1)
    """
    a, b = standard_scores(x), standard_scores(y[:, None])[:, 0]
    coefficients, _, rank, _ = np.linalg.lstsq(a, b, rcond=1e-10)
    residuals = b - a @ coefficients
    n = len(b)
    plain = 1 - float(residuals @ residuals) / float(b @ b)
    adjusted = 1 - (1 - plain) * (n - 1) / (n - int(rank) - 1)
    return Fit(adjusted, plain, coefficients.astype(np.float64), residuals, int(rank))


def fold_numbers(clusters: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """A fold for every unit; units of one cluster share it, folds hold about as many clusters.

    Examples:
        >>> result = fold_numbers(np.array([5, 5, 9, 9]), 2, np.random.default_rng(0))
        >>> bool(result[0] == result[1] != result[2] == result[3])
        True
    """
    names, place = np.unique(clusters, return_inverse=True)
    numbers = rng.permutation(len(names)) % max(1, min(folds, len(names)))
    return numbers[place].astype(np.int64)


def out_of_fold(x: Floats, y: Floats, folds: Ints) -> tuple[Floats, Floats]:
    """Residuals of units under models fitted without their fold, and under the mean alone.

    All folds are solved together from sums of products, each the total less its own.
    """
    n, width = len(y), x.shape[1] + 1
    design = np.column_stack([np.ones(n), standard_scores(x)])
    packed = np.column_stack([design, y])
    count = int(folds.max()) + 1
    parts = (packed[folds == fold] for fold in range(count))
    products = np.stack([part.T @ part for part in parts])
    rest = products.sum(axis=0) - products
    inverse = np.linalg.pinv(rest[:, :width, :width], rcond=1e-10, hermitian=True)
    coefficients = np.einsum("fij,fj->fi", inverse, rest[:, :width, width])
    means = rest[:, 0, width] / rest[:, 0, 0]
    return y - np.einsum("ij,ij->i", design, coefficients[folds]), y - means[folds]


@dataclass(frozen=True)
class CrossValidated:
    """R² on clusters not seen, and the residuals behind it (averaged over repeats)."""

    r2: float
    residuals: Floats


def cross_validated(x: Floats, y: Floats, splits: Sequence[Ints]) -> CrossValidated:
    """Of the units' squared distance from the mean of the rest, the share that a model takes away.

    Negative where a model predicts worse than the mean would.
    """
    squares = plain = 0.0
    absolute = np.zeros(len(y))
    for folds in splits:
        residuals, from_mean = out_of_fold(x, y, folds)
        squares += float(residuals @ residuals)
        plain += float(from_mean @ from_mean)
        absolute += np.abs(residuals) / len(splits)
    return CrossValidated(1 - squares / plain, absolute)


Memory = dict[bytes, tuple[Fit, CrossValidated | None]]
"""Models that were fitted before, by the values they were fitted to."""


@dataclass(frozen=True)
class Increment:
    """What predictors P add to predictors A.

    Attributes:
        n: Units with a rating and all predictors.
        n_clusters: Clusters they belong to.
        r2_a: Adjusted R² of A alone.
        r2_p: Of P alone.
        r2_pa: Of both.
        t: Paired t of the absolute residuals, A less P+A: above 0 where P+A is nearer.
        p: Two-sided.
        cv_r2_a: R² of A on clusters not seen.
        cv_r2_p: Of P.
        cv_r2_pa: Of both.
        cv_t: t of the absolute residuals on clusters not seen, one mean difference a cluster.
        cv_p: Two-sided.
        reason: Why there is nothing.
    """

    n: int
    n_clusters: int = 0
    r2_a: float | None = None
    r2_p: float | None = None
    r2_pa: float | None = None
    t: float | None = None
    p: float | None = None
    cv_r2_a: float | None = None
    cv_r2_p: float | None = None
    cv_r2_pa: float | None = None
    cv_t: float | None = None
    cv_p: float | None = None
    reason: str | None = None


def increment(
    a: Floats,
    p: Floats,
    y: Floats,
    clusters: Ints,
    *,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = 0,
    memory: Memory | None = None,
) -> Increment:
    """Fit A, P and P+A to the units that have everything; NaN marks what is missing.

    Args:
        a: Units × automatic metrics.
        p: Units × psychological metrics.
        y: Mean human rating.
        clusters: Which units are left out together.
        folds: Of the cross-validation, fewer where there are fewer clusters.
        repeats: How often clusters are dealt into folds anew.
        seed: Random seed of the folds.
        memory: Kept between calls for the same rating, so that A is not fitted again for each P.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> a, p = rng.normal(size=(2, 300, 1))
        >>> y = a[:, 0] + p[:, 0] + rng.normal(size=300)
        >>> result = increment(a, p, y, np.arange(300))
        >>> (
        ...     round(result.r2_a, 1),
        ...     round(result.r2_pa, 1),
        ...     result.p < 0.001,
        ...     result.cv_r2_pa > result.cv_r2_a,
        ... )
        (0.4, 0.7, True, True)
    """
    present: Mask = np.all(np.isfinite(np.column_stack([a, p, y])), axis=1)
    n = int(present.sum())
    a, p, y, clusters = a[present], p[present], y[present], clusters[present]
    both = np.column_stack([a, p])
    n_clusters = len(np.unique(clusters))
    reason = _refusal(a, p, y, n, both.shape[1])
    if reason:
        return Increment(n, n_clusters, reason=reason)
    memory = {} if memory is None else memory
    least = n - (n + folds - 1) // folds
    enough = n_clusters >= 3 and least > both.shape[1] + 2
    rng = np.random.default_rng(seed)
    splits = [fold_numbers(clusters, folds, rng) for _ in range(repeats)] if enough else []
    models = [_model(x, y, splits, memory) for x in (a, p, both)]
    (fit_a, cv_a), (fit_p, cv_p), (fit_both, cv_both) = models
    t, p_value = _paired_t(np.abs(fit_a.residuals) - np.abs(fit_both.residuals))
    known = Increment(n, n_clusters, fit_a.r2, fit_p.r2, fit_both.r2, t, p_value)
    if cv_a is None or cv_p is None or cv_both is None:
        reason = f"{n_clusters} clusters: too few to leave some out"
        return replace(known, reason=reason)
    _, place = np.unique(clusters, return_inverse=True)
    gain = np.bincount(place, cv_a.residuals - cv_both.residuals) / np.bincount(place)
    cv_t, cv_p_value = _paired_t(gain)
    return replace(
        known, cv_r2_a=cv_a.r2, cv_r2_p=cv_p.r2, cv_r2_pa=cv_both.r2, cv_t=cv_t, cv_p=cv_p_value
    )


def _model(
    x: Floats, y: Floats, splits: Sequence[Ints], memory: Memory
) -> tuple[Fit, CrossValidated | None]:
    key = hashlib.sha256(np.column_stack([x, y]).tobytes() + bytes(bool(splits))).digest()
    if key not in memory:
        scaled = standard_scores(y[:, None])[:, 0]
        memory[key] = fit(x, y), cross_validated(x, scaled, splits) if splits else None
    return memory[key]


def _refusal(a: Floats, p: Floats, y: Floats, n: int, predictors: int) -> str | None:
    if n < max(_FEWEST_UNITS, predictors + 3):
        return f"only {n} units with a rating and all metrics"
    for name, table in (("the rating", y[:, None]), ("A", a), ("P", p)):
        if not standard_scores(table).any():
            return f"no variance in {name}"
    return None


def _paired_t(differences: Floats) -> tuple[float | None, float | None]:
    """The t-test of mean difference 0; None where all differences are the same."""
    spread = float(differences.std(ddof=1))
    if spread <= _FLAT:
        return None, None
    t = float(differences.mean()) / (spread / np.sqrt(len(differences)))
    return t, 2 * float(stats.t.sf(abs(t), len(differences) - 1))
