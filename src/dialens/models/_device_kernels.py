"""The steps between the products of an encoder on a device, plain or fused.

Each step reads what a product gave, applies its scales and bias, and leaves pairs of halves for the
next product: a number rounded to half precision, and beside it what the rounding left over. PyTorch
alone needs half a dozen passes over memory for that, Triton one, so Triton is used where it works.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from dialens.base import DialensWarning, first_line
from dialens.models._devices import memory_is_full

Tensor: TypeAlias = torch.Tensor

_HIDDEN = -1e4  # added to the logits of attention where there is no token


@dataclass(frozen=True)
class DeviceLinear:
    """A product: whole numbers twice, for both halves (2 × inputs, outputs), scales and bias."""

    matrix: Tensor
    scales: Tensor
    bias: Tensor


@dataclass(frozen=True)
class DeviceNorm:
    """Layer normalisation."""

    weight: Tensor
    bias: Tensor
    epsilon: float

    def __call__(self, state: Tensor) -> Tensor:
        """Normalise the rows of a state."""
        return functional.layer_norm(state, self.weight.shape, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True, eq=False)
class Texts:
    """The shape of a batch, and who may look at whom.

    Attributes:
        lengths: Tokens of each text.
        length: Places of each text, filled up.
        heads: Of attention.
        relative: Bias by distance (heads × distances), where the encoder has one.
    """

    lengths: Tensor
    length: int
    heads: int
    relative: Tensor | None

    @cached_property
    def places(self) -> Tensor:
        """The numbers of places."""
        return torch.arange(self.length, device=self.lengths.device)

    @cached_property
    def inside(self) -> Tensor:
        """Which places hold a token (texts × places)."""
        return self.places < self.lengths[:, None]

    @cached_property
    def bias(self) -> Tensor:
        """What is added to the logits of attention (texts × heads × places × places)."""
        bias = torch.where(self.inside, 0.0, _HIDDEN)[:, None, None, :]
        if self.relative is not None:
            far = self.places[None, :] - self.places[:, None] + self.relative.shape[1] // 2
            bias = bias + self.relative[:, far][None]
        return bias.expand(len(self.lengths), self.heads, self.length, self.length)


class PlainKernels:
    """The steps as PyTorch has them, on any device."""

    def halves(self, state: Tensor) -> Tensor:
        """Return numbers as pairs of halves: all rounded ones of a row, then what is left over."""
        rounded = state.half()
        return torch.cat([rounded, (state - rounded.float()).half()], dim=1)

    def scaled(self, product: Tensor, linear: DeviceLinear) -> Tensor:
        """Apply scales and bias to what a product gave."""
        return torch.addcmul(linear.bias, product, linear.scales)

    def attention(self, product: Tensor, linear: DeviceLinear, texts: Texts) -> Tensor:
        """Apply scales and bias to queries, keys and values, and attend; return pairs of halves."""
        parts = self.scaled(product, linear)
        parts = parts.view(len(texts.lengths), texts.length, 3, texts.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        said = functional.scaled_dot_product_attention(query, key, value, attn_mask=texts.bias)
        return self.halves(said.transpose(1, 2).reshape(len(product), -1))

    def gelu(self, product: Tensor, linear: DeviceLinear) -> Tensor:
        """Apply scales, bias and the exact GELU; return pairs of halves."""
        return self.halves(functional.gelu(self.scaled(product, linear)))

    def sum_and_norm(
        self, product: Tensor, linear: DeviceLinear, state: Tensor, norm: DeviceNorm
    ) -> tuple[Tensor, Tensor]:
        """Apply scales and bias, add the state and normalise; return it, and pairs of halves."""
        state = norm(self.scaled(product, linear) + state)
        return state, self.halves(state)


class FusedKernels(PlainKernels):
    """The same in one pass over memory each, by Triton, as far as it can for this card.

    A card may lack what a step needs: the shared memory of a long text's attention, say. That step
    is computed as PyTorch has it from then on. Any other reason is told, since it can be mended:
    Triton needs a C compiler, for example.
    """

    def __init__(self) -> None:
        from dialens.models import _triton_kernels

        self._triton: Any = _triton_kernels
        self._given_up: set[tuple[object, ...]] = set()

    def _fused(self, step: tuple[object, ...], *arguments: object) -> Any:
        """What Triton computes; None for a step that it cannot compile or run here."""
        if step in self._given_up:
            return None
        try:
            return getattr(self._triton, str(step[0]))(*arguments)
        except Exception as error:  # Triton's classes have no common base
            if memory_is_full(error):
                raise
            self._given_up.add(step)
            if type(error).__name__ != "OutOfResources":
                say_that_triton_fails(first_line(error))
            return None

    def halves(self, state: Tensor) -> Tensor:
        """Do as :meth:`PlainKernels.halves`."""
        fused: Tensor | None = self._fused(("halves",), state.contiguous())
        return super().halves(state) if fused is None else fused

    def attention(self, product: Tensor, linear: DeviceLinear, texts: Texts) -> Tensor:
        """Do as :meth:`PlainKernels.attention`."""
        depth = product.shape[1] // 3 // texts.heads
        fused: Tensor | None = None
        if texts.length <= self._triton.LONGEST and depth in (16, 32, 64, 128):
            fused = self._fused(
                ("attention", texts.length, depth),
                product,
                linear.scales,
                linear.bias,
                texts.lengths,
                texts.relative,
                texts.length,
                texts.heads,
            )
        return super().attention(product, linear, texts) if fused is None else fused

    def gelu(self, product: Tensor, linear: DeviceLinear) -> Tensor:
        """Do as :meth:`PlainKernels.gelu`."""
        fused: Tensor | None = self._fused(("gelu",), product, linear.scales, linear.bias)
        return super().gelu(product, linear) if fused is None else fused

    def sum_and_norm(
        self, product: Tensor, linear: DeviceLinear, state: Tensor, norm: DeviceNorm
    ) -> tuple[Tensor, Tensor]:
        """Do as :meth:`PlainKernels.sum_and_norm`."""
        fused: tuple[Tensor, Tensor] | None = self._fused(
            ("sum_and_norm",),
            product,
            linear.scales,
            linear.bias,
            state,
            norm.weight,
            norm.bias,
            norm.epsilon,
        )
        return super().sum_and_norm(product, linear, state, norm) if fused is None else fused


def kernels_for(device: torch.device) -> PlainKernels:
    """Return the fused steps where there is Triton, else the plain ones."""
    if device.type != "cuda":
        return PlainKernels()
    try:
        return FusedKernels()
    except Exception as error:  # no Triton, or one that does not load
        say_that_triton_fails(first_line(error))
        return PlainKernels()


@functools.cache  # once a process for each reason
def say_that_triton_fails(reason: str) -> None:
    """Say that PyTorch computes what Triton would compute faster, and why."""
    warnings.warn(
        f"Triton cannot be used on the graphics card ({reason}), so PyTorch alone computes, with "
        "the same numbers, up to three times slower.",
        DialensWarning,
        stacklevel=2,
    )


def multiplies_halves(device: torch.device) -> bool:
    """Tell whether a device multiplies halves and adds up in floats, as not every build can."""
    if device.type != "cuda":
        return False
    ones = torch.ones(16, 16, dtype=torch.float16, device=device)
    try:
        torch.mm(ones, ones, out_dtype=torch.float32)
    except Exception as error:
        if memory_is_full(error):
            raise
        return False
    return True
