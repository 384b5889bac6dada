"""What every metric must keep, ours and anyone's."""

import math
import string
from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dialens.corpus import LEVELS, Corpus, Dialogue, Turn
from dialens.metrics import MetricCard, Resources, ScorerSet, make_plan, metrics, score
from dialens.metrics._scores import long
from dialens.metrics._scoring import score_parts
from tests.metrics.strategies import corpora
from tests.metrics.tiny_models import tiny_scorers

CARDS = list(metrics().values())
NAMES = [card.name for card in CARDS]
ENCODED = ("engagement", "emotion_classifier", "toxicity")


@cache
def models_without_cache() -> ScorerSet:
    """Loaded once; keeps nothing, so that every batch goes through the models."""
    return tiny_scorers(cache_size=0)


def table(talks: list[Dialogue], *, batch: int = 1000, threads: int = 1) -> pl.DataFrame:
    plan = make_plan(None, Resources(scorers=models_without_cache()))
    plan.open()
    signatures = {metric.name: metric.signature for metric in plan.metrics}
    batches = Corpus.of(talks).batches(turns=batch)
    parts = score_parts(batches, plan, threads=threads)
    rows = pl.concat([long(part, signatures) for part in parts])
    return rows.sort("metric", "level", "system", "agent", "dialog", "turn")


def assert_same(one: pl.DataFrame, two: pl.DataFrame) -> None:
    """Equal to the last digit, and within what int8 may differ by where an encoder was asked."""
    encoded = [card.name for card in CARDS if card.family in ENCODED]
    for chosen, tolerance in (
        (pl.col("metric").is_in(encoded), 1e-3),
        (~pl.col("metric").is_in(encoded), 1e-12),
    ):
        assert_frame_equal(one.filter(chosen), two.filter(chosen), abs_tol=tolerance)


@settings(max_examples=15, deadline=None)
@given(corpora(), st.integers(1, 4))
def test_batches_and_threads_do_not_matter(talks: list[Dialogue], batch: int) -> None:
    assert_same(table(talks), table(talks, batch=batch, threads=2))


@settings(max_examples=15, deadline=None)
@given(corpora(), st.randoms(use_true_random=False))
def test_the_order_of_dialogues_does_not_matter(talks, random) -> None:
    shuffled = random.sample(talks, len(talks))
    assert_same(table(talks), table(shuffled))


@settings(max_examples=15, deadline=None)
@given(corpora())
def test_rows_are_complete_and_account_for_every_turn(talks: list[Dialogue]) -> None:
    rows = table(talks).filter(pl.col("level") != "position")
    agent_turns = sum(turn.role == "agent" for talk in talks for turn in talk.turns)
    systems = rows.filter(pl.col("level") == "system")
    counted = systems.group_by("metric").agg((pl.col("n") + pl.col("n_missing")).sum())
    assert counted["n"].unique().to_list() == [agent_turns]
    assert rows.filter(pl.col("value").is_null() & pl.col("reason").is_null()).height == 0
    assert rows.filter(pl.col("value").is_nan()).height == 0
    turns = rows.filter(pl.col("level") == "turn")
    assert turns.group_by("metric").len()["len"].unique().to_list() in ([agent_turns], [])


@settings(max_examples=15, deadline=None)
@given(corpora())
def test_values_lie_in_the_declared_range(talks: list[Dialogue]) -> None:
    rows = table(talks)
    for card in CARDS:
        low, high = card.range
        got = rows.filter(pl.col("metric") == card.name)["value"].drop_nulls()
        assert all((low is None or v >= low - 1e-9) for v in got), card.name
        assert all((high is None or v <= high + 1e-9) for v in got), card.name


@pytest.mark.parametrize("card", CARDS, ids=NAMES)
def test_cards_are_filled_in(card: MetricCard) -> None:
    assert set(card.name) <= set(string.ascii_lowercase + string.digits + "_")
    assert card.meaning
    assert card.meaning[0].isupper()
    assert set(card.levels) <= set(LEVELS)
    signature = card.bind(Resources()).signature
    assert signature.startswith(f"{card.name}|v{card.version}")


