"""A reply that says nothing where a reference does is worth 0, not left out of the mean."""

import polars as pl
import pytest
from nltk.translate.meteor_score import meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import Resources, ScorerSet, score
from tests.metrics.automatic.tiny_weights import tiny_context

REFERENCE = "the cat sat on the mat"
ZERO = [
    *(f"bleu_{order}" for order in (1, 2, 3, 4)),
    *("chrf", "chrf_plus", "rouge_1", "rouge_2", "rouge_l", "meteor"),
    *("embedding_average", "embedding_extrema", "embedding_greedy"),
    *("bert_score_precision", "bert_score_recall", "bert_score_f1"),
]
MISSING = ["length", "bleurt", "prism_ref", "bart_score_f", "perplexity"]
CALLED: dict[str, object] = {"tool_calls": [{"name": "weather", "arguments": {}}]}


def test_the_packages_give_nothing_for_nothing() -> None:
    assert BLEU(effective_order=True).sentence_score("", [REFERENCE]).score == 0
    assert CHRF(word_order=2).sentence_score("", [REFERENCE]).score == 0
    assert RougeScorer(["rouge1", "rougeL"]).score(REFERENCE, "")["rougeL"].fmeasure == 0
    assert meteor_score([REFERENCE.split()], []) == 0


@pytest.fixture(scope="module")
def turns() -> pl.DataFrame:
    """Said, silent, a call of a tool without a word, a picture, silent without a reference."""
    said: list[tuple[str, dict[str, object] | None]] = [
        (REFERENCE, None),
        (" ", None),
        ("", CALLED),
        ("", {"content": [{"type": "image_url"}]}),
        ("", None),
    ]
    replies = [Turn("B", "agent", text, meta=meta) for text, meta in said]
    references = [Reference(place, REFERENCE) for place in range(4)]
    corpus = Corpus.of([Dialogue("s", "a", "d", replies, references=references)])
    resources = Resources(scorers=ScorerSet(tiny_context()))
    return score(corpus, metrics=[*ZERO, *MISSING], resources=resources).table.collect()


@pytest.mark.parametrize("metric", ZERO)
def test_silence_is_worth_nothing(turns: pl.DataFrame, metric: str) -> None:
    of_turns = turns.filter(pl.col("metric") == metric, pl.col("level") == "turn").sort("turn")
    first, *rest = of_turns["value"].to_list()
    assert rest == [0.0, None, None, None]
    assert of_turns["reason"].to_list()[2:] == ["nothing said"] * 3
    (agent,) = turns.filter(pl.col("metric") == metric, pl.col("level") == "agent").rows(named=True)
    assert agent["value"] == pytest.approx(first / 2)
    assert (agent["n"], agent["n_missing"]) == (2, 3)


@pytest.mark.parametrize("metric", MISSING)
def test_elsewhere_a_turn_without_words_is_missing(turns: pl.DataFrame, metric: str) -> None:
    of_turns = turns.filter(pl.col("metric") == metric, pl.col("level") == "turn").sort("turn")
    assert of_turns["value"].is_null().to_list() == [False, True, True, True, True]
