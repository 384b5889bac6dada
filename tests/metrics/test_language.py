"""Metrics that only know English are left out where an agent speaks another language."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from dialens import DialensError
from dialens.base import DialensWarning
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import (
    ModelChoice,
    Resources,
    ScorerContext,
    ScorerSet,
    english_only,
    fit_to_language,
    make_plan,
    metrics,
    score,
)
from dialens.text import PLUTCHIK, read_emotion_lexicon
from tests.text.other_languages import LANGUAGES

PLAIN = Resources(scorers=ScorerSet(ScorerContext(models=ModelChoice("none"))))
FREE = {"length", "question", "distinct_1", "distinct_2", "random"}


def talks(texts: list[str]) -> Corpus:
    return Corpus.of(
        Dialogue("s", "bot", f"d{n}", [Turn("U", "partner", "?"), Turn("B", "agent", text)])
        for n, text in enumerate(texts)
    )


def test_every_card_says_what_it_knows() -> None:
    cards = metrics().values()
    assert {card.language for card in cards} == {"en", ""}
    shipped = [card for card in cards if "model" in card.needs or card.lens in ("emotion", "style")]
    assert {card.language for card in shipped} == {"en"}
    default = [card for card in cards if "automatic" not in card.groups]
    assert {card.name for card in default if not card.language} == FREE


def test_another_language_leaves_english_out() -> None:
    plan = make_plan(None, PLAIN)
    kept, noticed = fit_to_language(plan, talks(LANGUAGES["French"]), PLAIN)
    assert {metric.name for metric in kept.metrics} == FREE
    assert noticed is not None
    assert noticed.agents == ("bot",)
    assert "bot does not seem to speak English. 30 metrics that only know" in noticed.text
    same, told = fit_to_language(plan, talks(LANGUAGES["French"]), PLAIN, any_language=True)
    assert same is plan
    assert told is not None
    assert "say nothing" in told.text


def test_english_leaves_nothing_out() -> None:
    texts = [f"I am glad that you have told me about it, and {n} more." for n in range(5)]
    plan = make_plan(None, PLAIN)
    assert fit_to_language(plan, talks(texts), PLAIN) == (plan, None)


def test_when_nothing_is_left_it_is_an_error() -> None:
    plan = make_plan(["emotional_entropy", "specificity"], PLAIN)
    with pytest.raises(DialensError, match=r"only know English.*--any-language"):
        fit_to_language(plan, talks(LANGUAGES["German"]), PLAIN)


def test_a_lexicon_of_ones_own_may_know_the_language(tmp_path: Path) -> None:
    path = tmp_path / "de.tsv"
    rows = "".join(f"wort{n}\t{emotion}\t1\n" for n, emotion in enumerate(PLUTCHIK))
    path.write_text(f"term\tcategory\tweight\n{rows}")
    own = Resources(emotion=read_emotion_lexicon(path), scorers=PLAIN.scorers)
    plan = make_plan(["emotional_entropy", "specificity", "length"], own)
    assert english_only(plan.metrics, own) == ["specificity"]


def test_english_in_part_is_said_and_nothing_is_left_out() -> None:
    english = [f"I am glad that you have told me about it, and {n} more." for n in range(6)]
    plan = make_plan(["length", "emotional_entropy"], PLAIN)
    kept, noticed = fit_to_language(plan, talks([*english, *LANGUAGES["German"][:6]]), PLAIN)
    assert kept is plan
    assert noticed is not None
    assert "1 metric knows only English: its values say nothing of those turns" in noticed.text
    assert "of its turns) seems to speak another language" in noticed.text


def test_scoring_in_python_says_so() -> None:
    with pytest.warns(DialensWarning, match=r"not seem to speak English.*values say nothing"):
        score(talks(LANGUAGES["German"]), metrics=["length", "emotional_entropy"], resources=PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(talks(LANGUAGES["German"]), metrics=["length"], resources=PLAIN)
