"""Differences of two kappas or alphas: arithmetic, the single coefficients, and what is refused."""

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.agreement import (
    RatingMatrix,
    agreement_difference,
    fleiss_kappa,
    krippendorff_alpha,
    measure_agreement,
)


def rated(rng: np.random.Generator, items: np.ndarray, raters: int, noise: float) -> np.ndarray:
    felt = items[:, None] + 0.3 * rng.normal(size=raters) + noise * rng.normal(size=(len(items), 1))
    felt = felt + noise * rng.normal(size=(len(items), raters))
    return np.digitize(felt, [-1.0, 0.0, 1.0]).astype(float)


def table(values: np.ndarray, item: str = "i", rater: str = "r") -> RatingMatrix:
    rows, columns = np.indices(values.shape)
    return RatingMatrix.of(
        [f"{item}{x}" for x in rows.ravel()],
        [f"{rater}{x}" for x in columns.ravel()],
        values.ravel(),
    )


def test_it_is_the_difference_of_the_two_coefficients() -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=40)
    first, second = table(rated(rng, items, 5, 0.4)), table(rated(rng, items, 5, 1.2), rater="s")
    for name, measure in (
        ("fleiss_kappa", fleiss_kappa),
        ("alpha_ordinal", lambda t: krippendorff_alpha(t, "ordinal")),
    ):
        found = agreement_difference(first, second, name)
        assert (found.first, found.second) == pytest.approx((measure(first), measure(second)))
        assert found.value == pytest.approx(measure(first) - measure(second))
        assert found.low < found.value < found.high
        other_way = agreement_difference(second, first, name)
        assert (other_way.low, other_way.high) == pytest.approx((-found.high, -found.low))
        assert other_way.p == pytest.approx(found.p)


def test_the_error_is_the_jackknife_by_hand() -> None:
    """Two raters: over items alone. Every item left out of both tables at once."""
    from scipy import stats

    rng = np.random.default_rng(1)
    items = rng.normal(size=25)
    a, b = rated(rng, items, 2, 0.4), rated(rng, items, 2, 1.0)
    found = agreement_difference(table(a), table(b), "alpha_interval")
    assert (found.basis, found.paired) == ("items", True)

    def gap(kept: np.ndarray) -> float:
        one, other = (RatingMatrix.of_array(x[kept]) for x in (a, b))
        return krippendorff_alpha(one, "interval") - krippendorff_alpha(other, "interval")

    left = np.array([gap(np.arange(25) != out) for out in range(25)])
    error = np.sqrt(24 / 25 * ((left - left.mean()) ** 2).sum())
    reach = stats.t.ppf(0.975, 24) * error
    assert found.high - found.value == pytest.approx(reach)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.value) / error, 24))


def test_the_same_items_are_worth_a_narrower_interval() -> None:
    rng = np.random.default_rng(2)
    items = rng.normal(size=60)
    first, second = rated(rng, items, 2, 0.6), rated(rng, items, 2, 0.6)
    together = agreement_difference(table(first), table(second), "fleiss_kappa")
    apart = agreement_difference(table(first), table(second, item="j"), "fleiss_kappa")
    assert (together.paired, apart.paired) == (True, False)
    assert together.high - together.low < apart.high - apart.low
    assert together.n == 60
    assert apart.n == 120


def test_what_cannot_be_compared_says_why() -> None:
    same = table(np.ones((10, 3)))
    varied = table(np.arange(30.0).reshape(10, 3) % 4)
    assert "all ratings are the same" in (
        agreement_difference(same, varied, "fleiss_kappa").reason or ""
    )
    few = table(np.array([[0.0, 1], [1, 1], [0, 0], [1, 0]]))
    found = agreement_difference(few, few, "alpha_nominal")
    assert found.value == 0
    assert found.low is None
    assert found.reason is not None
    with pytest.raises(DialensError, match="no statistic 'kappa'"):
        agreement_difference(few, few, "kappa")


def test_groups_of_a_table_are_compared() -> None:
    rng = np.random.default_rng(3)
    items = rng.normal(size=60)
    rows = [
        {"dialog": f"d{i}", "rater": f"{group}{j}", "quality": "q", "group": group, "value": v}
        for group, noise in (("clear", 0.3), ("vague", 2.0))
        for i, line in enumerate(rated(rng, items, 6, noise))
        for j, v in enumerate(line)
    ]
    found = measure_agreement(pl.DataFrame(rows), by=["group"]).differences
    assert found["statistic"].to_list() == ["fleiss_kappa", "alpha_ordinal"]
    row = found.row(1, named=True)
    assert (row["group"], row["than"]) == ("group=clear", "group=vague")
    assert row["difference"] == pytest.approx(row["value"] - row["other"])
    assert row["low"] > 0
    assert row["p_adjusted"] < 0.01
    assert row["paired"]
    assert measure_agreement(pl.DataFrame(rows)).differences.height == 0
