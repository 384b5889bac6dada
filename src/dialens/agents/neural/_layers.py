"""What the three networks share: the reading of turns, and the writing of a reply."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dialens.agents.neural._shape import PAD, Shape

Condition = Callable[[Tensor], Tensor]
"""What the decoder is told at a step, given its state before it."""


class UtteranceEncoder(nn.Module):
    """A GRU in both directions over the subwords of a turn (or of a whole context)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gru = nn.GRU(shape.embedding, shape.annotation, batch_first=True, bidirectional=True)

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Annotations of each subword, and the last states of both directions side by side.

        Args:
            embedded: ``batch × subwords × numbers``.
            lengths: Subwords of each, at least one, on the CPU.
        """
        # Packed, so that padding is never read: the backward direction would begin with it.
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.gru(packed)
        words, _ = pad_packed_sequence(states, batch_first=True, total_length=embedded.shape[1])
        return words, torch.cat([last[0], last[1]], dim=1)


class ContextEncoder(nn.Module):
    """The GRU of HRED over the turns of a context, one vector each (Serban et al. 2016, §3.1)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gru = nn.GRU(shape.hidden, shape.hidden, batch_first=True)

    def forward(self, turns: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The state after each turn, and after the last."""
        packed = pack_padded_sequence(turns, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.gru(packed)
        each, _ = pad_packed_sequence(states, batch_first=True, total_length=turns.shape[1])
        return each, last[0]


class Decoder(nn.Module):
    """A GRU that writes a reply subword by subword, told something at each step.

    The last layer is the embedding itself (Press and Wolf 2017), behind a read-out of state,
    condition and last subword, which saves a third of the numbers.

    Args:
        shape: Sizes.
        told: Numbers of the condition.
        dropout: Share of the read-out that is hidden while learning.
    """

    def __init__(self, shape: Shape, told: int, dropout: float) -> None:
        super().__init__()
        self.cell = nn.GRUCell(shape.embedding + told, shape.hidden)
        self.readout = nn.Linear(shape.hidden + told + shape.embedding, shape.embedding)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, embedded: Tensor, state: Tensor, condition: Condition
    ) -> tuple[Tensor, Tensor]:
        """States after each subword, and the conditions they were told, ``batch × steps × …``."""
        states, told = [], []
        for step in range(embedded.shape[1]):
            given = condition(state)
            joined = torch.cat([embedded[:, step], given.to(embedded.dtype)], dim=1)
            state = self.cell(joined, state.to(embedded.dtype))
            states.append(state)
            told.append(given)
        return torch.stack(states, dim=1), torch.stack(told, dim=1)

    def scores(self, states: Tensor, told: Tensor, embedded: Tensor, words: Tensor) -> Tensor:
        """Unnormalised log probabilities of the next subword."""
        joined = torch.cat([states, told.to(states.dtype), embedded.to(states.dtype)], dim=2)
        read = self.dropout(torch.tanh(self.readout(joined)))
        return nn.functional.linear(read, words).float() + self.bias


def embedding(shape: Shape) -> nn.Embedding:
    """Subwords as vectors, small at first since they are also the last layer."""
    embedding = nn.Embedding(shape.vocabulary, shape.embedding, padding_idx=PAD)
    nn.init.normal_(embedding.weight, std=shape.embedding**-0.5)
    with torch.no_grad():
        embedding.weight[PAD] = 0
    return embedding


def encode_turns(
    context: Tensor, words: nn.Module, encoder: UtteranceEncoder
) -> tuple[Tensor, Tensor, Tensor]:
    """Read each turn of each context by itself.

    Args:
        context: ``batch × turns × subwords``, padded.
        words: The embedding, with dropout.
        encoder: Reads a turn.

    Returns:
        Annotations ``batch × turns × subwords × numbers``, a vector a turn ``batch × turns ×
        numbers``, and how many turns there are, on the CPU.
    """
    batch, turns, longest = context.shape
    lengths = (context != PAD).sum(dim=2)
    flat = lengths.reshape(-1)
    there = flat.nonzero()[:, 0]
    rows = context.reshape(batch * turns, longest)[there]
    annotations, last = encoder(words(rows), flat[there].cpu())
    all_words = annotations.new_zeros(batch * turns, longest, annotations.shape[2])
    all_last = last.new_zeros(batch * turns, last.shape[1])
    all_words = all_words.index_copy(0, there, annotations)
    all_last = all_last.index_copy(0, there, last)
    return (
        all_words.view(batch, turns, longest, -1),
        all_last.view(batch, turns, -1),
        (lengths > 0).sum(dim=1).cpu(),
    )
