"""Texts as token ids.

Pairs are cut so that the reply is kept whole as far as it goes and the context loses its
beginning: what was said last matters most.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    ids = tuple(np.split(encoded.tokens, encoded.starts[1:-1])) if len(texts) else ()
    return TokenTable(ids, encoded.second, pad or 0)


def joined(tables: Sequence[TokenTable]) -> TokenTable:
    """Put tables under each other."""
    ids = tuple(one for table in tables for one in table.ids)
    return TokenTable(ids, np.concatenate([table.second for table in tables]), tables[0].pad)
