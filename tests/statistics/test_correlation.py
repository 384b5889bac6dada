"""Correlations against scipy, resamples against re-ranking one by one, intervals against truth."""

import numpy as np
import pytest
from scipy import stats

from dialens.statistics import ClusterDraws
from dialens.statistics.correlation import correlate, pearson_replicates
from dialens.statistics.correlation._kendall import concordance, kendall, kendall_null
from dialens.statistics.correlation._permutation import Design, effective_units
from dialens.statistics.correlation._spearman import spearman_errors


def table(seed: int = 0, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Two metrics with ties and holes, two judgements on a short scale."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 6, (n, 2)).astype(float)
    x = np.column_stack([y[:, 0] + rng.normal(0, 2, n), rng.normal(size=n)]).round(1)
    x[rng.random(n) < 0.15, 0] = np.nan
    y[rng.random(n) < 0.1, 1] = np.nan
    return x, y


def test_values_are_those_of_scipy() -> None:
    x, y = table()
    made = correlate(x, y, ClusterDraws.of(np.arange(len(x)), 200, np.random.default_rng(0)))
    for i in range(2):
        for j in range(2):
            both = np.isfinite(x[:, i]) & np.isfinite(y[:, j])
            a, b = x[both, i], y[both, j]
            assert made.n[i, j] == both.sum()
            wanted = {
                "pearson": stats.pearsonr(a, b).statistic,
                "spearman": stats.spearmanr(a, b).statistic,
                "kendall": stats.kendalltau(a, b).statistic,
            }
            for name, value in wanted.items():
                assert made.estimates[name][i][j].value == pytest.approx(value, abs=1e-12)


def test_a_resample_is_the_correlation_of_the_units_drawn() -> None:
    """Weighted sums give what copying the units would."""
    x, y = table(3, 40)
    clusters = np.random.default_rng(1).integers(0, 12, 40)
    draws = ClusterDraws.of(clusters, 25, np.random.default_rng(2))
    there = np.isfinite(np.column_stack([x, y])).all(axis=1)
    a, b = x[there], y[there]
    scaled_a, scaled_b = (t - t.mean(axis=0) for t in (a, b))
    pearson = pearson_replicates(scaled_a, scaled_b, there, draws)
    for number, counts in enumerate(draws.counts):
        copies = np.repeat(np.arange(len(a)), counts[draws.place][there])
        for i in range(2):
            for j in range(2):
                drawn_a, drawn_b = a[copies, i], b[copies, j]
                assert pearson[number, i, j] == pytest.approx(
                    stats.pearsonr(drawn_a, drawn_b).statistic
                )


@pytest.mark.parametrize(("x_values", "y_values"), [(2, 3), (40, 5), (5, 900), (900, 900)])
def test_concordance_is_that_of_all_pairs(x_values: int, y_values: int) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, x_values, 900).astype(float), rng.integers(0, y_values, 900) / 7
    sign_x, sign_y = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    balance, apart_x, apart_y = concordance(x, y)
    assert (balance == (sign_x * sign_y).sum(axis=1)).all()
    assert (apart_x == (sign_x != 0).sum(axis=1)).all()
    assert (apart_y == (sign_y != 0).sum(axis=1)).all()


def test_kendalls_error_is_near_that_of_leaving_clusters_out() -> None:
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(40), 4)
    shared = rng.normal(size=40)[clusters]
    x, y = shared + rng.normal(size=160), shared + rng.normal(size=160)
    tau, error = kendall(x, y, clusters)
    left = [
        np.arctanh(stats.kendalltau(x[clusters != c], y[clusters != c]).statistic)
        for c in range(40)
    ]
    jackknife = np.sqrt(39 / 40 * ((left - np.mean(left)) ** 2).sum())
    assert tau == pytest.approx(stats.kendalltau(x, y).statistic)
    assert error == pytest.approx(jackknife, rel=0.1)


