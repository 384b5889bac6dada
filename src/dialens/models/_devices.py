"""Where networks compute: on the processor, or on a graphics card that PyTorch sees."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from dialens.base import DialensError, first_line

DEVICES = ("auto", "cpu", "cuda", "mps")
"""What can be asked for; ``auto`` takes a graphics card where there is one."""

GET_GPU = "pip install 'dialens[gpu]'"

_FULL = ("out of memory", "ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED")
_SIGNS = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/kfd")


def chosen_device(wanted: str, *, also: tuple[str, ...] = (), option: str = "--device ") -> str:
    """Return ``cpu``, ``cuda`` or one of ``also``, as the user says or the machine has it.

    ``auto`` does not load PyTorch where the machine has no graphics card.

    Args:
        wanted: One of :data:`DEVICES`.
        also: Devices beside ``cpu`` and ``cuda`` that will do, such as ``mps``.
        option: How the user says it, for messages.

    Raises:
        DialensError: A graphics card was asked for that cannot be used; says why.

    Examples:
        >>> chosen_device("cpu")
        'cpu'
        >>> chosen_device("tpu")
        Traceback (most recent call last):
        dialens.DialensError: --device is auto, cpu or cuda; seen: 'tpu'
    """
    allowed = ("auto", "cpu", "cuda", *also)
    if wanted not in allowed:
        names = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise DialensError(f"{option.rstrip(' =')} is {names}; seen: {wanted!r}")
    if wanted == "cpu":
        return "cpu"
    if wanted == "auto":
        if not also and not has_graphics_card():
            return "cpu"
        return next((name for name in ("cuda", *also) if why_not(name) is None), "cpu")
    reason = why_not(wanted)
    if reason is not None:
        raise DialensError(f"{option}{wanted}: {reason}, or use {option}cpu")
    return wanted


def has_graphics_card() -> bool:
    """Tell whether the machine seems to have a card for CUDA or ROCm; nothing is loaded."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return sys.platform == "win32" or any(Path(sign).exists() for sign in _SIGNS)


def memory_is_full(error: BaseException) -> bool:
    """Tell whether an error says that a graphics card has no memory left.

    PyTorch has a class for it; cuBLAS, Triton and the driver say it in words.

    Examples:
        >>> memory_is_full(RuntimeError("Triton Error [CUDA]: out of memory"))
        True
        >>> memory_is_full(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
        False
    """
    said = str(error)
    return type(error).__name__ == "OutOfMemoryError" or any(words in said for words in _FULL)


def on_device(model: Any, device: str, name: Path | str) -> Any:
    """Put a network of PyTorch on a device.

    Raises:
        DialensError: A graphics card has too little memory for it.
    """
    try:
        return model.to(device)
    except RuntimeError as error:
        if not memory_is_full(error):
            raise
        raise DialensError(
            f"The graphics card has too little free memory for {name}. Free it, or compute on "
            "the device cpu."
        ) from error


def free_memory() -> None:
    """Give back what PyTorch keeps of a card's memory for later."""
    import torch

    torch.cuda.empty_cache()


def why_not(device: str) -> str | None:
    """Say why PyTorch cannot compute on a device, with the remedy; None if it can."""
    if device == "cpu":
        return None
    if importlib.util.find_spec("torch") is None:
        return f"PyTorch is not installed ({GET_GPU})"
    import torch

    if device == "mps":
        there = torch.backends.mps.is_available()
        return None if there else "PyTorch sees no such graphics card here; install one made for it"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if not torch.cuda.is_available():
            return _why_none_is_seen()
        try:
            torch.zeros(1, device="cuda").add_(1).item()
        except Exception as error:  # PyTorch's classes for it have no common base
            if not memory_is_full(error):  # that is seen to where a network is put there
                return _why_it_fails(error, [str(one.message) for one in said])
    return None


def _why_none_is_seen() -> str:
    """Why PyTorch sees no card; it says so once by a warning, and by an error whenever asked."""
    import torch

    if torch.version.cuda is None and torch.version.hip is None:
        return (
            f"PyTorch {torch.__version__} is built for processors alone; install the one for your "
            "driver (see pytorch.org)"
        )
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call, unused-ignore]
    except Exception as error:
        reason = first_line(error).split(". ")[0].rstrip(".")
        if "too old" in reason:
            return (
                f"{reason}; update the driver, or install a PyTorch made for it (see pytorch.org)"
            )
        if "no NVIDIA driver" in reason:
            return f"{reason}; install the driver (see nvidia.com)"
    return "PyTorch sees no graphics card here; check nvidia-smi and CUDA_VISIBLE_DEVICES"


def _why_it_fails(error: Exception, said: list[str]) -> str:
    """Why a card that PyTorch sees cannot compute."""
    unfit = [text for text in said if "not compatible with the current PyTorch" in text]
    if unfit:
        reason = unfit[0].strip().splitlines()[0].rstrip(".")
        return f"{reason}; install a PyTorch made for it (see pytorch.org)"
    return f"the graphics card cannot be used ({first_line(error)}); free or mend it"
