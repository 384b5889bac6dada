"""Vectors of every token of a sentence, from a chosen layer of an encoder.

Batches run side by side, each on one core: within a batch, small steps leave cores idle. What
another metric wants of the same model comes out of the same pass.
"""

import copy
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialens.metrics._family import ScorerContext
from dialens.metrics._state import Floats
from dialens.metrics.families._weights import Loaded
from dialens.models import length_sorted, run_batches, token_batches

if TYPE_CHECKING:
    import torch

    _Encoded = tuple[torch.Tensor, Floats | None]
    """A row of numbers for each token of a sentence, and one for the whole beside it."""

_ENDLESS = 100_000  # tokenizers that know no limit say 10³⁰
_TOKENS_ON_DEVICE = 32_768  # of a batch
_KEPT_BYTES = 2**28  # of rows that wait to be asked for


@dataclass
class SideRows:
    """One row a sentence from the last layer, kept for a metric that will ask for it.

    Attributes:
        pooling: `last` for the last token's state, `mean` for the mean of all; None until a metric
            wants rows.
        rows: By token ids; the oldest go first when there are too many.
    """

    pooling: str | None = None
    rows: OrderedDict[bytes, Floats] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, context: ScorerContext, loaded: Loaded) -> "SideRows":
        """Those of a model, the same for all who load it."""
        return context.cached(_rows_of, loaded.folder.resolve())

    def keep(self, ids: Sequence[int], row: Floats) -> None:
        """Remember a sentence's row."""
        self.rows[_key(ids)] = row
        if len(self.rows) * row.nbytes > _KEPT_BYTES:
            self.rows.popitem(last=False)

    def take(self, ids: Sequence[int]) -> Floats | None:
        """A sentence's row, if it has been through; it is forgotten."""
        return self.rows.pop(_key(ids), None)


def _rows_of(_: Path) -> SideRows:
    return SideRows()


def _key(ids: Sequence[int]) -> bytes:
    return np.asarray(ids, np.int64).tobytes()


class TokenEncoder:
    """Encodes sentences in batches of like lengths.

    Args:
        loaded: An encoder, or a model that has one.
        layer: Whose outputs are given; 0 are the embeddings.
        prefix: Put before every text.
        threads: Batches at once; as many as there are cores if not given.
        side: Filled from the same pass, where a metric wants rows of it.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        layer: int,
        prefix: str = "",
        threads: int | None = None,
        side: SideRows | None = None,
    ) -> None:
        self._tokenizer = loaded.tokenizer
        self._device = loaded.device
        self._layer = layer
        whole = encoder_of(loaded.model)
        self._model, is_cut = _cut(whole, layer)
        self._ends_here = is_cut or layer == loaded.model.config.num_hidden_layers
        self._tapped, self._tap = _tapped(whole, layer)
        # Transformers notes down hidden states in the modules themselves: one batch at a time.
        alone = loaded.device != "cpu" or not self._ends_here
        self.threads = 1 if alone else threads or len(os.sched_getaffinity(0))
        self._side = side or SideRows()
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
        prefixed = [self.prefix + text.strip() for text in texts]
        ids: list[list[int]] = self._tokenizer(
            prefixed, truncation=True, max_length=self._longest, return_attention_mask=False
        )["input_ids"]
        return ids

    def encode(self, texts: Sequence[str]) -> list[tuple[list[int], "torch.Tensor"]]:
        """Ids of each text, and one row of numbers a token."""
        ids = self.ids(texts)
        return list(zip(ids, self.encode_ids(ids), strict=True))

    def encode_ids(self, ids: Sequence[list[int]]) -> "list[torch.Tensor]":
        """One row of numbers a token of each sentence."""
        states: dict[int, torch.Tensor] = {}
        for rows, parts in self._batches(ids):
            for row, (part, beside) in zip(rows.tolist(), parts, strict=True):
                states[row] = part
                if beside is not None:
                    self._side.keep(ids[row], beside)
        return [states[row] for row in range(len(ids))]

    def _batches(self, ids: Sequence[list[int]]) -> "Iterator[tuple[np.ndarray, list[_Encoded]]]":
        lengths = [len(sentence) for sentence in ids]

        def run(rows: np.ndarray) -> "list[_Encoded]":
            return self._batch([ids[row] for row in rows])

        if self._device != "cpu":
            yield from run_batches(token_batches(lengths, _TOKENS_ON_DEVICE), run)
            return
        batches = list(length_sorted(lengths, parts=self.threads))
        with one_core_each(self.threads) as pool:
            yield from zip(batches, pool.map(run, batches), strict=True)

    def _batch(self, chosen: list[list[int]]) -> "list[_Encoded]":
        """Token rows of sentences, the longest first, and what is wanted beside them."""
        import torch

        pad = self._tokenizer.pad_token_id or 0
        lengths = [len(sentence) for sentence in chosen]
        width = max(lengths)
        with torch.inference_mode():
            padded = torch.tensor(
                [sentence + [pad] * (width - len(sentence)) for sentence in chosen]
            )
            mask = torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]
            padded, mask = padded.to(self._device), mask.to(self._device)
            states, last = self._run(padded, mask)
            parts = torch.split(states[mask], lengths)
            if last is None:
                return [(part, None) for part in parts]
            tokens = torch.split(last[mask], lengths)
            return [
                (part, pooled(all_of, str(self._side.pooling)))
                for part, all_of in zip(parts, tokens, strict=True)
            ]

    def _run(
        self, ids: "torch.Tensor", mask: "torch.Tensor"
    ) -> "tuple[torch.Tensor, torch.Tensor | None]":
        """States of the layer, and of the last one where someone wants them too."""
        inputs = {"input_ids": ids, "attention_mask": mask.long()}
        if self._side.pooling is not None and self._tapped is not None:
            last = self._tapped(**inputs).last_hidden_state
            return self._tap.seen, last
        if self._ends_here:
            return self._model(**inputs).last_hidden_state, None
        return self._model(**inputs, output_hidden_states=True).hidden_states[self._layer], None


def pooled(states: "torch.Tensor", pooling: str) -> Floats:
    """One row from those of all tokens: the `last`, or their `mean`."""
    row = states[-1] if pooling == "last" else states.mean(dim=0)
    pooled_row: Floats = row.cpu().double().numpy()
    return pooled_row


@contextmanager
def one_core_each(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads whose PyTorch keeps to one core; alone, a thread has them all."""
    import torch

    before = torch.get_num_threads()
    own = before if threads == 1 else 1
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(own,)) as pool:
        try:
            yield pool
        finally:
            pool.shutdown()
            torch.set_num_threads(before)


