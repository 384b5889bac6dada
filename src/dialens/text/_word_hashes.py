"""A number for each word that is the same in every process, on every machine, in every version."""

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray


def word_hashes(words: pl.Series) -> NDArray[np.float64]:
    """A 64-bit hash of each word, as two columns: its upper and its lower 32 bits.

    Floats hold 32 bits exactly, so that hashes may stand in a `WordTable`. Polars' own hash changes
    with its version, and Python's with every process.

    Examples:
        >>> word_hashes(pl.Series(["so", "happy"])).tolist()
        [[3002041872.0, 3981827488.0], [738148902.0, 3223175548.0]]
    """
    digests = b"".join(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, ">u4").reshape(-1, 2).astype(np.float64)
