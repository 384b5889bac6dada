"""Simulated studies against closed forms, and fitted variances against known ones."""

from importlib import import_module

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.base import DialensError
from dialens.statistics.power import Design, VarianceParts, fitted_parts, power_curve
from dialens.statistics.power._closed_form import exact_power, exact_width
from dialens.statistics.power._curve import simulate

PARTS = VarianceParts(rater=0.4, item=0.7, dialog=0.5, residual=0.9)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("raters", "items", "dialogs"), [(1, 30, 1), (4, 15, 2)])
def test_simulated_power_is_that_of_the_noncentral_t(
    paired: bool, shared: bool, raters: int, items: int, dialogs: int
) -> None:
    design = Design(raters, items, dialogs, shared_raters=shared, paired=paired)
    made = simulate(PARTS, design, 0.5, simulations=3000, seed=1)
    wanted = exact_power(PARTS, design, 0.5)
    error = np.sqrt(wanted * (1 - wanted) / 3000)
    assert made.seen.mean() == pytest.approx(wanted, abs=4 * error)
    width = exact_width(PARTS, design)
    assert made.width.mean() == pytest.approx(width, abs=4 * made.width.std() / np.sqrt(3000))


def test_the_closed_form_is_the_tables_of_cohen() -> None:
    """Cohen 1988, Tables 2.4.1: d = .5, two-sided .05: 64 a group for .80; d = .8: 26."""
    plain = VarianceParts(residual=1.0)
    for n, d in ((64, 0.5), (26, 0.8), (393, 0.2)):
        power = exact_power(plain, Design(1, n, paired=False), d)
        assert power == pytest.approx(0.80, abs=0.008)


def test_the_closed_form_is_that_of_the_noncentral_t() -> None:
    design = Design(3, 40)
    shift = 0.4 / np.sqrt(2 * (0.5**2 + (0.9**2 + 0.4**2) / 3) / 40)
    limit = stats.t.ppf(0.975, 39)
    wanted = stats.nct.sf(limit, 39, shift) + stats.nct.cdf(-limit, 39, shift)
    assert exact_power(PARTS, design, 0.4) == pytest.approx(wanted)
    assert exact_power(PARTS, Design(3, 400), 50.0) == 1.0


def test_statsmodels_agrees() -> None:
    power = import_module("statsmodels.stats.power")
    sd = np.sqrt(2 * (0.5**2 + (0.9**2 + 0.4**2) / 3))
    wanted = power.TTestPower().power(0.4 / sd, 40, 0.05, alternative="two-sided")
    assert exact_power(PARTS, Design(3, 40), 0.4) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("paired", [True, False])
def test_without_a_difference_tests_keep_their_level_though_raters_have_favourites(paired) -> None:
    parts = VarianceParts(rater=0.5, item=0.5, dialog=0.3, residual=0.8, rater_agent=0.4)
    design = Design(6, 20, shared_raters=True, paired=paired)
    made = simulate(parts, design, 0.0, simulations=2000)
    assert 0.01 < made.seen.mean() < 0.07


def test_the_interval_of_a_mean_covers_it_where_raters_are_shared() -> None:
    """Few raters who differ: items alone would promise far too much."""
    parts = VarianceParts(rater=0.8, item=0.5, residual=0.5)
    shared = simulate(parts, Design(5, 50, shared_raters=True), 0.0, simulations=400)
    blind = exact_width(VarianceParts(item=0.5, residual=0.5), Design(5, 50), of_mean=True)
    assert shared.mean_width.mean() > 3 * blind


def test_a_scale_of_five_points_costs_some_power() -> None:
    plain = Design(1, 40, mean=4.5)
    scaled = Design(1, 40, mean=4.5, scale=(1, 5))
    powers = [
        simulate(PARTS, design, 0.6, simulations=1500).seen.mean() for design in (plain, scaled)
    ]
    assert powers[1] < powers[0] - 0.1


