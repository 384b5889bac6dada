"""Agents from people's ratings and a judge's: against t-tests, another package and arithmetic."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dialens.base import DialensError
from dialens.statistics.judges import (
    Arm,
    Arms,
    cross_fitted,
    powered_by_judge,
    prediction_powered,
)


def arm(
    people: np.ndarray, judge: np.ndarray, alone: np.ndarray, first: str = "c", rest: str = "d"
) -> Arm:
    """A reply a context: `c0`, `c1` … are rated, `d0` … are not."""
    return Arm(
        people, judge, np.full(len(people), 1 / len(people)),
        [f"{first}{n}" for n in range(len(people))], alone,
        [f"{rest}{n}" for n in range(len(alone))],
    )  # fmt: skip


def waves() -> tuple[np.ndarray, ...]:
    """Two agents on 200 contexts, and what a judge says of them."""
    i = np.arange(200)
    x = 3 + np.sin(i * 1.3) + 0.3 * np.cos(i * 0.7)
    y = 2.5 + np.sin(i * 1.3) + 0.4 * np.sin(i * 2.1)
    return x, y, 0.7 * x + 0.4 * np.cos(i * 3.1) + 0.2, 0.7 * y + 0.4 * np.sin(i * 4.7)


def pair() -> Arms:
    x, y, by_x, by_y = waves()
    return Arms((arm(x[:40], by_x[:40], by_x[40:]), arm(y[:40], by_y[:40], by_y[40:])))


def test_a_paired_difference_as_another_package_has_it() -> None:
    """ppi-python 0.2.3 on differences of 40 contexts, 160 more judged; tuned, normal, by n."""
    x, y, by_x, by_y = waves()
    d, f = x - y, by_x - by_y
    value, low, high = 0.50652585, 0.4130746, 0.59997709
    # Its weight: covariance by n over the variance of all the judge said, times 1 + n/N.
    weight = np.cov(d[:40], f[:40], ddof=0)[0, 1] / (np.var(f, ddof=1) * (1 + 40 / 160))
    given = powered_by_judge(pair(), weight=weight)
    assert given.estimate.value == pytest.approx(value, abs=1e-7)
    variance = np.var(d[:40] - weight * f[:40]) / 40 + weight**2 * np.var(f[40:]) / 160
    assert (high - low) / 2 == pytest.approx(1.959964 * np.sqrt(variance), rel=1e-4)
    own = np.var(d[:40] - weight * f[:40], ddof=1) / 40
    own += weight**2 * np.var(f[40:], ddof=1) / 160
    reach = stats.t.ppf(0.975, 39) * np.sqrt(own)
    assert given.estimate.high == pytest.approx(value + reach, abs=1e-7)
    tuned = powered_by_judge(pair())
    assert tuned.estimate.value == pytest.approx(value, abs=1e-3)
    assert tuned.r == pytest.approx(np.corrcoef(d[:40], f[:40])[0, 1])
    assert tuned.saving is not None
    assert tuned.r is not None
    assert 0.1 < tuned.saving < tuned.r**2


def test_people_alone_are_compared_by_student_in_pairs_and_by_welch_apart() -> None:
    x, y, by_x, by_y = waves()
    done = powered_by_judge(pair()).people
    by_pairs = stats.ttest_1samp(x[:40] - y[:40], 0)
    assert done.p == pytest.approx(by_pairs.pvalue)
    assert done.low == pytest.approx(by_pairs.confidence_interval().low)
    apart = Arms((arm(x[:20], by_x[:20], by_x[40:]), arm(y[:40], by_y[:40], by_y[40:], "e", "f")))
    welch = stats.ttest_ind(x[:20], y[:40], equal_var=False)
    found = powered_by_judge(apart).people
    assert found.p == pytest.approx(welch.pvalue)
    assert found.high == pytest.approx(welch.confidence_interval().high)


def test_the_variance_over_clusters_by_hand() -> None:
    """Three contexts of two replies, of which one is rated only half; weight one half."""
    rated = Arm(
        np.array([1.0, 2, 4, 3, 6]), np.array([2.0, 2, 4, 4, 6]), np.full(5, 0.2),
        ["a", "a", "b", "b", "c"], np.array([5.0, 3, 1]), ["c", "d", "d"],
    )  # fmt: skip
    arms = Arms((rated,))
    # People minus half the judge: 0, 1, 2, 1, 3; mean 1.4. The rest, halved: 2.5, 1.5, .5; 1.5.
    pulls = {"a": (-1.4 - 0.4) / 5, "b": (0.6 - 0.4) / 5, "c": 1.6 / 5}
    rest = {"c": 1.0 / 3, "d": -1.0 / 3}
    grown, grown_rest = np.sqrt(3 / 2), np.sqrt(2 / 1)
    expected = (
        (pulls["a"] * grown) ** 2 + (pulls["b"] * grown) ** 2
        + (pulls["c"] * grown + rest["c"] * grown_rest) ** 2 + (rest["d"] * grown_rest) ** 2
    )  # fmt: skip
    found = arms.variance(0.5, tuned=False)
    assert found.clusters == pytest.approx(expected)
    assert (found.raters, found.degrees) == (0.0, 2.0)


def test_raters_who_come_back_are_a_sample_too() -> None:
    """Five raters of twelve items: (MSR − MSE) / n of the two-way table, by hand."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=12)[:, None] + rng.normal(size=5) + rng.normal(size=(12, 5))
    items, raters = (index.ravel() for index in np.indices(table.shape))
    values = table.ravel()
    one = Arm(
        values, np.zeros(60), np.full(60, 1 / 60), items.tolist(), np.zeros(0), [], raters.tolist()
    )
    found = Arms((one,)).variance(0.0, tuned=False)
    by_items = 5 * np.var(table.mean(axis=1), ddof=1)
    by_raters = 12 * np.var(table.mean(axis=0), ddof=1)
    rest = table - table.mean(axis=1)[:, None] - table.mean(axis=0) + table.mean()
    chance = np.square(rest).sum() / (11 * 4)
    assert found.clusters == pytest.approx(by_items / 60)
    assert found.raters == pytest.approx((by_raters - chance) / 60)
    assert 4 < found.degrees < 11
    once = replace(one, raters=list(range(60)))  # everybody rates one thing
    assert Arms((once,)).variance(0.0, tuned=False).raters == 0


