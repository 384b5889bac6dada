"""Models of choices against written-out likelihoods, hand arithmetic and statsmodels."""

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import optimize, special
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from dialens.base import DialensError
from dialens.statistics.choices import (
    best_worst_scores,
    fit_bradley_terry,
    fit_plackett_luce,
    groups_of,
    holm,
    rank_intervals,
    win_matrix,
    win_shares,
)


def crossed(raters: int, items: int, seed: int, gap: float = 0.6) -> pl.DataFrame:
    """Everyone compares a with b about every item; raters and items differ."""
    rng = np.random.default_rng(seed)
    rater, item = np.indices((raters, items)).reshape(2, -1)
    odds = gap + rng.normal(0, 1, raters)[rater] + rng.normal(0, 1, items)[item]
    return pl.DataFrame(
        {
            "first": "a",
            "second": "b",
            "outcome": (rng.random(len(rater)) < special.expit(odds)).astype(float),
            "rater": rater.astype(str),
            "item": item.astype(str),
        }
    )


def long(choices: list[list[tuple[str, int | None]]]) -> pl.DataFrame:
    rows = [(n, name, rank) for n, choice in enumerate(choices) for name, rank in choice]
    return pl.DataFrame(
        rows, schema={"choice": pl.Int64, "candidate": pl.String, "rank": pl.Int64}, orient="row"
    )


def test_bias_reduced_log_odds_of_two_are_those_with_half_a_win_added() -> None:
    # Firth (1993): for one binomial, half a success and half a failure.
    table = pl.DataFrame({"first": ["a"] * 7, "second": ["b"] * 7, "outcome": [1.0] * 7})
    found = fit_bradley_terry(table).difference("a", "b")
    assert found.value == pytest.approx(np.log(7.5 / 0.5))
    assert found.low is not None
    assert np.isfinite(found.low)


def test_two_way_errors_equal_those_of_statsmodels_in_a_balanced_design() -> None:
    table = crossed(12, 9, seed=3)
    fit = fit_bradley_terry(table, bias_reduced=False)
    y = table["outcome"].to_numpy()
    logit = sm.Logit(y, np.ones((len(y), 1))).fit(disp=0)
    raters, items = (table[name].cast(pl.Int64).to_numpy() for name in ("rater", "item"))
    both, by_rater, by_item = cov_cluster_2groups(logit, raters, items, use_correction=False)
    cells = by_rater + by_item - both
    # In a balanced design the jackknife is the sandwich times G / (G − 1).
    expected = by_rater * 12 / 11 + by_item * 9 / 8 - cells * 108 / 107
    found = fit.differences.row(0, named=True)
    assert found["error"] ** 2 == pytest.approx(float(expected.item()), rel=1e-6)
    assert 8 <= found["degrees"] < 107


def test_ties_of_three_follow_the_written_out_likelihood() -> None:
    # Turner et al. (2020), equation 1, with ties of two and of three.
    choices = [
        [("x", 1), ("y", 2), ("z", 3)],
        [("x", 1), ("y", 1), ("z", 2)],
        [("x", 2), ("y", 1), ("z", 1)],
        [("x", 1), ("y", 1), ("z", 1)],
        [("x", 3), ("y", 2), ("z", 1)],
        [("x", 2), ("y", 1), ("z", 3)],
        [("x", 1), ("y", 2)],
    ]
    fit = fit_plackett_luce(long(choices), bias_reduced=False)

    def f(chosen: tuple[int, ...], free: np.ndarray) -> float:
        ability = np.array([0.0, free[0], free[1]])
        tie = {1: 0.0, 2: free[2], 3: free[3]}[len(chosen)]
        return float(np.exp(tie + ability[list(chosen)].mean()))

    x, y, z, xy, xz, yz, all_three = (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)
    every = [x, y, z, xy, xz, yz, all_three]
    stages = [
        (x, every), (y, [y, z, yz]),
        (xy, every),
        (yz, every),
        (all_three, every),
        (z, every), (y, [x, y, xy]),
        (y, every), (x, [x, z, xz]),
        (x, [x, y, xy]),
    ]  # fmt: skip

    def loss(free: np.ndarray) -> float:
        return -sum(np.log(f(c, free) / sum(f(s, free) for s in sets)) for c, sets in stages)

    best = optimize.minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert fit.loglik == pytest.approx(-best.fun, abs=1e-8)
    assert fit.difference("y", "x").value == pytest.approx(best.x[0], abs=1e-5)
    assert fit.difference("z", "x").value == pytest.approx(best.x[1], abs=1e-5)
    assert fit.ties[3].value == pytest.approx(best.x[3], abs=1e-5)


