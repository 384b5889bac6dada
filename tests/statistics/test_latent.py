"""Ordinal and binomial mixed models against published fits, and where answers are certain.

Wine: Randall (1989), as in R's ordinal; estimates from Christensen's vignettes of ordinal (clm and
clmm with the Laplace approximation). cbpp: Lesnoff et al. (2004), as in lme4; estimates from the
reference page of lme4 (`?cbpp`).
"""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special
from statsmodels.miscmodels.ordinal_model import OrderedModel

from dialens.base import DialensError
from dialens.statistics.mixed import LatentFit, fit_binomial, fit_ordinal, likelihood_ratio

# Judges 1 to 9, each with bottles 1 to 8: cold without contact, cold with, warm without, warm with.
WINE = """
23344455 12132354 23325544 32323253 23433333 32322454 11222323 22233334 12323244
"""

HERDS = (
    "1 1 1 1 2 2 2 3 3 3 3 4 4 4 4 5 5 5 5 6 6 6 6 7 7 7 7 8 9 9 9 9 10 10 10 10 11 11 11 11 "
    "12 12 12 12 13 13 13 13 14 14 14 14 15 15 15 15"
)
PERIODS = "1234 123 1234 1234 1234 1234 1234 1 1234 1234 1234 1234 1234 1234 1234"
INCIDENCE = (
    "2 3 4 0 3 1 1 8 2 0 2 2 0 2 0 5 0 0 1 3 0 0 1 8 1 3 0 12 2 0 0 0 1 1 0 2 0 5 3 1 2 1 0 "
    "0 1 2 0 0 11 0 0 0 1 1 1 0"
)
SIZES = (
    "14 12 9 5 22 18 21 22 16 16 20 10 10 9 6 18 25 24 4 17 17 18 20 16 10 9 5 34 9 6 8 6 22 22 "
    "18 22 25 27 22 22 10 8 6 5 21 24 19 23 19 2 3 2 19 15 15 15"
)


def wine() -> pl.DataFrame:
    ratings = [int(rating) for rating in "".join(WINE.split())]
    place = np.arange(len(ratings))
    return pl.DataFrame(
        {
            "rating": ratings,
            "temp": np.where(place % 8 < 4, "cold", "warm"),
            "contact": np.where(place % 4 < 2, "no", "yes"),
            "judge": (place // 8 + 1).astype(str),
        }
    )


def cbpp() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "herd": HERDS.split(),
            "period": list(PERIODS.replace(" ", "")),
            "incidence": [int(cases) for cases in INCIDENCE.split()],
            "size": [int(size) for size in SIZES.split()],
            "row": range(56),
        }
    )


def values(fit: LatentFit) -> list[float]:
    return [effect.value for effect in (*fit.thresholds, *fit.fixed)]


def errors(fit: LatentFit) -> list[float]:
    return [effect.error for effect in (*fit.thresholds, *fit.fixed)]


def test_wine_without_random_effects():
    fit = fit_ordinal(wine(), "rating ~ temp + contact")
    assert values(fit) == pytest.approx([-1.3444, 1.2508, 3.4669, 5.0064, 2.5031, 1.5278], abs=1e-4)
    assert errors(fit) == pytest.approx([0.5171, 0.4379, 0.5978, 0.7309, 0.5287, 0.4766], abs=1e-4)
    assert (fit.loglik, fit.aic) == pytest.approx((-86.49, 184.98), abs=5e-3)


def test_wine_with_judges():
    fit = fit_ordinal(wine(), "rating ~ temp + contact + (1 | judge)")
    assert values(fit) == pytest.approx([-1.6237, 1.5134, 4.2285, 6.0888, 3.0630, 1.8349], abs=1e-4)
    assert errors(fit) == pytest.approx([0.6824, 0.6038, 0.8090, 0.9725, 0.5954, 0.5125], abs=2e-4)
    assert (fit.loglik, fit.aic) == pytest.approx((-81.57, 177.13), abs=5e-3)
    assert fit.component("judge").variance == pytest.approx(1.279, abs=1e-3)
    assert [threshold.name for threshold in fit.thresholds] == ["1|2", "2|3", "3|4", "4|5"]
    assert fit.effect("temp[warm]").t == pytest.approx(5.145, abs=1e-3)
    assert np.isinf(fit.effect("temp[warm]").degrees)


def test_wine_the_judges_differ():
    """ordinal's vignette: LR 9.85 on one degree of freedom, p = .0017."""
    one = fit_ordinal(wine(), "rating ~ temp + contact")
    two = fit_ordinal(wine(), "rating ~ temp + contact + (1 | judge)")
    test = likelihood_ratio(one, two)
    assert (test.statistic, test.degrees, test.p) == pytest.approx((9.853, 1, 0.001696), rel=1e-3)
    assert test.conservative