def test_spearmans_error_is_near_that_of_leaving_clusters_out() -> None:
    rng = np.random.default_rng(15)
    clusters = np.repeat(np.arange(40), 4)
    shared = rng.normal(size=40)[clusters]
    x, y = (shared + rng.normal(size=160)).round(1), (2 * shared + rng.normal(size=160)).round()
    one = np.zeros(160, dtype=np.int64)
    error = spearman_errors(x[:, None], y[:, None], one, clusters).item()
    left = [
        np.arctanh(stats.spearmanr(x[clusters != c], y[clusters != c]).statistic) for c in range(40)
    ]
    jackknife = np.sqrt(39 / 40 * ((left - np.mean(left)) ** 2).sum())
    assert error == pytest.approx(jackknife, rel=0.05)


def test_kendalls_null_is_scipys_with_ties() -> None:
    rng = np.random.default_rng(16)
    x, y = rng.integers(0, 4, 90).astype(float), rng.integers(0, 6, 90).astype(float)
    p = stats.kendalltau(x, y, method="asymptotic").pvalue
    z = stats.kendalltau(x, y).statistic / kendall_null(x, y)
    assert 2 * stats.norm.sf(abs(z)) == pytest.approx(p, rel=1e-9)


def test_a_permutation_p_of_two_rare_events_is_fishers() -> None:
    """Of 300 units 30 have one and 15 the other, 4 have both; independent units."""
    x, y = np.zeros((2, 300, 1))
    x[:30], y[26:41] = 1, 1
    draws = ClusterDraws.of(np.arange(300), 300, np.random.default_rng(0))
    made = correlate(x, y, draws)
    wanted = stats.fisher_exact(np.array([[4, 26], [11, 259]])).pvalue
    for name in ("pearson", "spearman"):
        assert made.estimates[name][0][0].p == pytest.approx(wanted, abs=0.012)


def test_an_empty_cell_is_no_certainty() -> None:
    """No unit has both of two rare events: by chance that happens one time in five."""
    x, y = np.zeros((2, 300, 1))
    x[:30], y[30:45] = 1, 1
    draws = ClusterDraws.of(np.arange(300) % 60, 300, np.random.default_rng(0))
    made = correlate(x, y, draws)
    for name in ("pearson", "spearman", "kendall"):
        one = made.estimates[name][0][0]
        assert one.p > 0.1
        assert one.low < 0 < one.high


def test_a_value_that_hardly_ever_occurs_is_not_tested() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 100, 1))
    x = (np.arange(100) < 4).astype(float)[:, None]
    draws = ClusterDraws.of(np.arange(100), 200, np.random.default_rng(0))
    one = correlate(x, y, draws).estimates["pearson"][0][0]
    assert (one.p, one.low, one.reason) == (
        None,
        None,
        "all but 4 of 100 units share a value: no test",
    )


def test_units_are_worth_their_number_or_that_of_their_clusters() -> None:
    rng = np.random.default_rng(17)
    a, b = rng.normal(size=(2, 400, 1))
    a, b = (stats.zscore(table, axis=0) for table in (a, b))
    alone, one = np.arange(400), np.zeros(400, dtype=np.int64)
    assert effective_units(a, b, Design(alone, alone, one)).item() == pytest.approx(400)
    by_five = Design(alone // 5, alone, one)
    assert effective_units(a, b, by_five).item() == pytest.approx(400, rel=0.05)
    a, b = (stats.zscore(np.repeat(table[:80], 5, axis=0), axis=0) for table in (a, b))
    assert effective_units(a, b, by_five).item() == pytest.approx(80)


def test_within_agents_is_the_correlation_of_what_their_means_leave() -> None:
    """Pearson by centring; Spearman and Kendall of a single agent are the plain ones."""
    rng = np.random.default_rng(18)
    agents = np.repeat(np.arange(3), 30)
    x, y = rng.normal(size=(2, 90, 1)) + agents[:, None] * 5
    draws = ClusterDraws.of(np.arange(90) % 30, 300, rng)
    made = correlate(x, y, draws, agents=agents, within=True)
    rest = [
        table[:, 0] - np.repeat([table[agents == k].mean() for k in range(3)], 30)
        for table in (x, y)
    ]
    assert made.estimates["pearson"][0][0].value == pytest.approx(stats.pearsonr(*rest).statistic)
    assert correlate(x, y, draws, agents=agents).estimates["pearson"][0][0].value > 0.9
    pairs = [stats.kendalltau(x[agents == k], y[agents == k]).statistic for k in range(3)]
    assert made.estimates["kendall"][0][0].value == pytest.approx(np.mean(pairs))
    ranked = [stats.spearmanr(x[agents == k], y[agents == k]).statistic for k in range(3)]
    assert made.estimates["spearman"][0][0].value == pytest.approx(np.mean(ranked))


def test_copies_of_units_bring_no_certainty() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 1))
    y = x + 2 * rng.normal(size=(50, 1))
    single = correlate(x, y, ClusterDraws.of(np.arange(50), 2000, np.random.default_rng(0)))
    five = np.repeat(np.arange(50), 5)
    together = correlate(x[five], y[five], ClusterDraws.of(five, 2000, np.random.default_rng(0)))
    apart = correlate(x[five], y[five], ClusterDraws.of(np.arange(250), 2000, rng))
    for name in ("pearson", "spearman", "kendall"):
        one, same, naive = (made.estimates[name][0][0] for made in (single, together, apart))
        assert same.high - same.low == pytest.approx(one.high - one.low, rel=0.1)
        assert naive.high - naive.low < 0.6 * (same.high - same.low)


