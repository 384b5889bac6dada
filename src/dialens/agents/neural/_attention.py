"""Additive attention: which parts of a memory a state asks for (Bahdanau et al. 2015, §A.1.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class AdditiveAttention(nn.Module):
    """``e_j = v · tanh(W s + U h_j)``, ``α = softmax(e)``, ``c = Σ α_j h_j``.

    Args:
        query: Numbers of the state that asks.
        memory: Numbers of each part of the memory.
        width: Numbers in which they are compared.
    """

    def __init__(self, query: int, memory: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, width)
        self.memory = nn.Linear(memory, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        """``U h_j``, which is the same at every step of a reply."""
        keys: Tensor = self.memory(memory)
        return keys

    def forward(
        self, query: Tensor, memory: Tensor, keys: Tensor, there: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What is read from the memory, and the weights.

        Args:
            query: ``batch × numbers``.
            memory: ``batch × parts × numbers``.
            keys: The memory's, from :meth:`keys`.
            there: ``batch × parts``: what is no padding. Where nothing is, nothing is read.
        """
        energy = self.energy(torch.tanh(self.query(query)[:, None] + keys))[..., 0].float()
        # A large finite number: rows without any part stay finite and are emptied below.
        weights = torch.softmax(energy.masked_fill(~there, -1e9), dim=1) * there
        read = torch.bmm(weights[:, None].to(memory.dtype), memory)[:, 0]
        return read, weights
