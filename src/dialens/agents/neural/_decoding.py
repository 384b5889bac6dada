"""How a reply is chosen among all that a network could say: beam search and nucleus sampling.

Guards against dull repetition work the same in both: no n-gram twice in a reply, none that was
said before in the conversation, a least length, normalisation by length, and a contrast with what
the network would say to anybody (the anti-language-model of Li et al. 2016, *A Diversity-Promoting
Objective Function for Neural Conversation Models*), so that a reply has to do with the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dialens.agents.neural._inference import Floats, State, Writer
from dialens.agents.neural._shape import BEGIN, END, PAD, TURN, UNKNOWN

_NEVER: Final = np.float32(-np.inf)
_SILENT: Final = (PAD, UNKNOWN, BEGIN, TURN)
_ENOUGH: Final = 1e-9


@dataclass(frozen=True)
class Decoding:
    """How to choose.

    Attributes:
        beam: Replies that beam search keeps; 1 takes the likeliest subword at each step.
        sample: Draw from the nucleus instead of searching.
        candidates: Replies that are drawn, of which the likeliest is taken.
        top_p: The nucleus: the likeliest subwords that have this probability together.
        temperature: Below 1 prefers likely subwords.
        longest: Subwords of a reply, at most.
        shortest: Subwords of a reply, at least.
        length_power: Log probabilities are divided by the length to this power.
        no_repeat: Length of n-grams that may not occur twice in a reply; 0 for no such rule.
        no_echo: Length of n-grams that may not be taken from earlier turns; 0 for no such rule.
        contrast: Weight of the contrast with a reply to nobody; 0 for none.
        contrast_steps: Subwords at the beginning to which the contrast applies.
    """

    beam: int = 6
    sample: bool = False
    candidates: int = 6
    top_p: float = 0.9
    temperature: float = 0.8
    longest: int = 40
    shortest: int = 4
    length_power: float = 0.8
    no_repeat: int = 3
    no_echo: int = 4
    contrast: float = 0.3
    contrast_steps: int = 6


@dataclass(frozen=True)
class Candidate:
    """A reply that was found.

    Attributes:
        ids: Its subwords, without its end.
        score: Log probability divided by a power of the length; higher is better.
    """

    ids: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class Taboo:
    """What may not be said.

    Attributes:
        earlier: Turns of the conversation, as subwords.
        blocked: Sequences of subwords, each the spelling of a blocked word.
    """

    earlier: tuple[tuple[int, ...], ...] = ()
    blocked: tuple[tuple[int, ...], ...] = ()


class Guards:
    """Which subwords may not come next."""

    def __init__(self, decoding: Decoding, taboo: Taboo) -> None:
        self._decoding = decoding
        size = decoding.no_echo
        self._echoes: dict[tuple[int, ...], set[int]] = {}
        for turn in taboo.earlier if size else ():
            for at in range(len(turn) - size + 1):
                gram = turn[at : at + size]
                self._echoes.setdefault(gram[:-1], set()).add(gram[-1])
        self._blocked: dict[tuple[int, ...], set[int]] = {}
        for word in taboo.blocked:
            self._blocked.setdefault(word[:-1], set()).add(word[-1])
        self._spans = sorted({len(start) for start in self._blocked})

    def apply(self, scores: Floats, written: Sequence[Sequence[int]]) -> Floats:
        """Scores with what is forbidden at minus infinity, in a new array."""
        penalised = scores.copy()
        penalised[:, list(_SILENT)] = _NEVER
        for row, ids in enumerate(written):
            if len(ids) < self._decoding.shortest:
                penalised[row, END] = _NEVER
            if len(ids) >= self._decoding.longest:
                penalised[row, np.arange(penalised.shape[1]) != END] = _NEVER
                penalised[row, END] = scores[row, END]
                continue
            forbidden = list(self.forbidden(ids))
            penalised[row, forbidden] = _NEVER
        return penalised

    def forbidden(self, ids: Sequence[int]) -> set[int]:
        """Subwords that would repeat an n-gram, echo an earlier turn or end a blocked word."""
        blocked: set[int] = set()
        size = self._decoding.no_repeat
        if size and len(ids) >= size:
            last = tuple(ids[len(ids) - size + 1 :])
            for at in range(len(ids) - size + 1):
                if tuple(ids[at : at + size - 1]) == last:
                    blocked.add(ids[at + size - 1])
        size = self._decoding.no_echo
        if size and len(ids) >= size - 1:
            blocked |= self._echoes.get(tuple(ids[len(ids) - size + 1 :]), set())
        for span in self._spans:
            if len(ids) >= span:
                blocked |= self._blocked.get(tuple(ids[len(ids) - span :]), set())
        return blocked


def decode(
    writer: Writer,
    context: Sequence[Sequence[int]],
    topics: Sequence[int],
    decoding: Decoding,
    *,
    taboo: Taboo | None = None,
    seed: int | Sequence[int] = 0,
) -> list[Candidate]:
    """Replies to a context, the best first; the same for the same seed.

    Args:
        writer: The network.
        context: Subwords of each turn.
        topics: Subwords of topic words.
        decoding: How to choose.
        taboo: What may not be said.
        seed: Of what is drawn; beam search draws nothing.
    """
    guards = Guards(decoding, taboo or Taboo())
    search = _Search(writer, decoding, guards, context, topics)
    candidates = search.drawn(np.random.default_rng(seed)) if decoding.sample else search.beamed()
    return sorted(candidates, key=lambda one: (-one.score, one.ids))


class _Search:
    def __init__(
        self,
        writer: Writer,
        decoding: Decoding,
        guards: Guards,
        context: Sequence[Sequence[int]],
        topics: Sequence[int],
    ) -> None:
        self._writer = writer
        self._decoding = decoding
        self._guards = guards
        self._state = writer.begin(context, topics)
        self._nobody = writer.begin(()) if decoding.contrast else None

    def beamed(self) -> list[Candidate]:
        """Beam search; ended replies leave the beam, which goes on until none can win."""
        size = self._decoding.beam
        state, nobody = self._state, self._nobody
        written: list[tuple[int, ...]] = [()]
        totals = np.zeros(1)
        ended: list[Candidate] = []
        while written and len(ended) < size:
            scores, state, nobody = self._step(written, state, nobody)
            scores = self._guards.apply(scores, written)
            joint = totals[:, None] + scores
            order = _largest(joint.ravel(), 2 * size)
            rows: list[int] = []
            grown: list[tuple[int, ...]] = []
            kept: list[float] = []
            for flat in order:
                row, word = divmod(int(flat), scores.shape[1])
                total = float(joint[row, word])
                if total == -np.inf or len(grown) == size:
                    break
                if word == END:
                    ended.append(self._candidate(written[row], total))
                    if size == 1:
                        break
                else:
                    rows.append(row)
                    grown.append((*written[row], word))
                    kept.append(total)
            if size == 1 and ended:
                break
            written, totals = grown, np.array(kept)
            if written:
                state = state.select(rows)
                nobody = nobody.select(rows) if nobody is not None else None
        return ended

    def drawn(self, generator: np.random.Generator) -> list[Candidate]:
        """Several replies drawn side by side from the nucleus."""
        state, nobody = self._state, self._nobody
        many = [0] * self._decoding.candidates
        state = state.select(many)
        nobody = nobody.select(many) if nobody is not None else None
        written: list[tuple[int, ...]] = [()] * len(many)
        totals = np.zeros(len(many))
        ended: list[Candidate] = []
        while written:
            scores, state, nobody = self._step(written, state, nobody)
            scores = self._guards.apply(scores, written)
            rows, grown, kept = [], [], []
            for row, ids in enumerate(written):
                if not np.isfinite(scores[row]).any():
                    continue
                word = nucleus_draw(
                    scores[row], self._decoding.top_p, self._decoding.temperature, generator
                )
                total = float(totals[row] + scores[row, word])
                if word == END:
                    ended.append(self._candidate(ids, total))
                else:
                    rows.append(row)
                    grown.append((*ids, word))
                    kept.append(total)
            written, totals = grown, np.array(kept)
            if written:
                state = state.select(rows)
                nobody = nobody.select(rows) if nobody is not None else None
        return ended

    def _step(
        self, written: Sequence[tuple[int, ...]], state: State, nobody: State | None
    ) -> tuple[Floats, State, State | None]:
        last = [ids[-1] if ids else BEGIN for ids in written]
        scores, state = self._writer.step(last, state)
        if nobody is not None and len(written[0]) < self._decoding.contrast_steps:
            anyway, nobody = self._writer.step(last, nobody)
            scores = scores - np.float32(self._decoding.contrast) * anyway
        else:
            nobody = None
        return scores, state, nobody

    def _candidate(self, ids: tuple[int, ...], total: float) -> Candidate:
        return Candidate(ids, total / (len(ids) + 1) ** self._decoding.length_power)


def nucleus_draw(
    scores: Floats, top_p: float, temperature: float, generator: np.random.Generator
) -> int:
    """Draw one subword from the nucleus (Holtzman et al. 2020).

    Args:
        scores: Log probabilities, up to a constant; minus infinity where forbidden.
        top_p: The likeliest subwords that together reach it; 0 leaves only the likeliest.
        temperature: Of the draw; 0 takes the likeliest.
        generator: Where chance comes from.

    Examples:
        >>> nucleus_draw(np.log([0.2, 0.5, 0.3]), 0.0, 1.0, np.random.default_rng(0))
        1
    """
    if temperature < _ENOUGH:
        return int(np.argmax(scores))
    scaled = scores.astype(np.float64) / temperature
    chances = np.exp(scaled - scaled.max())
    chances /= chances.sum()
    order = np.argsort(-chances, kind="stable")
    reached = np.cumsum(chances[order])
    inside = order[: int(np.searchsorted(reached, top_p)) + 1]
    nucleus = chances[inside] / chances[inside].sum()
    return int(inside[np.searchsorted(np.cumsum(nucleus), generator.random() * (1 - _ENOUGH))])


def _largest(values: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Places of the largest values, the largest first; of equal ones the earlier first."""
    n = min(n, len(values))
    some = np.sort(np.argpartition(-values, n - 1)[:n])
    order: NDArray[np.int64] = some[np.argsort(-values[some], kind="stable")]
    return order
