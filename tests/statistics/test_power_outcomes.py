"""Power of cells, shares, win rates and equivalence, and of an ICC, against published figures."""

from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from dialens.base import DialensError
from dialens.statistics.power import (
    Design,
    LogitParts,
    VarianceParts,
    curve_of,
    icc_items,
    icc_precision,
    power_between,
    power_binary,
    power_equivalence,
    power_pairwise,
    power_within,
)
from dialens.statistics.power._binary import logit_of
from dialens.statistics.power._closed_form import between_error, power_of_tost
from dialens.statistics.power._curve import simulate
from dialens.statistics.power._icc import agreement_interval, bonett_items


@pytest.mark.parametrize(("n", "d"), [(64, 0.5), (26, 0.8), (393, 0.2)])
def test_between_cells_is_cohens_table_where_a_rater_is_one_number(n: int, d: float) -> None:
    """Cohen 1988, table 2.4.1: two-sided .05, power .80; rater means have a variance of 1."""
    parts = VarianceParts(rater=0.6, item=2.0, residual=1.6)  # .36 + 2.56 / 4
    found = power_between(parts, d, raters=n, items=4)
    assert found.power.value == pytest.approx(0.80, abs=0.008)
    assert found.ratings == 8 * n
    with_table = import_module("statsmodels.stats.power").TTestIndPower()
    assert found.power.value == pytest.approx(with_table.power(d, n, 0.05), abs=1e-9)


@pytest.mark.parametrize("item_cell", [0.0, 0.5])
def test_between_cells_the_closed_form_is_what_simulation_gives(item_cell: float) -> None:
    parts = VarianceParts(rater=0.5, item=0.8, residual=0.9, item_cell=item_cell)
    made = simulate(parts, Design(12, 10, between=True), 0.5, simulations=4000, seed=3)
    found = power_between(parts, 0.5, raters=12, items=10)
    assert made.seen.mean() == pytest.approx(found.power.value, abs=0.03)
    assert made.width.mean() == pytest.approx(found.width.value, rel=0.03)


def test_between_cells_every_part_has_its_own_number() -> None:
    """By hand: error² = 2 (rater² / raters + item_cell² / items + residual² / ratings)."""
    parts = VarianceParts(rater=0.5, residual=0.9, item_cell=0.3)
    error, freedom = between_error(parts, 12, 10, 5)
    assert error**2 == pytest.approx(2 * (0.25 / 12 + 0.09 / 10 + 0.81 / 60))
    assert 2 * 11 > freedom > 9


def test_more_items_do_not_help_where_raters_differ() -> None:
    parts = VarianceParts(rater=1.0, residual=0.5)
    few, many = (power_between(parts, 0.6, raters=20, items=n).power.value for n in (10, 1000))
    assert many == pytest.approx(few, abs=0.01)


