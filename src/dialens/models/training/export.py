"""From a trained encoder to the folder that ships: ONNX graphs, int8 weights, tokenizer, card.

    python -m dialens.models.training.export --model FOLDER --out FOLDER --notes notes.json

The graph is written by hand from the weights' names, not traced, so that it is the same on every
version of PyTorch. Weights of matrix products and of the word table are stored as int8 with one
scale for each block of 64 (symmetric). Two graphs share that one weights file:

* ``int8.onnx`` lets ONNX Runtime quantise activations, *per row and block*. A text's scores then
  depend on its own tokens only; the usual dynamic quantisation takes one scale for the whole
  batch, so that neighbours and padding change them.
* ``fp32.onnx`` reads the same weights and computes in float.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dialens.models.training.shape import Shape, distance_buckets

BLOCK = 64
LONGEST = 128

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


@dataclass
class GraphWriter:
    """Collects nodes and weights; weights go to one file beside the graphs."""

    level: int
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    blob: bytearray = field(default_factory=bytearray)
    count: int = 0

    def constant(self, value: np.ndarray, *, outside: bool = False) -> str:
        """Add a weight and return its name; ``outside`` puts it into the shared file."""
        from onnx import TensorProto, numpy_helper

        self.count += 1
        name = f"w{self.count}"
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        if outside:
            data = tensor.raw_data
            self.blob.extend(b"\0" * (-len(self.blob) % 64))
            place = {"location": "weights.bin", "offset": len(self.blob), "length": len(data)}
            self.blob.extend(data)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, entry in place.items():
                record = tensor.external_data.add()
                record.key, record.value = key, str(entry)
        self.constants.append(tensor)
        return name

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
        rows, width = weight.shape
        values, scales = quantise(weight)
        packed = (values.astype(np.int16) + 128).astype(np.uint8)
        name: str = self.node(
            "MatMulNBits",
            [
                value,
                self.constant(packed.reshape(rows, width // BLOCK, BLOCK), outside=True),
                self.constant(scales.reshape(-1), outside=True),
            ],
            domain="com.microsoft",
            K=width,
            N=rows,
            bits=8,
            block_size=BLOCK,
            accuracy_level=self.level,
        )
        return name


def build(
    weights: dict[str, np.ndarray], shape: Shape, heads: dict[str, slice], *, level: int
) -> tuple[Any, bytes]:
    """Return the ONNX model and its weights file.

    Args:
        weights: Named as in :class:`~dialens.models.training.encoder.Encoder`.
        shape: The encoder's sizes.
        heads: Which rows of the head each named output takes.
        level: ONNX Runtime's accuracy level: 4 computes in int8, 1 in fp32.
    """
    from onnx import TensorProto, helper

    graph = GraphWriter(level)
    width, eps = shape.width, shape.norm_epsilon
    micro: dict[str, Any] = {"domain": "com.microsoft"}

    def integer(*values: int) -> str:
        return graph.constant(np.array(values, dtype=np.int64))

    length = graph.node("Slice", [graph.node("Shape", ["ids"]), integer(1), integer(2)])
    values, scales = quantise(weights["word.weight"])
    rows = graph.node("Gather", [graph.constant(values, outside=True), "ids"])
    rows = graph.node("Cast", [rows], to=TensorProto.FLOAT)
    rows = graph.node("Reshape", [rows, integer(0, 0, width // BLOCK, BLOCK)])
    factor = graph.node("Gather", [graph.constant(scales[..., None], outside=True), "ids"])
    state = graph.node("Reshape", [graph.node("Mul", [rows, factor]), integer(0, 0, width)])
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
    share = graph.node("Unsqueeze", ["mask", integer(2)])
    share = graph.node("Cast", [share], to=TensorProto.FLOAT)
    total = graph.node("ReduceSum", [graph.node("Mul", [state, share]), integer(1)], keepdims=0)
    mean = graph.node("Div", [total, graph.node("ReduceSum", [share, integer(1)], keepdims=0)])
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", width])]
    graph.nodes.append(helper.make_node("Identity", [mean], ["embedding"]))
    for name, part in heads.items():
        matrix = graph.constant(weights["head.weight"][part].astype(np.float32))
        shift = graph.constant(weights["head.bias"][part].astype(np.float32))
        graph.nodes.append(helper.make_node("Gemm", [mean, matrix, shift], [name], transB=1))
        size = part.stop - part.start
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]))
    names = ["ids", "mask", *(["types"] if shape.types else [])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "length"]) for n in names]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "dialens", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)],
        producer_name="dialens",
        ir_version=9,
    )
    return made, bytes(graph.blob)


def _summed(
    graph: GraphWriter,
    value: str,
    state: str,
    own: dict[str, np.ndarray],
    norm: str,
    bias: str,
    eps: float,
) -> str:
    # value + bias + state, then the norm, in one fused node.
    parts = [graph.constant(own[f"{norm}.{kind}"]) for kind in ("weight", "bias")]
    name: str = graph.node(
        "SkipLayerNormalization",
        [value, state, *parts, graph.constant(own[f"{bias}.bias"])],
        domain="com.microsoft",
        epsilon=eps,
    )
    return name


def export(model: Path, out: Path, heads: dict[str, slice], card: dict[str, Any]) -> None:
    """Write a model's folder; ``card`` gets the files' hashes added."""
    from safetensors.numpy import load_file

    config = json.loads((model / "config.json").read_text())
    shape = Shape(**config["shape"])
    weights = {n: v.astype(np.float32) for n, v in load_file(model / "model.safetensors").items()}
    out.mkdir(parents=True, exist_ok=True)
    for name, level in (("int8", 4), ("fp32", 1)):
        made, blob = build(weights, shape, heads, level=level)
        (out / f"{name}.onnx").write_bytes(made.SerializeToString())
    (out / "weights.bin").write_bytes(blob)
    shutil.copy(model / "tokenizer.json", out / "tokenizer.json")
    files = ("int8.onnx", "fp32.onnx", "weights.bin", "tokenizer.json")
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


def main() -> None:
    """Export a student with the heads of all tasks."""
    from dialens.models.training.transfer import HEADS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="config, weights, tokenizer")
    parser.add_argument("--notes", type=Path, required=True, help="what the card says (JSON)")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    card = json.loads(given.notes.read_text("utf-8"))
    heads = {task: HEADS[task] for task in card["tasks"]}
    export(given.model, given.out, heads, card)


if __name__ == "__main__":
    main()
