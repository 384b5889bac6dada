import numpy as np
import polars as pl
from scipy import stats

from dialens.statistics import corrected
from dialens.statistics._corrections import adjusted


def test_as_scipy_corrects_and_what_was_not_tested_stays_out() -> None:
    p = np.array([0.04, np.nan, 0.001, 0.3, np.nan, 0.02])
    result = adjusted(p)
    assert np.isnan(result[[1, 4]]).all()
    np.testing.assert_array_equal(
        result[[0, 2, 3, 5]], stats.false_discovery_control(p[[0, 2, 3, 5]])
    )


def test_families_are_corrected_by_themselves_and_rows_keep_their_order() -> None:
    table = pl.DataFrame(
        {
            "metric": ["b", "a", "b", "a", "a"],
            "p": [0.01, 0.02, 0.03, None, 0.04],
        }
    )
    result = corrected(table, by=["metric"])
    assert result["metric"].to_list() == table["metric"].to_list()
    assert result["p_adjusted"].to_list() == [0.02, 0.04, 0.03, None, 0.04]
    assert result["family"].to_list() == [2, 2, 2, None, 2]


def test_rows_outside_the_family_stay_without_a_corrected_p_value() -> None:
    table = pl.DataFrame({"agent": ["x", None, "y"], "p": [0.01, 0.5, 0.02]})
    result = corrected(table, where=pl.col("agent").is_not_null(), family=None)
    assert result["p_adjusted"].to_list() == [0.02, None, 0.02]
    assert result.columns == ["agent", "p", "p_adjusted"]


def test_a_table_without_tests() -> None:
    empty = pl.DataFrame({"cv_p": [None, None]}, schema={"cv_p": pl.Float64})
    result = corrected(empty, "cv_p")
    assert result["cv_p_adjusted"].to_list() == [None, None]
    assert result["family"].to_list() == [None, None]
    assert corrected(empty.clear(), "cv_p").schema == result.schema
