"""Overlap of characters with references: chrF, and chrF++ which counts words as well.

The arithmetic is our own, for all replies together. Tests hold every number against sacrebleu's.
"""

import string
from functools import partial

import numpy as np

from dialens.metrics._family import Family, Output, Scorer, ScorerContext
from dialens.metrics._state import Floats, ratio
from dialens.metrics.families._ngrams import Counts, Sequences, count_ngrams, shared
from dialens.metrics.families._overlap import Overlap, Pairs, case, yes_or_no

_CHARACTERS = 6
_WORDS = 2
_BETA = 2
_CHRF, _PLUS = 3 * _CHARACTERS, 3 * (_CHARACTERS + _WORDS)


def chrf_scores(tallies: Floats) -> Floats:
    """The F score of n-grams that are counted, with the mean precision and recall over orders.

    Orders for which reply or reference have no n-gram are left out, as in sacrebleu.

    Args:
        tallies: Units × (own, theirs, shared), the three of each order after another.

    Examples:
        >>> chrf_scores(np.array([[4.0, 4.0, 4.0, 3.0, 3.0, 3.0]])).tolist()
        [100.0]
    """
    own, theirs, matched = tallies[:, 0::3], tallies[:, 1::3], tallies[:, 2::3]
    both = (own > 0) & (theirs > 0)
    orders = both.sum(axis=1).astype(np.float64)
    precision = ratio(ratio(matched, np.where(both, own, 0.0)).sum(axis=1), orders)
    recall = ratio(ratio(matched, np.where(both, theirs, 0.0)).sum(axis=1), orders)
    factor = _BETA**2
    return 100 * ratio((1 + factor) * precision * recall, factor * precision + recall)


def _of_sums(sums: Floats, *, first: int, width: int) -> Floats:
    return chrf_scores(sums[:, first : first + width])


def _words(text: str) -> list[str]:
    """Words with a mark at their end, or else at their beginning, set apart (Popović 2017).

    Examples:
        >>> _words("(so it is.)")
        ['(', 'so', 'it', 'is.', ')']
    """
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def _tallies(counts: list[Counts], pairs: Pairs) -> Floats:
    """N-grams of the reply, of the reference, and shared, for each order and each pair.

    Those of a reply count only for orders that the reference has.
    """
    left, columns = pairs.response[pairs.owner], []
    for order in counts:
        theirs = order.totals[pairs.reference]
        own = np.where(theirs > 0, order.totals[left], 0)
        columns += [own, theirs, shared(order, left, pairs.reference)]
    return np.column_stack(columns).astype(np.float64)


def _open(context: ScorerContext) -> Scorer:
    lowercase = yes_or_no(context, "chrf", "lowercase", "no")

    def work(pairs: Pairs) -> Floats:
        texts = [text.lower() if lowercase else text for text in pairs.texts]
        spelled = Sequences.of_characters(["".join(text.split()) for text in texts])
        words = Sequences.of_words([_words(text) for text in texts])
        plain = _tallies(count_ngrams(spelled, _CHARACTERS), pairs)
        plus = np.hstack([plain, _tallies(count_ngrams(words, _WORDS), pairs)])
        scores = [chrf_scores(tallies) for tallies in (plain, plus)]
        # Of several references the corpus counts the one that this reply is nearest to.
        nearest, nearest_plus = (pairs.best_pair(values) for values in scores)
        return np.column_stack(
            [
                scores[0][nearest],
                scores[1][nearest_plus],
                plain[nearest],
                plus[nearest_plus],
            ]
        )

    signature = f"dialens,case:{case(lowercase)},eff:yes,nc:{_CHARACTERS},space:no"
    return Overlap(f"{signature},checked against sacrebleu", work)


FAMILY = Family(
    name="chrf",
    label="chrF",
    outputs=(
        Output(
            "chrf",
            "Characters and their n-grams shared with a reference (chrF2)",
            (0.0, 100.0),
            label="chrF",
            uses={"nw": "0"},
            headline=113,
        ),
        Output(
            "chrf_plus",
            "Characters, words and their n-grams shared with a reference (chrF2++)",
            (0.0, 100.0),
            label="chrF++",
            uses={"nw": "2"},
        ),
        Output(
            "corpus_chrf",
            "Characters and their n-grams shared with a reference, counted over all replies "
            "together (chrF2)",
            (0.0, 100.0),
            levels=("agent", "system"),
            of_sums=partial(_of_sums, first=2, width=_CHRF),
            label="chrF of all replies",
            uses={"nw": "0"},
        ),
        Output(
            "corpus_chrf_plus",
            "Characters, words and their n-grams shared with a reference, counted over all "
            "replies together (chrF2++)",
            (0.0, 100.0),
            levels=("agent", "system"),
            of_sums=partial(_of_sums, first=2 + _CHRF, width=_PLUS),
            label="chrF++ of all replies",
            uses={"nw": "2"},
        ),
    ),
    tallies=_CHRF + _PLUS,
    whole=True,
    scores_silence=True,
    version=2,  # 1 left out replies that say nothing
    open=_open,
    needs=("reference",),
    options={"lowercase": "yes to ignore case (no)"},
    citation="Popović 2015, doi:10.18653/v1/W15-3049; Popović 2017, doi:10.18653/v1/W17-4770",
    reads=("reference",),
    groups=("overlap",),
    cached=False,
)


PLACE = 101
METRICS = (FAMILY,)
