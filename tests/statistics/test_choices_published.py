"""Models of choices against the documented output of R's BradleyTerry2 and PlackettLuce."""

from collections.abc import Iterable

import polars as pl
import pytest

from dialens.statistics.choices import ChoiceFit, fit_bradley_terry, fit_plackett_luce

# Citations between four journals (Stigler 1994), winner, loser, count: the data set `citations` of
# BradleyTerry2; output: tests/BTabilities.Rout.save of the package (version 1.1-2).
CITATIONS = (
    ("Comm Statist", "Biometrika", 33),
    ("JASA", "Biometrika", 320),
    ("JRSS-B", "Biometrika", 284),
    ("Biometrika", "Comm Statist", 730),
    ("JASA", "Comm Statist", 813),
    ("JRSS-B", "Comm Statist", 276),
    ("Biometrika", "JASA", 498),
    ("Comm Statist", "JASA", 68),
    ("JRSS-B", "JASA", 325),
    ("Biometrika", "JRSS-B", 221),
    ("Comm Statist", "JRSS-B", 17),
    ("JASA", "JRSS-B", 142),
)

# Home and away wins in the American League 1987 (Agresti 2002, p. 438): the data set `baseball` of
# BradleyTerry2; output: tests/baseball.Rout.save of the package.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
HOME_AWAY = (
    ((4, 3), (4, 2), (4, 3), (6, 1), (4, 2), (6, 0)),
    ((3, 3), (4, 2), (4, 3), (6, 0), (6, 1), (4, 3)),
    ((2, 5), (4, 3), (2, 4), (4, 3), (4, 2), (6, 0)),
    ((3, 3), (5, 1), (2, 5), (4, 3), (4, 2), (6, 1)),
    ((5, 1), (2, 5), (3, 3), (4, 2), (5, 2), (6, 0)),
    ((2, 5), (3, 3), (3, 4), (4, 3), (4, 2), (2, 4)),
    ((2, 5), (1, 5), (1, 6), (2, 4), (1, 6), (3, 4)),
)

# Brands i and j of pudding, preferences for i, for j, and ties (Davidson 1970, example 2): the data
# set `pudding` of PlackettLuce; output: its vignette «Introduction to PlackettLuce», section 2.2.
PUDDING = (
    (1, 2, 19, 22, 16),
    (1, 3, 16, 19, 12),
    (2, 3, 19, 19, 10),
    (1, 4, 18, 23, 13),
    (2, 4, 23, 19, 9),
    (3, 4, 19, 20, 15),
    (1, 5, 13, 19, 18),
    (2, 5, 16, 20, 12),
    (3, 5, 16, 15, 17),
    (4, 5, 17, 14, 16),
    (1, 6, 18, 21, 12),
    (2, 6, 22, 20, 12),
    (3, 6, 13, 18, 10),
    (4, 6, 14, 19, 18),
    (5, 6, 11, 21, 12),
)

# Ranks of four salad dressings by tartness, with how often each occurs (Critchlow & Fligner 1991):
# the data set `salad` of PlackettLuce; output: its vignette «Plackett-Luce Models with Item
# Covariates», section 3.1.
SALAD = (
    ((1, 2, 3, 4), 2),
    ((2, 1, 3, 4), 1),
    ((2, 1, 4, 3), 2),
    ((2, 3, 1, 4), 1),
    ((3, 1, 2, 4), 2),
    ((3, 1, 4, 2), 1),
    ((3, 4, 2, 1), 1),
    ((4, 1, 2, 3), 11),
    ((4, 1, 3, 2), 6),
    ((4, 2, 1, 3), 3),
    ((4, 3, 1, 2), 1),
    ((4, 3, 2, 1), 1),
)


def comparisons(rows: Iterable[tuple[str, str, float, int]]) -> pl.DataFrame:
    """One row a comparison from counts of outcomes."""
    table = pl.DataFrame(list(rows), schema=["first", "second", "outcome", "count"], orient="row")
    repeated = table.select(pl.all().exclude("count").repeat_by("count"))
    return repeated.explode(repeated.columns).with_columns(shown_first=pl.lit(value=True))


def with_errors(fit: ChoiceFit) -> dict[str, tuple[float, float]]:
    rows = fit.abilities.select("candidate", "ability", "error").iter_rows()
    return {name: (ability, error) for name, ability, error in rows}


def test_citations_between_journals() -> None:
    table = comparisons((winner, loser, 1.0, count) for winner, loser, count in CITATIONS)
    fit = fit_bradley_terry(table, bias_reduced=False)
    found = with_errors(fit)
    published = {
        "Biometrika": (0.7899221, 0.04333047),
        "Comm Statist": (-2.1591504, 0.07257974),
        "JASA": (0.3103523, 0.04164102),
        "JRSS-B": (1.0588761, 0.05304699),
    }
    for name, (ability, error) in published.items():
        assert found[name] == pytest.approx((ability, error), abs=1e-6)
    against = fit.differences.filter(
        pl.col("first") == "Biometrika", pl.col("second") == "Comm Statist"
    ).row(0, named=True)
    assert (against["difference"], against["error"]) == pytest.approx((2.9490725, 0.10254534), 1e-6)


