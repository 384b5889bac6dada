"""Agents side by side: what is paired, what is tested, what is said when it cannot be."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.analysis.comparison import ALIKE, by_size, compare, intervals, note_on_tests
from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import Scores, metric, score, turn_mean


@metric("number", meaning="The number said", family="test")
def number(resources):
    return turn_mean("number", lambda batch: batch.turns["text"].cast(float).to_numpy())


def scored(answers: dict[str, list[float]], *, contexts: bool = True, by=number) -> Scores:
    """Agents that answer numbered contexts (or all "0") with numbers."""
    talks = [
        Dialogue(
            "s",
            agent,
            f"{agent}-{i}",
            [Turn("U", "partner", str(i) if contexts else "0"), Turn("B", "agent", str(value))],
        )
        for agent, values in answers.items()
        for i, value in enumerate(values)
    ]
    return score(Corpus.of(talks), metrics=[by])


def test_pairing_removes_what_contexts_share() -> None:
    """Contexts differ a lot, the two answers to one only by 1 ± .1: pairs see it, heaps do not."""
    rng = np.random.default_rng(1)
    difficulty = rng.normal(0, 10, 40)
    answers = {
        "a": (difficulty + 1 + rng.normal(0, 0.1, 40)).round(6).tolist(),
        "b": difficulty.round(6).tolist(),
    }
    paired = compare(scored(answers)).row(0, named=True)
    heaps = compare(scored(answers, contexts=False)).row(0, named=True)
    assert (paired["paired"], paired["n_shared"]) == (True, 40)
    assert (heaps["paired"], heaps["n_shared"]) == (False, 0)
    wanted = np.mean(answers["a"]) - np.mean(answers["b"])
    assert paired["difference"] == pytest.approx(wanted)
    half = 1.96 * np.std(np.subtract(answers["a"], answers["b"]), ddof=1) / np.sqrt(40)
    assert paired["low"] == pytest.approx(wanted - half, abs=0.01)
    assert paired["high"] == pytest.approx(wanted + half, abs=0.01)
    assert paired["p"] < 0.01
    assert heaps["low"] < 0 < heaps["high"]


def test_the_family_is_corrected_by_hand() -> None:
    """Benjamini & Hochberg: sorted p times m over rank, made monotone from the top."""
    rng = np.random.default_rng(2)
    table = compare(
        scored({name: rng.normal(i / 3, 1, 30).tolist() for i, name in enumerate("abc")})
    )
    p = np.sort(table["p"].to_numpy())
    stepped = np.minimum.accumulate((p * 3 / np.array([1, 2, 3]))[::-1])[::-1].clip(max=1)
    assert np.sort(table["p_adjusted"].to_numpy()) == pytest.approx(stepped)
    assert table["family"].to_list() == [3, 3, 3]


def test_the_same_command_gives_the_same_numbers() -> None:
    rng = np.random.default_rng(4)
    scores = scored({name: rng.normal(0, 1, 25).tolist() for name in "ab"})
    assert compare(scores, seed=3).equals(compare(scores, seed=3))


def test_few_dialogues_have_no_interval_but_a_reason() -> None:
    scores = scored({"a": [1.0, 2, 3, 4, 5], "b": [2.0, 3, 1, 9, 7]})
    row = compare(scores).row(0, named=True)
    assert row["difference"] == pytest.approx(-1.4)
    assert (row["p"], row["p_adjusted"], row["low"], row["test"]) == (None, None, None, None)
    assert row["reason"] == "fewer than 6 dialogs or contexts"
    assert intervals(scores)["reason"].to_list() == [row["reason"]] * 2


def test_without_skewness_it_is_the_t_test_of_the_textbooks() -> None:
    """Symmetric values: Welch's for dialogues of each, the paired one for shared contexts."""
    a, b = [1.0, 2, 3, 4, 5, 6, 7], [-9.0, -5, -1, 0, 1, 5, 9]
    welch = compare(scored({"a": a, "b": b}, contexts=False)).row(0, named=True)
    wanted = stats.ttest_ind(a, b, equal_var=False)
    assert welch["p"] == pytest.approx(wanted.pvalue)
    assert (welch["low"], welch["high"]) == pytest.approx(tuple(wanted.confidence_interval()))
    assert welch["test"] == "t"
    differences = np.array([-3.0, -2, -1, 0, 1, 2, 3]) + 2
    paired = compare(scored({"a": (np.array(b) + differences).tolist(), "b": b})).row(0, named=True)
    assert paired["p"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert paired["standard_error"] == pytest.approx(stats.sem(differences))


def test_no_floor_hides_a_large_difference() -> None:
    rng = np.random.default_rng(5)
    answers = {"a": rng.normal(0, 1, 200).tolist(), "b": rng.normal(1, 1, 200).tolist()}
    row = compare(scored(answers, contexts=False)).row(0, named=True)
    assert abs(row["difference"] / row["standard_error"]) > 9
    assert row["p"] < 1e-15
    assert row["effect_size"] == pytest.approx(-1, abs=0.2)


def test_dialogues_that_all_say_the_same() -> None:
    """Of the 924 ways to deal twelve dialogues to two agents two are as extreme."""
    scores = scored({"a": [1.0] * 6, "b": [0.0] * 6}, contexts=False)
    row = compare(scores).row(0, named=True)
    assert row["test"] == "exchange"
    assert row["p"] == pytest.approx(2 / 924)
    assert row["reason"] == "every dialog has the same value"
    same = compare(scored({"a": [1.0] * 6, "b": [1.0] * 6}, contexts=False)).row(0, named=True)
    assert (same["p"], same["difference"]) == (None, 0.0)
    assert same["reason"] == ALIKE


def test_pairs_that_nearly_all_differ_by_the_same_amount_are_tested_by_their_signs() -> None:
    """Of the 256 ways to sign eight differences, two are as extreme as all of one sign."""
    scores = scored({"a": [1.0] * 7 + [9.0], "b": [0.0] * 8})
    row = compare(scores).row(0, named=True)
    assert (row["test"], row["p"]) == ("signs", pytest.approx(2 / 256))
    assert row["reason"] == "nearly all pairs differ by the same amount"
    assert "1 row in which nearly all pairs differ" in note_on_tests(compare(scores))
    other = compare(scored({"a": [1.0] * 7 + [-1.0], "b": [0.0] * 8})).row(0, named=True)
    assert other["p"] == pytest.approx(2 * (1 + 8) / 256)
    rare = compare(scored({"a": [0.0] * 8 + [1.0] * 3, "b": [0.0] * 11})).row(0, named=True)
    assert (rare["p"], rare["reason"]) == (None, ALIKE)  # three signs could not show anything


def test_a_metric_that_is_zero_nearly_everywhere_is_not_tested() -> None:
    scores = scored({"a": [0.0] * 28 + [1, 2], "b": [0.0] * 27 + [1, 1, 2]}, contexts=False)
    row = compare(scores).row(0, named=True)
    assert (row["low"], row["p"]) == (None, None)
    assert row["reason"] == ALIKE


def test_ranks_take_their_error_from_the_bootstrap() -> None:
    """Leaving out one of many dialogues moves no rank; the difference is still not certain."""
    rng = np.random.default_rng(6)
    feelings = ["happy", "sad", "afraid", "angry", "trust", "surprise", "disgust", "hope"]
    talks = [
        Dialogue(
            "s",
            agent,
            f"{agent}{i}",
            [
                Turn("u", "partner", " ".join(rng.choice(feelings, 6))),
                Turn(agent, "agent", " ".join(rng.choice(feelings, 6))),
            ],
        )
        for agent in "ab"
        for i in range(60)
    ]
    row = compare(score(Corpus.of(talks), metrics=["emotion_matching"])).row(0, named=True)
    assert row["test"] == "t, bootstrap error"
    assert row["low"] < row["difference"] < row["high"]
    assert row["effect_size"] is None


def test_headline_metrics_are_a_family_of_their_own() -> None:
    rng = np.random.default_rng(7)
    talks = [
        Dialogue("s", agent, f"{agent}{i}", [Turn("B", "agent", "so it is " * rng.integers(1, 9))])
        for agent in "abc"
        for i in range(9)
    ]
    table = compare(score(Corpus.of(talks), metrics=["length", "distinct_1", "distinct_2"]))
    families = dict(table.group_by("headline").agg(pl.col("p").is_not_null().sum()).iter_rows())
    assert families == {True: 6, False: 3}
    assert dict(table.select("headline", "family").unique().iter_rows()) == families


def test_a_baseline_and_its_mistakes() -> None:
    scores = scored({"a": [1.0, 2], "b": [2.0, 3], "c": [4.0, 6]})
    assert compare(scores, baseline="b")["b"].to_list() == ["b", "b"]
    with pytest.raises(DialensError, match="must name one agent of: a, b, c"):
        compare(scores, baseline="d")
    with pytest.raises(DialensError, match="only one system"):
        compare(scores, level="system")


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    covered = []
    for trial in range(60):
        row = intervals(scored({"a": rng.normal(5, 2, 25).tolist()}), seed=trial, resamples=400)
        covered.append(row["low"].item() <= 5 <= row["high"].item())
    assert sum(covered) >= 53


def test_distinct_is_compared_as_a_mean_of_dialogues() -> None:
    says = {"a": ["x x", "y y"], "b": ["x y", "y z"]}
    talks = [
        Dialogue("s", agent, f"{agent}{i}", [Turn("B", "agent", text)])
        for agent, texts in says.items()
        for i, text in enumerate(texts)
    ]
    row = compare(score(Corpus.of(talks), metrics=["distinct_1"])).row(0, named=True)
    assert row["basis"] == "mean of dialogs"
    assert (row["value_a"], row["value_b"]) == (0.5, 1.0)


def test_sides_of_very_different_size_are_remarked_on() -> None:
    rows = {"test": ["t", "t"], "reason": [None, None], "n_a": [10, 30], "n_b": [40, 40]}
    table = pl.DataFrame(rows | {"paired": [False, False]})
    assert "1 row with a small side (below 20) and one 3 times as large" in note_on_tests(table)
    assert "small side" not in note_on_tests(table.with_columns(paired=pl.lit(True)))


def test_a_difference_beside_which_nothing_varies_has_no_size_and_comes_after() -> None:
    rng = np.random.default_rng(5)
    table = compare(
        scored(
            {
                "a": rng.normal(0, 1e-4, 12).round(9).tolist(),
                "b": rng.normal(1, 1e-4, 12).round(9).tolist(),
                "c": rng.normal(0.5, 1, 12).round(9).tolist(),
            },
            contexts=False,
        )
    )
    sizes = by_size(table)["effect_size"]
    assert table["effect_size"].null_count() == 1
    assert table.filter(a="a", b="b")["p"].item() < 0.001
    assert sizes[-1] is None


@metric("share", meaning="A share", family="test", range=(0, 1))
def share(resources):
    return turn_mean("share", lambda batch: batch.turns["text"].cast(float).to_numpy())


def test_intervals_stay_within_the_range_of_the_metric() -> None:
    rare = [0.0, 0.1, 0.2, 0.0, 0.1, 0.2, 0.9]
    often = [1 - value for value in rare]
    values = intervals(scored({"a": rare, "b": often}, contexts=False, by=share))
    assert values["low"].min() == 0
    assert values["high"].max() == 1
    far = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.3]
    table = compare(
        scored({"a": far, "b": [1 - value for value in far][::-1]}, contexts=False, by=share)
    )
    assert table["low"].item() >= -1
