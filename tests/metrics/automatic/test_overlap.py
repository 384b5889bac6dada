"""Our overlap scores against the packages' own, text by text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dialens.base import DialensError
from dialens.metrics import ScorerContext, Unit
from dialens.metrics.families import _overlap as overlap
from dialens.metrics.families._chrf import FAMILY as CHRF_FAMILY
from dialens.metrics.families._ngrams import longest_common, places

WORDS = ("the", "cat", "Cat", "sat", "on", "mat.", "it's", "1,000", "&amp;", "running", "runs", "ß")
sentences = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join),
    st.text(max_size=25),
)
units = st.lists(
    st.builds(
        lambda response, references: Unit((), response, tuple(references)),
        sentences,
        st.lists(sentences, min_size=1, max_size=3, unique=True),
    ),
    min_size=1,
    max_size=6,
)


def scored(family, some, **options):
    context = ScorerContext(options={family.name: options} if options else {})
    assert family.ready(context) is None
    return family.open(context).score(some)


@settings(max_examples=150, deadline=None)
@given(units, st.booleans())
def test_bleu_is_sacrebleus(some: list[Unit], lowercase: bool) -> None:
    made = scored(overlap.BLEU, some, lowercase="yes" if lowercase else "no")
    for order in (1, 2, 3, 4):
        theirs = BLEU(max_ngram_order=order, effective_order=True, lowercase=lowercase)
        wanted = [theirs.sentence_score(u.response, list(u.references)).score for u in some]
        np.testing.assert_allclose(made[:, order - 1], wanted, rtol=1e-12, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(units)
def test_chrf_is_sacrebleus(some: list[Unit]) -> None:
    theirs = CHRF()
    wanted = [theirs.sentence_score(u.response, list(u.references)).score for u in some]
    np.testing.assert_allclose(scored(CHRF_FAMILY, some)[:, 0], wanted, rtol=1e-12, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(units, st.booleans())
def test_rouge_is_rouge_scores(some: list[Unit], stemmer: bool) -> None:
    names = ["rouge1", "rouge2", "rougeL"]
    theirs = RougeScorer(names, use_stemmer=stemmer)
    wanted = []
    for unit in some:
        found = theirs.score_multi(unit.references, unit.response)
        wanted.append([found[name].fmeasure for name in names])
    made = scored(overlap.ROUGE, some, stemmer="yes" if stemmer else "no")
    np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tokenize", ["none", "char", "intl", "zh"])
def test_bleu_with_other_tokenizers(tokenize: str) -> None:
    unit = Unit((), "Hello, Wörld: 你好 (again)!", ("Hello Wörld, 你好!", "again, hello"))
    theirs = BLEU(effective_order=True, tokenize=tokenize)
    wanted = theirs.sentence_score(unit.response, list(unit.references)).score
    assert scored(overlap.BLEU, [unit], tokenize=tokenize)[0, 3] == pytest.approx(wanted)


def test_bleu_by_hand() -> None:
    """Four words, three of them and two pairs in the reference, which is one word longer."""
    unit = Unit((), "the cat sat here", ("the cat sat on mats",))
    brief = np.exp(1 - 5 / 4)
    one = 100 * brief * 3 / 4
    two = 100 * brief * np.sqrt(3 / 4 * 2 / 3)
    four = 100 * brief * (3 / 4 * 2 / 3 * 1 / 2 * (1 / 2) / 1) ** (1 / 4)
    made = scored(overlap.BLEU, [unit])[0]
    np.testing.assert_allclose(made[[0, 1, 3]], [one, two, four])


@settings(max_examples=100, deadline=None)
@given(units)
def test_a_score_does_not_depend_on_the_other_units(some: list[Unit]) -> None:
    for family in (overlap.BLEU, CHRF_FAMILY, overlap.ROUGE):
        together = scored(family, some)
        alone = np.concatenate([scored(family, [unit]) for unit in some])
        np.testing.assert_array_equal(together, alone)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=80), st.lists(st.integers(0, 5), max_size=80))
def test_longest_common_subsequence(a: list[int], b: list[int]) -> None:
    """Against the textbook table (Wagner & Fischer 1974)."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = (
                table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
            )
    first, second = np.array(a, np.int64), np.array(b, np.int64)
    assert longest_common(places(first), len(a), second) == table[-1, -1]


def test_a_signature_says_what_the_numbers_depend_on() -> None:
    plain = overlap.BLEU.open(ScorerContext()).signature
    lower = overlap.BLEU.open(ScorerContext(options={"bleu": {"lowercase": "yes"}})).signature
    assert "tok:13a" in plain
    assert "smooth:exp" in plain
    assert plain != lower


@pytest.mark.parametrize(
    ("family", "option", "value"),
    [(overlap.BLEU, "tokenize", "words"), (overlap.ROUGE, "stemmer", "maybe")],
)
def test_a_wrong_option_is_named(family, option: str, value: str) -> None:
    with pytest.raises(DialensError, match=rf"{family.name}\.{option}.*'{value}'"):
        family.open(ScorerContext(options={family.name: {option: value}}))


def test_many_kinds_of_words_do_not_overflow() -> None:
    """More n-grams than fit beside their text's number into 62 bits: they are numbered anew."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in rng.integers(0, 60_000, 40)) for _ in range(3_000)]
    some = [Unit((), a, (a + " " + b,)) for a, b in zip(texts[::2], texts[1::2], strict=True)]
    made = scored(overlap.BLEU, some)[:3, 3]
    theirs = BLEU(effective_order=True)
    wanted = [theirs.sentence_score(u.response, list(u.references)).score for u in some[:3]]
    np.testing.assert_allclose(made, wanted)