def baseball() -> pl.DataFrame:
    games = []
    for home, results in zip(TEAMS, HOME_AWAY, strict=True):
        for away, (won, lost) in zip([t for t in TEAMS if t != home], results, strict=True):
            games += [(home, away, 1.0, won), (home, away, 0.0, lost)]
    return comparisons(games)


def against_baltimore(position: bool) -> dict[str, float]:
    fit = fit_bradley_terry(baseball(), position=position, bias_reduced=False)
    found = {team: fit.difference(team, "Baltimore").value for team in TEAMS[:-1]}
    return {team: value for team, value in found.items() if value is not None}


def test_baseball_without_home_advantage() -> None:
    found = against_baltimore(position=False)
    assert found["Boston"] == pytest.approx(1.1077, abs=5e-5)
    assert found["Cleveland"] == pytest.approx(0.6839, abs=5e-5)
    assert found["Milwaukee"] == pytest.approx(1.5814, abs=5e-5)


def test_baseball_with_home_advantage() -> None:
    found = against_baltimore(position=True)
    assert found["Boston"] == pytest.approx(1.1438, abs=5e-5)
    assert found["New York"] == pytest.approx(1.2813, abs=5e-5)
    fit = fit_bradley_terry(baseball(), position=True, bias_reduced=False)
    home = fit.position
    assert home is not None
    assert home.value is not None
    assert home.p is not None
    assert home.value == pytest.approx(0.3023, abs=5e-5)
    assert home.p == pytest.approx(0.020981, abs=2e-4)
    without = fit_bradley_terry(baseball(), bias_reduced=False)
    assert 2 * (fit.loglik - without.loglik) == pytest.approx(5.4106, abs=1e-4)


def test_pudding_with_ties() -> None:
    rows: list[tuple[str, str, float, int]] = []
    for i, j, won, lost, tied in PUDDING:
        outcomes = ((1.0, won), (0.0, lost), (0.5, tied))
        rows += [(str(i), str(j), outcome, count) for outcome, count in outcomes]
    fit = fit_bradley_terry(comparisons(rows), bias_reduced=False)
    found = with_errors(fit)
    # The vignette stops after seven iterations, so its estimates hold to about 1e-4.
    assert found["1"] == pytest.approx((-0.176581, 0.121949), abs=2e-4)
    assert found["2"] == pytest.approx((0.043664, 0.121818), abs=2e-4)
    assert found["6"] == pytest.approx((0.200555, 0.126594), abs=2e-4)
    tie = fit.ties[2]
    assert tie.value == pytest.approx(-0.291938, abs=2e-4)
    assert tie.p == pytest.approx(0.000402, abs=1e-5)
    assert -2 * fit.loglik == pytest.approx(1619.4, abs=0.05)
    assert fit.model == "Bradley–Terry with ties (Davidson)"


def test_rankings_of_salad_dressings() -> None:
    rows = []
    choice = 0
    for ranks, count in SALAD:
        for _ in range(count):
            rows += [(choice, name, rank) for name, rank in zip("ABCD", ranks, strict=True)]
            choice += 1
    table = pl.DataFrame(rows, schema=["choice", "candidate", "rank"], orient="row")
    fit = fit_plackett_luce(table, bias_reduced=False)
    published = {"B": (2.7299, 0.4481), "C": (1.5615, 0.3965), "D": (1.0268, 0.3771)}
    for name, (ability, error) in published.items():
        row = fit.differences.filter(pl.col("first") == "A", pl.col("second") == name)
        assert -row["difference"][0] == pytest.approx(ability, abs=1e-4)
        assert row["error"][0] == pytest.approx(error, abs=1e-4)
    assert -2 * fit.loglik == pytest.approx(152.83, abs=0.005)


def test_the_small_network_of_the_vignette() -> None:
    # PlackettLuce's vignette, section 2.3, after item D (which only lost) was left out.
    rows = [("A", "B", 1.0, 1), ("C", "A", 1.0, 1), ("B", "A", 1.0, 1), ("B", "C", 1.0, 1)]
    fit = fit_bradley_terry(comparisons(rows), bias_reduced=False)
    assert fit.difference("B", "A").value == pytest.approx(0.8392, abs=1e-4)
    assert fit.difference("C", "A").value == pytest.approx(0.4196, abs=1e-4)
    errors = fit.differences.filter(pl.col("first") == "A")["error"].to_list()
    assert errors == pytest.approx([1.3596, 1.5973], abs=1e-4)
    assert -2 * fit.loglik == pytest.approx(5.1356, abs=1e-4)
