"""What every metric must keep, ours and anyone's."""

import math
from functools import cache

import polars as pl
import pytest

from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import MetricCard, Resources, ScorerSet, make_plan, metrics, score, select
from dialens.testing import check_metric
from tests.metrics.tiny_models import tiny_scorers


@cache
def models_without_cache() -> ScorerSet:
    """Loaded once; keeps nothing, so that every batch goes through the models."""
    return tiny_scorers(cache_size=0)


def by_scorer() -> dict[str, list[MetricCard]]:
    """Metrics that are computed together."""
    together: dict[str, list[MetricCard]] = {}
    for card in metrics().values():
        together.setdefault(card.scored_by.name if card.scored_by else card.family, []).append(card)
    return {**together, "all by default": select()}


@pytest.mark.parametrize("cards", by_scorer().values(), ids=by_scorer())
def test_every_metric_keeps_its_promises(cards: list[MetricCard]) -> None:
    check_metric(*cards, resources=Resources(scorers=models_without_cache()))


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