def test_cbpp():
    fit = fit_binomial(cbpp(), "incidence ~ period + (1 | herd)", trials="size")
    # lme4's optimiser stops a little short of the optimum: its log-likelihood is -92.0266.
    assert values(fit) == pytest.approx([-1.3983, -0.9919, -1.1282, -1.5797], abs=7e-4)
    assert fit.component("herd").sd == pytest.approx(0.6421, abs=3e-4)
    assert -92.0266 <= fit.loglik <= -92.0260


def test_cbpp_with_an_effect_of_every_row():
    fit = fit_binomial(cbpp(), "incidence ~ period + (1 | herd) + (1 | row)", trials="size")
    assert values(fit) == pytest.approx([-1.500, -1.226, -1.329, -1.866], abs=1e-3)
    assert fit.component("row").sd == pytest.approx(0.8911, abs=2e-4)
    assert fit.component("herd").sd == pytest.approx(0.1840, abs=3e-4)
    assert fit.loglik == pytest.approx(-87.3192, abs=1e-4)


def test_ordinal_is_statsmodels_where_nothing_is_random():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    answers = np.digitize(0.8 * x + rng.logistic(size=300), [-1, 0.5, 2])
    fit = fit_ordinal(pl.DataFrame({"x": x, "value": answers}), "value ~ x")
    other = OrderedModel(answers, x[:, None], distr="logit").fit(method="bfgs", disp=False)
    assert fit.loglik == pytest.approx(other.llf, abs=1e-5)
    assert fit.effect("x").value == pytest.approx(other.params[0], abs=1e-3)
    assert fit.effect("x").error == pytest.approx(other.bse[0], abs=1e-3)


def test_laplace_by_hand():
    """One grouping: its members' modes and curvatures, one at a time, by another optimiser."""
    table = cbpp()
    fit = fit_binomial(table, "incidence ~ period + (1 | herd)", trials="size")
    beta, sd = np.array(values(fit)), fit.component("herd").sd
    design = np.column_stack(
        [np.ones(56), *((table["period"] == level).to_numpy() for level in "234")]
    )
    eta, k, n = design @ beta, table["incidence"].to_numpy(), table["size"].to_numpy()
    total = 0.0
    for herd in table["herd"].unique():
        at = (table["herd"] == herd).to_numpy()

        def inside(u: float, at: np.ndarray = at) -> float:
            p = special.expit(eta[at] + sd * u)
            choices = special.gammaln(n[at] + 1) - special.gammaln(k[at] + 1)
            choices -= special.gammaln(n[at] - k[at] + 1)
            return float(
                u**2 / 2 - (choices + k[at] * np.log(p) + (n[at] - k[at]) * np.log1p(-p)).sum()
            )

        u = optimize.minimize_scalar(inside, tol=1e-12).x
        p = special.expit(eta[at] + sd * u)
        total -= inside(u) + np.log(1 + sd**2 * (n[at] * p * (1 - p)).sum()) / 2
    assert fit.loglik == pytest.approx(total, abs=1e-8)


def crossed(seed: int, *, raters: int = 30, items: int = 20) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    rater, item = np.divmod(np.arange(raters * items), items)
    agent = rng.integers(0, 2, raters * items)
    slopes = rng.normal(0, 0.8, raters)[rater]
    eta = rng.normal(0, 1, raters)[rater] + rng.normal(0, 0.7, items)[item] + (1 + slopes) * agent
    table = pl.DataFrame(
        {
            "rater": [f"r{at}" for at in rater],
            "item": [f"i{at}" for at in item],
            "agent": [("a", "b")[at] for at in agent],
        }
    )
    return table, eta + rng.logistic(size=len(eta))


def test_crossed_effects_and_slopes_are_recovered():
    table, judged = crossed(2)
    table = table.with_columns(value=pl.Series(np.digitize(judged, [-1.5, 0, 1.5])))
    fit = fit_ordinal(table, "value ~ agent + (1 + agent || rater) + (1 | item)")
    effect = fit.effect("agent[b]")
    assert effect.low < 1 < effect.high
    for term, name, truth in [
        ("rater", "(intercept)", 1.0), ("rater", "agent[b]", 0.8), ("item", "(intercept)", 0.7)
    ]:  # fmt: skip
        part = fit.component(term, name)
        assert part.low is not None
        assert part.high is not None
        assert part.low < truth < part.high
    assert sum(part.share for part in fit.components) == pytest.approx(1)


def test_two_categories_are_a_binomial_model():
    table, judged = crossed(3, raters=12, items=10)
    table = table.with_columns(value=pl.Series((judged > 0).astype(int)))
    formula = "value ~ agent + (1 | rater) + (1 | item)"
    ordinal, binomial = fit_ordinal(table, formula), fit_binomial(table, formula)
    assert ordinal.loglik == pytest.approx(binomial.loglik, abs=1e-6)
    assert ordinal.effect("agent[b]").value == pytest.approx(
        binomial.effect("agent[b]").value, abs=1e-3
    )
    assert ordinal.thresholds[0].value == pytest.approx(
        -binomial.effect("(intercept)").value, abs=1e-3
    )


