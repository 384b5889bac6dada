"""From threads to examples: subwords, topics, which turns are learned, and the split by thread."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dialens.agents.neural._conversations import Threads
from dialens.agents.neural._examples import Examples
from dialens.agents.neural._shape import PAD, Shape
from dialens.agents.neural._subwords import Subwords
from dialens.base import Advance, DialensError
from dialens.models.topics import TopicTable

_CHUNK: Final = 20_000
_SHORTEST: Final = 2


@dataclass(frozen=True, eq=False)
class Prepared:
    """What training starts from.

    Attributes:
        examples: The numbers.
        subwords: The vocabulary.
        left_out: Why turns are no replies, with how many.
    """

    examples: Examples
    subwords: Subwords
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of what is learned from; an interrupted training resumes with the same only."""
        digest = hashlib.sha256()
        for value in vars(self.examples).values():
            digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()


def prepare(
    threads: Threads,
    shape: Shape,
    *,
    topics: TopicTable,
    held_out: float = 0.03,
    seed: int = 0,
    subwords: Subwords | None = None,
    advance: Advance | None = None,
) -> Prepared:
    """Make numbers of threads.

    Args:
        threads: What was said.
        shape: Size of the vocabulary and lengths.
        topics: The topic model that says what a context is about.
        held_out: Share of the threads that nothing is learned from; at least one thread.
        seed: Of the split.
        subwords: A vocabulary that is there already.
        advance: Called with the number of turns just done.

    Raises:
        DialensError: Nothing is left to learn from, or all of it is one thread.
    """
    spoken = [text or "" for text in threads.texts]
    apart = _held_out(threads.threads, held_out, seed)
    if subwords is None:
        known = (text for text, out in zip(spoken, apart, strict=True) if text and not out)
        subwords = Subwords.train(known, size=shape.vocabulary)
    pieces: list[list[int]] = []
    for start in range(0, len(spoken), _CHUNK):
        part = spoken[start : start + _CHUNK]
        pieces += subwords.ids(part)
        if advance:
            advance(len(part))
    lengths = np.array([len(ids) for ids in pieces])
    rows, learned, left_out = _replies(threads, pieces, shape, subwords)
    if not rows.size:
        raise DialensError(f"No turn is left to learn as a reply; left out: {left_out}.")
    parents = np.where(lengths[threads.parents] == 0, -1, threads.parents)
    # Context is cut to what is read, so that a file of examples holds no more than it needs.
    most = np.full(len(pieces), shape.turn_tokens)
    most[rows] = max(shape.turn_tokens, shape.reply_tokens)
    pieces = [ids[:n] for ids, n in zip(pieces, most, strict=True)]
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in pieces])])
    counts = _counts(topics, spoken)
    prior = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    table = topic_words(topics, prior, subwords, shape)
    about = _about(threads, rows, topics, counts, shape)
    if threads.topic_words:
        table, about = _given_topics(threads, rows, table, about, subwords, shape)
    examples = Examples(
        ids=np.fromiter((i for ids in pieces for i in ids), np.uint16, int(offsets[-1])),
        offsets=offsets.astype(np.int64),
        parents=parents.astype(np.int32),
        threads=threads.threads.astype(np.int32),
        replies=rows.astype(np.int32),
        lengths=learned.astype(np.int32),
        held_out=apart[rows],
        topics=about,
        topic_table=table,
    )
    if examples.held_out.all() or not examples.held_out.any():
        raise DialensError(
            f"All {rows.size:,} replies are in one part of the data: there must be replies in "
            "at least two threads, so that one can be held out."
        )
    return Prepared(examples, subwords, left_out)


def _held_out(threads: NDArray[np.int64], share: float, seed: int) -> NDArray[np.bool_]:
    names = np.unique(threads)
    drawn = np.random.default_rng(seed).permutation(names)
    return np.isin(threads, drawn[: max(1, round(share * len(names)))])


def _replies(
    threads: Threads, pieces: list[list[int]], shape: Shape, subwords: Subwords
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, int]]:
    """Rows that are learned as replies, how many subwords of each, and why others are not."""
    left_out: Counter[str] = Counter()
    ends = subwords.sentence_ends()
    rows, learned = [], []
    for row, parent in enumerate(threads.parents):
        ids = pieces[row]
        if not ids:
            left_out["no text"] += 1
        elif parent < 0 or not pieces[parent]:
            left_out["answers nothing that is known"] += 1
        elif len(ids) < _SHORTEST:
            left_out["too short"] += 1
        else:
            length = len(ids)
            if length > shape.reply_tokens:
                fits = (n for n in range(shape.reply_tokens, _SHORTEST, -1) if ids[n - 1] in ends)
                length = next(fits, 0)
            if length:
                rows.append(row)
                learned.append(length)
            else:
                left_out[f"no sentence ends within {shape.reply_tokens} subwords"] += 1
    return np.array(rows, np.int64), np.array(learned, np.int64), dict(left_out)