def test_a_curve_has_one_row_a_design_and_its_error() -> None:
    table = power_curve(
        PARTS, raters=[1, 3], items=[10, 40], dialogs=[1, 2], effects=[0.3, 0.6], simulations=200
    )
    assert table.height == 16
    assert (table["power_low"] <= table["power"]).all()
    assert (table["power"] <= table["power_high"]).all()
    assert (table["ratings"] == 2 * table["raters"] * table["items"] * table["dialogs"]).all()
    same = power_curve(PARTS, raters=[3], items=[40], effects=[0.3], simulations=200)
    beside = table.filter(
        pl.col("raters") == 3,
        pl.col("items") == 40,
        pl.col("dialogs") == 1,
        pl.col("effect") == 0.3,
    )
    assert same.equals(beside)


def test_no_effect_gives_widths_and_no_power() -> None:
    table = power_curve(PARTS, raters=[2], items=[20], simulations=100)
    assert table["power"].null_count() == 1
    assert table["width"].null_count() == 0


def test_one_shared_rater_cannot_give_the_interval_of_a_mean() -> None:
    design = Design(1, 2, shared_raters=True)
    row = power_curve(PARTS, raters=[1], items=[20], design=design, simulations=100).row(
        0, named=True
    )
    assert row["mean_width"] is None
    assert row["reason"] == "one rater cannot tell raters from items"
    assert row["width"] is not None


def test_impossible_studies_are_refused() -> None:
    with pytest.raises(DialensError, match="rater must be 0 or more"):
        VarianceParts(rater=-1)
    with pytest.raises(DialensError, match="nothing to plan"):
        VarianceParts(residual=0)
    with pytest.raises(DialensError, match="two items"):
        power_curve(PARTS, raters=[1], items=[1])


def ratings(seed: int, contexts: int = 80, agents: int = 3, raters: int = 12) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    item, severity = rng.normal(0, 0.7, contexts), rng.normal(0, 0.4, raters)
    rows = []
    for c in range(contexts):
        for a in range(agents):
            dialog = rng.normal(0, 0.5)
            for r in rng.choice(raters, 6, replace=False):
                value = 3 + a + item[c] + dialog + severity[r] + rng.normal(0, 0.9)
                rows.append((f"d{c}-{a}", f"c{c}", f"a{a}", f"r{r}", "good", value))
    names = ["dialog", "dialog_id", "agent", "rater", "quality", "value"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_fitted_variances_are_those_that_were_put_in() -> None:
    found = fitted_parts(ratings(0))
    assert found.parts.item == pytest.approx(0.7, abs=0.15)
    assert found.parts.dialog == pytest.approx(0.5, abs=0.1)
    assert found.parts.rater == pytest.approx(0.4, abs=0.2)
    assert found.parts.residual == pytest.approx(0.9, abs=0.06)
    assert found.mean == pytest.approx(4, abs=0.3)
    assert found.notes == ()


def test_what_cannot_be_told_apart_is_said() -> None:
    table = ratings(1).drop("dialog_id").with_columns(rater=pl.lit(None, pl.String))
    found = fitted_parts(table)
    assert found.parts.item == found.parts.rater == 0
    assert found.parts.dialog == pytest.approx(np.hypot(0.7, 0.5), abs=0.15)
    assert len(found.notes) == 2
    single = fitted_parts(table.unique("dialog"))
    assert single.parts.dialog == 0
    assert len(single.notes) == 3


def test_one_of_several_qualities_must_be_chosen() -> None:
    table = ratings(2)
    both = pl.concat([table, table.with_columns(quality=pl.lit("other"))])
    with pytest.raises(DialensError, match="Choose one --quality of: good, other"):
        fitted_parts(both)
    assert fitted_parts(both, quality="Good").quality == "good"


def test_scales_are_not_mixed() -> None:
    points = ratings(3).with_columns(scale=pl.lit("[1, 6]"), condition=pl.lit("points"))
    free = points.with_columns(scale=pl.lit("free"), condition=pl.lit("free"))
    free = free.with_columns(pl.col("value") * 100)
    both = pl.concat([points, free])
    with pytest.raises(DialensError, match="Choose one --condition of: free, points"):
        fitted_parts(both)
    assert fitted_parts(both, condition="points").n == points.height
