"""Drawing from a seed on whatever device a model computes."""

import contextlib
from collections.abc import Iterator


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
