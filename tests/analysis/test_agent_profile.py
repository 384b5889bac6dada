"""Drift of traits, movement of states, and matching against other people's partners."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dialens import Corpus, Resources, Scores, score
from dialens.analysis.profiles import (
    ALIKE,
    ALL_EMOTIONS,
    NO_TURN,
    ONE_DIALOG,
    ONE_TURN,
    agent_profile,
)
from dialens.analysis.profiles._agents import sd_of_agents
from dialens.analysis.profiles._layers import Components, TurnLayers, resampled_layers
from dialens.analysis.profiles._matching import partner_match
from dialens.corpus import Dialogue, Turn
from dialens.metrics import Definition, MetricCard, TurnBatch, make_plan, turn_mean
from dialens.metrics._state import Floats


def said(_: Resources) -> Definition:
    """A trait that reads its value from the text."""

    def value(batch: TurnBatch) -> Floats:
        numbers = batch.turns["text"].cast(pl.Float64, strict=False)
        return numbers.fill_null(float("nan")).to_numpy()

    return turn_mean("warmth", value, missing="no number was said")


WARMTH = MetricCard("warmth", "A number", "personality", said, describes="trait")


def saying(agents: dict[str, list[list[float]]]) -> Scores:
    """Scores of agents whose dialogues are lists of numbers."""
    talks = [
        Dialogue("s", agent, f"{agent}-{n}", [Turn("B", "agent", str(x)) for x in turns])
        for agent, dialogues in agents.items()
        for n, turns in enumerate(dialogues)
    ]
    return score(Corpus.of(talks), metrics=[WARMTH])


def drift(agents: dict[str, list[list[float]]]) -> dict[str | None, dict[str, Any]]:
    table = agent_profile(saying(agents)).drift
    return {row["agent"]: row for row in table.iter_rows(named=True)}


def test_drift_by_hand_and_against_scipy() -> None:
    """Turns 1, 3 and 7, 9: MSW = 2, MSB = 36, n0 = 2, so drift² = (36 − 2) / 2 = 17.

    F and p are those of scipy's analysis of variance; the ends of the interval are those of an
    exact F interval for balanced tables (Searle, Casella & McCulloch 1992, Table 3.3).
    """
    found = drift({"a": [[1, 3], [7, 9]]})["a"]
    assert found["drift"] == pytest.approx(np.sqrt(17))
    assert found["expected"] == pytest.approx(1.0)
    assert found["share"] == pytest.approx(17 / 19)
    oracle = stats.f_oneway([1, 3], [7, 9])
    assert (found["f"], found["p"]) == pytest.approx((oracle.statistic, oracle.pvalue))
    high = (18 / stats.f.ppf(0.025, 1, 2) - 1) / 2 * 2
    assert found["low"] == 0.0
    assert found["high"] == pytest.approx(np.sqrt(high))


def test_drift_of_uneven_dialogues_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    talks = [rng.normal(rng.normal(), 1, size).tolist() for size in (2, 5, 3, 8, 1)]
    found = drift({"a": talks})["a"]
    oracle = stats.f_oneway(*talks)
    assert (found["f"], found["p"]) == pytest.approx((oracle.statistic, oracle.pvalue))
    assert (found["n_dialogs"], found["n_turns"]) == (5, 19)


def test_all_agents_together_stand_each_around_its_own_mean() -> None:
    """Moving one agent as a whole changes nothing but how far the agents differ."""
    a, b = [[1.0, 3.0], [7.0, 9.0]], [[2.0, 4.0], [2.0, 6.0]]
    near = drift({"a": a, "b": b})[None]
    far = drift({"a": a, "b": [[x + 100 for x in turns] for turns in b]})[None]
    assert far["drift"] == pytest.approx(near["drift"])
    # MSB = (36 + 1) / 2, MSW = (2 + 2 + 2 + 8) / 4, n0 = 2
    assert near["drift"] == pytest.approx(np.sqrt((18.5 - 3.5) / 2))
    assert far["sd_agents"] > near["sd_agents"]


def test_why_there_is_no_drift() -> None:
    assert drift({"a": [[1, 2]]})["a"]["reason"] == ONE_DIALOG
    assert drift({"a": [[1], [2]]})["a"]["reason"] == ONE_TURN
    assert (
        drift({"a": [[2, 2], [2, 2]]})["a"] | {"reason": ALIKE, "drift": 0.0}
        == drift({"a": [[2, 2], [2, 2]]})["a"]
    )
    moved = drift({"a": [[1, 1], [3, 3]]})["a"]
    assert (moved["drift"], moved["p"]) == (pytest.approx(np.sqrt(2)), 0.0)
    wordless = score(
        Corpus.of([Dialogue("s", "a", "d", [Turn("B", "agent", "hm")])]), metrics=[WARMTH]
    )
    assert agent_profile(wordless).drift["reason"].to_list() == [NO_TURN, NO_TURN]


def test_without_turns_there_is_nothing_to_tell_drift_from() -> None:
    talks = [Dialogue("s", "a", f"d{n}", [Turn("B", "agent", "1")] * 2) for n in range(3)]
    scores = score(Corpus.of(talks), metrics=[WARMTH, "emotion"], levels=["dialog", "agent"])
    found = agent_profile(scores)
    assert set(found.drift["reason"]) == {NO_TURN}
    assert set(found.states["reason"]) == {NO_TURN}


def test_no_more_drift_is_found_by_chance_than_there_should_be() -> None:
    """An agent that never changes drifts at p < .05 in about one corpus of twenty."""
    rng = np.random.default_rng(0)
    agents = {f"a{n}": rng.normal(0, 1, (6, 4)).tolist() for n in range(300)}
    table = agent_profile(saying(agents)).drift.filter(pl.col("agent").is_not_null())
    assert 0.02 < (table["p"] < 0.05).mean() < 0.09
    assert (table["p_adjusted"] < 0.05).sum() <= 1
    covered = (table["low"] == 0).mean()
    assert covered is not None
    assert covered > 0.95


def test_drift_and_agents_that_were_put_in_come_out() -> None:
    rng = np.random.default_rng(1)
    agents = {
        f"a{n}": (mean + rng.normal(0, 0.5, (40, 1)) + rng.normal(0, 1, (40, 8))).tolist()
        for n, mean in enumerate(np.linspace(-3, 3, 12))
    }
    found = drift(agents)[None]
    assert found["drift"] == pytest.approx(0.5, abs=0.06)
    assert found["low"] < 0.5 < found["high"]
    assert found["sd_agents"] == pytest.approx(np.linspace(-3, 3, 12).std(ddof=1), rel=0.1)


def test_agents_that_differ_by_noise_alone_do_not_differ() -> None:
    rng = np.random.default_rng(2)
    column = rng.normal(0, 1, (400, 1))
    noisy = [
        TurnLayers.of(np.full(4, 5.0), part, np.full((4, 1), 4.0))
        for part in column.reshape(100, 4, 1)
    ]
    assert (sd_of_agents(noisy) or 0.0) < 0.2
    assert column.reshape(100, 4).mean(axis=1).std() > 0.4


sizes = st.lists(st.integers(1, 6), min_size=2, max_size=6).filter(lambda s: sum(s) > len(s))


@settings(max_examples=60, deadline=None)
@given(sizes, st.integers(0, 2**31), st.floats(0.1, 50))
def test_order_and_scale(sizes: list[int], seed: int, scale: float) -> None:
    """The order of dialogues is irrelevant; a scale stretches both components alike."""
    rng = np.random.default_rng(seed)
    talks = [rng.normal(rng.normal(), 1, (size, 3)) for size in sizes]

    def parts(some: list[Floats]) -> Floats:
        means = np.array([one.mean(axis=0) for one in some])
        squares = np.array([((one - one.mean(axis=0)) ** 2).sum(axis=0) for one in some])
        return TurnLayers.of(np.array([float(len(one)) for one in some]), means, squares).parts(
            [0, 1, 2]
        )

    here = Components.of(parts(talks))
    assert Components.of(parts(talks[::-1])).within == pytest.approx(here.within)
    stretched = Components.of(parts([one * scale for one in talks]))
    assert stretched.within == pytest.approx(here.within * scale**2)
    assert stretched.share_within == pytest.approx(here.share_within)
    assert 0 <= here.share_within[0] <= 1


def test_variances_of_several_measures_add_up() -> None:
    """Three measures together are one table whose squares are the sums of theirs."""
    rng = np.random.default_rng(5)
    turns = rng.normal(0, 1, (6, 4, 3)) + rng.normal(0, 2, (6, 1, 3))
    table = TurnLayers.of(
        np.full(6, 4.0),
        turns.mean(axis=1),
        ((turns - turns.mean(axis=1, keepdims=True)) ** 2).sum(1),
    )
    together = Components.of(table.parts([0, 1, 2]))
    alone = [Components.of(table.parts([k])) for k in range(3)]
    assert together.within[0] == pytest.approx(sum(float(one.within[0]) for one in alone))
    assert together.between[0] == pytest.approx(sum(float(one.between[0]) for one in alone))
    msw = turns[:, :, 0].var(axis=1, ddof=1).mean()
    assert alone[0].within[0] == pytest.approx(msw)
    msb = 4 * turns[:, :, 0].mean(axis=1).var(ddof=1)
    assert alone[0].between[0] == pytest.approx((msb - msw) / 4)


def test_the_interval_of_the_share_holds_what_was_put_in() -> None:
    """Turns with variance 3 within dialogues and 1 between: three quarters, 60 corpora."""
    rng, held = np.random.default_rng(8), 0
    for _ in range(60):
        turns = rng.normal(0, np.sqrt(3), (40, 5)) + rng.normal(0, 1, (40, 1))
        means = turns.mean(axis=1, keepdims=True)
        squares = ((turns - means) ** 2).sum(axis=1, keepdims=True)
        table = TurnLayers.of(np.full(40, 5.0), means, squares)
        ((spread, share),) = resampled_layers([table], [[0]], 400, rng)
        low, high = share.interval(0.95)
        held += low <= 0.75 <= high
        assert spread.interval(0.95)[0] < np.sqrt(3) * 1.25
    assert held >= 52


GLAD, AFRAID = "happy joy delighted smile", "afraid terrified scared fear"


def feeling(talks: list[list[str]]) -> pl.DataFrame:
    scores = score(
        Corpus.of(
            [
                Dialogue("s", "a", f"d{n}", [Turn("B", "agent", text) for text in turns])
                for n, turns in enumerate(talks)
            ]
        ),
        metrics=["emotion"],
    )
    return agent_profile(scores).states.filter(pl.col("state") == ALL_EMOTIONS)


def test_states_by_construction() -> None:
    """Joy and fear within every dialogue: all within. A mood a dialogue: all between."""
    moving = feeling([[GLAD, AFRAID], [AFRAID, GLAD], [GLAD, AFRAID, GLAD, AFRAID]])
    assert moving["share"].to_list() == [1.0, 1.0]
    moods = feeling([[GLAD, GLAD], [AFRAID, AFRAID], [GLAD, GLAD], [AFRAID, AFRAID]])
    assert moods["share"].to_list() == pytest.approx([0.0, 0.0])
    same = feeling([[GLAD, GLAD], [GLAD, GLAD]])
    assert set(same["reason"]) == {ALIKE}
    assert same["sd_within"].to_list() == pytest.approx([0.0, 0.0])
    one = feeling([[GLAD, AFRAID]])
    assert set(one["reason"]) == {ONE_DIALOG}
    assert one["sd_between"].null_count() == 2
    assert set(feeling([[GLAD], [AFRAID]])["reason"]) == {ONE_TURN}
    assert set(feeling([["zzz"], ["qqq"]])["reason"]) == {NO_TURN}


LINES = (
    ("I was not at the house of my friend", "we and they are always here"),
    ("the cat is on a mat and it sleeps", "you never have all of them"),
    ("some of us do not like this", "a bird in the tree and a fish"),
    ("he really went to the town for her", "no one was there but me"),
)


def test_matching_against_all_pairs_scored_one_by_one() -> None:
    """Every false pair is made into a dialogue and scored by the engine; the rest is arithmetic."""
    metric = "language_style_matching"

    def scored(pairs: list[tuple[int, int]]) -> Scores:
        talks = [
            Dialogue(
                "s",
                "a",
                f"{own:02}-{partner:02}",
                [Turn("A", "partner", LINES[partner][1]), Turn("B", "agent", LINES[own][0])],
            )
            for own, partner in pairs
        ]
        return score(Corpus.of(talks), metrics=[metric])

    count = len(LINES)
    crossed = scored([(i, j) for i in range(count) for j in range(count)])
    matrix = crossed.wide("dialog")[metric].to_numpy().reshape(count, count)
    true, false = np.diag(matrix), np.where(np.eye(count), 0, matrix)
    rows, columns = false.sum(axis=1) / (count - 1), false.sum(axis=0) / (count - 1)
    excess = true - rows - columns + rows.mean()
    found = agent_profile(scored([(i, i) for i in range(count)])).matching.row(0, named=True)
    assert found["match"] == pytest.approx(true.mean())
    assert found["others"] == pytest.approx(rows.mean())
    assert found["excess"] == pytest.approx(excess.mean())
    oracle = stats.ttest_1samp(excess, 0)
    ends = oracle.confidence_interval(0.95)
    assert (found["low"], found["high"]) == pytest.approx((ends.low, ends.high))
    assert found["p"] == pytest.approx(oracle.pvalue)
    assert found["n_dialogs"] == count


def columns_of(own: Floats, other: Floats) -> dict[str, Floats]:
    """Columns of states as a run writes them, from counts of the nine categories and all tokens."""
    made = {"other_turns": np.ones(len(own))}
    for side, counts in (("own", own), ("other", other)):
        hits = np.column_stack([counts, counts.sum(axis=1), np.full(len(counts), 100.0)])
        made |= {f"{side}|style|{k}": hits[:, k] for k in range(hits.shape[1])}
    return made


def test_strangers_are_not_matched_and_friends_are() -> None:
    """Partners without any tie: p < .05 about once in twenty. With one: nearly always."""
    (metric,) = make_plan(["language_style_matching"], Resources()).metrics
    rng = np.random.default_rng(4)
    chance = np.empty(300)
    for n in range(300):
        own, other = rng.poisson(5, (2, 12, 9)).astype(np.float64)
        # Agents and partners of their own kind each, which must not look like matching.
        own[:, 0] *= rng.integers(1, 4, 12)
        other[:, 1] *= rng.integers(1, 4, 12)
        found = partner_match(metric, columns_of(own, other), np.arange(12), rng=rng)
        chance[n] = found.p
    assert 0.02 < (chance < 0.05).mean() < 0.09
    own = rng.poisson(6, (60, 9)).astype(np.float64)
    tied = partner_match(
        metric, columns_of(own, rng.poisson(own).astype(np.float64)), np.arange(60), rng=rng
    )
    assert tied.p is not None
    assert tied.p < 0.001
    assert tied.low is not None
    assert tied.low > 0
    again = partner_match(metric, columns_of(own, own), np.arange(60), rng=rng)
    assert again.match == pytest.approx(1.0)


def test_matching_says_why_not() -> None:
    partner = [Turn("A", "partner", "I am so happy"), Turn("B", "agent", "I am glad for you")]
    alone = [Turn("B", "agent", "I am glad for you")]

    def why(talks: list[list[Turn]]) -> list[str | None]:
        corpus = Corpus.of([Dialogue("s", "a", f"d{n}", turns) for n, turns in enumerate(talks)])
        return agent_profile(score(corpus, metrics=["style"])).matching["reason"].to_list()

    assert why([alone, alone]) == ["nothing to answer"]
    assert why([partner]) == ["there is no other dialogue to compare with"]
    assert why([partner, partner, partner]) == ["all its partners count alike here"]
    assert agent_profile(saying({"a": [[1]]})).matching.height == 0


def test_of_many_dialogues_a_sample_is_looked_at() -> None:
    scores = saying({"a": [[1, 2]] * 30, "b": [[3, 4]] * 8})
    found = agent_profile(scores, most_dialogs=20)
    assert found.sampled == 18
    assert found.drift.filter(pl.col("agent").is_not_null())["n_dialogs"].to_list() == [10, 8]
    assert found.drift.equals(agent_profile(scores, most_dialogs=20).drift)
