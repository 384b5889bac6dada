"""THRED: HRED that attends to context and topic words, and prefers to say topic words.

After Dziri et al. 2019 (*Augmenting Neural Response Generation with Context-Aware Topical
Attention*), with the topic-biased generation of Xing et al. 2017:

* context attention: over the words of all turns, each seen with the state of the conversation
  after its turn, so that one softmax weighs words and turns together;
* topic attention: over the topic words, asked by the decoder's state and the state of the whole
  conversation;
* the decoder is told both (joint attention);
* a topic word can be said for either of two reasons, and their probabilities add up before they
  are normalised: ``p(y) ∝ exp ψ_V(y) + [y is a topic word] · exp ψ_K(y)``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dialens.agents.neural._attention import AdditiveAttention
from dialens.agents.neural._layers import (
    ContextEncoder,
    Decoder,
    UtteranceEncoder,
    embedding,
    encode_turns,
)
from dialens.agents.neural._shape import PAD, Shape


class Thred(nn.Module):
    """Hierarchical encoders, joint attention over context and topics, topic-biased generation.

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
        self.message = nn.Linear(2 * shape.hidden, shape.hidden)
        self.attention = AdditiveAttention(shape.hidden, shape.hidden, shape.attention)
        self.topic_attention = AdditiveAttention(2 * shape.hidden, shape.embedding, shape.attention)
        self.decoder = Decoder(shape, shape.hidden + shape.embedding, dropout)
        self.topic_readout = nn.Linear(shape.hidden + 2 * shape.embedding, shape.embedding)
        self.topic_bias = nn.Parameter(torch.full((1,), -2.0))
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Tensor, reply: Tensor, topics: Tensor) -> Tensor:
        """Scores of each next subword of a reply that is known (teacher forcing).

        Args:
            context: ``batch × turns × subwords``.
            reply: ``batch × subwords``, begun.
            topics: ``batch × words``; padding where there are fewer.
        """
        read = nn.Sequential(self.words, self.dropout)
        annotations, turns, lengths = encode_turns(context, read, self.encoder)
        after, talk = self.context(turns, lengths)
        width = after.shape[2]
        spread = after[:, :, None].expand(-1, -1, annotations.shape[2], -1)
        memory = torch.tanh(self.message(torch.cat([annotations, spread.to(annotations.dtype)], 3)))
        memory = memory.flatten(1, 2)
        there = (context != PAD).flatten(1)
        keys = self.attention.keys(memory)
        about = self.words(topics)
        about_keys = self.topic_attention.keys(about)
        known = topics != PAD

        def joint(state: Tensor) -> Tensor:
            said, _ = self.attention(state, memory, keys, there)
            asked = torch.cat([state, talk.to(state.dtype)], dim=1)
            topic, _ = self.topic_attention(asked, about, about_keys, known)
            return torch.cat([said, topic.to(said.dtype)], dim=1)

        embedded = read(reply)
        states, told = self.decoder(embedded, torch.tanh(self.first(talk)), joint)
        scores = self.decoder.scores(states, told, embedded, self.words.weight)
        topic = told[:, :, width:]
        return self.biased(scores, states, topic, embedded, topics)

    def biased(
        self, scores: Tensor, states: Tensor, topic: Tensor, embedded: Tensor, topics: Tensor
    ) -> Tensor:
        """Scores with the second reason to say a topic word added."""
        joined = torch.cat([states, topic.to(states.dtype), embedded.to(states.dtype)], dim=2)
        read = self.dropout(torch.tanh(self.topic_readout(joined))).float()
        second = torch.einsum("bse,bke->bsk", read, self.words(topics).float()) + self.topic_bias
        second = second.masked_fill((topics == PAD)[:, None], -1e9)
        places = topics[:, None].expand(-1, scores.shape[1], -1)
        # A word that stands twice among the topic words gets the same score at both places.
        return scores.scatter(2, places, torch.logaddexp(scores.gather(2, places), second))
