"""Where a model of one's own computes: on the processor, or on a graphics card."""

import contextlib
from collections.abc import Iterator

from dialens.base import DialensError

DEVICES = ("auto", "cpu", "cuda", "mps")
"""What can be asked for; `auto` takes a graphics card where there is one."""


def device_named(wanted: str) -> str:
    """`cpu`, `cuda` or `mps`, as the user says or the machine has it.

    Raises:
        DialensError: A graphics card was asked for, and PyTorch sees none.

    Examples:
        >>> device_named("cpu")
        'cpu'
    """
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next((name for name, found in there.items() if found), "cpu")
    if not there.get(wanted, True):
        raise DialensError(
            f"device={wanted}: PyTorch sees no such graphics card here. Set device=cpu or auto, or "
            "install the PyTorch that is made for it."
        )
    return wanted


@contextlib.contextmanager
def own_draws(device: str, seed: int) -> Iterator[None]:
    """Draw from a seed, and leave the generators of the process as they were."""
    import torch

    cards = [torch.cuda.current_device()] if device == "cuda" else []
    before = torch.mps.get_rng_state() if device == "mps" else None
    with torch.random.fork_rng(devices=cards):
        torch.manual_seed(seed)  # of all devices
        try:
            yield
        finally:
            if before is not None:
                torch.mps.set_rng_state(before)
