"""Agreement on labels: Gwet's AC, per cent, pairs, categories; and what their intervals say."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from dialens.base import DialensError
from dialens.corpus import RATINGS
from dialens.statistics.agreement import (
    RatingMatrix,
    fleiss_kappa,
    gwet_ac,
    icc,
    krippendorff_alpha,
    measure_agreement,
    percent_agreement,
)

NAN = np.nan
# irrCAC's data set cac.raw4raters (Gwet 2014, "Handbook of inter-rater reliability", 4th edition):
# twelve units, four raters, five categories, holes.
FOUR = np.array(
    [
        [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
        [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1],
        [NAN, 3, NAN, NAN],
    ]
)  # fmt: skip
# Values with a gap, and what irrCAC 0.4.2 for Python gives for them.
GAPS = np.array(
    [
        [5, 5, 2, 1], [1, 1, 0, 0], [0, 0, 2, 5], [2, 2, NAN, 2], [2, 2, 2, 5], [1, 1, 2, 0],
        [1, 1, 2, 0], [NAN, 2, 5, 0], [0, 5, 0, 2], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 2, 2],
        [1, 1, 5, 1], [1, 1, 5, 5], [1, 1, 5, 2],
    ]
)  # fmt: skip


def rows(values: np.ndarray) -> pl.DataFrame:
    found = [
        {"dialog": f"d{i:03d}", "rater": f"r{j}", "quality": "q", "value": float(x)}
        for i, row in enumerate(values)
        for j, x in enumerate(row)
        if not np.isnan(x)
    ]
    return pl.DataFrame(found, schema=RATINGS)


def test_the_documented_example_of_irrcac() -> None:
    """AC1 .77544, Fleiss' kappa .76117, alpha .74342, per cent .81818, as its manual prints."""
    table = RatingMatrix.of_array(FOUR)
    assert gwet_ac(table) == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(table) == pytest.approx(0.76117, abs=5e-6)
    assert krippendorff_alpha(table, "nominal") == pytest.approx(0.74342, abs=5e-6)
    assert percent_agreement(table) == pytest.approx(0.81818, abs=5e-6)


@pytest.mark.parametrize(
    ("weights", "four", "gaps"),
    [
        ("none", 0.775444, 0.085171),
        ("ordinal", 0.898940, 0.203425),
        ("linear", 0.858739, 0.176064),
        ("quadratic", 0.914001, 0.250308),
    ],
)
def test_weights_as_in_irrcac(weights: str, four: float, gaps: float) -> None:
    assert gwet_ac(RatingMatrix.of_array(FOUR), weights) == pytest.approx(four, abs=1e-6)
    assert gwet_ac(RatingMatrix.of_array(GAPS), weights) == pytest.approx(gaps, abs=1e-6)


def test_pairs_are_cohens_kappas_and_light_is_their_mean() -> None:
    rng = np.random.default_rng(4)
    values = np.digitize(rng.normal(size=(60, 1)) + rng.normal(size=(60, 4)), [-0.5, 0.8]) + 0.0
    result = measure_agreement(rows(values))
    kappas = []
    for row in result.pairs.iter_rows(named=True):
        one, two = (values[:, int(row[name][1])] for name in ("first", "second"))
        assert row["kappa"] == pytest.approx(cohen_kappa_score(one, two))
        assert row["agreement"] == pytest.approx(float((one == two).mean()))
        assert row["low"] < row["kappa"] < row["high"]
        kappas.append(row["kappa"])
    assert len(kappas) == 6
    light = result.rows.filter(pl.col("statistic") == "light_kappa")["value"][0]
    assert light == pytest.approx(np.mean(kappas))


def test_categories_of_the_psychiatrists() -> None:
    """Fleiss 1971, Table 1: depression .245, personality disorder .245, schizophrenia .520,
    neurosis .471 and other .566 (as irr's kappam.fleiss prints them)."""
    counts = """0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0|0 0 4 0 2|2 0 3 1 0
    2 0 0 4 0|0 0 0 0 6|1 0 0 5 0|1 1 0 4 0|0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2
    5 1 0 0 0|0 2 0 4 0|1 0 2 0 3|0 0 0 0 6|0 1 0 5 0|0 2 0 1 3|2 0 0 4 0|1 0 0 4 1|0 5 0 1 0
    4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6"""
    lines = [line.split() for part in counts.splitlines() for line in part.split("|")]
    values = np.array([np.repeat(np.arange(5), [int(n) for n in line]) for line in lines]) + 0.0
    unknown = rows(values).with_columns(rater=pl.lit(None, dtype=pl.String))
    result = measure_agreement(unknown)
    published = [0.245, 0.245, 0.520, 0.471, 0.566]
    assert result.categories["kappa"].to_list() == pytest.approx(published, abs=0.0006)
    assert set(result.categories["interval"].drop_nulls()) == {"jackknife over items"}


def test_the_paradox_of_a_common_value() -> None:
    """Of 100 pairs 94 agree, nearly all on one value: by hand, κ is −.03 and AC1 .936."""
    values = np.array([[1, 1]] * 94 + [[1, 0]] * 3 + [[0, 1]] * 3) + 0.0
    table = RatingMatrix.of_array(values)
    assert fleiss_kappa(table) == pytest.approx(1 - 0.06 / (2 * 0.97 * 0.03))
    chance = 2 * 0.97 * 0.03
    assert gwet_ac(table) == pytest.approx((0.94 - chance) / (1 - chance))
    found = measure_agreement(rows(values)).rows
    kappa = found.filter(pl.col("statistic") == "fleiss_kappa").row(0, named=True)
    assert kappa["low"] is not None, "six items of a hundred are split"


def test_intervals_say_what_they_rest_on() -> None:
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(30, 1)) + rng.normal(size=(30, 6))
    values = (seen > 0) + 0.0

    def one(table: np.ndarray, name: str = "fleiss_kappa") -> dict[str, object]:
        found = measure_agreement(rows(table)).rows
        return found.filter(pl.col("statistic") == name).row(0, named=True)

    assert one(values)["interval"] == "jackknife over items and raters"
    assert one(values[:, :2])["interval"] == "jackknife over items"
    assert "4 items are too few" in str(one(values[:4], "gwet_ac1")["reason"])
    rare = values.copy()
    rare[2:] = 0
    rare[:2] = [[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]]
    assert "only 2 items got another answer than the commonest" in str(one(rare)["reason"])


def test_raters_who_differ_widen_the_interval() -> None:
    """Of many items by few raters who differ, an interval over items alone is far too narrow."""
    rng = np.random.default_rng(5)
    levels = np.array([-1.5, -0.5, 0.0, 1.5])
    values = (rng.normal(size=(300, 1)) + levels + rng.normal(size=(300, 4)) > 0) + 0.0
    found = measure_agreement(rows(values)).rows
    row = found.filter(pl.col("statistic") == "gwet_ac1").row(0, named=True)
    assert row["both_high"] - row["both_low"] > 2 * (row["items_high"] - row["items_low"])


@pytest.mark.parametrize(
    ("table", "reason"), [([[1, 2, 3]], "only one item"), ([[NAN, NAN]], "there are no ratings")]
)
def test_no_icc_of_too_little(table: list[list[float]], reason: str) -> None:
    with pytest.raises(DialensError, match=reason):
        icc(RatingMatrix.of_array(table))
