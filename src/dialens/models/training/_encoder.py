"""The one network of this package: a BERT or MPNet encoder with a linear head on its mean state.

Written out here instead of taken from a library for three reasons: a student needs any number of
layers, :mod:`dialens.models.training._export` builds the ONNX graph from the very same named
weights, and training then needs PyTorch alone. Both families place the norm after the sum and use
the exact GELU; MPNet adds one learned bias by relative distance that all layers share.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from dialens.base import DialensError
from dialens.models.training._shape import Shape, distance_buckets


class Layer(nn.Module):
    """One transformer layer, norm after the sum."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)
        self.norm1 = nn.LayerNorm(shape.width, eps=shape.norm_epsilon)
        self.up = nn.Linear(shape.width, shape.inner)
        self.down = nn.Linear(shape.inner, shape.width)
        self.norm2 = nn.LayerNorm(shape.width, eps=shape.norm_epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, state: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Return the next state; ``bias`` is added to the attention's logits."""
        batch, length, width = state.shape
        parts = self.qkv(state).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        rate = self.dropout.p if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=bias.to(query.dtype), dropout_p=rate
        )
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        state = self.norm1(state + self.dropout(self.out(mixed)))
        inner = functional.gelu(self.up(state))
        result: torch.Tensor = self.norm2(state + self.dropout(self.down(inner)))
        return result