def test_units_that_people_rated_alike_carry_no_test() -> None:
    rng = np.random.default_rng(2)
    judge, rest = rng.normal(size=20), rng.normal(size=50)
    rare = np.array([1.0] * 4 + [0.0] * 16)
    done = powered_by_judge(Arms((arm(rare, judge, rest),)))
    assert done.estimate.low is None
    assert (
        done.people.reason == "people rated all but 4 units of 20 alike; 6 that differ are needed"
    )
    same = powered_by_judge(Arms((arm(np.ones(20), judge, rest),)))
    assert same.people.reason == "people rated all 20 units alike: no variance, and no test"


def test_a_part_that_is_not_random_shows_in_the_judge() -> None:
    rng = np.random.default_rng(3)
    judge = np.sort(rng.normal(size=100))
    people = judge + 0.5 * rng.normal(size=100)
    lowest = powered_by_judge(Arms((arm(people[:30], judge[:30], judge[30:]),)))
    assert lowest.shift.value is not None
    assert lowest.shift.value > 1
    assert lowest.shift.p is not None
    assert lowest.shift.p < 1e-6
    order = rng.permutation(100)
    drawn = arm(people[order[:30]], judge[order[:30]], judge[order[30:]])
    by_lot = powered_by_judge(Arms((drawn,))).shift.p
    assert by_lot is not None
    assert by_lot > 0.01


def test_the_judge_of_a_fold_does_not_know_its_dialogues() -> None:
    """Ratings of one dialogue are all in one fold, and judges on other levels do no harm."""
    rng = np.random.default_rng(4)
    people = rng.normal(size=60)
    judges = np.column_stack([people + 0.1 * rng.normal(size=60), rng.normal(size=60)])
    rest = rng.normal(size=(100, 2))
    dialogs = np.repeat(np.arange(12), 5).tolist()
    done = cross_fitted(people, judges, rest, clusters=dialogs)
    assert done.chosen == (0,) * 5
    assert np.allclose(done.judge, judges[:, 0])
    assert np.allclose(done.alone, rest[:, 0])


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DialensError, match="same units"):
        arm(np.ones(3), np.ones(2), np.ones(1))


def test_a_judge_that_makes_no_interval_narrower_is_worth_nothing() -> None:
    """A small gain in variance, eaten up by the degree of freedom that its weight costs."""
    eaten = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        people, others = rng.normal(size=8), rng.normal(size=60)
        judge = 0.45 * people + rng.normal(size=8)
        done = prediction_powered(people, judge, others)
        widths = [one.high - one.low for one in (done.estimate, done.people)]
        assert (done.effective > 8) == (widths[0] < widths[1])
        free = prediction_powered(people, judge, others, weight=done.weight)
        eaten += widths[0] >= widths[1] and free.effective > 8
    assert eaten > 3
