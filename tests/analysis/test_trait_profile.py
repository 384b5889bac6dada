"""Stability of traits: published figures, other libraries, simulations with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens import Corpus, DialensError, Scores, score
from dialens.analysis.profiles import trait_profile, write_trait_profile
from dialens.analysis.profiles._variance import OneWay, f_test, resampled
from dialens.corpus import Dialogue, Turn
from dialens.metrics import Definition, MetricCard, Resources, TurnBatch, turn_mean
from dialens.statistics import Floats, Ints
from dialens.statistics.agreement import RatingMatrix, icc

SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]]
)


def flat(table: Floats) -> tuple[Floats, Ints]:
    return table.ravel(), np.repeat(np.arange(len(table)), table.shape[1])


def drawn(
    rng: np.random.Generator, sizes: list[int], between: float, within: float
) -> tuple[Floats, Ints]:
    """Agents and dialogues from normal distributions with these variances."""
    agents = np.repeat(np.arange(len(sizes)), sizes)
    level = rng.normal(0, np.sqrt(between), len(sizes))
    return level[agents] + rng.normal(0, np.sqrt(within), len(agents)), agents


def warmth(resources: Resources) -> Definition:
    def value(batch: TurnBatch) -> Floats:
        return batch.turns["text"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()

    return turn_mean("warmth", value, missing="no number was said")


WARMTH = MetricCard("warmth", "The number that was said", "personality", warmth, describes="trait")


def scored(said: dict[tuple[str, str], list[str]]) -> Scores:
    """An agent says numbers, one a dialogue; the metric `warmth` is the number."""
    return score(
        Corpus.of(
            [
                Dialogue(system, agent, f"{system}-{agent}-{n}", [Turn("B", "agent", text)])
                for (system, agent), texts in said.items()
                for n, text in enumerate(texts)
            ]
        ),
        metrics=[WARMTH, "length"],
    )


def test_shrout_and_fleiss() -> None:
    """Shrout & Fleiss 1979, Tables 3 (mean squares) and 4; the interval as R's psych::ICC."""
    table = OneWay.of(*flat(SHROUT_FLEISS))
    assert table.mean_square_between == pytest.approx(11.24, abs=0.005)
    assert table.within == pytest.approx(6.26, abs=0.005)
    assert table.icc == pytest.approx(0.17, abs=0.005)
    test = f_test(table)
    assert (test.low, test.high) == pytest.approx((-0.13, 0.72), abs=0.005)
    assert test.p == pytest.approx(0.16, abs=0.005)


def test_arithmetic_by_hand_with_unequal_sizes() -> None:
    """Agents (1, 3), (6, 8, 10), (5): N = 6, means 2, 8, 5, grand mean 5.5.

    SSW = 2 + 8 + 0 = 10 on 3 degrees, SSB = 2·12.25 + 3·6.25 + .25 = 43.5 on 2,
    n0 = (6 − 14/6) / 2 = 11/6; between = (21.75 − 10/3) · 6/11 = 221/22.
    """
    table = OneWay.of(np.array([1, 3, 6, 8, 10, 5.0]), np.array([0, 0, 1, 1, 1, 2]))
    assert table.within == pytest.approx(10 / 3)
    assert table.mean_square_between == pytest.approx(21.75)
    assert table.n0 == pytest.approx(11 / 6)
    assert table.between == pytest.approx(221 / 22)
    assert table.icc == pytest.approx((221 / 22) / (221 / 22 + 10 / 3))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pingouin's own use of pandas
def test_equal_sizes_agree_with_our_agreement_and_with_pingouin() -> None:
    values, agents = drawn(np.random.default_rng(4), [9] * 7, 1.0, 2.0)
    table, test = OneWay.of(values, agents), f_test(OneWay.of(values, agents))
    ours = icc(RatingMatrix.of_array(values.reshape(7, 9)))["ICC(1,1)"]
    assert table.icc == pytest.approx(ours.value)
    assert (test.f, test.p, test.low, test.high) == pytest.approx(
        (ours.f, ours.p, ours.low, ours.high)
    )
    pingouin = pytest.importorskip("pingouin")
    frame = pl.DataFrame({"v": values, "a": agents, "r": np.tile(np.arange(9), 7)}).to_pandas()
    theirs = pingouin.intraclass_corr(frame, targets="a", raters="r", ratings="v").iloc[0]
    assert table.icc == pytest.approx(theirs["ICC"])
    assert test.f == pytest.approx(theirs["F"])


def test_unequal_sizes_agree_with_statsmodels() -> None:
    """REML is another estimator: with many agents it comes to the same."""
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(7)
    values, agents = drawn(rng, rng.integers(3, 12, 150).tolist(), 1.0, 1.5)
    fitted = sm.MixedLM(values, np.ones_like(values), groups=agents).fit(reml=True)
    table = OneWay.of(values, agents)
    assert table.within == pytest.approx(fitted.scale, rel=0.02)
    assert table.between == pytest.approx(float(np.asarray(fitted.cov_re)[0, 0]), rel=0.05)


