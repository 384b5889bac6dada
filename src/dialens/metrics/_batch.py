"""A batch of whole dialogues, tokenised once for every feature."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.corpus import silences
from dialens.metrics._memo import Memo
from dialens.metrics._state import Floats
from dialens.text import Vocabulary, WordTable, tokenise

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
P = ParamSpec("P")
T = TypeVar("T")
WordWeights = Callable[[pl.Series], Floats]


class Words:
    """What a run knows of words: their ids, and what each adds to every count of words.

    The columns of all word counts lie in one table, so that one sparse product counts them all.
    """

    def __init__(self, weights: dict[str, WordWeights]) -> None:
        """`weights` gives rows of numbers for words, by the name under which they are counted."""
        self.vocabulary = Vocabulary()
        self.table = WordTable(self.vocabulary, list(weights.values()))
        self.columns = dict(zip(weights, self.table.columns, strict=True))
        self._others: dict[WordWeights, WordTable] = {}
        self._lock = Lock()

    def table_of(self, weights: WordWeights) -> WordTable:
        """A table for what is looked up by word but not summed, one for each function."""
        with self._lock:
            if weights not in self._others:
                self._others[weights] = WordTable(self.vocabulary, [weights])
            return self._others[weights]


@dataclass(frozen=True)
class Outcome:
    """What a family's scorer says of a batch.

    Attributes:
        values: One row a turn, one column an output; NaN where there is none.
        scored: Which turns it was asked for.
        lacks: Of turns that it could not be asked for, what they lack; one column a lack.
        dialogs: One row a dialogue, from a scorer that gives dialogues values of their own.
        vectors: Of all texts, from a scorer that compares them at the end.
        failure: Why it has no values at all, if it could not be used.
    """

    values: Floats
    scored: Mask
    lacks: Floats
    dialogs: Floats | None = None
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class TurnBatch:
    """Turns of whole dialogues in order, with their tokens as word ids.

    Attributes:
        turns: Columns system, agent, dialog, turn, role, text, and meta where a metric reads it.
        known: What the run knows of words.
        references: What others said instead, for turns of these dialogues: dialog, turn, text.
        outcomes: What the scorers of the run say of it, by family; filled before features are.
    """

    turns: pl.DataFrame
    known: Words
    references: pl.DataFrame | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict, repr=False)
    _memo: Memo = field(default_factory=Memo, init=False, repr=False)

    def cached(
        self,
        function: "Callable[Concatenate[TurnBatch, P], T]",
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """What a function gives for this batch, computed once for all who ask."""
        return self._memo.get_for(function, self, *arguments, **options)

    @cached_property
    def _tokens(self) -> tuple[NDArray[np.uint32], Ints]:
        tokens = self.turns.select(tokenise("text")).to_series()
        ends = tokens.list.len().cast(pl.Int64).cum_sum().to_numpy()
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        return self.known.vocabulary.encode(tokens.explode(empty_as_null=False)), offsets

    @property
    def words(self) -> NDArray[np.uint32]:
        """The word ids of all turns, one after another."""
        return self._tokens[0]

    @property
    def offsets(self) -> Ints:
        """Turn i has the words from offsets[i] up to offsets[i + 1]."""
        return self._tokens[1]

    @cached_property
    def _word_sums(self) -> Floats:
        words = self.words.view(np.int32)
        table = self.known.table.matrix()
        shape = (self.turns.height, len(table))
        offsets = self.offsets.astype(np.int32)
        counts = sparse.csr_array((np.ones(len(words)), words, offsets), shape=shape, copy=False)
        return np.asarray(counts @ table)

    def word_sums(self, name: str) -> Floats:
        """The sums over each turn's words of what is counted under `name`."""
        return self._word_sums[:, self.known.columns[name]]

    @cached_property
    def says(self) -> Mask:
        """Which turns say anything."""
        return self.turns["text"].fill_null("").str.strip_chars().ne("").to_numpy()

    @cached_property
    def silent(self) -> Mask:
        """Which turns are replies of nothing, and not pictures or calls of tools without a word."""
        return silences(self.turns)

    @cached_property
    def is_agent(self) -> NDArray[np.bool_]:
        """Which turns are the agent's."""
        return (self.turns["role"] == "agent").to_numpy()

    @cached_property
    def is_partner(self) -> Mask:
        """Which turns are the other side's; an agent's turn that is left out is nobody's."""
        return (self.turns["role"] == "partner").to_numpy()

    @cached_property
    def dialog_starts(self) -> Ints:
        """The row on which each dialogue begins."""
        changed = self.turns["dialog"].ne_missing(self.turns["dialog"].shift())
        changed[0] = True
        return np.flatnonzero(changed.to_numpy())

    @cached_property
    def dialog_of_turn(self) -> Ints:
        """The number of the dialogue each turn belongs to."""
        lengths = np.diff(np.append(self.dialog_starts, self.turns.height))
        return np.repeat(np.arange(len(self.dialog_starts)), lengths)

    @cached_property
    def turn_in_dialog(self) -> Ints:
        """The place of each turn in its dialogue, from 0."""
        return np.arange(self.turns.height) - self.dialog_starts[self.dialog_of_turn]

    @cached_property
    def opening_keys(self) -> pl.Series:
        """For each dialogue a hash of what was said before the agent's first turn, or null.

        Dialogues with the same key answered the same context and can be compared in pairs, also
        with those of a run from another year: Polars' own hash changes with its version.
        """
        agents = ~self.is_partner
        spoken: Ints = np.cumsum(agents)
        first: Ints = spoken[self.dialog_starts] - agents[self.dialog_starts]
        opening: NDArray[np.bool_] = spoken == first[self.dialog_of_turn]
        texts = self.turns.select("text", dialog_number=pl.Series(self.dialog_of_turn))
        keys = (
            texts.filter(pl.Series(opening))
            .group_by("dialog_number")
            .agg(pl.col("text").str.join("\x1f"))
        )
        hashed = pl.Series("context", map(_hash, keys["text"]), pl.UInt64)
        numbers = pl.DataFrame({"dialog_number": np.arange(len(self.dialog_starts))})
        return numbers.join(
            keys.with_columns(hashed), on="dialog_number", how="left", maintain_order="left"
        )["context"]

    def by_dialog(self, rows: Floats) -> Floats:
        """Sums over the turns of each dialogue."""
        sums: Floats = np.add.reduceat(rows, self.dialog_starts, axis=0)
        return sums

    def turns_by_dialog(self, which: NDArray[np.bool_]) -> Ints:
        """How many of these turns each dialogue has."""
        return np.bincount(self.dialog_of_turn[which], minlength=len(self.dialog_starts))

    def before(self, rows: Floats, at: Ints, *, prompt: str) -> Floats:
        """For the turns `at`, the sum of `rows` over their prompts.

        Features are multiples of 2⁻²⁰, so running sums are exact and may be subtracted.
        """
        starts = self.dialog_starts[self.dialog_of_turn[at]]
        if prompt == "last":
            before = rows[at - 1]
            before[at == starts] = 0
            return before
        running = np.cumsum(rows, axis=0)
        before = running[at - 1] - running[starts - 1]
        first = starts == 0  # nothing precedes the first dialogue of a batch
        before[first] = running[at[first] - 1]
        before[at == starts] = 0
        return before


def group_sums(rows: Floats, groups: Ints, count: int) -> Floats:
    """Sums of rows by group, for `count` groups.

    Examples:
        >>> group_sums(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0]), 2).tolist()
        [[4.0], [2.0]]
    """
    ones = np.ones(len(groups))
    member = sparse.csr_array((ones, (groups, np.arange(len(groups)))), shape=(count, len(groups)))
    return np.asarray(member @ rows)


def _hash(text: str | None) -> int:
    digest = hashlib.blake2b((text or "").encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")
