"""Agreement as published: tables of the papers that defined the statistics, and real studies."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.statistics import load_ratings, rated_items
from dialens.statistics.agreement import (
    RatingMatrix,
    fleiss_kappa,
    icc,
    krippendorff_alpha,
    measure_agreement,
)

# Shrout & Fleiss 1979, Psychological Bulletin 86, Table 2: six targets, four judges.
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability": four observers, twelve units.
_ = np.nan
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]

# Fleiss 1971, Psychological Bulletin 76, Table 1: thirty patients, six psychiatrists, five
# diagnoses; how many chose each.
FLEISS = [
    "00060", "03003", "01401", "00006", "03030", "20400", "00402", "20310", "20040", "00006",
    "10050", "11040", "03300", "10050", "02031", "00501", "30012", "51000", "02040", "10203",
    "00006", "01050", "02013", "20040", "10041", "05010", "40002", "02040", "10500", "00006",
]  # fmt: skip


def test_shrout_and_fleiss() -> None:
    found = icc(RatingMatrix.of_array(SHROUT_FLEISS))
    published = {
        "ICC(1,1)": 0.17,
        "ICC(2,1)": 0.29,
        "ICC(3,1)": 0.71,
        "ICC(1,k)": 0.44,
        "ICC(2,k)": 0.62,
        "ICC(3,k)": 0.91,
    }
    assert {form: round(one.value, 2) for form, one in found.items()} == published
    assert found["ICC(1,1)"].f == pytest.approx(1.79, abs=0.005)
    assert (found["ICC(1,1)"].df1, found["ICC(1,1)"].df2) == (5, 18)
    assert found["ICC(3,1)"].f == pytest.approx(11.03, abs=0.005)
    assert (found["ICC(3,1)"].df1, found["ICC(3,1)"].df2) == (5, 15)


def test_shrout_and_fleiss_intervals() -> None:
    """As McGraw & Wong's formulas give them, to the digits other packages print."""
    found = icc(RatingMatrix.of_array(SHROUT_FLEISS))
    intervals = {
        "ICC(1,1)": (-0.133, 0.723),
        "ICC(2,1)": (0.019, 0.761),
        "ICC(3,1)": (0.342, 0.946),
        "ICC(1,k)": (-0.884, 0.912),
        "ICC(2,k)": (0.071, 0.927),
        "ICC(3,k)": (0.676, 0.986),
    }
    for form, ends in intervals.items():
        assert (found[form].low, found[form].high) == pytest.approx(ends, abs=0.0006), form


@pytest.mark.parametrize(
    ("level", "published"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_krippendorffs_own_example(level: str, published: float) -> None:
    table = RatingMatrix.of_array(np.array(KRIPPENDORFF).T)
    assert krippendorff_alpha(table, level) == pytest.approx(published, abs=0.0006)


def test_krippendorffs_binary_example() -> None:
    """Two observers, ten units, 0 and 1: alpha .095."""
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    table = RatingMatrix.of_array(np.column_stack([first, second]))
    assert krippendorff_alpha(table, "nominal") == pytest.approx(0.095, abs=0.0006)


def test_fleiss_psychiatrists() -> None:
    items, values = [], []
    for patient, counts in enumerate(FLEISS):
        for diagnosis, count in enumerate(counts):
            items += [f"{patient:02d}"] * int(count)
            values += [diagnosis] * int(count)
    table = RatingMatrix.of(items, None, values)
    assert fleiss_kappa(table) == pytest.approx(0.430, abs=0.0006)


@pytest.mark.shared
def test_validity_ratings_of_jsalt_2020(shared_data: Path) -> None:
    """Published: .2162 / .4053 / .3830 on three points, .3272 on two.

    They are alpha over all 894 units, attention checks included. Three points come of taking 2
    and 3 for one (nominal, interval, ordinal); two of taking 1 and 2, and 3 and 4, for one.
    """
    ratings = load_ratings(shared_data / "human_judgements" / "jsalt2020_pilot.jsonl.gz")
    items, raters = rated_items(ratings).to_list(), ratings["rater"].to_list()

    def alpha(points: dict[float, float], level: str) -> float:
        values = ratings["value"].replace_strict(points)
        return krippendorff_alpha(RatingMatrix.of(items, raters, values), level)

    three = {1.0: 1.0, 2.0: 2.0, 3.0: 2.0, 4.0: 3.0}
    assert alpha(three, "nominal") == pytest.approx(0.2162, abs=0.00006)
    assert alpha(three, "interval") == pytest.approx(0.4053, abs=0.00006)
    assert alpha(three, "ordinal") == pytest.approx(0.3830, abs=0.00006)
    two = {1.0: 0.0, 2.0: 0.0, 3.0: 1.0, 4.0: 1.0}
    assert alpha(two, "nominal") == pytest.approx(0.3272, abs=0.00006)


@pytest.mark.shared
def test_a_fully_crossed_crowd(shared_data: Path) -> None:
    ratings = load_ratings(shared_data / "human_judgements" / "dices350.jsonl.gz")
    found = measure_agreement(ratings)
    rows = {row["statistic"]: row for row in found.rows.iter_rows(named=True)}
    assert all(row["n_items"] == 350 and row["n_raters"] == 123 for row in rows.values())
    assert all(row["n_ratings"] == 43_050 and row["n_missing"] == 0 for row in rows.values())
    assert rows["ICC(2,1)"]["value"] == pytest.approx(0.1936, abs=0.0001)
    assert rows["ICC(2,1)"]["interval"] == "F"
    assert rows["alpha_interval"]["value"] == pytest.approx(0.1920, abs=0.0001)
    needed = found.panel.filter((pl.col("basis") == "g_absolute") & (pl.col("target") == 0.8))
    assert needed["needed"].to_list() == [17]


@pytest.mark.shared
def test_scales_of_rankme_are_set_apart(shared_data: Path) -> None:
    """Magnitude estimates and Likert scores of the same texts, three raters of 83 a text."""
    path = shared_data / "human_judgements" / "rankme.jsonl.gz"
    ratings = load_ratings(path, factors=["scale"])
    mixed = measure_agreement(ratings, qualities=["quality"])
    assert any("--by scale" in note for note in mixed.notes)
    found = measure_agreement(ratings, by=["scale"])
    assert not found.notes
    forms = found.rows.filter(pl.col("statistic") == "ICC(2,k)")
    assert forms.height == 6
    assert forms["interval"].to_list() == ["REML"] * 6
    informative = forms.filter(
        (pl.col("quality") == "informativeness") & (pl.col("group") == "scale=[1,6]")
    )
    assert informative["value"][0] == pytest.approx(0.877, abs=0.002)
