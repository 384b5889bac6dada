"""BLEURT: a BERT or RemBERT that was trained to give the number a judge would give.

Sellam, Das and Parikh 2020. The input is the reference, then the reply. Folders are those of
transformers (`bert`, `rembert`, one label) or of the PyTorch port of the authors' checkpoints
(model type `bleurt`), which is the same network under other names.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dialens.metrics._family import Family, NotReadyError, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._tensors import read_tensors
from dialens.metrics.families._token_encoder import longest
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    check_labels,
    check_tokens,
    device_of,
    lacking_packages,
    lacking_weights,
    load_folder,
    load_model,
    weights_signature,
)
from dialens.models import length_sorted, on_device, padded, run_batches

NAME = "bleurt"
WHAT = "a BLEURT checkpoint such as BLEURT-20, for PyTorch"

_PORT = "bleurt"


def cut_pair(reference: list[int], reply: list[int], room: int) -> tuple[list[int], list[int]]:
    """Shorten the longer of two until both fit, the reply where they are alike, as BLEURT does.

    Examples:
        >>> cut_pair([1, 2, 3, 4], [5, 6], 5), cut_pair([1, 2], [5, 6], 3)
        (([1, 2, 3], [5, 6]), ([1, 2], [5]))
    """
    first, second = len(reference), len(reply)
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return reference[:first], reply[:second]


class BleurtScorer:
    """One column; of several references the best."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._longest = longest(loaded)
        self._has_types = getattr(loaded.model.config, "type_vocab_size", 1) > 1
        self.signature = loaded.signature

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit; NaN for one without a reference."""
        pairs = [(reference, unit.response) for unit in units for reference in unit.references]
        distinct = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        tell = paced(advance, len(units), len(distinct))
        scores = self._scored(list(distinct), tell)
        result = np.full((len(units), 1), np.nan)
        for row, unit in enumerate(units):
            if unit.references:
                result[row] = max(
                    scores[distinct[reference, unit.response]] for reference in unit.references
                )
        return result

    def _scored(self, pairs: list[tuple[str, str]], tell: Callable[[int], None]) -> Floats:
        import torch

        tokenizer = self._loaded.tokenizer
        begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        ids = dict(zip(texts, self._ids(texts), strict=True))
        inputs, types = [], []
        for reference, reply in pairs:
            first, second = cut_pair(ids[reference], ids[reply], self._longest - 3)
            inputs.append([begin, *first, end, *second, end])
            types.append([0] * (len(first) + 2) + [1] * (len(second) + 1))
        scores = np.empty(len(pairs))

        def run(rows: np.ndarray) -> Floats:
            feed = {
                "input_ids": padded([inputs[row] for row in rows], tokenizer.pad_token_id),
                "attention_mask": padded([[1] * len(inputs[row]) for row in rows], 0),
            }
            if self._has_types:
                feed["token_type_ids"] = padded([types[row] for row in rows], 0)
            placed = {name: values.to(self._loaded.device) for name, values in feed.items()}
            found: Floats = self._loaded.model(**placed).logits[:, 0].cpu().double().numpy()
            return found

        with torch.inference_mode():
            for rows, found in run_batches(length_sorted([len(row) for row in inputs]), run):
                scores[rows] = found
                tell(len(rows))
        return scores

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        ids: list[list[int]] = self._loaded.tokenizer(
            texts, add_special_tokens=False, verbose=False
        )["input_ids"]
        return ids


def ready(context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> BleurtScorer:
    """Load the model.

    Raises:
        NotReadyError: It is missing, or gives another number of labels than one.
    """
    folder = load_folder(context, NAME, WHAT)
    config = _config(folder / "config.json")
    if config.get("model_type") == _PORT:
        loaded = context.cached(_load_port, context, folder)
    else:
        kind = "AutoModelForSequenceClassification"
        loaded = load_model(context, NAME, WHAT, kind, may_lack=())
    check_labels(loaded, 1, f"{WHAT}, which gives one number")
    check_tokens(loaded, "cls_token", "sep_token", "pad_token")
    return BleurtScorer(loaded)


def _config(file: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise NotReadyError(f"{file} cannot be read ({error}); copy it again") from error
    if not isinstance(read, dict):
        raise NotReadyError(f"{file} holds no settings of a model; copy it again")
    return read


def _load_port(context: ScorerContext, folder: Path) -> Loaded:
    """The port's network in transformers' terms: BERT, or with narrower embeddings RemBERT."""
    import transformers as library

    config = _config(folder / "config.json")
    transformers: Any = library  # whose classes are not typed throughout
    tensors = read_tensors(folder)
    try:
        model, names = _port_network(transformers, config)
        model.load_state_dict(_renamed(tensors, names))
        tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(
            str(folder), local_files_only=True
        )
    except Exception as error:  # of PyTorch, of tokenizers: whatever a damaged file brings
        first = str(error).strip().splitlines()[:2]
        raise NotReadyError(f"{folder} cannot be loaded as BLEURT: {' '.join(first)}") from error
    device = device_of(context)
    model = on_device(model.eval().requires_grad_(False), device, folder)
    return Loaded(model, tokenizer, device, folder, weights_signature(context, folder))


def _port_network(transformers: Any, config: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """The network without its weights, and its names for what the port calls otherwise."""
    narrow = config.get("embedding_size")
    named = {name: value for name, value in config.items() if name in _CONFIGURED}
    shared = {**named, "num_labels": config.get("num_labels", 1)}
    if narrow is None:
        bert = transformers.BertConfig(**shared)
        return transformers.BertForSequenceClassification(bert), {"bleurt.": "bert."}
    rembert = transformers.RemBertConfig(
        **shared,
        input_embedding_size=narrow,
        output_embedding_size=narrow,
        bos_token_id=None,
        eos_token_id=None,
    )
    return transformers.RemBertForSequenceClassification(rembert), {
        "bleurt.": "rembert.",
        "encoder.embedding_projection.": "encoder.embedding_hidden_mapping_in.",
    }


def _renamed(tensors: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    renamed = {}
    for name, values in tensors.items():
        for theirs, ours in names.items():
            name = name.replace(theirs, ours, 1)
        if not name.endswith(("position_ids", "token_type_ids")):
            renamed[name] = values.float()
    return renamed


_CONFIGURED = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
)


FAMILY = Family(
    name=NAME,
    label="BLEURT",
    outputs=(
        Output(
            "bleurt",
            "What BLEURT expects a judge to say of reply and reference (best of several)",
            label="BLEURT",
            headline=103,
        ),
    ),
    open=open_scorer,
    ready=ready,
    needs=("reference",),
    reads=("reference",),
    weights={NAME: WHAT},
    citation="Sellam, Das and Parikh 2020, BLEURT: Learning Robust Metrics for Text Generation, "
    "ACL",
)


PLACE = 160
METRICS = (FAMILY,)