def _counts(topics: TopicTable, texts: list[str]) -> sparse.csr_array:
    parts = [topics.counts(texts[at : at + _CHUNK]) for at in range(0, len(texts), _CHUNK)]
    return sparse.csr_array(sparse.vstack(parts))


def topic_words(
    topics: TopicTable, prior: NDArray[np.float64], subwords: Subwords, shape: Shape
) -> NDArray[np.uint16]:
    """The words of each topic that are one subword, the strongest first, padded.

    Words are ranked by P(topic | word) times `prior`, how often the word occurs. Row 0 of the table
    is no topic; topic number n is in row n + 1.
    """
    singles = np.array([subwords.single(str(term)) or PAD for term in topics.terms])
    weights = sparse.csc_array(topics.weights)
    table = np.full((len(topics.topics) + 1, shape.topic_words), PAD, np.uint16)
    for topic in range(len(topics.topics)):
        span = slice(weights.indptr[topic], weights.indptr[topic + 1])
        words = weights.indices[span]
        strength = weights.data[span] * prior[words] * (singles[words] != PAD)
        order = np.argsort(-strength, kind="stable")[: shape.topic_words]
        kept = singles[words[order[strength[order] > 0]]]
        table[topic + 1, : len(kept)] = kept
    return table


def strongest_topics(loadings: NDArray[np.float64], n: int) -> NDArray[np.uint16]:
    """Rows of the topic table for the strongest topics of each text; 0 where there are fewer.

    Examples:
        >>> strongest_topics(np.array([[0.1, 0.9, 0.0], [np.nan] * 3]), 2).tolist()
        [[2, 1], [0, 0]]
    """
    known = np.nan_to_num(loadings)
    order = np.argsort(-known, axis=1, kind="stable")[:, :n]
    chosen = np.where(np.take_along_axis(known, order, axis=1) > 0, order + 1, 0)
    short = n - chosen.shape[1]
    return np.pad(chosen, ((0, 0), (0, max(0, short)))).astype(np.uint16)


def _about(
    threads: Threads,
    rows: NDArray[np.int64],
    topics: TopicTable,
    counts: sparse.csr_array,
    shape: Shape,
) -> NDArray[np.uint16]:
    """Topics of the context of each reply: the words of its turns, counted together."""
    kept = []
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        above = [threads.context(int(row), shape.context_turns) for row in part]
        columns = np.fromiter((one for turns in above for one in turns), np.int64)
        ends = np.concatenate([[0], np.cumsum([len(turns) for turns in above])])
        ones = np.ones(len(columns))
        joined = sparse.csr_array((ones, columns, ends), shape=(len(part), counts.shape[0]))
        loadings = topics.loadings_of_counts(sparse.csr_array(joined @ counts))
        kept.append(strongest_topics(loadings, shape.topics))
    return np.concatenate(kept)


def _given_topics(
    threads: Threads,
    rows: NDArray[np.int64],
    table: NDArray[np.uint16],
    about: NDArray[np.uint16],
    subwords: Subwords,
    shape: Shape,
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Put the words that the source itself gives in the place of the topic model's."""
    numbers: dict[tuple[int, ...], int] = {}
    most = shape.topics * shape.topic_words
    own: dict[int, list[int]] = {}
    added: list[NDArray[np.uint16]] = []
    for thread, words in threads.topic_words.items():
        ids = tuple(dict.fromkeys(one for word in words if (one := subwords.single(word))))[:most]
        cut = [ids[at : at + shape.topic_words] for at in range(0, len(ids), shape.topic_words)]
        own[thread] = []
        for part in cut:
            if part not in numbers:
                numbers[part] = len(table) + len(added)
                added.append(np.pad(np.array(part, np.uint16), (0, shape.topic_words - len(part))))
            own[thread].append(numbers[part])
    about = about.copy()
    for place, row in enumerate(rows):
        mine = own.get(int(threads.threads[row]))
        if mine is not None:
            about[place] = (mine + [0] * shape.topics)[: shape.topics]
    return np.concatenate([table, np.array(added, np.uint16)]) if added else table, about
