"""Weights in a file that needs no PyTorch: safetensors, with matrices in one byte a number.

A matrix is stored row by row as int8 with one scale a row (symmetric, the largest number of a row
is 127); vectors are stored in half precision. Beside half precision this halves a file and costs
nothing that a metric sees; the card says what it cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dialens.base import DialensError

Arrays = dict[str, NDArray[np.float32]]
_SCALE: Final = ".scale"


def save_weights(weights: Mapping[str, NDArray[Any]], file: Path, *, small: bool = True) -> None:
    """Write arrays.

    Args:
        weights: By name, in any float type.
        file: Where to.
        small: Matrices as int8; otherwise everything in half precision.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "w.safetensors"
        >>> save_weights({"a": np.array([[1.0, -0.5], [0.0, 0.0]])}, file)
        >>> load_weights(file)["a"].round(2).tolist()
        [[1.0, -0.5], [0.0, 0.0]]
    """
    stored: dict[str, NDArray[Any]] = {}
    for name, value in weights.items():
        if small and value.ndim == 2 and value.shape[1] > 1:
            stored[name], stored[name + _SCALE] = quantise(value)
        else:
            stored[name] = value.astype(np.float16)
    save_file({name: np.ascontiguousarray(value) for name, value in stored.items()}, file)


def quantise(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix as int8 and one scale a row; the error of a number is at most half a scale.

    Examples:
        >>> numbers, scale = quantise(np.array([[2.54, -1.0]]))
        >>> numbers.tolist(), [round(float(one), 3) for one in scale]
        ([[127, -50]], [0.02])
    """
    largest = np.abs(matrix).max(axis=1)
    scale = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def load_weights(file: Path) -> Arrays:
    """Read arrays, as single precision.

    Raises:
        DialensError: The file is cut off or of another kind.
    """
    try:
        stored = load_file(file)
    except SafetensorError as error:
        raise DialensError(f"{file} holds no weights ({error}); fetch it again.") from error
    weights: Arrays = {}
    for name, value in stored.items():
        if name.endswith(_SCALE):
            continue
        wide = value.astype(np.float32)
        scale = stored.get(name + _SCALE)
        weights[name] = wide if scale is None else wide * scale[:, None]
    return weights