def test_contrasts_do_not_depend_on_the_reference():
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "agent": ["abc"[at % 3] for at in range(150)],
            "rater": [f"r{at // 15}" for at in range(150)],
        }
    ).with_columns(value=pl.Series(rng.integers(1, 5, 150)))
    first = fit_ordinal(table, "value ~ agent + (1 | rater)")
    second = fit_ordinal(table, "value", ["agent"], ["rater"], reference={"agent": "c"})
    one = first.contrast({"agent[b]": 1.0, "agent[c]": -1.0})
    assert one.value == pytest.approx(second.effect("agent[b]").value, abs=1e-4)
    assert one.error == pytest.approx(second.effect("agent[b]").error, abs=1e-4)
    assert first.contrast({"agent[b]": 1.0}, degrees=5).p > first.effect("agent[b]").p


def test_few_raters_widen_the_interval():
    rng = np.random.default_rng(5)
    rater = np.repeat(np.arange(6), 10)
    judged = np.array([-2, 1, 0.5, -1, 2, -0.5])[rater] + rng.logistic(size=60)
    table = pl.DataFrame(
        {
            "rater": rater.astype(str),
            "arm": np.where(rater % 2, "b", "a"),
            "value": np.digitize(judged, [-1, 1]),
        }
    )
    fit = fit_ordinal(table, "value ~ arm + (1 | rater)")
    plain = fit.effect("arm[b]")
    careful = fit.contrast({"arm[b]": 1.0}, degrees="satterthwaite")
    assert careful.value == pytest.approx(plain.value)
    assert careful.error > plain.error
    # The arms are compared between six raters: about four degrees of freedom.
    assert 2 < careful.degrees < 8


@pytest.mark.parametrize("fit_one", [fit_ordinal, fit_binomial])
def test_an_agent_that_got_only_the_best(fit_one):
    table, judged = crossed(6, raters=10, items=10)
    best = pl.Series(judged > 0).cast(pl.Int64)
    table = table.with_columns(value=best, agent=pl.Series(["abc"[at % 3] for at in range(100)]))
    table = table.with_columns(
        value=pl.when(pl.col("agent") == "c").then(1).otherwise(pl.col("value"))
    )
    fit = fit_one(table, "value ~ agent + (1 | rater) + (1 | item)")
    effect = fit.effect("agent[c]")
    assert 1 < effect.value < 12
    assert np.isfinite([effect.low, effect.high]).all()
    assert [note.partition(":")[0] for note in fit.notes] == ["agent[c]"]
    assert "Greenland" in fit.method
    assert abs(fit.effect("agent[b]").value) < 3


def test_the_reference_got_only_the_best():
    table = pl.DataFrame(
        {
            "agent": ["abc"[at % 3] for at in range(90)],
            "value": [1 if at % 3 == 0 else at % 2 for at in range(90)],
        }
    )
    fit = fit_binomial(table, "value ~ agent")
    assert max(map(abs, values(fit))) < 15
    assert fit.notes[0].startswith("agent[b] and agent[c]")


def test_an_answer_that_nobody_gave_has_no_threshold():
    table, judged = crossed(7, raters=8, items=8)
    table = table.with_columns(
        value=pl.Series(np.where(judged > 0, 5, np.where(judged > -1, 3, 1)))
    )
    assert [t.name for t in fit_ordinal(table, "value ~ agent").thresholds] == ["1|3", "3|5"]


def test_words_have_an_order_if_it_is_given():
    answers = ["poor", "fair", "good", "fair", "good", "poor", "good", "good", "fair", "poor"] * 3
    table = pl.DataFrame({"value": answers, "x": [float(at % 7) for at in range(30)]})
    with pytest.raises(DialensError, match="have no order"):
        fit_ordinal(table, "value ~ x")
    ordered = table.with_columns(pl.col("value").cast(pl.Enum(["poor", "fair", "good"])))
    names = [t.name for t in fit_ordinal(ordered, "value ~ x").thresholds]
    assert names == ["poor|fair", "fair|good"]


@pytest.mark.parametrize(
    ("fit_one", "answers", "says"),
    [
        (fit_ordinal, [3] * 20, "Every value of 'value' is 3"),
        (fit_ordinal, list(range(40)), "Use `fit_mixed`"),
        (fit_binomial, [1] * 20, "every success"),
        (fit_binomial, [0, 1, 2] * 7, "holds 2. Give 0 and 1"),
        (fit_binomial, ["yes", "no"] * 10, "Give 0 and 1"),
    ],
)
def test_answers_that_cannot_be_fitted(fit_one, answers, says):
    table = pl.DataFrame({"value": answers}).with_columns(x=pl.int_range(pl.len()) % 3)
    with pytest.raises(DialensError, match=says):
        fit_one(table, "value ~ x")


def test_no_intercept_beside_thresholds():
    with pytest.raises(DialensError, match="thresholds in place of an intercept"):
        fit_ordinal(wine(), "rating ~ 0 + temp + (1 | judge)")
