"""P, A and P+A against statsmodels, scipy and a plain loop over folds."""

from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from dialens.statistics import increment
from dialens.statistics._incremental import cross_validated, fit, fold_numbers


def study(seed: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n // 5), 5)
    a = rng.normal(size=(n, 2)) + rng.normal(size=n // 5)[clusters][:, None]
    p = rng.normal(size=(n, 2)) + 0.4 * a
    y = 0.5 * a[:, 0] + 0.3 * p[:, 0] + rng.normal(size=n)
    return a, p, y, clusters


def test_adjusted_r2_is_that_of_statsmodels() -> None:
    regression = import_module("statsmodels.regression.linear_model")
    a, p, y, clusters = study()
    made = increment(a, p, y, clusters)
    for x, found in ((a, made.r2_a), (p, made.r2_p), (np.hstack([a, p]), made.r2_pa)):
        design = np.column_stack([np.ones(len(y)), x])
        assert found == pytest.approx(regression.OLS(y, design).fit().rsquared_adj, abs=1e-12)


def test_one_predictor_by_hand() -> None:
    """Adjusted R² = 1 − (1 − r²)(n − 1)/(n − 2)."""
    a, _, y, _ = study()
    r = np.corrcoef(a[:, 0], y)[0, 1]
    assert fit(a[:, :1], y).r2 == pytest.approx(1 - (1 - r**2) * 199 / 198)


def test_the_paired_t_is_scipys_on_absolute_residuals_of_standardised_variables() -> None:
    a, p, y, clusters = study(1)
    made = increment(a, p, y, clusters)
    scaled = (y - y.mean()) / y.std()

    def residuals(x: np.ndarray) -> np.ndarray:
        design = np.column_stack([np.ones(len(y)), x])
        return np.abs(scaled - design @ np.linalg.lstsq(design, scaled, rcond=None)[0])

    wanted = stats.ttest_rel(residuals(a), residuals(np.hstack([a, p])))
    assert (made.t, made.p) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_cross_validation_is_a_loop_over_folds() -> None:
    a, _, y, clusters = study(2)
    folds = fold_numbers(clusters, 7, np.random.default_rng(3))
    squares = plain = 0.0
    for fold in range(7):
        out = folds == fold
        assert not set(clusters[out]) & set(clusters[~out])
        design = np.column_stack([np.ones(len(y)), a])
        beta = np.linalg.lstsq(design[~out], y[~out], rcond=None)[0]
        squares += ((y[out] - design[out] @ beta) ** 2).sum()
        plain += ((y[out] - y[~out].mean()) ** 2).sum()
    assert cross_validated(a, y, [folds]).r2 == pytest.approx(1 - squares / plain)


def test_noise_is_worth_nothing_on_clusters_not_seen() -> None:
    """Twenty random predictors fit a little of anything, and predict none of it."""
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(40), 4)
    noise, other = rng.normal(size=(2, 160, 20))
    made = increment(other, noise, rng.normal(size=160), clusters)
    assert fit(noise, rng.normal(size=160)).r2_plain > 0.05
    assert made.cv_r2_p < 0
    assert made.cv_r2_pa < made.cv_r2_a < 0


def test_cluster_noise_deceives_folds_that_cut_clusters() -> None:
    """A predictor and a rating that only share contexts' quirks: honest folds see through it."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(12), 20)
    quirks = rng.normal(size=(12, 11))[clusters]
    y = rng.normal(size=12)[clusters] + 0.3 * rng.normal(size=240)
    rows = [fold_numbers(np.arange(240), 10, rng)]
    honest = [fold_numbers(clusters, 10, rng)]
    assert cross_validated(quirks, y, rows).r2 > 0.5
    assert cross_validated(quirks, y, honest).r2 < 0.1


def test_missing_values_leave_units_out_together() -> None:
    a, p, y, clusters = study(6)
    p[:15, 0] = np.nan
    y[20] = np.nan
    made = increment(a, p, y, clusters)
    assert made.n == 184
    keep = np.isfinite(np.column_stack([a, p, y])).all(axis=1)
    assert made.r2_a == pytest.approx(fit(a[keep], y[keep]).r2)


def test_the_same_predictor_twice_counts_once() -> None:
    a, p, y, clusters = study(7)
    made = increment(a, np.hstack([p, p]), y, clusters)
    assert made.r2_p == pytest.approx(fit(p, y).r2)


def test_memory_changes_nothing() -> None:
    a, p, y, clusters = study(8)
    memory: dict = {}
    first = increment(a, p, y, clusters, memory=memory)
    assert increment(a, p, y, clusters, memory=memory) == first == increment(a, p, y, clusters)
    assert len(memory) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a, p, y: (a[:6], p[:6], y[:6]), "only 6 units with a rating and all metrics"),
        (lambda a, p, y: (a, p, y * 0 + 3), "no variance in the rating"),
        (lambda a, p, y: (a * 0, p, y), "no variance in A"),
    ],
)
def test_what_cannot_be_fitted_says_why(change, reason) -> None:
    a, p, y, clusters = study()
    a, p, y = change(a, p, y)
    made = increment(a, p, y, clusters[: len(y)])
    assert made.r2_pa is None
    assert made.reason == reason
