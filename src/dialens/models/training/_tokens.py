"""Texts as token ids, in batches of like length.

Pairs are cut so that the reply is kept whole as far as it goes and the context loses its
beginning: what was said last matters most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from dialens.models._inputs import TextInput, encode_inputs


@dataclass(frozen=True)
class TokenTable:
    """Encoded inputs: ids of each, and where its second segment starts."""

    ids: tuple[np.ndarray, ...]
    second: np.ndarray
    pad: int

    def __len__(self) -> int:
        return len(self.ids)

    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each input."""
        return np.fromiter((len(one) for one in self.ids), dtype=np.int64, count=len(self.ids))

    def batch(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return padded ids, mask and segment types of some rows."""
        longest = max(len(self.ids[row]) for row in rows)
        ids = np.full((len(rows), longest), self.pad, dtype=np.int64)
        mask = np.zeros((len(rows), longest), dtype=np.int64)
        types = np.zeros((len(rows), longest), dtype=np.int64)
        for place, row in enumerate(rows):
            one = self.ids[row]
            ids[place, : len(one)] = one
            mask[place, : len(one)] = 1
            types[place, self.second[row] : len(one)] = 1
        return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(types)


def tokenise(folder: Path, texts: Sequence[TextInput], *, longest: int) -> TokenTable:
    """Encode texts or (context, reply) pairs with the tokenizer of an encoder's folder."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoded = encode_inputs(tokenizer, texts, longest=longest)
    pad = tokenizer.token_to_id("<pad>")
    pad = tokenizer.token_to_id("[PAD]") if pad is None else pad
    ids = tuple(np.asarray(one, dtype=np.int32) for one in encoded.ids)
    return TokenTable(ids, np.asarray(encoded.second, dtype=np.int64), pad or 0)


def joined(tables: Sequence[TokenTable]) -> TokenTable:
    """Put tables under each other."""
    ids = tuple(one for table in tables for one in table.ids)
    return TokenTable(ids, np.concatenate([table.second for table in tables]), tables[0].pad)


def shuffled_batches(
    lengths: np.ndarray, size: int, generator: np.random.Generator, *, pool: int = 50
) -> list[np.ndarray]:
    """Return rows in random batches of like length: sorted within pools of ``pool`` batches.

    Examples:
        >>> order = shuffled_batches(np.array([3, 9, 3, 9]), 2, np.random.default_rng(0))
        >>> sorted(np.sort(rows).tolist() for rows in order)
        [[0, 2], [1, 3]]
    """
    order = generator.permutation(len(lengths))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), size * pool):
        chunk = order[start : start + size * pool]
        chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
        batches.extend(chunk[i : i + size] for i in range(0, len(chunk), size))
    return [batches[i] for i in generator.permutation(len(batches))]


def sorted_batches(lengths: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    """Yield rows from long to short, as many at a time as fit into ``tokens`` with padding."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + size]
        start += size
