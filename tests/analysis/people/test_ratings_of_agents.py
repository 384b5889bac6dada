"""Differences between agents against tests that can be done by hand, or that scipy knows."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.analysis.people import AGENT_DIFFERENCES, AGENTS, People, what_people_said
from dialens.base import DialensError


def ratings(values: np.ndarray, *, quality: str = "tone", scale: str | None = None) -> pl.DataFrame:
    """A table from raters × items × agents; what is NaN was not rated."""
    r, d, a = np.indices(values.shape).reshape(3, -1)
    table = pl.DataFrame(
        {
            "rater": [f"r{x}" for x in r],
            "dialog": [f"d{x}" for x in d],
            "agent": [f"bot{x}" for x in a],
            "quality": [quality] * len(r),
            "scale": pl.Series([scale] * len(r), dtype=pl.String),
            "value": values.reshape(-1),
        }
    )
    return table.filter(pl.col("value").is_not_nan())


def crossed(seed: int, raters: int = 8, items: int = 7, agents: int = 2) -> np.ndarray:
    """Raters and items that like agents differently, on a slider."""
    rng = np.random.default_rng(seed)
    return np.asarray(
        50
        + rng.normal(0, 16, (raters, 1, 1))
        + rng.normal(0, 14, (1, items, 1))
        + rng.normal(0, 8, (raters, 1, agents))
        + rng.normal(0, 8, (1, items, agents))
        + rng.normal(0, 5, (raters, items, agents))
    )


def difference(people: People) -> dict[str, Any]:
    return people.agent_differences.row(0, named=True)


def test_crossed_raters_and_items_are_clarks_quasi_f() -> None:
    # Clark (1973): with raters and items both random, F' = (MS_agent + MS_residual) over
    # (MS_rater:agent + MS_item:agent); the contrast's variance is 2 (MS_ra + MS_ia − MS_e) / (R I).
    y = crossed(5)
    raters, items, _ = y.shape
    gaps = y[:, :, 0] - y[:, :, 1]
    by_rater, by_item, mean = gaps.mean(1), gaps.mean(0), gaps.mean()
    ms_ra = items * ((by_rater - mean) ** 2).sum() / (raters - 1) / 2
    ms_ia = raters * ((by_item - mean) ** 2).sum() / (items - 1) / 2
    rest = gaps - by_rater[:, None] - by_item + mean
    ms_e = (rest**2).sum() / ((raters - 1) * (items - 1)) / 2
    error = math.sqrt(2 * (ms_ra + ms_ia - ms_e) / (raters * items))
    assert ms_ra > ms_e < ms_ia  # no term at zero, where REML is no longer ANOVA
    row = difference(what_people_said(ratings(y)))
    assert row["difference"] == pytest.approx(mean)
    degrees = (ms_ra + ms_ia - ms_e) ** 2 / (
        ms_ra**2 / (raters - 1) + ms_ia**2 / (items - 1) + ms_e**2 / ((raters - 1) * (items - 1))
    )
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(mean) / error, degrees), rel=1e-2)


def test_one_rating_of_each_agent_by_each_rater_is_a_paired_t_test() -> None:
    rng = np.random.default_rng(2)
    y = 50 + rng.normal(0, 9, (12, 1)) + rng.normal(0, 5, (12, 2))
    values = np.full((12, 12, 2), np.nan)
    values[np.arange(12), np.arange(12)] = y  # every rater has an item of their own
    row = difference(what_people_said(ratings(values)))
    known = stats.ttest_rel(y[:, 0], y[:, 1])
    assert row["p"] == pytest.approx(float(known.pvalue), rel=1e-4)
    ends = known.confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-4)


def test_a_conversation_each_is_an_unpaired_t_test() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(50, 10, 24)
    values = np.full((24, 24, 2), np.nan)
    values[np.arange(24), np.arange(24), np.arange(24) % 2] = y
    row = difference(what_people_said(ratings(values)))
    known = stats.ttest_ind(y[::2], y[1::2])
    assert row["p"] == pytest.approx(float(known.pvalue), rel=0.02)
    assert row["difference"] == pytest.approx(y[::2].mean() - y[1::2].mean())


def test_equivalence_is_two_one_sided_tests() -> None:
    rng = np.random.default_rng(4)
    y = 50 + rng.normal(0, 9, (14, 1)) + rng.normal(0, 3, (14, 2))
    values = np.full((14, 14, 2), np.nan)
    values[np.arange(14), np.arange(14)] = y
    row = difference(what_people_said(ratings(values), smallest=5.0))
    below = stats.ttest_1samp(y[:, 0] - y[:, 1], 5.0, alternative="less").pvalue
    above = stats.ttest_1samp(y[:, 0] - y[:, 1], -5.0, alternative="greater").pvalue
    assert row["p_equivalence"] == pytest.approx(max(below, above), rel=1e-3)
    with pytest.raises(DialensError, match="no rating has that quality"):
        what_people_said(ratings(values), smallest={"style": 1.0})
    with pytest.raises(DialensError, match="above 0"):
        what_people_said(ratings(values), smallest=0.0)


def test_magnitudes_are_ratios_and_zeros_are_counted() -> None:
    y = np.exp(crossed(6) / 25)
    table = ratings(y, scale='{"kind": "magnitude", "modulus": 100}')
    table = pl.concat([table, table.head(2).with_columns(value=pl.lit(0.0))])
    people = what_people_said(table)
    logs = np.log(y)
    row = difference(people)
    expected = math.exp((logs[:, :, 0] - logs[:, :, 1]).mean())
    assert row["difference"] == pytest.approx(expected)
    assert row["unit"] == "ratio"
    assert row["low"] < row["difference"] < row["high"]
    means = people.agents.sort("agent")["mean"].to_list()
    assert means == pytest.approx([math.exp(logs[:, :, at].mean()) for at in (0, 1)])
    lost, warning = people.notes
    assert lost == ("tone", "2 ratings of 0 or less have no logarithm and are left out")
    assert warning[1].startswith("with 7 items of an agent, up to 8 of 100 tests")


def test_an_unlabelled_table_is_never_logged() -> None:
    y = crossed(7) + 30  # smallest above 0, largest above 20
    people = what_people_said(ratings(y))
    assert people.agents["scale"].unique().to_list() == ["slider"]
    assert people.agents["mean"].to_list() == pytest.approx([y[:, :, at].mean() for at in (0, 1)])
    assert "as they are" in people.agents["method"][0]
    asked = what_people_said(ratings(y), scales={"tone": "magnitude"})
    assert asked.agents["unit"].unique().to_list() == ["magnitude"]
    with pytest.raises(DialensError, match="--scale takes"):
        what_people_said(ratings(y), scales={"tone": "stars"})


def test_two_scales_of_a_quality_are_two_qualities() -> None:
    y = crossed(8)
    points = np.clip(np.round((y - 20) / 15), 1, 5)
    both = pl.concat([ratings(points, scale="[1,5]"), ratings(y, scale='{"kind": "slider"}')])
    people = what_people_said(both)
    names = people.agents["quality"].unique(maintain_order=True).to_list()
    assert names == ["tone (likert 1 to 5)", "tone (slider)"]
    assert people.agent_differences["family"].to_list() == [2, 2]


def test_likert_answers_have_points_and_log_odds() -> None:
    y = crossed(9, raters=10, items=8)
    y[:, :, 0] += 15
    people = what_people_said(ratings(np.clip(np.round((y - 20) / 15), 1, 5), scale="[1,5]"))
    row = difference(people)
    assert row["unit"] == "points"
    assert row["effect"] == "log odds"
    assert row["effect_low"] < row["effect_size"] < row["effect_high"]
    assert "cumulative-link" in str(row["method"])
    shares = people.distributions.group_by("agent").agg(pl.col("share").sum(), pl.len())
    assert shares["share"].to_list() == pytest.approx([1.0, 1.0])
    assert shares["len"].to_list() == [5, 5]


def test_yes_and_no_are_shares_between_0_and_1() -> None:
    y = (crossed(10, raters=10, items=8) > 45).astype(float)
    people = what_people_said(ratings(y))
    assert people.agents["unit"].unique().to_list() == ["share"]
    assert people.agents["mean"].to_list() == pytest.approx([y[:, :, a].mean() for a in (0, 1)])
    ends = pl.concat([people.agents["low"], people.agents["high"]])
    assert ends.is_between(0, 1, closed="none").all()
    assert difference(people)["effect"] == "log odds"


def test_ranks_follow_the_comparisons() -> None:
    y = crossed(11, agents=3)
    y[:, :, 2] += 60
    people = what_people_said(ratings(y))
    ranks = {row["agent"]: row for row in people.agents.iter_rows(named=True)}
    assert (ranks["bot2"]["rank"], ranks["bot2"]["rank_low"], ranks["bot2"]["rank_high"]) == (
        1,
        1,
        1,
    )
    assert [ranks[name]["rank_high"] for name in ("bot0", "bot1")] == [3, 3]
    assert people.agents.schema == AGENTS
    assert people.agent_differences.schema == AGENT_DIFFERENCES


@pytest.mark.parametrize(
    ("shape", "reason"),
    [((2, 8, 2), "2 raters"), ((8, 2, 2), "2 items"), ((8, 8, 1), None)],
)
def test_too_little_is_not_tested(shape: tuple[int, int, int], reason: str | None) -> None:
    people = what_people_said(ratings(crossed(12, *shape)))
    if reason is None:
        assert people.agent_differences.height == 0
        assert people.agents["low"][0] is not None  # one agent: a mean with its interval
        return
    row = difference(people)
    assert (row["p"], row["low"]) == (None, None)
    assert reason in str(row["reason"])
    assert row["difference"] is not None


def test_what_cannot_vary_has_a_reason() -> None:
    people = what_people_said(ratings(np.full((6, 6, 2), 3.0)))
    row = difference(people)
    assert row["difference"] == 0
    assert "there is no variance" in str(row["reason"])


def test_agents_of_one_name_in_two_systems_are_two_agents() -> None:
    table = ratings(crossed(13)).with_columns(system=pl.col("agent"), agent=pl.lit("bot"))
    assert what_people_said(table).agents["agent"].to_list() == ["bot0 / bot", "bot1 / bot"]


def test_an_agent_that_hardly_anybody_judged_takes_no_test_from_the_others() -> None:
    table = ratings(crossed(5, agents=3))
    stray = table.head(1).with_columns(agent=pl.lit("stray"), value=pl.lit(99.0))
    with_it, without = what_people_said(pl.concat([table, stray])), what_people_said(table)
    kept = pl.col("first").str.starts_with("bot") & pl.col("second").str.starts_with("bot")
    columns = ["first", "second", "difference", "low", "high", "p"]
    both = [people.agent_differences.filter(kept).select(columns) for people in (with_it, without)]
    assert both[0].equals(both[1])
    alone = with_it.agents.filter(agent="stray").row(0, named=True)
    assert (alone["mean"], alone["low"], alone["rank"]) == (99.0, None, None)
    assert alone["reason"] == "an agent with 1 rater: at least 3 are needed"
