"""The fused steps of a graphics card without one: Triton's interpreter runs them on the processor.

    TRITON_INTERPRET=1 python -m tests.models.triton_on_processor OUTPUT.npz

Triton looks at that variable while it is imported, so this is a process of its own. Written are the
outputs of every model that ships, by model and output, and what attention reads from numbers drawn
at random, with the numbers. The test reads the constants here where there may be no Triton.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dialens.models import list_models
from dialens.models._device_kernels import FusedKernels
from dialens.models._device_model import DeviceModel
from dialens.models._device_network import DeviceNetwork
from dialens.models._encoder_weights import read_encoder_weights
from dialens.models._sessions import open_tokenizer

TEXTS = ["Thank you!", "ok"]
PAIRS = [("Hm?", "ok")]
LENGTHS = {8: (8, 1), 40: (40, 17), 128: (128, 100)}
HEADS, DEPTH = 2, 32


def models_say() -> dict[str, Any]:
    """The outputs of all models that ship, by the names of model and output."""
    found: dict[str, Any] = {}
    for card in (one.card for one in list_models()):
        network = DeviceNetwork(read_encoder_weights(card.folder / "int8.onnx"), "cpu")
        kernels = network._kernels = FusedKernels()
        model = DeviceModel(network, open_tokenizer(card))
        for pair, inputs in ((False, TEXTS), (True, PAIRS)):
            names = [task.output for task in card.tasks.values() if task.pair == pair]
            if names:
                values, _ = model.read(
                    inputs, names, longest=card.longest, pad=card.pad, advance=lambda _: None
                )
                found |= {f"{card.name} {name}": values[name] for name in names}
        assert not kernels._given_up, kernels._given_up
    return found


def attention_reads() -> dict[str, Any]:
    """Attention over numbers drawn at random: what went in, and what came out."""
    from triton.runtime.interpreter import InterpretedFunction

    from dialens.models import _triton_kernels as fused

    assert isinstance(fused._attention, InterpretedFunction)
    found: dict[str, Any] = {}
    dice = torch.Generator().manual_seed(0)
    width = HEADS * DEPTH
    for length, lengths in LENGTHS.items():
        for distances in (0, 2 * length - 1):
            product = torch.randn(len(lengths) * length, 3 * width, generator=dice)
            scales = torch.rand(3 * width, generator=dice) + 0.5
            bias = torch.randn(3 * width, generator=dice)
            relative = torch.randn(HEADS, distances, generator=dice) if distances else None
            said = fused.attention(
                product, scales, bias, torch.tensor(lengths), relative, length, HEADS
            )
            name = f"attention {length} {distances}"
            found |= {
                f"{name} parts": (product.double() * scales + bias).numpy(),
                f"{name} relative": (torch.empty(0) if relative is None else relative).numpy(),
                f"{name} said": (said[:, :width].double() + said[:, width:]).numpy(),
            }
    return found


if __name__ == "__main__":
    np.savez(Path(sys.argv[1]), **models_say(), **attention_reads())
