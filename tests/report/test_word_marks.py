"""The marking of words on the server marks what the report's script marks."""

from __future__ import annotations

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.metrics import Resources, metrics
from dialens.report import LENSES, WordMarks, check_resources, counts_partner
from dialens.report._word_marks import CountedWords, marked_from

TEXTS = ["I am so happy 😀, and afraid?", "", "The <b>cat</b> & the dog!", "naïve Ünïcode 🎉 love"]


@pytest.fixture(scope="module")
def marks() -> WordMarks:
    return WordMarks(Resources())


@pytest.mark.parametrize("lens", LENSES)
def test_places_are_those_of_the_words(marks: WordMarks, lens: str) -> None:
    words = CountedWords(Resources())
    known = {row[0] for row in (words.found(TEXTS), words.table())[1]}
    for text, found in zip(TEXTS, marks.of(TEXTS, lens), strict=True):
        assert [one.start for one in found] == sorted({one.start for one in found})
        for one in found:
            assert text[one.start : one.end].lower() in known
            assert 0 <= one.colour < 9
            assert 0 < one.depth <= 60


def test_emotion_words_are_those_above_what_function_words_weigh(marks: WordMarks) -> None:
    resources = Resources()
    text = TEXTS[0]
    found = {text[one.start : one.end] for one in marks.of([text], "emotion")[0]}
    least = marked_from(resources)
    tokens = ["I", "am", "so", "happy", "😀", "and", "afraid"]
    weights = resources.emotion.weights(pl.Series([one.lower() for one in tokens]))
    heavy = {
        token
        for token, own in zip(tokens, weights, strict=True)
        if any(abs(round(float(one), 3)) >= least for one in own if one)
    }
    assert found == heavy
    assert {"happy", "afraid"} <= found


def test_the_other_lenses(marks: WordMarks) -> None:
    text = TEXTS[0]

    def of(lens: str) -> set[str]:
        return {text[one.start : one.end] for one in marks.of([text], lens)[0]}

    assert of("question") == {"?"}
    assert "happy" in of("content")
    assert "and" not in of("content")
    assert "and" in of("style")
    assert "happy" not in of("style")


def test_lenses_of_metrics() -> None:
    cards = metrics()
    assert counts_partner([cards["emotional_entropy"]]) == {"emotion": False}
    assert counts_partner([cards["language_style_matching"]]) == {"style": True}
    assert counts_partner([cards["length"]]).keys() <= {"content"}


def test_other_lexicons_are_refused_and_another_prompt_only_where_it_counts() -> None:
    resources = Resources()
    fine = {"m": f"m|v1|lex:{resources.emotion.name}@{resources.emotion.sha256[:8]}|prompt:last"}
    check_resources(fine, resources, ["lex"])
    with pytest.raises(DialensError, match="prompt:context"):
        check_resources(fine, resources)
    with pytest.raises(DialensError, match="other resources"):
        check_resources({"m": "m|v1|lex:mine@00000000"}, resources, ["lex"])
