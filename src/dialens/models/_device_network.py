"""An encoder on a graphics card: products of halves that are as exact as products of floats.

Weights that ship are whole numbers with a scale for each output. Whole numbers up to 127 are exact
in half precision, so only activations would be rounded. Those are given as *two* halves, the number
rounded and what the rounding left over; both meet the same weights in one product on the tensor
cores, which add up in single precision. All else is computed in single precision. What comes out
is that of single precision throughout to about 1e-5, and depends on no other text of a batch.

Not in whole numbers as on processors: rounding activations to eight bits makes a step of any
difference, however small, so that two devices that differ in the last bit of a sum soon differ by
as much as the rounding itself (up to .06 of a probability in the models that ship).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch.nn import functional

from dialens.models._device_kernels import (
    DeviceLinear,
    DeviceNorm,
    Texts,
    kernels_for,
    multiplies_halves,
)
from dialens.models._encoder_weights import EncoderWeights, LayerWeights, Norm, QuantisedLinear

EMBEDDING = "embedding"

Tensor: TypeAlias = torch.Tensor


@dataclass(frozen=True)
class _Layer:
    qkv: DeviceLinear
    out: DeviceLinear
    up: DeviceLinear
    down: DeviceLinear
    norm1: DeviceNorm
    norm2: DeviceNorm


class DeviceNetwork:
    """An encoder's network on a device.

    Args:
        weights: Of a graph of this package.
        device: ``cuda``; ``cpu`` computes the same in floats, for tests and where memory is short.
    """

    def __init__(self, weights: EncoderWeights, device: str) -> None:
        self.weights = weights
        self.device = torch.device(device)
        self.width = weights.positions.shape[1]
        self._kernels = kernels_for(self.device)
        self._multiplies_halves = multiplies_halves(self.device)
        self._words = self._placed(weights.words)
        self._word_scales = self._placed(weights.word_scales)
        self._places = self._placed(weights.positions)
        self._segments = None if weights.segments is None else self._placed(weights.segments)
        self._norm = self._norm_of(weights.norm)
        self._relative = None if weights.relative is None else self._placed(weights.relative)
        self._layers = [self._layer(one) for one in weights.layers]
        self._outputs = {
            name: (self._placed(matrix), self._placed(bias))
            for name, (matrix, bias) in weights.outputs.items()
        }
        self._language = None
        if weights.language is not None:
            dense = self._linear(weights.language.dense)
            norm = self._norm_of(weights.language.norm)
            self._language = (dense, norm, self._placed(weights.language.bias))

    @property
    def widths(self) -> dict[str, int]:
        """The outputs and how many columns each has."""
        sizes = {name: len(bias) for name, (_, bias) in self._outputs.items()}
        return {EMBEDDING: self.width, **sizes}

    @property
    def token_bytes(self) -> int:
        """About how much memory a token of a batch takes while it is computed."""
        inner = len(self.weights.layers[0].up.values)
        longest = len(self.weights.positions)
        return 4 * int(12 * self.width + 2 * inner + self.weights.heads * longest)

    def run(self, ids: Tensor, lengths: Tensor, second: Tensor, names: Sequence[str]) -> Tensor:
        """Return the outputs of a batch side by side, a row an input.

        Args:
            ids: Tokens (inputs × places).
            lengths: Tokens of each input.
            second: Where its second segment begins.
            names: Of outputs.
        """
        state, seen = self._states(ids, lengths, second)
        state = state.view(*ids.shape, self.width)
        mean = (state * seen[:, :, None]).sum(1) / lengths[:, None]
        parts = []
        for name in names:
            if name == EMBEDDING:
                parts.append(mean)
            else:
                matrix, bias = self._outputs[name]
                parts.append(torch.addmm(bias, mean, matrix.T))
        return torch.cat(parts, dim=1)

    def log_probabilities(
        self, ids: Tensor, lengths: Tensor, places: Tensor, tokens: Tensor
    ) -> Tensor:
        """Return how likely tokens are at hidden places of the flattened batch.

        Args:
            ids: Tokens (inputs × places).
            lengths: Tokens of each input.
            places: Numbers of places, row after row.
            tokens: What stood there.

        Raises:
            ValueError: The graph has no language model.
        """
        if self._language is None:
            raise ValueError("the graph has no language model")
        dense, norm, bias = self._language
        state, _ = self._states(ids, lengths, lengths)
        value = self._product(self._kernels.halves(state[places]), dense)
        value = norm(functional.gelu(self._kernels.scaled(value, dense)))
        scores = torch.addmm(bias, value, self._rows(None).T)
        chosen = scores.gather(1, tokens[:, None])[:, 0]
        return chosen - torch.logsumexp(scores, dim=1)

    def _rows(self, which: Tensor | None) -> Tensor:
        """Return rows of the word table in floats; all of them if not said which."""
        words = self._words if which is None else self._words[which]
        scales = self._word_scales if which is None else self._word_scales[which]
        blocks = words.view(len(words), scales.shape[1], -1) * scales[..., None]
        return blocks.view(len(words), self.width)

    def _states(self, ids: Tensor, lengths: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        batch, length = ids.shape
        texts = Texts(lengths, length, self.weights.heads, self._relative)
        state = self._rows(ids.reshape(-1)).view(batch, length, self.width)
        state = state + self._places[:length]
        if self._segments is not None:
            behind = (texts.places >= second[:, None]) & texts.inside
            state = state + self._segments[behind.int()]
        state = self._norm(state).view(batch * length, self.width)
        halves = self._kernels.halves(state)
        for layer in self._layers:
            state, halves = self._through(layer, state, halves, texts)
        return state, texts.inside.float()

    def _through(
        self, layer: _Layer, state: Tensor, halves: Tensor, texts: Texts
    ) -> tuple[Tensor, Tensor]:
        kernels = self._kernels
        said = kernels.attention(self._product(halves, layer.qkv), layer.qkv, texts)
        out = self._product(said, layer.out)
        state, halves = kernels.sum_and_norm(out, layer.out, state, layer.norm1)
        inner = kernels.gelu(self._product(halves, layer.up), layer.up)
        down = self._product(inner, layer.down)
        return kernels.sum_and_norm(down, layer.down, state, layer.norm2)

    def _product(self, halves: Tensor, linear: DeviceLinear) -> Tensor:
        """Multiply pairs of halves by whole numbers; scales and bias come with the next step."""
        if self._multiplies_halves:
            return torch.mm(halves, linear.matrix, out_dtype=torch.float32)
        return halves.float() @ linear.matrix.float()

    def _placed(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(values)).to(self.device)

    def _linear(self, linear: QuantisedLinear) -> DeviceLinear:
        matrix = self._placed(linear.values.T).half()
        twice = torch.cat([matrix, matrix])
        return DeviceLinear(twice, self._placed(linear.scales), self._placed(linear.bias))

    def _norm_of(self, norm: Norm) -> DeviceNorm:
        return DeviceNorm(self._placed(norm.weight), self._placed(norm.bias), norm.epsilon)

    def _layer(self, layer: LayerWeights) -> _Layer:
        return _Layer(
            self._linear(layer.qkv),
            self._linear(layer.out),
            self._linear(layer.up),
            self._linear(layer.down),
            self._norm_of(layer.norm1),
            self._norm_of(layer.norm2),
        )
