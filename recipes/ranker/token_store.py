"""Tokens of many texts on the device, put together into inputs there.

Ranking draws new pairs of context and reply at every step. Encoding each text once, and joining
token ids on the device by index, keeps a small encoder on a large GPU busy. The inputs are those of
:func:`dialens.models._inputs.encode_inputs`, cut the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from dialens.base import DialensError
from dialens.models import make_plain, special_tokens

_CHUNK = 8192


@dataclass(frozen=True)
class Batch:
    """Padded ids, mask and segment types on the device."""

    ids: torch.Tensor
    mask: torch.Tensor
    types: torch.Tensor

    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return what an encoder takes."""
        return self.ids, self.mask, self.types


class TokenStore:
    """Encoded texts, asked for by row; row -1 is the empty text.

    Args:
        folder: Of the encoder whose tokenizer reads them.
        texts: What is read.
        device: Where the tokens lie.
        longest: Tokens of an input.
    """

    def __init__(
        self, folder: Path, texts: Sequence[str], device: torch.device, *, longest: int = 128
    ) -> None:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        make_plain(tokenizer)
        self.begin, self.end, self.double = special_tokens(tokenizer)
        pad = tokenizer.token_to_id("<pad>" if self.double else "[PAD]")
        self.pad = int(pad or 0)
        mask = tokenizer.token_to_id("<mask>" if self.double else "[MASK]")
        if mask is None:
            raise DialensError(f"{folder / 'tokenizer.json'} has no token to hide others with")
        self.mask_token: int = mask
        self.longest = longest
        self.device = device
        ids: list[np.ndarray] = []
        for start in range(0, len(texts), _CHUNK):
            some = list(texts[start : start + _CHUNK])
            encoded = tokenizer.encode_batch_fast(some, add_special_tokens=False)
            ids += [np.asarray(one.ids, dtype=np.int32) for one in encoded]
        self.length = np.array([*(len(one) for one in ids), 0], dtype=np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.length[:-1])])
        flat = np.concatenate([*ids, np.zeros(1, np.int32)])
        self.flat = torch.from_numpy(flat).to(device)

    def texts(self, rows: np.ndarray) -> Batch:
        """Return single texts, cut at the end."""
        kept = np.minimum(self.length[rows], self.longest - 2)
        nothing = np.zeros_like(kept)
        return self._joined([(self.start[rows], nothing, kept)], kept + 2, kept + 2)

    def pairs(self, earlier: np.ndarray, parent: np.ndarray, reply: np.ndarray) -> Batch:
        """Return contexts of up to two turns with their replies; a context loses its beginning."""
        middle = 2 if self.double else 1
        room = self.longest - 2 - middle
        before_last, last, own = (self.length[rows] for rows in (earlier, parent, reply))
        before = before_last + last
        kept = np.minimum(own, np.maximum(room - before, 3 * room // 4))
        tail = np.minimum(before, room - kept)
        of_last = np.minimum(last, tail)
        of_first = tail - of_last
        second = 1 + tail + middle
        parts = [
            (self.start[earlier] + before_last - of_first, np.zeros_like(tail), of_first),
            (self.start[parent] + last - of_last, of_first, of_last),
            (self.start[reply], tail + middle, kept),
        ]
        return self._joined(parts, second + kept + 1, second)

    def _joined(
        self,
        parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
        total: np.ndarray,
        second: np.ndarray,
    ) -> Batch:
        # Each part: where it lies in the store, how far behind the first token it goes, how long.
        width = int(total.max())
        place = torch.arange(width, device=self.device)[None, :]

        def column(values: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(values).to(self.device, non_blocking=True)[:, None]

        size = column(total)
        mask = place < size
        ids = torch.where(mask, self.end, self.pad)
        ids = torch.where(place == 0, self.begin, ids)
        for start, after, count in parts:
            first = column(after) + 1
            inside = (place >= first) & (place < first + column(count))
            index = torch.where(inside, column(start) + place - first, 0)
            ids = torch.where(inside, self.flat[index].long(), ids)
        types = mask & (place >= column(second))
        return Batch(ids, mask.long(), types.long())