def test_best_worst_answers_follow_the_written_out_likelihood() -> None:
    orders = ["abcd", "bacd", "acbd", "dabc", "cbda", "badc", "abdc", "cdab", "bcad"]
    choices = [[(order[0], 1), (order[1], 2), (order[2], 2), (order[3], 3)] for order in orders]
    fit = fit_plackett_luce(long(choices), kind="best_worst", bias_reduced=False)

    def loss(free: np.ndarray) -> float:
        worth = dict(zip("abcd", (0.0, *free), strict=True))
        total = 0.0
        for order in orders:
            total += worth[order[0]] - special.logsumexp([worth[name] for name in order])
            total += -worth[order[3]] - special.logsumexp([-worth[name] for name in order[1:]])
        return -total

    best = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    assert fit.loglik == pytest.approx(-best.fun, abs=1e-8)
    found = [fit.difference(name, "a").value for name in "bcd"]
    assert found == pytest.approx(best.x.tolist(), abs=1e-5)


def test_choosing_one_of_three_gives_the_log_ratio_of_counts() -> None:
    picked = "aaaaabbbcc"
    choices = [[(name, 1 if name == best else None) for name in "abc"] for best in picked]
    fit = fit_plackett_luce(long(choices), bias_reduced=False)
    assert fit.difference("a", "c").value == pytest.approx(np.log(5 / 2))
    assert fit.difference("b", "c").value == pytest.approx(np.log(3 / 2))


def test_which_of_two_is_called_first_does_not_matter() -> None:
    table = crossed(6, 7, seed=1)
    turned = table.select(
        "rater", "item", first="second", second="first", outcome=1 - pl.col("outcome")
    ).sample(fraction=1.0, shuffle=True, seed=2)
    one, other = (fit_bradley_terry(rows).differences for rows in (table, turned))
    columns = ["difference", "low", "high", "p", "degrees"]
    assert one.select(columns).row(0) == pytest.approx(other.select(columns).row(0), rel=1e-9)


def test_groups_that_were_never_compared_are_named() -> None:
    table = pl.DataFrame({"first": ["a", "c"], "second": ["b", "d"], "outcome": [1.0, 0.0]})
    with pytest.raises(DialensError, match=r"2 groups .* a and b; c and d"):
        fit_bradley_terry(table)
    assert groups_of(long([[("a", 1), ("b", 2)], [("b", 1), ("c", 2)]])) == [["a", "b", "c"]]


def test_maximum_likelihood_refuses_who_won_everything() -> None:
    table = pl.DataFrame(
        {"first": ["a", "a", "b", "c"], "second": ["b", "c", "c", "b"], "outcome": [1.0] * 4}
    )
    with pytest.raises(DialensError, match="a won or lost every choice"):
        fit_bradley_terry(table, bias_reduced=False)
    assert fit_bradley_terry(table).abilities["candidate"][0] == "a"


def test_a_place_that_is_always_the_same_agents_is_no_position_effect() -> None:
    table = crossed(5, 5, seed=0).with_columns(shown_first=pl.lit(value=True))
    with pytest.raises(DialensError, match="position"):
        fit_bradley_terry(table, position=True)


def test_two_raters_carry_no_test() -> None:
    found = fit_bradley_terry(crossed(2, 20, seed=4)).difference("a", "b")
    assert found.value is not None
    assert found.p is None
    assert found.low is None
    assert found.reason == "fewer than three raters"


def test_one_rater_speaks_for_nobody_else() -> None:
    fit = fit_bradley_terry(crossed(1, 30, seed=4))
    assert fit.difference("a", "b").p is not None
    assert fit.method.endswith("only 1 rater")
    assert fit.notes == ("All choices belong to one rater: nothing is known about others.",)


def test_a_single_choice_has_an_estimate_and_no_interval() -> None:
    fit = fit_bradley_terry(crossed(1, 1, seed=0))
    found = fit.difference("a", "b")
    assert abs(found.value or 0) == pytest.approx(np.log(1.5 / 0.5))
    assert found.reason == "rests on one choice alone"
    assert fit.abilities["rank_high"].to_list() == [2, 2]


