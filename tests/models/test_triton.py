"""The fused steps of a graphics card where there is none, by Triton itself.

Its interpreter runs them on the processor, and its compiler with NVIDIA's assembler makes programs
of cards of several generations. What only a card shows, its speed, stays with `pytest -m gpu`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dialens.base import DialensWarning
from dialens.models import Model, activated, list_models, read_card
from dialens.models._device_kernels import FusedKernels, kernels_for, say_that_triton_fails
from dialens.models._device_model import DeviceModel
from dialens.models._device_network import DeviceNetwork
from dialens.models._encoder_weights import read_encoder_weights
from dialens.models._sessions import open_tokenizer
from tests.conftest import component_missing
from tests.models.triton_on_processor import DEPTH, HEADS, LENGTHS, PAIRS, TEXTS

ROOT = Path(__file__).parents[2]
FOLDERS = {one.card.name: one.card for one in list_models()}
SHARED_MEMORY = {75: 64, 80: 163, 90: 227, 120: 99}
"""KiB that a block may have on cards of a generation (CUDA C++ Programming Guide, table of
technical specifications by compute capability): T4, A100, H100 and H200, RTX 50."""


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What Triton's interpreter computed."""
    need_triton()
    file = tmp_path_factory.mktemp("triton") / "found.npz"
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.triton_on_processor", file],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return np.load(file)


def need_triton() -> None:
    if importlib.util.find_spec("triton") is None:
        component_missing("Triton", "pip install --no-deps triton")


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_the_fused_steps_make_the_scores_of_floats(name: str, interpreted: Any) -> None:
    card = FOLDERS[name]
    for task in card.tasks.values():
        inputs = PAIRS if task.pair else TEXTS
        exact = Model(card, task.name, precision="fp32").run(inputs, task.output)
        np.testing.assert_allclose(
            activated(interpreted[f"{name} {task.output}"], task.activation),
            activated(exact, task.activation),
            atol=1e-4,
            err_msg=task.name,
        )


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("near", [False, True])
def test_fused_attention_is_attention(length: int, near: bool, interpreted: Any) -> None:
    """Softmax of scaled products over the tokens that are there, in doubles."""
    name = f"attention {length} {2 * length - 1 if near else 0}"
    parts = interpreted[f"{name} parts"].reshape(-1, length, 3, HEADS, DEPTH)
    said = interpreted[f"{name} said"].reshape(-1, length, HEADS, DEPTH)
    relative = interpreted[f"{name} relative"]
    for text, tokens in enumerate(LENGTHS[length]):
        for head in range(HEADS):
            query, key, value = parts[text, :, :, head].transpose(1, 0, 2)
            logits = query @ key[:tokens].T / DEPTH**0.5
            if near:
                away = np.arange(tokens)[None, :] - np.arange(length)[:, None]
                logits += relative[head, away + length - 1]
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            expected = shares @ value[:tokens] / shares.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(said[text, :, head], expected, atol=1e-5)


def programs() -> Iterator[Any]:
    """The steps for the shapes of the models that ship: name, source, number of warps."""
    import triton
    from triton.compiler import ASTSource

    from dialens.models import _triton_kernels as fused

    kinds = {"out": "*fp16", "lengths": "*i64", "epsilon": "fp32", "factor": "fp32"}
    kinds |= dict.fromkeys(("width", "length", "distances"), "i32")

    def source(kernel: Any, **constants: object) -> Any:
        kind = {name: kinds.get(name, "*fp32") for name in kernel.arg_names}
        kind |= dict.fromkeys(constants, "constexpr")
        return ASTSource(kernel, signature=kind, constexprs=constants)

    for width in (384, 768):
        block = triton.next_power_of_2(width)
        yield f"halves of {width}", source(fused._halves, block=block), 4
        yield f"norm of {width}", source(fused._sum_and_norm, block=block), 4
        yield f"gelu of {4 * width}", source(fused._gelu, block=4 * block), 8
    for depth, near in ((32, False), (64, True)):
        for length in (16, 64, 128):
            attention = source(fused._attention, has_relative=near, block=length, depth=depth)
            yield f"attention of {length} by {depth}", attention, 8 if length > 64 else 4


@pytest.mark.slow
@pytest.mark.parametrize("generation", SHARED_MEMORY)
def test_cards_of_several_generations_take_the_steps(
    generation: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_triton()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget

    too_large = set()
    for name, source, warps in programs():
        options = {"num_warps": warps, "enable_fp_fusion": True}
        made = triton.compile(source, target=GPUTarget("cuda", generation, 32), options=options)
        assert made.asm["cubin"][:4] == b"\x7fELF", name
        if made.metadata.shared > SHARED_MEMORY[generation] * 1024:
            too_large.add(name)
    old = {"attention of 128 by 32", "attention of 128 by 64"}
    assert too_large == (old if generation == 75 else set()), "PyTorch computes these"


class BrokenTriton:
    """Triton where no step compiles or runs."""

    LONGEST = 128

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, step: str) -> Any:
        def fails(*_: object) -> None:
            raise self.error

        return fails


class OutOfResources(Exception):
    """As Triton calls it."""


def broken(error: Exception) -> FusedKernels:
    kernels = object.__new__(FusedKernels)
    kernels._triton, kernels._given_up = BrokenTriton(error), set()
    return kernels


def test_why_triton_cannot_be_used_is_said_once() -> None:
    say_that_triton_fails.cache_clear()
    state = torch.arange(6.0).view(2, 3)
    error = RuntimeError("Failed to find C compiler. Please specify via CC environment variable.\n")
    with pytest.warns(DialensWarning, match=r"\(Failed to find C compiler\. .*\), so PyTorch"):
        halves = broken(error).halves(state)
    broken(error).halves(state)  # a second warning would be an error
    assert torch.equal(halves, torch.cat([state.half(), torch.zeros(2, 3).half()], dim=1))


def test_where_a_card_is_too_small_pytorch_computes(tiny_folder: Path) -> None:
    """Nobody can mend that, so nothing is said: here a warning would be an error."""
    card = read_card(tiny_folder)
    network = DeviceNetwork(read_encoder_weights(tiny_folder / "int8.onnx"), "cpu")
    model = DeviceModel(network, open_tokenizer(card))

    def read() -> np.ndarray:
        values, _ = model.read(
            TEXTS, ["emotion"], longest=card.longest, pad=card.pad, advance=lambda _: None
        )
        return values["emotion"]

    plain = read()
    small = network._kernels = broken(OutOfResources("shared memory, Required: 131072"))
    np.testing.assert_array_equal(read(), plain)
    assert {step for step, *_ in small._given_up} == {"halves", "attention", "gelu", "sum_and_norm"}


def test_without_triton_it_is_said_too(monkeypatch: pytest.MonkeyPatch) -> None:
    say_that_triton_fails.cache_clear()
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "dialens.models._triton_kernels", raising=False)
    monkeypatch.delattr("dialens.models._triton_kernels", raising=False)
    with pytest.warns(DialensWarning, match="triton.*up to three times slower"):
        kernels = kernels_for(SimpleNamespace(type="cuda"))  # type: ignore[arg-type]
    assert not isinstance(kernels, FusedKernels)
