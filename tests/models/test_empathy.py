"""Empathy: replies are ordered as a reader would, and a score depends on its own texts alone."""

import json
from pathlib import Path

import numpy as np
import pytest

from dialens import DialensError
from dialens.models import EmpathyScorer, load, shipped_folder, verify
from dialens.models._empathy import EMPATHY_FORMULA, ngrams, sentences
from dialens.models._phrases import Phrases

SIZES = ["small", "base"]
DOCS = (Path(__file__).parents[2] / "docs/models.md").read_text("utf-8").splitlines()
# What somebody said; a warm answer; advice alone; a cold answer. None of it was learned from.
ANSWERS = [
    (
        "My sister was in a car crash and she is still unconscious.",
        "That is terrible, I am so sorry. I really hope she wakes up soon.",
        "Ask for the ward's number and write down the doctors' names.",
        "She should have driven more carefully.",
    ),
    (
        "I didn't get into medical school, it was all I ever wanted.",
        "Oh no, I'm sorry, I know how much this meant to you. I'm thinking of you.",
        "Apply again in autumn, and take a course in statistics until then.",
        "Well, you were never that smart.",
    ),
    (
        "I feel so alone since I moved to this city.",
        "I'm sorry you feel so lonely. Please know that I care, and I hope it gets easier.",
        "There is a chess club at the library on Tuesdays.",
        "Then move back and stop moaning.",
    ),
    (
        "We are having twins!",
        "Congratulations, how wonderful! I'm so happy for you both.",
        "Order the double pram early, delivery takes three months.",
        "The planet is full enough as it is.",
    ),
]


@pytest.mark.parametrize("size", SIZES)
def test_a_warm_answer_has_more_than_advice_and_than_a_cold_one(size: str) -> None:
    scorer = EmpathyScorer.load(f"empathy-{size}")
    pairs = [(said, reply) for said, *replies in ANSWERS for reply in replies]
    warm, advice, cold = scorer.score(pairs).reshape(-1, 3).T
    assert (warm > 0.5).all()
    assert (advice < 0.3).all()
    assert (cold < 0.3).all()


@pytest.mark.parametrize("size", SIZES)
def test_what_fits_bad_news_does_not_fit_good_news(size: str) -> None:
    scorer = EmpathyScorer.load(f"empathy-{size}")
    sorry, glad = "I'm so sorry, that is awful.", "Congratulations, I'm so happy for you!"
    bad, good = "My father died on Friday.", "I won the first prize!"
    values = scorer.score([(bad, sorry), (bad, glad), (good, glad), (good, sorry)])
    assert values[0] > values[1]
    assert values[2] > values[3]


@pytest.mark.parametrize("size", SIZES)
def test_a_warm_sentence_is_found_among_advice(size: str) -> None:
    scorer = EmpathyScorer.load(f"empathy-{size}")
    said = "I was robbed on the train."
    advice = "Block your cards. Report it to the police. Ask for the footage."
    values = scorer.score([(said, advice), (said, f"{advice} I'm so sorry this happened to you.")])
    assert values[1] > values[0] + 0.3


def test_neighbours_and_order_change_nothing() -> None:
    scorer = EmpathyScorer.load("empathy-small")
    pairs = [(said, reply) for said, *replies in ANSWERS for reply in replies]
    together = scorer.score(pairs)
    alone = np.concatenate([scorer.score([pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(scorer.score(pairs[::-1])[::-1], together, atol=1e-5)


def test_turns_before_may_be_given_one_by_one() -> None:
    scorer = EmpathyScorer.load("empathy-small")
    one, two = scorer.score([("It died.", "I'm so sorry."), (["It died."], "I'm so sorry.")])
    assert one == pytest.approx(two)


def test_phrases_are_tf_idf_of_unit_length() -> None:
    phrases = Phrases({"i": (1.0, -1.0), "am": (1.0, 0.0), "i am": (2.0, 4.0)}, bias=0.5)
    # By hand: (1·−1 + 1·0 + 2·4) / √(1 + 1 + 4) + 0.5.
    assert phrases.logits(["I am, I am."])[0] == pytest.approx(7 / 6**0.5 + 0.5)
    assert ngrams([""]) == [[]]
    # No pair across texts, and none of an unknown word: (1·−1) / 1, then nothing, then (1·0) / 1.
    assert phrases.logits(["I", "you, not us", "am"]).tolist() == [-0.5, 0.5, 0.5]
    assert phrases.logits([]).tolist() == []


def test_sentences_of_a_long_text_are_limited_and_none_is_blank() -> None:
    assert sentences("No.\n\nYes!  ") == ["No.", "Yes!"]
    assert len(sentences("Go. " * 500)) == 40
    assert sentences("...") == ["..."]


def test_the_card_says_what_it_was_measured_on() -> None:
    for size in ("small", "base"):
        card = json.loads((shipped_folder(size) / "card.json").read_text("utf-8"))
        task = card["tasks"]["empathy"]
        assert task["research_grade"] is True
        assert "Research-grade" in task["limits"]
        figures = task["metrics"]["EPITOME, held-out half"]["emotional reactions"]
        assert figures["low"] < figures["value"] < figures["high"]
        told = [f"{figures[name]:.2f}".removeprefix("0") for name in ("value", "low", "high")]
        row = next(line for line in DOCS if line.startswith(f"| `empathy`, {size} |"))
        assert "{} [{}, {}]".format(*told) in row
        assert any(one["use"] == "empathy" for one in card["data"])
        assert "EPITOME" not in json.dumps(card["data"])
    assert {check.problem for check in verify()} == {None}


def test_a_formula_that_lacks_something_is_refused(tmp_path: Path) -> None:
    model = load("empathy-small")
    facts = dict(model.card.facts) | {EMPATHY_FORMULA: {"warm": 1.0}}
    object.__setattr__(model.card, "facts", facts)
    with pytest.raises(DialensError, match=r"empathy_formula cannot be read .*phrases"):
        EmpathyScorer(model)


def test_the_formula_does_not_depend_on_the_arithmetic() -> None:
    """Scores of a graphics card are those in floats, and are compared by their signatures."""
    models = [
        load("empathy"),
        load("empathy", precision="fp32"),
        load("empathy", device="cuda"),
    ]
    assert len({EmpathyScorer(model).signature for model in models}) == 1
