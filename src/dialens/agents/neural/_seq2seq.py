"""Seq2Seq with attention: the whole context read as one text (Bahdanau et al. 2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dialens.agents.neural._attention import AdditiveAttention
from dialens.agents.neural._layers import Decoder, UtteranceEncoder, embedding
from dialens.agents.neural._shape import PAD, Shape


class Seq2Seq(nn.Module):
    """One encoder over all turns, joined; the decoder attends to its annotations.

    Args:
        shape: Sizes.
        dropout: Share of embeddings and read-outs that is hidden while learning.
    """

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = embedding(shape)
        self.encoder = UtteranceEncoder(shape)
        self.first = nn.Linear(shape.hidden, shape.hidden)
        self.attention = AdditiveAttention(shape.hidden, shape.hidden, shape.attention)
        self.decoder = Decoder(shape, shape.hidden, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Tensor, reply: Tensor, topics: Tensor) -> Tensor:
        """Scores of each next subword of a reply that is known (teacher forcing).

        Args:
            context: ``batch × turns × subwords``.
            reply: ``batch × subwords``, begun.
            topics: Not read.
        """
        text = join_turns(context)
        there = text != PAD
        annotations, last = self.encoder(self.dropout(self.words(text)), there.sum(dim=1).cpu())
        keys = self.attention.keys(annotations)
        embedded = self.dropout(self.words(reply))
        states, told = self.decoder(
            embedded,
            torch.tanh(self.first(last)),
            lambda state: self.attention(state, annotations, keys, there)[0],
        )
        return self.decoder.scores(states, told, embedded, self.words.weight)


def join_turns(context: Tensor) -> Tensor:
    """The turns of each context as one text, the padding between them moved to the end.

    Examples:
        >>> join_turns(torch.tensor([[[7, 4, 0], [8, 9, 4]], [[6, 4, 0], [0, 0, 0]]])).tolist()
        [[7, 4, 8, 9, 4], [6, 4, 0, 0, 0]]
    """
    flat = context.flatten(1)
    there = flat != PAD
    order = torch.argsort((~there).to(torch.uint8), dim=1, stable=True)
    return flat.gather(1, order)[:, : int(there.sum(dim=1).max())]
