"""The weights of an encoder, read back from the graph that this package wrote for ONNX Runtime.

The graph is the one place where a model's numbers lie; a network that computes the same on another
device takes them from there. Only graphs of :mod:`dialens.models.training._export` have the form
that is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialens.base import DialensError


@dataclass(frozen=True)
class QuantisedLinear:
    """A matrix product in whole numbers: int8 values (outputs × inputs), a scale and bias each."""

    values: np.ndarray
    scales: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class Norm:
    """Layer normalisation."""

    weight: np.ndarray
    bias: np.ndarray
    epsilon: float


@dataclass(frozen=True)
class LayerWeights:
    """One transformer layer, norm after the sum."""

    qkv: QuantisedLinear
    out: QuantisedLinear
    norm1: Norm
    up: QuantisedLinear
    down: QuantisedLinear
    norm2: Norm


@dataclass(frozen=True)
class LanguageHead:
    """What predicts hidden tokens: a layer, its norm, and the word table as a product."""

    dense: QuantisedLinear
    norm: Norm
    bias: np.ndarray


@dataclass(frozen=True)
class EncoderWeights:
    """All numbers of an encoder.

    Attributes:
        words: The word table as whole numbers between −127 and 127 (words × width).
        word_scales: One scale for each block of 64 numbers of a word (words × blocks).
        positions: One row for each place a token may have.
        segments: One row a segment, where the encoder tells segments apart.
        norm: Of the embedded tokens.
        relative: Bias of attention by distance (heads × distances), where it has one.
        heads: Of attention.
        layers: In order.
        outputs: By name, the matrix and bias of each linear output of the mean state.
        language: Of a graph that predicts hidden tokens.
    """

    words: np.ndarray
    word_scales: np.ndarray
    positions: np.ndarray
    segments: np.ndarray | None
    norm: Norm
    relative: np.ndarray | None
    heads: int
    layers: tuple[LayerWeights, ...]
    outputs: dict[str, tuple[np.ndarray, np.ndarray]]
    language: LanguageHead | None


def read_encoder_weights(file: Path) -> EncoderWeights:
    """Read the weights of an ``int8.onnx`` (or ``likelihood.int8.onnx``) of this package.

    Raises:
        ImportError: The package onnx is not installed.
        DialensError: The graph has another form.
    """
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    try:
        return _weights(model, file.parent)
    except (AttributeError, IndexError, KeyError, StopIteration, ValueError) as error:
        raise DialensError(
            f"{file} is no encoder as dialens exports them ({error!r}), so it runs on CPUs only"
        ) from error


def _constant(tensor: Any, folder: Path) -> np.ndarray:
    """An initializer of a graph, in it or in a file beside it.

    Read here and not by onnx, which refuses files that are links or have several names: so they lie
    in the caches of package managers and hubs. What they hold was checked against the card.
    """
    from onnx import TensorProto, helper, numpy_helper

    if tensor.data_location != TensorProto.EXTERNAL:
        found: np.ndarray = numpy_helper.to_array(tensor)
        return found
    place = {entry.key: entry.value for entry in tensor.external_data}
    if Path(place["location"]).name != place["location"]:
        raise ValueError(f"numbers at {place['location']}")
    kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    size, start = int(np.prod(tensor.dims)), int(place.get("offset", 0))
    values = np.fromfile(folder / place["location"], kind, size, offset=start)
    return values.reshape(tensor.dims)


def _weights(model: Any, folder: Path) -> EncoderWeights:
    constants = {one.name: _constant(one, folder) for one in model.graph.initializer}
    nodes = list(model.graph.node)
    if {one.domain for one in model.opset_import} != {"", "com.microsoft"}:
        raise ValueError("other operators")

    def of(kind: str) -> list[Any]:
        return [node for node in nodes if node.op_type == kind]

    def constant(node: Any, place: int) -> np.ndarray:
        return constants[node.input[place]]

    tables = [constant(n, 0) for n in of("Gather") if n.input[1] == "ids"]
    words, word_scales = tables
    if words.dtype == np.uint8:  # shared with a language model, which wants them shifted
        words = (words.astype(np.int16) - 128).astype(np.int8)
    words = words.reshape(len(words), -1)
    segments = [constant(n, 0) for n in of("Gather") if n.input[1] == "types"]
    relative = [constant(n, 0) for n in of("Gather") if _option(n, "axis", 0) == 1]
    places = [constant(n, 0) for n in of("Slice") if n.input[0] in constants]
    norms = iter(
        Norm(constant(n, 1), constant(n, 2), _option(n, "epsilon", 1e-5))
        for n in of("LayerNormalization")
    )
    products = iter((constant(n, 1).T, constant(n, 3)) for n in of("MatMulIntegerToFloat"))
    vectors = {name for name, value in constants.items() if value.ndim == 1 and _floats(value)}
    added = iter(_biases(nodes, vectors, constants))
    attention = of("MultiHeadAttention")

    def linear() -> QuantisedLinear:
        values, scales = next(products)
        return QuantisedLinear(np.ascontiguousarray(values), scales, next(added))

    first = next(norms)
    layers = []
    for _ in attention:
        qkv, out = linear(), linear()
        norm1 = next(norms)
        up, down = linear(), linear()
        layers.append(LayerWeights(qkv, out, norm1, up, down, next(norms)))
    language = None
    if of("MatMulNBits"):
        dense = linear()
        language = LanguageHead(dense, next(norms), next(added))
    outputs = {n.output[0]: (constant(n, 1), constant(n, 2)) for n in of("Gemm")}
    if next(products, None) is not None or next(added, None) is not None:
        raise ValueError("more products than layers")
    return EncoderWeights(
        words,
        word_scales.reshape(len(words), -1),
        places[0],
        segments[0] if segments else None,
        first,
        relative[0] if relative else None,
        _option(attention[0], "num_heads", 0),
        tuple(layers),
        outputs,
        language,
    )


def _biases(
    nodes: list[Any], vectors: set[str], constants: dict[str, np.ndarray]
) -> Iterator[np.ndarray]:
    """The biases of products in their order: added by themselves, or within a GELU."""
    for node in nodes:
        if node.op_type in ("Add", "BiasGelu"):
            yield from (constants[name] for name in node.input if name in vectors)


def _floats(value: np.ndarray) -> bool:
    return bool(value.dtype == np.float32)


def _option(node: Any, name: str, default: Any) -> Any:
    from onnx import helper

    return next(
        (helper.get_attribute_value(one) for one in node.attribute if one.name == name), default
    )