def longest(loaded: Loaded) -> int:
    """How many tokens a model takes: as its tokenizer says, and no more than it has positions.

    RoBERTa and its kin count positions from behind that of the padding.
    """
    config = loaded.model.config
    places = getattr(config, "max_position_embeddings", None) or _ENDLESS
    behind = config.model_type in ("roberta", "xlm-roberta", "mpnet", "camembert", "longformer")
    room = int(places) - (config.pad_token_id + 1 if behind else 0)
    return min(room, int(loaded.tokenizer.model_max_length))


def encoder_of(model: Any) -> Any:
    """A model, or of one that has two halves that which reads."""
    return model.encoder if hasattr(model, "encoder") and hasattr(model, "decoder") else model


def _stack(model: Any) -> "tuple[str, Any, torch.nn.ModuleList] | None":
    """Where a model has its layers: the name of the part, the part, the layers."""
    import torch

    for name in ("encoder", "transformer"):
        inner = getattr(model, name, None)
        layers = getattr(inner, "layer", None)
        if isinstance(layers, torch.nn.ModuleList):
            return name, inner, layers
    return None


def _cut(model: Any, layer: int) -> tuple[Any, bool]:
    """The same model without the layers above, sharing its weights; or as it is, and False."""
    parts = _stack(model)
    if parts is None:
        return model, False
    name, inner, layers = parts
    return _changed(model, name, _changed(inner, "layer", layers[:layer])), True


def _tapped(model: Any, layer: int) -> "tuple[Any | None, threading.local]":
    """The whole model, sharing its weights, that also leaves a layer's states with its thread.

    None for the embeddings, and where the layers cannot be found.
    """
    import torch

    seen = threading.local()
    parts = _stack(model)
    if parts is None or not 0 < layer <= len(parts[2]):
        return None, seen
    name, inner, layers = parts

    def leave(_: Any, __: Any, out: Any) -> None:
        seen.seen = out[0] if isinstance(out, tuple) else out

    block = copy.copy(layers[layer - 1])
    block._forward_hooks = OrderedDict()  # else the hook would hang on the shared block too
    block.register_forward_hook(leave)
    stack = torch.nn.ModuleList([*layers[: layer - 1], block, *layers[layer:]])
    return _changed(model, name, _changed(inner, "layer", stack)), seen


def _changed(module: Any, name: str, part: Any) -> Any:
    twin = copy.copy(module)
    twin._modules = {**module._modules, name: part}
    return twin