def test_f_interval_covers_with_unequal_sizes() -> None:
    rng = np.random.default_rng(1)
    sizes = [3, 5, 8, 12, 4, 9, 20, 6, 7, 10]
    truth, hits = 0.5, 0
    for _ in range(400):
        test = f_test(OneWay.of(*drawn(rng, sizes, 1.0, 1.0)))
        hits += test.low <= truth <= test.high
    assert 0.92 <= hits / 400 <= 0.98  # binomial: three standard errors are 3.3 points


def test_bootstrap_covers_the_icc_of_these_agents() -> None:
    """The levels of the agents stay; only dialogues are drawn anew, as the bootstrap does."""
    rng = np.random.default_rng(2)
    levels = np.array([0.0, 0.5, 1.0, 2.0])
    agents = np.repeat(np.arange(4), 30)
    # What the estimator estimates for fixed levels: their variance over the sum.
    truth = levels.var(ddof=1) / (levels.var(ddof=1) + 1)
    hits = 0
    for _ in range(200):
        values = levels[agents] + rng.normal(size=len(agents))
        low, high = resampled(values, agents, 400, rng).interval(0.95)
        hits += low <= truth <= high
    assert 0.90 <= hits / 200 <= 0.99


def test_bootstrap_is_not_pushed_upwards() -> None:
    rng = np.random.default_rng(3)
    values, agents = drawn(rng, [6, 6, 6, 9, 12], 0.0, 1.0)
    found = resampled(values, agents, 4000, rng)
    assert np.nanmean(found.replicates) == pytest.approx(found.estimate, abs=0.05)


def test_very_many_dialogues_are_drawn_in_blocks() -> None:
    rng = np.random.default_rng(5)
    values, agents = drawn(rng, [9_000] * 8, 1.0, 1.0)
    blocks = resampled(values, agents, 500, rng).replicates.std()
    # For a ratio of two large-sample variances the delta method gives it directly: agents stay.
    table = OneWay.of(values, agents)
    between, within, n = table.between, table.within, 9_000
    level = table.means - table.means.mean()
    spread_between = np.sqrt(4 * (level**2).sum() * within / n) / 7
    spread_within = within * np.sqrt(2 / (8 * n))
    total = (between + within) ** 2
    expected = np.hypot(within * spread_between, between * spread_within) / total
    assert blocks == pytest.approx(expected, rel=0.15)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 50), st.floats(-100, 100), st.floats(0, 4))
def test_shifting_and_stretching_changes_nothing(
    seed: int, factor: float, shift: float, between: float
) -> None:
    values, agents = drawn(np.random.default_rng(seed), [3, 4, 7], between, 1.0)
    one, other = OneWay.of(values, agents), OneWay.of(values * factor + shift, agents)
    assert other.icc == pytest.approx(one.icc, abs=1e-6)
    assert other.between == pytest.approx(one.between * factor**2, rel=1e-6, abs=1e-6)


def test_profile_by_hand() -> None:
    """The numbers of the hand-made table, as three agents of one system."""
    found = trait_profile(
        scored({("s", "a"): ["1", "3"], ("s", "b"): ["6", "8", "10"], ("s", "c"): ["5"]})
    )
    assert found.traits == ["warmth"]
    whole, a, b, c = found.table.iter_rows(named=True)
    between = 221 / 22
    assert whole["level"] == "system"
    assert whole["stability"] == pytest.approx(between / (between + 10 / 3))
    assert whole["sd_between"] == pytest.approx(between**0.5)
    assert whole["sd_within"] == pytest.approx((10 / 3) ** 0.5)
    assert whole["sd_of_means"] == pytest.approx(3.0)  # of 2, 8, 5
    assert whole["mean"] == pytest.approx(5.0)
    assert whole["stability_low"] <= whole["stability"] <= whole["stability_high"]
    assert (whole["n_agents"], whole["n_dialogs"], whole["n_missing"]) == (3, 6, 0)
    assert a["stability"] == pytest.approx(between / (between + 2))
    assert b["stability"] == pytest.approx(between / (between + 4))
    assert b["reliability"] == pytest.approx(between / (between + 4 / 3))
    half = 4.302653 * 2 / 3**0.5  # t for two degrees of freedom, Student's table
    assert (b["mean"], b["low"], b["high"]) == pytest.approx((8, 8 - half, 8 + half))
    assert (c["stability"], c["sd_within"], c["low"]) == (None, None, None)
    assert (c["mean"], c["reason"]) == (5.0, "one dialogue only")
    assert found.dialogs.collect()["words"].to_list() == [1.0] * 6