def test_intervals_cover_the_truth_where_units_share_contexts() -> None:
    """Half the variance of both is the context's; the true correlation is .5 × .6 + .5 × .2."""
    rng = np.random.default_rng(7)
    covered = {"pearson": 0, "kendall": 0}
    truth = {"pearson": 0.4, "kendall": 2 / np.pi * np.arcsin(0.4)}
    trials = 120
    for _ in range(trials):
        clusters = np.repeat(np.arange(40), 5)
        between = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40)[clusters]
        within = rng.multivariate_normal([0, 0], [[1, 0.2], [0.2, 1]], 200)
        both = between + within
        draws = ClusterDraws.of(clusters, 300, rng)
        made = correlate(both[:, :1], both[:, 1:], draws)
        for name, value in truth.items():
            one = made.estimates[name][0][0]
            covered[name] += one.low <= value <= one.high
    assert covered["pearson"] >= 0.89 * trials
    assert covered["kendall"] >= 0.89 * trials


def test_a_few_independent_units_get_fishers_interval() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 6, 1))
    one = correlate(x, y, ClusterDraws.of(np.arange(6), 200, rng)).estimates["pearson"][0][0]
    ends = stats.pearsonr(x[:, 0], y[:, 0]).confidence_interval()
    assert (one.low, one.high) == pytest.approx((ends.low, ends.high))
    assert one.basis == "normal"


@pytest.mark.parametrize(
    ("x", "clusters", "reason"),
    [
        (np.full(20, 3.0), np.arange(20), "no variance"),
        (np.r_[1.0, 2.0, np.full(18, np.nan)], np.arange(20), "only 2 units"),
        (np.full(20, np.nan), np.arange(20), "no unit has a value"),
        (np.arange(20.0), np.arange(20) // 5, "only 4 clusters"),
    ],
)
def test_what_cannot_be_computed_says_why(x, clusters, reason) -> None:
    y = np.random.default_rng(1).normal(size=(20, 1))
    draws = ClusterDraws.of(clusters, 200, np.random.default_rng(0))
    one = correlate(x[:, None], y, draws).estimates["pearson"][0][0]
    assert one.low is None
    assert one.reason.startswith(reason)


def test_the_order_of_units_is_irrelevant_to_values() -> None:
    x, y = table(9)
    order = np.random.default_rng(1).permutation(len(x))
    a, b = (
        correlate(x[o], y[o], ClusterDraws.of(np.arange(len(x)), 100, np.random.default_rng(0)))
        for o in (np.arange(len(x)), order)
    )
    for name in a.estimates:
        for i in range(2):
            for j in range(2):
                left, right = a.estimates[name][i][j], b.estimates[name][i][j]
                assert left.value == pytest.approx(right.value)