@pytest.mark.parametrize(
    ("cv", "n", "ratio", "limit", "power"),
    [(0.2, 20, 0.95, 0.8, 0.834680), (0.125, 32, 0.975, 0.9, 0.800218)],
)
def test_equivalence_is_that_of_powertost(
    cv: float, n: int, ratio: float, limit: float, power: float
) -> None:
    """R's PowerTOST 1.5.1, README: sampleN.TOST of 2x2 crossovers (exact, Owen's Q)."""
    spread = np.sqrt(np.log(1 + cv**2))
    study = Design(raters=1, items=n // 2, paired=False)  # as many degrees of freedom: n − 2
    found = power_equivalence(
        VarianceParts(residual=spread / np.sqrt(2)), -np.log(limit), study, effect=np.log(ratio)
    )
    assert found.power.value == pytest.approx(power, abs=2e-5)
    assert found.power.basis == "closed form"


def test_equivalence_in_groups_of_unequal_size_is_that_of_powertost() -> None:
    """PowerTOST's README: power.TOST(CV = 0.35, n = c(52, 49), design = "parallel")."""
    error = np.sqrt(np.log(1 + 0.35**2) * (1 / 52 + 1 / 49))
    found = power_of_tost(np.log(0.95), float(error), 99, 0.05, float(np.log(1.25)))
    assert found == pytest.approx(0.8011186, abs=1e-5)


def test_equivalence_is_simulated_where_raters_have_favourites() -> None:
    study = Design(raters=10, items=40, shared_raters=True)
    alike = power_equivalence(VarianceParts(residual=0.8), 0.3, study)
    apart = power_equivalence(VarianceParts(residual=0.8, rater_agent=0.2), 0.3, study)
    assert apart.power.has_interval
    assert not alike.power.has_interval
    assert apart.power.value < alike.power.value - 0.1
    with pytest.raises(DialensError, match="larger than the true difference"):
        power_equivalence(VarianceParts(), 0.3, study, effect=0.3)


@pytest.mark.parametrize(("first", "second", "n", "power"), [(0.5, 0.75, 50, 0.7401659)])
def test_independent_shares_are_those_of_power_prop_test(
    first: float, second: float, n: int, power: float
) -> None:
    """R's power.prop.test(n = 50, p1 = .50, p2 = .75), the example of its help page: .740."""
    found = power_binary(first, second, Design(raters=1, items=n, paired=False))
    assert found.power.value == pytest.approx(power, abs=1e-4)


def test_fleiss_has_the_same_number_of_people() -> None:
    """The same page: power.prop.test(p1 = .50, p2 = .75, power = .90) gives n = 76.7."""
    powers = [
        power_binary(0.5, 0.75, Design(raters=1, items=n, paired=False)).power.value
        for n in (76, 77)
    ]
    assert powers[0] < 0.9 <= powers[1]


def test_dialogues_of_an_item_are_counted() -> None:
    found = power_binary(0.5, 0.75, Design(raters=1, items=25, dialogs=2))
    assert found.power.value == pytest.approx(0.7401659, abs=1e-4)  # 50 independent ratings
    assert curve_of([found]).row(0, named=True)["dialogs"] == 2


def test_shares_that_were_asked_for_are_those_that_are_drawn() -> None:
    rng = np.random.default_rng(0)
    for share, spread in ((0.1, 1.5), (0.7, 0.5), (0.95, 3.0)):
        logits = logit_of(share, spread) + rng.normal(0, spread, 400_000)
        assert (1 / (1 + np.exp(-logits))).mean() == pytest.approx(share, abs=0.002)


@pytest.mark.parametrize("between", [True, False])
def test_raters_and_items_that_differ_cost_power(between: bool) -> None:
    design = Design(raters=12, items=10, shared_raters=not between, between=between)
    alike = power_binary(0.5, 0.65, design)
    spread = LogitParts(rater=1.0, item=1.0, rater_agent=0.0 if between else 0.8)
    apart = power_binary(0.5, 0.65, design, parts=spread)
    assert apart.power.value < alike.power.value - 0.1
    assert apart.power.low < apart.power.value < apart.power.high


def test_rare_answers_are_simulated_and_sure_answers_are_not_called_a_difference() -> None:
    """Two yes in a hundred are too few for the normal test; studies without any see nothing."""
    found = power_binary(0.02, 0.04, Design(raters=1, items=20))
    assert found.power.basis == "simulation"
    assert found.power.value < 0.05


def test_win_rates_are_those_of_the_exact_binomial_test() -> None:
    """By hand, and against the test itself: the outcomes of 40 comparisons that have p < .05."""
    by_hand = 10 * 0.9**9 * 0.1 + 0.9**10 + 10 * 0.1**9 * 0.9 + 0.1**10
    assert power_pairwise(0.9, raters=1, items=10).power.value == pytest.approx(by_hand)
    wins = np.arange(41)
    seen = [stats.binomtest(int(k), 40).pvalue < 0.05 for k in wins]
    wanted = stats.binom.pmf(wins, 40, 0.7)[seen].sum()
    assert power_pairwise(0.7, raters=4, items=10).power.value == pytest.approx(wanted)


def test_ties_leave_fewer_comparisons() -> None:
    """By hand: of 6 comparisons, only 6 decided ones that all go one way have p < .05."""
    found = power_pairwise(0.8, raters=1, items=6, ties=0.25)
    assert found.power.value == pytest.approx(0.75**6 * (0.8**6 + 0.2**6))


def test_shared_raters_who_differ_are_a_sample_of_comparisons_too() -> None:
    spread = LogitParts(rater=1.0, item=0.5)
    own = power_pairwise(0.65, raters=5, items=60, parts=spread)
    shared = power_pairwise(0.65, raters=5, items=60, parts=spread, shared_raters=True)
    assert shared.power.value < own.power.value - 0.2
    level = power_pairwise(0.500001, raters=8, items=30, parts=spread, shared_raters=True)
    assert 0.02 < level.power.value < 0.08


def test_bonetts_items_are_those_he_published() -> None:
    """Bonett 2002: 19.2 for 4 raters, ICC .85, width .2; statpsych: size.ci.icc(.05, .70, 3, .2)
    gives 68; for two raters and an ICC of .8 he adds 5 · .8 to 51."""
    assert bonett_items(0.85, 0.2, raters=4) == 20
    assert bonett_items(0.70, 0.2, raters=3) == 68
    assert bonett_items(0.80, 0.2, raters=2) in (55, 56)
    assert icc_items(0.70, 0.2, raters=3) == pytest.approx(68, abs=1)
    assert icc_items(0.80, 0.2, raters=2) == pytest.approx(55, abs=1)


def test_the_width_of_an_icc_is_that_of_presize() -> None:
    """R's presize, tests: prec_icc(.5, 3, n = 50) is 0.3233 wide, by Bonett's approximation."""
    found = icc_precision(0.5, raters=3, items=50)
    assert found.width.value == pytest.approx(0.3233, rel=0.03)


def test_the_width_of_an_icc_is_that_of_studies_drawn_by_hand() -> None:
    rng = np.random.default_rng(5)
    n, k, icc = 30, 3, 0.6
    y = rng.normal(0, np.sqrt(icc), (4000, n, 1)) + rng.normal(0, np.sqrt(1 - icc), (4000, n, k))
    ratio = k * y.mean(axis=2).var(axis=1, ddof=1) / y.var(axis=2, ddof=1).mean(axis=1)
    low = ratio / stats.f.ppf(0.975, n - 1, n * (k - 1))
    high = ratio * stats.f.ppf(0.975, n * (k - 1), n - 1)
    widths = (high - 1) / (high + k - 1) - (low - 1) / (low + k - 1)
    found = icc_precision(icc, raters=k, items=n, width=0.35)
    assert found.width.value == pytest.approx(widths.mean(), abs=0.004)
    assert found.power.value == pytest.approx((widths <= 0.35).mean(), abs=0.03)


def test_agreement_of_shrout_and_fleiss() -> None:
    """McGraw and Wong's interval of ICC(2,1) of Shrout and Fleiss' data, as R's psych prints it:
    0.02 to 0.76."""
    rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    low, high = agreement_interval(np.array([rows], dtype=float), 0.05)
    assert (round(float(low[0]), 2), round(float(high[0]), 2)) == (0.02, 0.76)


def test_few_raters_who_differ_are_what_an_icc_lacks_not_items() -> None:
    def width(raters: int, items: int) -> float:
        found = icc_precision(
            0.6, raters=raters, items=items, shared_raters=True, rater_share=0.15, simulations=400
        )
        return found.width.value

    assert width(3, 400) > width(12, 100)


def test_assurance_takes_more_items_than_the_mean_width() -> None:
    plain = icc_items(0.6, 0.2, raters=3)
    assured = icc_items(0.6, 0.2, raters=3, assurance=0.9)
    assert assured > plain
    assert icc_precision(0.6, raters=3, items=assured, width=0.2).power.value >= 0.9


def test_one_design_has_the_closed_form_or_is_simulated() -> None:
    plain = power_within(VarianceParts(), 0.5, Design(1, 64, paired=False))
    assert plain.power.value == pytest.approx(0.801, abs=0.001)
    scaled = power_within(VarianceParts(), 0.5, Design(1, 64, scale=(1, 5), mean=3))
    assert scaled.power.basis == "simulation"
    assert power_within(VarianceParts(), 0.0, Design(1, 64)).power.value is None


def test_impossible_plans_are_refused() -> None:
    for plan, message in (
        (lambda: power_between(VarianceParts(), 1, raters=1, items=5), "two of them a cell"),
        (lambda: power_between(VarianceParts(), 1, raters=3, items=5, each=6), "between 1 and 5"),
        (lambda: power_between(VarianceParts(), 1, raters=3, items=9, each=2), "cannot reach all"),
        (lambda: power_binary(0.5, 1.0, Design(1, 9)), "between 0 and 1"),
        (lambda: power_pairwise(0.6, raters=1, items=9, ties=1.0), "ties"),
        (lambda: icc_precision(0.6, raters=1, items=9), "two raters"),
        (lambda: icc_precision(0.6, raters=3, items=9, rater_share=0.1), "--shared-raters"),
        (lambda: LogitParts(item=-1), "item must be 0 or more"),
    ):
        with pytest.raises(DialensError, match=message):
            plan()
