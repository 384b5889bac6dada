"""From a trained encoder to the folder that ships: ONNX graphs, int8 weights, tokenizer, card.

The graph is written by hand from the weights' names, not traced, so that it is the same on every
version of PyTorch. Weights of matrix products are stored as int8 with one scale for each output,
those of the word table with one for each block of 64 (symmetric). Two graphs share that one
weights file:

* ``int8.onnx`` quantises activations to eight bits with a scale for each *row*, that is, token. A
  text's scores then depend on its own tokens only; the usual dynamic quantisation takes one scale
  for the whole batch, so that neighbours and padding change them. Weights keep to ±63, seven bits:
  processors without VNNI add pairs of products in 16 bits, which more would overflow.
* ``fp32.onnx`` reads the same weights and computes in float.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dialens.models.training._shape import Shape, distance_buckets

BLOCK = 64
LONGEST = 128
_MOST_WEIGHT = 63
_MOST_INPUT = 127

_log = logging.getLogger(__name__)


def quantise(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 values and one scale for each block of 64 along the last axis.

    Scales are rounded to half precision first, so that quantising what was quantised changes
    nothing.

    Examples:
        >>> values, scales = quantise(np.full((1, 64), 0.5, dtype=np.float32))
        >>> values[0, 0], scales.shape
        (np.int8(127), (1, 1))
    """
    rows, width = weight.shape
    blocks = weight.astype(np.float32).reshape(rows, width // BLOCK, BLOCK)
    scales = np.maximum(np.abs(blocks).max(-1), 1e-4) / 127
    scales = scales.astype(np.float16).astype(np.float32)
    scales = np.where(scales == 0, np.float32(1e-4), scales)
    values = np.clip(np.rint(blocks / scales[..., None]), -127, 127).astype(np.int8)
    return values.reshape(rows, width), scales


def quantise_outputs(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 values between −63 and 63 and one scale for each row, which is an output.

    Examples:
        >>> values, scales = quantise_outputs(np.array([[0.5, -1.0], [2.0, 0.0]], dtype=np.float32))
        >>> values.tolist(), (scales * 63).tolist()
        ([[31, -63], [63, 0]], [1.0, 2.0])
    """
    scales = np.maximum(np.abs(weight).max(1), 1e-6).astype(np.float32) / _MOST_WEIGHT
    values = np.clip(np.rint(weight / scales[:, None]), -_MOST_WEIGHT, _MOST_WEIGHT)
    return values.astype(np.int8), scales


@dataclass
class GraphWriter:
    """Collects nodes and weights; weights go to one file beside the graphs."""

    in_int8: bool
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    blob: bytearray = field(default_factory=bytearray)
    places: dict[str, int] = field(default_factory=dict)
    count: int = 0

    def constant(
        self, value: np.ndarray, *, outside: bool = False, again: int | None = None
    ) -> str:
        """Add a weight and return its name.

        Args:
            value: The weight.
            outside: Puts it into the shared file.
            again: Where in the shared file the same bytes lie already, perhaps in another shape.
        """
        from onnx import TensorProto, numpy_helper

        self.count += 1
        name = f"w{self.count}"
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        if outside:
            data = tensor.raw_data
            if again is None:
                self.blob.extend(b"\0" * (-len(self.blob) % 64))
                offset = len(self.blob)
                self.blob.extend(data)
            else:
                offset = again
            self.places[name] = offset
            place = {"location": "weights.bin", "offset": offset, "length": len(data)}
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, entry in place.items():
                record = tensor.external_data.add()
                record.key, record.value = key, str(entry)
        self.constants.append(tensor)
        return name

    def integers(self, *values: int) -> str:
        """Add a few numbers, such as axes or a shape."""
        return self.constant(np.array(values, dtype=np.int64))

    def model(self, inputs: list[Any], outputs: list[Any]) -> Any:
        """Return the ONNX model of all that was added."""
        from onnx import helper

        return helper.make_model(
            helper.make_graph(self.nodes, "dialens", inputs, outputs, self.constants),
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)],
            producer_name="dialens",
            ir_version=9,
        )

    def node(self, kind: str, inputs: list[str], *, outputs: int = 1, **options: Any) -> Any:
        """Add a node and return the name(s) of what it gives."""
        from onnx import helper

        domain = options.pop("domain", "")
        names = []
        for _ in range(outputs):
            self.count += 1
            names.append(f"v{self.count}")
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **options))
        return names[0] if outputs == 1 else names

    def linear(self, value: str, weight: np.ndarray) -> str:
        """Multiply by a quantised matrix (no bias)."""
        from onnx import TensorProto

        values, scales = quantise_outputs(weight)
        matrix, factors = self.constant(values.T, outside=True), self.constant(scales, outside=True)
        if not self.in_int8:
            # Folded into a float matrix when the graph is opened. Not DequantizeLinear, in whose
            # place ONNX Runtime would put a product in int8.
            plain = self.node("Cast", [matrix], to=TensorProto.FLOAT)
            return str(self.node("MatMul", [value, self.node("Mul", [plain, factors])]))
        last = self.constant(np.array([-1]))
        high = self.node("ReduceMax", [value, last], keepdims=1)
        low = self.node("ReduceMin", [value, last], keepdims=1)
        tiny = self.constant(np.array(1e-6, dtype=np.float32))
        most = self.node("Max", [high, self.node("Neg", [low]), tiny])
        step = self.constant(np.array(1 / _MOST_INPUT, dtype=np.float32))
        middle = self.constant(np.array(128, dtype=np.uint8))
        row = self.node("QuantizeLinear", [self.node("Div", [value, most]), step, middle])
        product = self.node(
            "MatMulIntegerToFloat",
            [row, matrix, step, factors, middle],
            domain="com.microsoft",
        )
        return str(self.node("Mul", [product, most]))


def build(
    weights: dict[str, np.ndarray],
    shape: Shape,
    heads: dict[str, slice],
    *,
    in_int8: bool,
    shared_words: bool = False,
) -> tuple[Any, bytes]:
    """Return the ONNX model and its weights file.

    Args:
        weights: Named as in :class:`~dialens.models.training._encoder.Encoder`.
        shape: The encoder's sizes.
        heads: Which rows of the head each named output takes.
        in_int8: Whether products are computed in int8; otherwise in float.
        shared_words: Whether the word table is stored so that a language model can use it too.
    """
    from onnx import TensorProto, helper

    graph = GraphWriter(in_int8)
    state, _ = encoder_states(graph, weights, shape, shared_words=shared_words)
    share = graph.node("Unsqueeze", ["mask", graph.integers(2)])
    share = graph.node("Cast", [share], to=TensorProto.FLOAT)
    total = graph.node(
        "ReduceSum", [graph.node("Mul", [state, share]), graph.integers(1)], keepdims=0
    )
    count = graph.node("ReduceSum", [share, graph.integers(1)], keepdims=0)
    mean = graph.node("Div", [total, count])
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", shape.width])]
    graph.nodes.append(helper.make_node("Identity", [mean], ["embedding"]))
    for name, part in heads.items():
        matrix = graph.constant(weights["head.weight"][part].astype(np.float32))
        shift = graph.constant(weights["head.bias"][part].astype(np.float32))
        graph.nodes.append(helper.make_node("Gemm", [mean, matrix, shift], [name], transB=1))
        size = part.stop - part.start
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]))
    return graph.model(graph_inputs(shape), outputs), bytes(graph.blob)


def graph_inputs(shape: Shape) -> list[Any]:
    """Return ids, mask and, where there are any, segment types as a graph declares them."""
    from onnx import TensorProto, helper

    names = ["ids", "mask", *(["types"] if shape.types else [])]
    return [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "length"]) for n in names]


def _embedded(
    graph: GraphWriter, table: np.ndarray, *, shared_words: bool
) -> tuple[str, tuple[str, str]]:
    # The rows of the word table, in float; and the table as a product over its rows reads it.
    from onnx import TensorProto

    width = table.shape[1]
    if not shared_words:
        values, scales = quantise(table)
        rows = graph.node("Gather", [graph.constant(values, outside=True), "ids"])
        rows = graph.node("Cast", [rows], to=TensorProto.FLOAT)
        rows = graph.node("Reshape", [rows, graph.integers(0, 0, width // BLOCK, BLOCK)])
        matrix = ""
    else:
        values, scales = quantise(table)
        shifted = (values.astype(np.int16) + 128).astype(np.uint8)
        blocks = shifted.reshape(len(table), width // BLOCK, BLOCK)
        matrix = graph.constant(blocks, outside=True)
        rows = graph.node("Cast", [graph.node("Gather", [matrix, "ids"])], to=TensorProto.FLOAT)
        rows = graph.node("Sub", [rows, graph.constant(np.array(128, dtype=np.float32))])
    by_row = graph.constant(scales[..., None], outside=True)
    factor = graph.node("Gather", [by_row, "ids"])
    state = graph.node("Reshape", [graph.node("Mul", [rows, factor]), graph.integers(0, 0, width)])
    return state, (matrix, by_row)


def encoder_states(
    graph: GraphWriter, weights: dict[str, np.ndarray], shape: Shape, *, shared_words: bool
) -> tuple[str, tuple[str, str]]:
    """Add the encoder; return its last states, and the names of the word table and its scales."""
    from onnx import TensorProto

    eps = shape.norm_epsilon
    micro: dict[str, Any] = {"domain": "com.microsoft"}
    integer = graph.integers
    length = graph.node("Slice", [graph.node("Shape", ["ids"]), integer(1), integer(2)])
    state, words = _embedded(graph, weights["word.weight"], shared_words=shared_words)
    places = weights["position.weight"][shape.first_position :][:LONGEST]
    place = graph.node("Slice", [graph.constant(places), integer(0), length, integer(0)])
    state = graph.node("Add", [state, place])
    if shape.types:
        kinds = graph.node("Gather", [graph.constant(weights["segment.weight"]), "types"])
        state = graph.node("Add", [state, kinds])
    norm = [graph.constant(weights[f"norm.{kind}"]) for kind in ("weight", "bias")]
    state = graph.node("LayerNormalization", [state, *norm], axis=-1, epsilon=eps)
    padding = graph.node("Cast", ["mask"], to=TensorProto.INT32)
    bias = ""
    if shape.relative_buckets:
        near = distance_buckets(LONGEST, shape.relative_buckets)
        table = graph.constant(weights["relative.weight"][near].T.copy())
        scalar = graph.node("Squeeze", [length])
        zero, one = graph.constant(np.array(0)), graph.constant(np.array(1))
        steps = graph.node("Range", [zero, scalar, one])
        keys = graph.node("Unsqueeze", [steps, integer(0)])
        queries = graph.node("Unsqueeze", [steps, integer(1)])
        distance = graph.node("Sub", [keys, queries])
        distance = graph.node("Add", [distance, graph.constant(np.array(LONGEST - 1))])
        bias = graph.node("Gather", [table, distance], axis=1)
        bias = graph.node("Unsqueeze", [bias, integer(0)])
    for index in range(shape.layers):
        own = {
            name.removeprefix(f"layers.{index}."): value
            for name, value in weights.items()
            if name.startswith(f"layers.{index}.")
        }
        mixed = graph.linear(state, own["qkv.weight"])
        mixed = graph.node("Add", [mixed, graph.constant(own["qkv.bias"])])
        query, key, value = graph.node("Split", [mixed], outputs=3, axis=2, num_outputs=3)
        seen = graph.node(
            "MultiHeadAttention",
            [query, key, value, "", padding, bias],
            num_heads=shape.heads,
            **micro,
        )
        out = graph.linear(seen, own["out.weight"])
        state = _summed(graph, out, state, own, "norm1", "out", eps)
        inner = graph.linear(state, own["up.weight"])
        inner = graph.node("BiasGelu", [inner, graph.constant(own["up.bias"])], **micro)
        down = graph.linear(inner, own["down.weight"])
        state = _summed(graph, down, state, own, "norm2", "down", eps)
    return state, words


def _summed(
    graph: GraphWriter,
    value: str,
    state: str,
    own: dict[str, np.ndarray],
    norm: str,
    bias: str,
    eps: float,
) -> str:
    # Not SkipLayerNormalization: the same in one node, but six times slower on CPUs.
    total = graph.node(
        "Add", [graph.node("Add", [value, state]), graph.constant(own[f"{bias}.bias"])]
    )
    parts = [graph.constant(own[f"{norm}.{kind}"]) for kind in ("weight", "bias")]
    return str(graph.node("LayerNormalization", [total, *parts], axis=-1, epsilon=eps))


def export(model: Path, out: Path, heads: dict[str, slice], card: dict[str, Any]) -> None:
    """Write a model's folder; ``card`` gets the files' hashes added."""
    from safetensors.numpy import load_file

    config = json.loads((model / "config.json").read_text())
    shape = Shape(**config["shape"])
    weights = {n: v.astype(np.float32) for n, v in load_file(model / "model.safetensors").items()}
    out.mkdir(parents=True, exist_ok=True)
    language = model / "masked.safetensors"
    files = ["int8.onnx", "fp32.onnx", "weights.bin", "tokenizer.json"]
    for precision in ("int8", "fp32"):
        in_int8 = precision == "int8"
        made, blob = build(weights, shape, heads, in_int8=in_int8, shared_words=language.exists())
        (out / f"{precision}.onnx").write_bytes(made.SerializeToString())
        if language.exists():
            from dialens.models.training._export_likelihood import build_likelihood

            masked = {n: v.astype(np.float32) for n, v in load_file(language).items()}
            made, blob = build_likelihood(weights, shape, masked, blob, in_int8=in_int8)
            files.append(f"likelihood.{precision}.onnx")
            (out / files[-1]).write_bytes(made.SerializeToString())
    (out / "weights.bin").write_bytes(blob)
    shutil.copy(model / "tokenizer.json", out / "tokenizer.json")
    card = {
        **card,
        "inputs": ["ids", "mask", *(["types"] if shape.types else [])],
        "pad": shape.pad,
        "longest": LONGEST,
        "files": {
            name: {"sha256": hashlib.sha256((out / name).read_bytes()).hexdigest()}
            for name in files
        },
    }
    text = json.dumps(card, indent=1, ensure_ascii=False)
    (out / "card.json").write_text(text + "\n", "utf-8")
    _log.info("%s: %.1f MB", out, sum((out / name).stat().st_size for name in files) / 1e6)
