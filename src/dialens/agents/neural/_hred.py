"""HRED: turns are read one by one, and the conversation by their vectors (Serban et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dialens.agents.neural._layers import (
    ContextEncoder,
    Decoder,
    UtteranceEncoder,
    embedding,
    encode_turns,
)
from dialens.agents.neural._shape import Shape


class Hred(nn.Module):
    """An utterance encoder, a context encoder over it, and a decoder begun by the context.

    The context's vector starts the decoder (§3.1) and is told to it at every step as well, without
    which it fades over a long reply. There is no attention: that is what sets HRED apart.

    Args:
        shape: Sizes.
        dropout: Share of embeddings and read-outs that is hidden while learning.
    """

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = embedding(shape)
        self.encoder = UtteranceEncoder(shape)
        self.context = ContextEncoder(shape)
        self.first = nn.Linear(shape.hidden, shape.hidden)
        self.decoder = Decoder(shape, shape.hidden, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Tensor, reply: Tensor, topics: Tensor) -> Tensor:
        """Scores of each next subword of a reply that is known (teacher forcing).

        Args:
            context: ``batch × turns × subwords``.
            reply: ``batch × subwords``, begun.
            topics: Not read.
        """
        read = nn.Sequential(self.words, self.dropout)
        _, turns, lengths = encode_turns(context, read, self.encoder)
        _, talk = self.context(turns, lengths)
        embedded = read(reply)
        states, told = self.decoder(embedded, torch.tanh(self.first(talk)), lambda _: talk)
        return self.decoder.scores(states, told, embedded, self.words.weight)