def test_a_candidate_cannot_meet_itself_or_nobody() -> None:
    table = pl.DataFrame({"first": ["a", "a"], "second": ["b", "a"], "outcome": [1.0, 0.0]})
    with pytest.raises(DialensError, match="'a' is compared with itself in 1 of 2"):
        fit_bradley_terry(table)
    nobody = table.with_columns(second=pl.Series(["b", None]))
    with pytest.raises(DialensError, match="who the candidates are"):
        fit_bradley_terry(nobody)


def test_an_agent_whom_two_of_many_raters_saw_is_not_tested() -> None:
    table = crossed(30, 12, seed=2)
    rare = table.filter(pl.col("rater").is_in(["0", "1"])).with_columns(second=pl.lit("c"))
    differences = fit_bradley_terry(pl.concat([table, rare])).differences
    reasons = dict(differences.filter(pl.col("first") == "a").select("second", "reason").rows())
    assert reasons["b"] is None
    assert reasons["c"] == "fewer than three raters"


def test_an_outcome_that_is_none_is_named() -> None:
    table = pl.DataFrame({"first": ["a"], "second": ["b"], "outcome": [0.7]})
    with pytest.raises(DialensError, match=r"0\.7"):
        fit_bradley_terry(table)


def test_raters_with_opposite_tastes_differ_and_equal_ones_do_not() -> None:
    rater, item = np.indices((10, 12)).reshape(2, -1)
    base = {"first": "a", "second": "b", "rater": rater.astype(str), "item": item.astype(str)}
    opposite = pl.DataFrame(base | {"outcome": (rater % 2).astype(float)})
    found = fit_bradley_terry(opposite).rater_spread()
    assert found.value is not None
    assert found.value > 1
    assert found.p == pytest.approx(0.001)
    equal = pl.DataFrame(base | {"outcome": ((item + rater) % 2).astype(float)})
    same = fit_bradley_terry(equal).rater_spread()
    assert same.value == 0
    assert same.p is not None
    assert same.p > 0.5


def test_holm_equals_statsmodels() -> None:
    p = [0.001, 0.04, 0.03, 0.2, 0.011]
    expected = multipletests(p, method="holm")[1]
    assert holm(pl.Series(p)).to_list() == pytest.approx(expected.tolist())


def test_ranks_widen_where_nothing_is_clear() -> None:
    table = pl.DataFrame({"first": ["a"], "second": ["b"], "difference": [0.2], "p_holm": [0.4]})
    assert rank_intervals(["a", "b"], table).rows() == [("a", 1, 2), ("b", 1, 2)]


def test_shares_scores_and_matrix_by_hand() -> None:
    choices = long(
        [
            [("a", 1), ("b", 2), ("c", 3)],
            [("b", 1), ("a", 2), ("c", 3)],
            [("a", 1), ("c", 1)],
        ]
    ).with_columns(rater=pl.lit(None, pl.String), item=pl.lit(None, pl.String))
    shares = dict(win_shares(choices).select("candidate", "value").rows())
    assert shares == pytest.approx({"a": (1 + 0.5 + 0.5) / 3, "b": (0.5 + 1) / 2, "c": 0.5 / 3})
    scores = dict(best_worst_scores(choices.head(6)).select("candidate", "value").rows())
    assert scores == pytest.approx({"a": 0.5, "b": 0.5, "c": -1.0})
    assert win_matrix(choices).rows() == [
        ("a", "b", 2, 1, 0, 1),
        ("a", "c", 3, 2, 1, 0),
        ("b", "c", 2, 2, 0, 0),
    ]


def test_a_share_of_one_has_an_interval_that_ends_with_it() -> None:
    table = crossed(6, 6, seed=0, gap=50.0)
    shown = long([[("a", 1), ("b", 2)]] * 36).with_columns(
        rater=table["rater"].gather(np.repeat(np.arange(36), 2)),
        item=table["item"].gather(np.repeat(np.arange(36), 2)),
    )
    best = win_shares(shown).row(0, named=True)
    assert best["value"] == 1
    assert 0.5 < best["low"] < best["high"] == 1
    worst = win_shares(shown).row(-1, named=True)
    assert worst["value"] == worst["low"] == 0 < worst["high"] < 0.5