def test_a_signature_changes_with_what_the_numbers_depend_on() -> None:
    (context,) = make_plan(["emotion_matching"], Resources()).metrics
    (last,) = make_plan(["emotion_matching"], Resources(prompt="last")).metrics
    (seeded,) = make_plan(["random"], Resources(seed=7)).metrics
    (plain,) = make_plan(["random"], Resources()).metrics
    assert context.signature != last.signature
    assert seeded.signature != plain.signature


def test_prompt_last_looks_at_the_preceding_turn_only() -> None:
    talk = Dialogue(
        "s",
        "b",
        "d",
        [
            Turn("U", "partner", "i hate this"),
            Turn("U", "partner", "the cat"),
            Turn("B", "agent", "the dog"),
        ],
    )
    corpus = Corpus.of([talk])
    last = score(corpus, metrics=["style_matching_articles"], resources=Resources(prompt="last"))
    whole = score(corpus, metrics=["style_matching_articles"])
    assert last.wide("turn")["style_matching_articles"].to_list() == [pytest.approx(1.0)]
    a, b = 1 / 2, 1 / 5  # one article in two tokens, one in five
    wanted = 1 - (a - b) / (a + b + 0.0001)
    assert whole.wide("turn")["style_matching_articles"].to_list() == [pytest.approx(wanted)]


def test_spread_within_dialogues_is_pooled() -> None:
    """Two dialogues, arithmetic by hand: squares about each dialogue's own mean."""
    from dialens.text import Lexicon

    eight = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust")
    entries = [(f"w{i}", name, 1.0) for i, name in enumerate(eight)]
    lexicon = Lexicon.from_entries("eight", entries).select(eight)
    says = lambda *texts: [Turn("B", "agent", text) for text in texts]  # noqa: E731
    corpus = Corpus.of(
        [
            Dialogue("s", "b", "d1", says("w4", "w0", "w4 w0 w0 w0")),  # joy 1, 0, .25
            Dialogue("s", "b", "d2", says("w4", "w4 w0", "nothing")),  # joy 1, .5, missing
        ]
    )
    scores = score(corpus, metrics=["joy_share_variation"], resources=Resources(emotion=lexicon))
    mean = 1.25 / 3
    first = (1 - mean) ** 2 + mean**2 + (0.25 - mean) ** 2
    second = 2 * 0.25**2
    dialogs = scores.wide("dialog")["joy_share_variation"].to_list()
    assert dialogs == [pytest.approx(math.sqrt(first / 2)), pytest.approx(math.sqrt(second))]
    agent = scores.wide("agent")["joy_share_variation"].to_list()
    assert agent == [pytest.approx(math.sqrt((first + second) / 3))]
    (row,) = scores.table.filter(pl.col("level") == "agent").collect().iter_rows(named=True)
    assert (row["n"], row["n_missing"]) == (5, 1)


def test_random_is_uniform_and_fixed_by_the_seed() -> None:
    from scipy import stats

    talks = [Dialogue("s", "b", f"d{i}", [Turn("B", "agent", "x")] * 20) for i in range(100)]
    draw = lambda seed: score(  # noqa: E731
        Corpus.of(talks), metrics=["random"], resources=Resources(seed=seed)
    ).wide("turn")["random"]
    assert draw(1).equals(draw(1))
    assert not draw(1).equals(draw(2))
    assert stats.kstest(draw(1).to_numpy(), "uniform").pvalue > 0.001


def test_reasons_are_counted_at_larger_levels() -> None:
    talk = [Turn("B", "agent", "zebra"), Turn("U", "partner", "hm"), Turn("B", "agent", "love")]
    scores = score(Corpus.of([Dialogue("s", "b", "d", talk)]), metrics=["emotional_entropy"])
    rows = scores.table.filter(pl.col("level") == "dialog").collect().row(0, named=True)
    assert (rows["n"], rows["n_missing"]) == (1, 1)
    assert rows["reason"] == "no emotion word ×1"
    turns = scores.table.filter(pl.col("level") == "turn").collect()
    assert turns["reason"].to_list() == ["no emotion word", None]


def test_the_plan_extracts_a_shared_feature_once() -> None:
    plan = make_plan(["emotion"], Resources())
    assert list(plan.features) == ["emotion"]
