"""The graph of the masked language model, over the encoder's own weights file.

The last product is with the word table: the very bytes from which the encoder reads its words, so
that the language model costs one small matrix more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dialens.models.training._export import (
    BLOCK,
    GraphWriter,
    encoder_states,
    graph_inputs,
    quantise,
)
from dialens.models.training._shape import Shape


def build_likelihood(
    weights: dict[str, np.ndarray],
    shape: Shape,
    masked: dict[str, np.ndarray],
    before: bytes,
    *,
    in_int8: bool,
) -> tuple[Any, bytes]:
    """Return the language model's graph, and a weights file that begins with the encoder's.

    Beside the texts with hidden tokens it takes `places`, numbers of hidden places in the flattened
    batch, and `tokens`, what stood there; it gives the log-probability of each.

    Args:
        weights: As :func:`~dialens.models.training._export.build` takes them.
        shape: The encoder's sizes.
        masked: Named as in :class:`~recipes.ranker.masked.MaskedHead`.
        before: The encoder's weights file, which must stay as it is.
        in_int8: Whether products are computed in int8; otherwise in float.
    """
    from onnx import TensorProto, helper

    graph = GraphWriter(in_int8)
    state, words = encoder_states(graph, weights, shape, shared_words=True)
    flat = graph.node("Reshape", [state, graph.integers(-1, shape.width)])
    value = graph.node("Gather", [flat, "places"])
    value = graph.linear(value, masked["dense.weight"])
    bias = graph.constant(masked["dense.bias"])
    value = graph.node("BiasGelu", [value, bias], domain="com.microsoft")
    norm = [graph.constant(masked[f"norm.{kind}"]) for kind in ("weight", "bias")]
    value = graph.node("LayerNormalization", [value, *norm], axis=-1, epsilon=1e-12)
    scores = graph.node(
        "MatMulNBits",
        [value, *shared_table(graph, words, weights["word.weight"])],
        domain="com.microsoft",
        K=shape.width,
        N=shape.vocabulary,
        bits=8,
        block_size=BLOCK,
        accuracy_level=4 if in_int8 else 1,
    )
    scores = graph.node("Add", [scores, graph.constant(masked["bias"])])
    chances = graph.node("LogSoftmax", [scores], axis=-1)
    own = graph.node("Unsqueeze", ["tokens", graph.integers(1)])
    picked = graph.node("GatherElements", [chances, own], axis=1)
    squeeze = helper.make_node("Squeeze", [picked, graph.integers(1)], ["log_probability"])
    graph.nodes.append(squeeze)
    inputs = graph_inputs(shape) + [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["hidden"])
        for name in ("places", "tokens")
    ]
    output = helper.make_tensor_value_info("log_probability", TensorProto.FLOAT, ["hidden"])
    if not graph.blob.startswith(before):
        raise AssertionError("the language model moved the encoder's weights")
    return graph.model(inputs, [output]), bytes(graph.blob)


def shared_table(graph: GraphWriter, words: tuple[str, str], table: np.ndarray) -> list[str]:
    """Name the word table, and its scales once more in the flat form that a product wants."""
    matrix, by_row = words
    _, scales = quantise(table)
    flat = graph.constant(scales.reshape(-1), outside=True, again=graph.places[by_row])
    return [matrix, flat]
