"""Fused steps of an encoder in Triton, everything in single precision.

Arguments of kernels have no annotations: Triton would take them for names that it has to know.
"""

from __future__ import annotations

from typing import TypeAlias

import torch
import triton
import triton.language as tl

Tensor: TypeAlias = torch.Tensor

LONGEST = 128
"""Tokens of a text that the fused attention takes: all of its logits lie in registers."""

# Triton 3.9 warns where this is left open, since 3.10 will have another default.
_OPTIONS = {"enable_fp_fusion": True}


@triton.jit
def _store_halves(place, inside, value, width):
    rounded = value.to(tl.float16)
    tl.store(place, rounded, mask=inside)
    tl.store(place + width, (value - rounded.to(tl.float32)).to(tl.float16), mask=inside)


@triton.jit
def _halves(state, out, width, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, block)
    inside = columns < width
    value = tl.load(state + row * width + columns, mask=inside, other=0.0)
    _store_halves(out + row * 2 * width + columns, inside, value, width)


@triton.jit
def _gelu(product, scales, bias, out, width, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, block)
    inside = columns < width
    value = tl.load(product + row * width + columns, mask=inside, other=0.0)
    value = value * tl.load(scales + columns, mask=inside, other=0.0)
    value = value + tl.load(bias + columns, mask=inside, other=0.0)
    value = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
    _store_halves(out + row * 2 * width + columns, inside, value, width)


@triton.jit
def _sum_and_norm(
    product, scales, bias, state, weight, shift, epsilon, after, out, width, block: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, block)
    inside = columns < width
    here = row * width + columns
    value = tl.load(product + here, mask=inside, other=0.0)
    value = value * tl.load(scales + columns, mask=inside, other=0.0)
    value = value + tl.load(bias + columns, mask=inside, other=0.0)
    value = value + tl.load(state + here, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / width
    away = tl.where(inside, value - mean, 0.0)
    variance = tl.sum(away * away, axis=0) / width
    value = away / tl.sqrt(variance + epsilon)
    value = value * tl.load(weight + columns, mask=inside, other=0.0)
    value = value + tl.load(shift + columns, mask=inside, other=0.0)
    tl.store(after + here, value, mask=inside)
    _store_halves(out + row * 2 * width + columns, inside, value, width)


@triton.jit
def _part(product, scales, bias, place, column, inside):
    value = tl.load(product + place, mask=inside, other=0.0)
    return value * tl.load(scales + column)[None, :] + tl.load(bias + column)[None, :]


@triton.jit
def _attention(
    product,
    scales,
    bias,
    lengths,
    relative,
    out,
    length,
    width,
    distances,
    factor,
    has_relative: tl.constexpr,
    block: tl.constexpr,
    depth: tl.constexpr,
):
    text = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    rows = tl.arange(0, block)
    inside = (rows < length)[:, None]
    column = head * depth + tl.arange(0, depth)
    place = (text * length + rows)[:, None] * (3 * width) + column[None, :]
    query = _part(product, scales, bias, place, column, inside)
    key = _part(product, scales, bias, place + width, column + width, inside)
    value = _part(product, scales, bias, place + 2 * width, column + 2 * width, inside)
    logits = tl.dot(query, tl.trans(key), input_precision="tf32x3") * factor
    if has_relative:
        far = rows[None, :] - rows[:, None] + distances // 2
        known = (far >= 0) & (far < distances)
        logits += tl.load(relative + head * distances + far, mask=known, other=0.0)
    logits = tl.where((rows < tl.load(lengths + text))[None, :], logits, -1e30)
    share = tl.exp(logits - tl.max(logits, axis=1)[:, None])
    share = share / tl.sum(share, axis=1)[:, None]
    said = tl.dot(share, value, input_precision="tf32x3")
    there = out + (text * length + rows)[:, None] * (2 * width) + column[None, :]
    _store_halves(there, inside, said, width)


def _empty_halves(like: Tensor, width: int) -> Tensor:
    return torch.empty((len(like), 2 * width), dtype=torch.float16, device=like.device)


def halves(state: Tensor) -> Tensor:
    """Return rows of numbers as pairs of halves."""
    rows, width = state.shape
    out = _empty_halves(state, width)
    _halves[(rows,)](state, out, width, block=triton.next_power_of_2(width), **_OPTIONS)
    return out


def gelu(product: Tensor, scales: Tensor, bias: Tensor) -> Tensor:
    """Return the GELU of scaled rows as pairs of halves."""
    rows, width = product.shape
    out = _empty_halves(product, width)
    block = triton.next_power_of_2(width)
    _gelu[(rows,)](product, scales, bias, out, width, block=block, num_warps=8, **_OPTIONS)
    return out


def sum_and_norm(
    product: Tensor,
    scales: Tensor,
    bias: Tensor,
    state: Tensor,
    weight: Tensor,
    shift: Tensor,
    epsilon: float,
) -> tuple[Tensor, Tensor]:
    """Return the normalised sum of scaled rows and a state, and its pairs of halves."""
    rows, width = product.shape
    after = torch.empty_like(product)
    out = _empty_halves(product, width)
    block = triton.next_power_of_2(width)
    _sum_and_norm[(rows,)](
        *(product, scales, bias, state, weight, shift, epsilon, after, out, width),
        block=block,
        **_OPTIONS,
    )
    return after, out


def attention(
    product: Tensor,
    scales: Tensor,
    bias: Tensor,
    lengths: Tensor,
    relative: Tensor | None,
    length: int,
    heads: int,
) -> Tensor:
    """Return what attention reads from scaled queries, keys and values, as pairs of halves."""
    width = product.shape[1] // 3
    depth = width // heads
    out = _empty_halves(product, width)
    _attention[(len(lengths), heads)](
        product,
        scales,
        bias,
        lengths,
        product if relative is None else relative,
        out,
        length,
        width,
        0 if relative is None else relative.shape[1],
        depth**-0.5,
        has_relative=relative is not None,
        block=max(16, triton.next_power_of_2(length)),
        depth=depth,
        num_warps=8 if length > 64 else 4,
        **_OPTIONS,
    )
    return out
