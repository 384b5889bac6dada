"""METEOR against nltk's, with and without synonyms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize import word_tokenize
from nltk.translate.meteor_score import meteor_score

from dialens.base import DialensError
from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families import _meteor as meteor

WORDS = ("the", "Cat", "cats", "sat", "sitting", "sits", "big", "large", "runs", "running", "dog.")
sentences = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join),
    st.text(max_size=20).filter(str.strip),
)
units = st.lists(
    st.builds(
        lambda response, references: Unit((), response, tuple(references)),
        sentences,
        st.lists(sentences, min_size=1, max_size=3, unique=True),
    ),
    min_size=1,
    max_size=4,
)


class Lemma:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class Synset:
    def __init__(self, *names: str) -> None:
        self._names = names

    def lemmas(self) -> list[Lemma]:
        return [Lemma(name) for name in self._names]


class SmallWordNet:
    """The part of nltk's reader that both sides call."""

    def __init__(self, *sets: tuple[str, ...]) -> None:
        self._sets = sets

    def synsets(self, word: str) -> list[Synset]:
        return [Synset(*names) for names in self._sets if word in names]


KNOWN = SmallWordNet(("big", "large", "of_size"), ("cat", "dog", "sit"), ("run", "sat"))


def theirs(unit: Unit, wordnet: SmallWordNet) -> float:
    cut = [word_tokenize(text, preserve_line=True) for text in (unit.response, *unit.references)]
    return meteor_score(cut[1:], cut[0], wordnet=wordnet)


@settings(max_examples=200, deadline=None)
@given(units)
def test_meteor_is_nltks_without_synonyms(some: list[Unit]) -> None:
    made = meteor.FAMILY.open(ScorerContext(options={"meteor": {"synonyms": "no"}})).score(some)
    wanted = [theirs(unit, SmallWordNet()) for unit in some]
    np.testing.assert_allclose(made[:, 0], wanted, rtol=1e-12)


@settings(max_examples=200, deadline=None)
@given(units)
def test_meteor_is_nltks_with_synonyms(some: list[Unit]) -> None:
    made = meteor._Meteor(KNOWN).score(some)
    np.testing.assert_allclose(made[:, 0], [theirs(unit, KNOWN) for unit in some], rtol=1e-12)


def test_the_example_of_nltks_manual() -> None:
    """`meteor_score` of its documentation gives 0.6944 for the first pair, exact and stem only."""
    hypothesis = (
        "It is a guide to action which ensures that the military always obeys the commands of the "
        "party"
    )
    reference = (
        "It is a guide to action that ensures that the military will forever heed Party commands"
    )
    made = meteor.FAMILY.open(ScorerContext(options={"meteor": {"synonyms": "no"}}))
    assert made.score([Unit((), hypothesis, (reference,))])[0, 0] == pytest.approx(0.6944, abs=5e-5)


def test_the_signature_says_whether_synonyms_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "_wordnet", lambda *, needed: KNOWN)
    assert "wordnet" in meteor.FAMILY.open(ScorerContext()).signature
    no = meteor.FAMILY.open(ScorerContext(options={"meteor": {"synonyms": "no"}}))
    assert "wordnet" not in no.signature


def test_synonyms_that_are_insisted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Absent:
        def ensure_loaded(self) -> None:
            raise LookupError("wordnet")

    monkeypatch.setattr("nltk.corpus.wordnet", Absent())
    with pytest.raises(NotReadyError, match=r"nltk\.downloader wordnet"):
        meteor.FAMILY.open(ScorerContext(options={"meteor": {"synonyms": "yes"}}))
    assert "wordnet" not in meteor.FAMILY.open(ScorerContext()).signature


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(DialensError, match=r"meteor\.synonyms"):
        meteor.FAMILY.open(ScorerContext(options={"meteor": {"synonyms": "perhaps"}}))