def test_a_single_agent_has_no_stability_and_says_why() -> None:
    scores = scored({("s", "a"): ["1", "3"], ("t", "b"): ["6", "8", "10"]})
    alone = trait_profile(scores, within="system").table
    assert alone["stability"].null_count() == alone.height
    assert set(alone["reason"]) == {"one agent only"}
    assert alone["sd_within"].to_list() == pytest.approx([2**0.5, 2**0.5, 2.0, 2.0])
    together = trait_profile(scores).table
    assert together.equals(trait_profile(scores, within="corpus").table)
    assert together["level"].to_list() == ["system", "agent", "agent"]
    assert together["system"].to_list() == [None, "s", "t"]
    assert together["stability"].null_count() == 0


def test_an_agent_alone_in_its_system_is_compared_with_those_of_others() -> None:
    pair = {("s", "a"): ["1", "3"], ("s", "b"): ["6", "8"]}
    found = trait_profile(scored(pair | {("t", "c"): ["2", "4"]}))
    assert found.within == "corpus"
    assert found.table.row(0, named=True)["n_agents"] == 3
    apart = trait_profile(scored(pair | {("t", "c"): ["2", "4"], ("t", "d"): ["9", "5"]}))
    assert apart.within == "system"
    assert apart.table.filter(pl.col("level") == "system")["n_agents"].to_list() == [2, 2]


def test_missing_values_are_counted_with_their_reason() -> None:
    said = {("s", "a"): ["1", "3", "well"], ("s", "b"): ["6", "8"], ("s", "mute"): ["hm", "no"]}
    whole, a, _, mute = trait_profile(scored(said)).table.iter_rows(named=True)
    assert (whole["n_agents"], whole["n_dialogs"], whole["n_missing"]) == (2, 4, 3)
    assert (a["n_dialogs"], a["n_missing"]) == (2, 1)
    assert a["reason"] == "1 without a value: no number was said"
    assert (mute["mean"], mute["reason"]) == (None, "no number was said")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({("s", "a"): ["2"], ("s", "b"): ["3"]}, "no agent has two dialogues with a value"),
        ({("s", "a"): ["2", "2"], ("s", "b"): ["2"]}, "all dialogues have the same value"),
        ({("s", "a"): ["x", "x"], ("s", "b"): ["x"]}, "no dialogue has a value"),
    ],
)
def test_what_cannot_be_told_is_missing(said: dict[tuple[str, str], list[str]], why: str) -> None:
    whole = trait_profile(scored(said)).table.row(0, named=True)
    assert (whole["stability"], whole["sd_between"], whole["reason"]) == (None, None, why)


def test_agents_that_never_vary_are_wholly_stable() -> None:
    whole, a, _ = trait_profile(
        scored({("s", "a"): ["1", "1", "1"], ("s", "b"): ["4", "4"]})
    ).table.iter_rows(named=True)
    assert whole["stability"] == a["stability"] == a["reliability"] == 1.0
    assert (whole["stability_low"], whole["f"], whole["p"]) == (1.0, None, 0.0)


def test_closer_than_chance_is_negative_and_no_spread() -> None:
    said = {("s", "a"): ["1", "9"], ("s", "b"): ["2", "8"], ("s", "c"): ["0", "10"]}
    whole, a, *_ = trait_profile(scored(said)).table.iter_rows(named=True)
    assert whole["stability"] < 0
    assert whole["between_variance"] < 0
    assert whole["sd_between"] == 0.0
    assert a["stability"] == 0.0


def test_the_order_of_dialogues_and_repetition_do_not_matter() -> None:
    scores = scored({("s", "a"): ["1", "3", "4"], ("s", "b"): ["6", "8", "5"]})
    first, again = trait_profile(scores), trait_profile(scores)
    assert first.table.equals(again.table)
    turned = scored({("s", "a"): ["4", "1", "3"], ("s", "b"): ["8", "5", "6"]})
    columns = ["mean", "sd_within", "stability", "reliability"]
    for one, other in zip(
        first.table.select(columns).rows(),
        trait_profile(turned).table.select(columns).rows(),
        strict=True,
    ):
        assert one == pytest.approx(other)


def test_what_is_not_there_is_refused() -> None:
    scores = score(
        Corpus.of([Dialogue("s", "a", "d", [Turn("B", "agent", "x")])]), metrics=["length"]
    )
    with pytest.raises(DialensError, match="do not hold the trait 'warmth'"):
        trait_profile(scores, traits=["warmth"])
    with pytest.raises(DialensError, match="not 'agent'"):
        trait_profile(scores, within="agent")
    assert trait_profile(scores).table.height == 0


def test_it_is_written_where_there_are_traits(tmp_path: Path) -> None:
    profile = write_trait_profile(scored({("s", "a"): ["1", "3"], ("s", "b"): ["4"]}), tmp_path)
    assert pl.read_parquet(tmp_path / "trait_profile.parquet").equals(profile.table)
    (tmp_path / "none").mkdir()
    plain = score(
        Corpus.of([Dialogue("s", "a", "d", [Turn("B", "agent", "x")])]), metrics=["length"]
    )
    write_trait_profile(plain, tmp_path / "none")
    assert list((tmp_path / "none").iterdir()) == []
