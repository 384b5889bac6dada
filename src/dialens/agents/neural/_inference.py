"""The three networks without PyTorch: NumPy reads a context once, then writes step by step.

The arithmetic is that of `seq2seq`, `hred` and `thred`; tests hold the two against each other. A
:class:`State` has one row a reply that is being written, so that a beam is one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialens.agents.neural._shape import PAD, TURN, Shape
from dialens.agents.neural._weights import Arrays

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class State:
    """Replies that are being written to one context.

    Attributes:
        hidden: The decoder's states, ``replies × numbers``.
        memory: What is attended to, ``parts × numbers``; the conversation's vector for HRED.
        keys: The memory's.
        talk: The conversation's vector (HRED, THRED).
        topics: Topic words, without padding (THRED).
        weights: Attention to the memory at the last step, ``replies × parts``.
    """

    hidden: Floats
    memory: Floats
    keys: Floats
    talk: Floats
    topics: NDArray[np.int64]
    weights: Floats

    def select(self, rows: Sequence[int] | NDArray[np.int64]) -> State:
        """The state that goes on with some of the replies, in this order."""
        return replace(self, hidden=self.hidden[rows], weights=self.weights[rows])


class Writer:
    """Reads contexts and writes replies with the weights of a trained network.

    Args:
        shape: Sizes and kind.
        weights: By the names that PyTorch gives them.
    """

    def __init__(self, shape: Shape, weights: Arrays) -> None:
        self.shape = shape
        self._weights = weights
        self._words = weights["words.weight"]

    @property
    def weights(self) -> Arrays:
        """All weights, by name, as single precision."""
        return self._weights

    def begin(self, context: Sequence[Sequence[int]], topics: Sequence[int] = ()) -> State:
        """Read a context.

        Args:
            context: Subwords of each turn, the oldest first; none for no context.
            topics: Subwords of the topic words.
        """
        cut = [list(turn)[: self.shape.turn_tokens] for turn in context if len(turn)]
        turns = [[*turn, TURN] for turn in cut[-self.shape.context_turns :]] or [[TURN]]
        about = np.unique([one for one in topics if one != PAD]).astype(np.int64)
        nothing = np.zeros((0, 0), np.float32)
        if self.shape.kind == "seq2seq":
            joined = [one for turn in turns for one in turn]
            memory, last = self._read(joined)
            talk = nothing
        else:
            read = [self._read(turn) for turn in turns]
            vectors = np.stack([vector for _, vector in read])
            after = self._gru(vectors, "context.gru", "l0")
            last = talk = after[-1]
            memory = nothing
            if self.shape.kind == "thred":
                seen = [
                    np.concatenate([words, np.broadcast_to(one, (len(words), len(one)))], axis=1)
                    for (words, _), one in zip(read, after, strict=True)
                ]
                memory = np.tanh(self._linear(np.concatenate(seen), "message"))
        keys = memory @ self._weights["attention.memory.weight"].T if memory.size else nothing
        hidden = np.tanh(self._linear(last, "first"))[None]
        return State(hidden, memory, keys, talk, about, np.zeros((1, len(memory)), np.float32))

    def step(self, last: Sequence[int], state: State) -> tuple[Floats, State]:
        """Write one subword more.

        Args:
            last: The last subword of each reply.
            state: After everything before it.

        Returns:
            Log probabilities of the next subword, ``replies × vocabulary``, and the new state.
        """
        embedded = self._words[np.asarray(last)]
        told, weights, topic = self._told(state)
        joined = np.concatenate([embedded, told], axis=1)
        hidden = self._cell(joined, state.hidden, "decoder.cell", "")
        read = np.tanh(self._linear(np.concatenate([hidden, told, embedded], 1), "decoder.readout"))
        scores = read @ self._words.T + self._weights["decoder.bias"]
        if topic is not None and state.topics.size:
            asked = np.concatenate([hidden, topic, embedded], axis=1)
            second = np.tanh(self._linear(asked, "topic_readout")) @ self._words[state.topics].T
            second = second + self._weights["topic_bias"]
            scores[:, state.topics] = np.logaddexp(scores[:, state.topics], second)
        return _log_softmax(scores), replace(state, hidden=hidden, weights=weights)

    def _told(self, state: State) -> tuple[Floats, Floats, Floats | None]:
        rows = len(state.hidden)
        if self.shape.kind == "seq2seq":
            said, weights = self._attend("attention", state.hidden, state.memory, state.keys)
            return said, weights, None
        talk = np.broadcast_to(state.talk, (rows, len(state.talk)))
        if self.shape.kind == "hred":
            return talk, state.weights, None
        said, weights = self._attend("attention", state.hidden, state.memory, state.keys)
        about = self._words[state.topics]
        keys = about @ self._weights["topic_attention.memory.weight"].T
        asked = np.concatenate([state.hidden, talk], axis=1)
        topic, _ = self._attend("topic_attention", asked, about, keys)
        return np.concatenate([said, topic], axis=1), weights, topic

    def _attend(
        self, name: str, query: Floats, memory: Floats, keys: Floats
    ) -> tuple[Floats, Floats]:
        if not len(memory):
            none = np.zeros((len(query), 0), np.float32)
            return np.zeros((len(query), memory.shape[1]), np.float32), none
        compared = np.tanh(self._linear(query, f"{name}.query")[:, None] + keys[None])
        energy = compared @ self._weights[f"{name}.energy.weight"][0]
        weights = np.exp(_log_softmax(energy))
        return weights @ memory, weights

    def _read(self, ids: Sequence[int]) -> tuple[Floats, Floats]:
        """Annotations of a text in both directions, and the last states side by side."""
        embedded = self._words[np.asarray(ids)]
        forth = self._gru(embedded, "encoder.gru", "l0")
        back = self._gru(embedded[::-1], "encoder.gru", "l0_reverse")
        return np.concatenate([forth, back[::-1]], axis=1), np.concatenate([forth[-1], back[-1]])

    def _gru(self, inputs: Floats, name: str, suffix: str) -> Floats:
        hidden = np.zeros((1, self._weights[f"{name}.weight_hh_{suffix}"].shape[1]), np.float32)
        states = []
        for one in inputs:
            hidden = self._cell(one[None], hidden, name, f"_{suffix}")
            states.append(hidden[0])
        return np.stack(states)

    def _cell(self, inputs: Floats, hidden: Floats, name: str, suffix: str) -> Floats:
        """A step of PyTorch's GRU, whose reset gate acts behind the recurrent product."""
        weights = self._weights
        into = inputs @ weights[f"{name}.weight_ih{suffix}"].T + weights[f"{name}.bias_ih{suffix}"]
        again = hidden @ weights[f"{name}.weight_hh{suffix}"].T + weights[f"{name}.bias_hh{suffix}"]
        size = hidden.shape[1]
        gates = _sigmoid(into[:, : 2 * size] + again[:, : 2 * size])
        reset, update = gates[:, :size], gates[:, size:]
        fresh = np.tanh(into[:, 2 * size :] + reset * again[:, 2 * size :])
        state: Floats = fresh + update * (hidden - fresh)
        return state

    def _linear(self, inputs: Floats, name: str) -> Floats:
        result: Floats = inputs @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result


def _sigmoid(values: Floats) -> Floats:
    # tanh does not overflow where exp would.
    result: Floats = np.float32(0.5) * (np.tanh(np.float32(0.5) * values) + np.float32(1))
    return result


def _log_softmax(scores: Floats) -> Floats:
    moved = scores - scores.max(axis=1, keepdims=True)
    result: Floats = moved - np.log(np.exp(moved).sum(axis=1, keepdims=True))
    return result
