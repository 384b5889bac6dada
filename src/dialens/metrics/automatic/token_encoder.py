"""Vectors of every token of a sentence, from a chosen layer of an encoder."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dialens.metrics.automatic.weights import Loaded
from dialens.models.runtime import length_sorted

if TYPE_CHECKING:
    import torch

_ENDLESS = 100_000  # tokenizers that know no limit say 10³⁰


class TokenEncoder:
    """Encodes sentences in batches of like lengths.

    Args:
        loaded: An encoder, or a model that has one.
        layer: Whose outputs are given; 0 are the embeddings.
        prefix: Put before every text.
    """

    def __init__(self, loaded: Loaded, *, layer: int, prefix: str = "") -> None:
        self._tokenizer = loaded.tokenizer
        self._device = loaded.device
        self._layer = layer
        self._model, self._is_cut = _cut(_encoder_of(loaded.model), layer)
        self._longest = longest(loaded)
        self.prefix = prefix
        self.signature = loaded.signature
        marks = (loaded.tokenizer.cls_token_id, loaded.tokenizer.sep_token_id)
        self.ends = frozenset(mark for mark in marks if mark is not None)
        """The tokens that a tokenizer puts around a sentence."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with those that begin and end a sentence; a long one loses its end."""
        if not texts:
            return []
        given = [self.prefix + text.strip() for text in texts]
        found: list[list[int]] = self._tokenizer(
            given, truncation=True, max_length=self._longest, return_attention_mask=False
        )["input_ids"]
        return found

    def encode(self, texts: Sequence[str]) -> list[tuple[list[int], "torch.Tensor"]]:
        """Ids of each text, and one row of numbers a token."""
        import torch

        ids = self.ids(texts)
        made: list[torch.Tensor | None] = [None] * len(ids)
        pad = self._tokenizer.pad_token_id or 0
        with torch.inference_mode():
            for rows in length_sorted([len(one) for one in ids]):
                chosen = [ids[row] for row in rows]
                width = len(chosen[0])
                padded = torch.tensor([one + [pad] * (width - len(one)) for one in chosen])
                lengths = torch.tensor([len(one) for one in chosen])
                mask = torch.arange(width)[None, :] < lengths[:, None]
                padded, mask = padded.to(self._device), mask.to(self._device)
                parts = torch.split(self._run(padded, mask)[mask], lengths.tolist())
                for row, part in zip(rows, parts, strict=True):
                    made[row] = part
        return [(one, part) for one, part in zip(ids, made, strict=True) if part is not None]

    def _run(self, ids: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
        out = self._model(
            input_ids=ids, attention_mask=mask.long(), output_hidden_states=not self._is_cut
        )
        states: torch.Tensor = (
            out.last_hidden_state if self._is_cut else out.hidden_states[self._layer]
        )
        return states


def longest(loaded: Loaded) -> int:
    """How many tokens a model takes: as its tokenizer says, and no more than it has positions.

    RoBERTa and its kin count positions from behind that of the padding.
    """
    config = loaded.model.config
    places = getattr(config, "max_position_embeddings", None) or _ENDLESS
    behind = config.model_type in ("roberta", "xlm-roberta", "mpnet", "camembert", "longformer")
    room = int(places) - (config.pad_token_id + 1 if behind else 0)
    return min(room, int(loaded.tokenizer.model_max_length))


def _encoder_of(model: Any) -> Any:
    return model.encoder if hasattr(model, "encoder") and hasattr(model, "decoder") else model


def _cut(model: Any, layer: int) -> tuple[Any, bool]:
    """The same model without the layers above, sharing its weights; or as it is, and False."""
    import torch

    for name in ("encoder", "transformer"):
        inner = getattr(model, name, None)
        stack = getattr(inner, "layer", None)
        if isinstance(stack, torch.nn.ModuleList):
            shorter = _changed(inner, "layer", stack[:layer])
            return _changed(model, name, shorter), True
    return model, False


def _changed(module: Any, name: str, part: Any) -> Any:
    twin = copy.copy(module)
    twin._modules = {**module._modules, name: part}
    return twin