class Encoder(nn.Module):
    """Token ids to one logit per output, through the mean of the last states."""

    def __init__(self, shape: Shape, outputs: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.segment = nn.Embedding(shape.types, shape.width) if shape.types else None
        self.norm = nn.LayerNorm(shape.width, eps=shape.norm_epsilon)
        self.relative = (
            nn.Embedding(shape.relative_buckets, shape.heads) if shape.relative_buckets else None
        )
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.layers))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(shape.width, outputs)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)
        count = shape.positions - shape.first_position
        buckets = distance_buckets(count, max(shape.relative_buckets, 8))
        self.buckets: torch.Tensor
        self.register_buffer("buckets", torch.from_numpy(buckets), persistent=False)

    def states(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states; ``mask`` is 1 on real tokens."""
        length = ids.shape[1]
        first = self.shape.first_position
        state = self.word(ids) + self.position.weight[first : first + length]
        if self.segment is not None:
            state = state + self.segment(types)
        state = self.dropout(self.norm(state))
        bias = torch.zeros(mask.shape, device=ids.device).masked_fill(mask == 0, -1e4)
        bias = bias[:, None, None, :]
        if self.relative is not None:
            middle = self.buckets.shape[0] // 2
            nearby = self.buckets[middle - length + 1 : middle + length]
            by_distance = self.relative(nearby).T
            bias = bias + by_distance.unfold(1, length, 1).flip(1)[None]
        else:
            bias = bias.expand(-1, 1, length, -1)
        for layer in self.layers:
            state = layer(state, bias)
        result: torch.Tensor = state
        return result

    def embed(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Return the mean state over real tokens."""
        weight = mask[:, :, None].to(torch.float32)
        total = (self.states(ids, mask, types).float() * weight).sum(1)
        result: torch.Tensor = total / weight.sum(1)
        return result

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        result: torch.Tensor = self.head(self.dropout(self.embed(ids, mask, types)))
        return result


def load_encoder(
    folder: Path, outputs: int, *, layers: Sequence[int] | None = None, dropout: float = 0.1
) -> Encoder:
    """Load a pretrained encoder (ours or a Hugging Face BERT/MPNet folder) under a new head.

    Args:
        folder: Holds ``config.json`` and ``model.safetensors``.
        outputs: Logits of the head; a saved head of that size is kept.
        layers: Which layers to keep, in order: how a student gets its start.
        dropout: Rate while training.

    Raises:
        DialensError: If files are missing or the architecture is another.
    """
    from safetensors.torch import load_file

    config_file, weights_file = folder / "config.json", folder / "model.safetensors"
    for file in (config_file, weights_file):
        if not file.exists():
            raise DialensError(f"{folder} holds no {file.name}: give the folder of an encoder")
    config = json.loads(config_file.read_text())
    weights = {name: value.float() for name, value in load_file(str(weights_file)).items()}
    if "shape" in config:
        shape = Shape(**config["shape"])
    else:
        shape = _shape_of(config, folder)
        weights = _ours(weights, shape)
    if layers is not None:
        weights = _picked(weights, layers)
        shape = replace(shape, layers=len(layers))
    model = Encoder(shape, outputs, dropout=dropout)
    head = weights.get("head.weight")
    if head is not None and head.shape[0] != outputs:
        weights = {name: value for name, value in weights.items() if not name.startswith("head.")}
    missing, extra = model.load_state_dict(weights, strict=False)
    wrong = [name for name in missing if not name.startswith("head.")] + list(extra)
    if wrong:
        raise DialensError(f"{weights_file} does not fit its config.json: {', '.join(wrong[:5])}")
    return model


def save_encoder(model: Encoder, folder: Path, *, half: bool = False) -> None:
    """Write ``config.json`` and ``model.safetensors``, in half precision on request."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    kind = torch.float16 if half else torch.float32
    weights = {n: v.detach().to("cpu", kind).contiguous() for n, v in model.state_dict().items()}
    save_file(weights, str(folder / "model.safetensors"))
    outputs = model.head.out_features
    config = {"shape": asdict(model.shape), "outputs": outputs}
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def _shape_of(config: dict[str, Any], folder: Path) -> Shape:
    family = config.get("model_type")
    if family not in ("bert", "mpnet"):
        raise DialensError(f"{folder} is a {family!r}: only bert and mpnet encoders can be trained")
    mpnet = family == "mpnet"
    return Shape(
        vocabulary=config["vocab_size"],
        width=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        inner=config["intermediate_size"],
        positions=config["max_position_embeddings"],
        first_position=config.get("pad_token_id", 1) + 1 if mpnet else 0,
        types=0 if mpnet else config.get("type_vocab_size", 2),
        relative_buckets=config.get("relative_attention_num_buckets", 32) if mpnet else 0,
        norm_epsilon=config.get("layer_norm_eps", 1e-12),
        pad=config.get("pad_token_id", 1 if mpnet else 0),
    )


def _ours(weights: dict[str, torch.Tensor], shape: Shape) -> dict[str, torch.Tensor]:
    # Hugging Face's names to ours; a classifier or pooler on top is left behind.
    plain = {}
    for name, value in weights.items():
        for prefix in ("bert.", "mpnet."):
            name = name.removeprefix(prefix)
        plain[name] = value
    found = {
        "word.weight": plain["embeddings.word_embeddings.weight"],
        "position.weight": plain["embeddings.position_embeddings.weight"],
        "norm.weight": plain["embeddings.LayerNorm.weight"],
        "norm.bias": plain["embeddings.LayerNorm.bias"],
    }
    if shape.types:
        found["segment.weight"] = plain["embeddings.token_type_embeddings.weight"]
    if shape.relative_buckets:
        found["relative.weight"] = plain["encoder.relative_attention_bias.weight"]
    mpnet = shape.relative_buckets > 0
    query, key, val, out = (
        ("attn.q", "attn.k", "attn.v", "attn.o")
        if mpnet
        else ("self.query", "self.key", "self.value", "output.dense")
    )
    norm = "attention.LayerNorm" if mpnet else "attention.output.LayerNorm"
    for index in range(shape.layers):
        start, to = f"encoder.layer.{index}.", f"layers.{index}."
        for kind in ("weight", "bias"):
            parts = [plain[f"{start}attention.{name}.{kind}"] for name in (query, key, val)]
            found[f"{to}qkv.{kind}"] = torch.cat(parts)
            found[f"{to}out.{kind}"] = plain[f"{start}attention.{out}.{kind}"]
            found[f"{to}norm1.{kind}"] = plain[f"{start}{norm}.{kind}"]
            found[f"{to}up.{kind}"] = plain[f"{start}intermediate.dense.{kind}"]
            found[f"{to}down.{kind}"] = plain[f"{start}output.dense.{kind}"]
            found[f"{to}norm2.{kind}"] = plain[f"{start}output.LayerNorm.{kind}"]
    return found


def _picked(weights: dict[str, torch.Tensor], layers: Sequence[int]) -> dict[str, torch.Tensor]:
    kept = {name: value for name, value in weights.items() if not name.startswith("layers.")}
    for new, old in enumerate(layers):
        start = f"layers.{old}."
        for name, value in weights.items():
            if name.startswith(start):
                kept[f"layers.{new}.{name.removeprefix(start)}"] = value
    return kept
