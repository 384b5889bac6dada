"""The tensors of a folder of weights by name: in one file or in pieces, in either format."""

import json
import struct
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from dialens.base import first_line
from dialens.metrics._family import NotReadyError
from dialens.models import PICKLED_WEIGHTS, SAFE_WEIGHTS

_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)
"""What PyTorch raises at damaged bytes, found by damaging some."""


def read_tensors(folder: Path) -> dict[str, Any]:
    """All tensors of a folder that `load_folder` has let through, pickles among them.

    Raises:
        NotReadyError: Names the file that is missing or damaged.
    """
    tensors: dict[str, Any] = {}
    for file in _weight_files(folder):
        tensors |= _read(file)
    return tensors


def _weight_files(folder: Path) -> list[Path]:
    """Numbers alone where there are such files, else pickles; whole before pieces."""
    for whole, index in (SAFE_WEIGHTS, PICKLED_WEIGHTS):
        if (folder / whole).is_file():
            return [folder / whole]
        if (folder / index).is_file():
            return _pieces(folder / index)
    raise NotReadyError(
        f"{folder / SAFE_WEIGHTS[0]} is not there; copy the whole folder of the model"
    )


def _pieces(index: Path) -> list[Path]:
    try:
        named = json.loads(index.read_text("utf-8"))["weight_map"].values()
        return [index.parent / Path(name).name for name in sorted(set(named))]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _damaged(index, error) from error


def _read(file: Path) -> dict[str, Any]:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        read = dict(torch.load(file, map_location="cpu", weights_only=True))
        if not all(isinstance(values, torch.Tensor) for values in read.values()):
            raise ValueError("not tensors by name")
        return read
    except FileNotFoundError as error:
        raise NotReadyError(f"{file} is not there; copy the whole folder of the model") from error
    except UnpicklingError as error:  # whose advice is to run the code that may be in it
        raise NotReadyError(
            f"{file} is damaged, or holds more than tensors; convert it to safetensors"
        ) from error
    except (SafetensorError, *_DAMAGE) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> NotReadyError:
    return NotReadyError(
        f"{file} cannot be read ({first_line(error)}); copy it again, it may be damaged"
    )
