"""Users' own classifiers as others export them: what their ``config.json`` says, and ONNX folders.

A Hugging Face folder names its classes and their kind in ``config.json``. With ``tokenizer.json``
and an ONNX graph beside it (``model.onnx``, as Optimum writes it) it runs on ONNX Runtime without
PyTorch. Such a folder has no card, so there is no hash to hold its files against.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base import DialensError, sha256_file
from dialens.models._card import ModelCard, Task

CLASSIFICATION = "classification"
"""The one task of a folder without a card."""

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_QUANTISED = ("model_quantized.onnx", "model_int8.onnx", "onnx/model_quantized.onnx")
_LONGEST = 512


@dataclass(frozen=True)
class ClassifierConfig:
    """What ``config.json`` says of a classifier.

    Attributes:
        labels: Names of the classes.
        activation: ``softmax``, ``sigmoid`` or ``none``, by the rules of transformers' pipeline.
        longest: Tokens it can read.
        pad: Id of the padding token.
    """

    labels: tuple[str, ...]
    activation: str
    longest: int
    pad: int


def read_config(folder: Path) -> ClassifierConfig:
    """Read a classifier's ``config.json``.

    Raises:
        DialensError: The file cannot be read.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "config.json").write_text('{"id2label": {"0": "calm", "1": "angry"}}')
        >>> read_config(folder).labels, read_config(folder).activation
        (('calm', 'angry'), 'softmax')
    """
    file = folder / "config.json"
    try:
        raw: dict[str, Any] = json.loads(file.read_text("utf-8"))
        names = raw.get("id2label") or {}
        count = int(raw.get("num_labels") or len(names) or 2)
        labels = tuple(str(names.get(str(i), f"LABEL_{i}")) for i in range(count))
        pad = raw.get("pad_token_id")
        places = int(raw.get("max_position_embeddings") or _LONGEST)
    except (AttributeError, OSError, TypeError, ValueError) as error:
        raise DialensError(
            f"{file} cannot be read ({error!r}): give a classifier's folder"
        ) from error
    kind = raw.get("problem_type")
    activation = "softmax"
    if kind == "regression":
        activation = "none"
    elif kind == "multi_label_classification" or count == 1:
        activation = "sigmoid"
    # RoBERTa and MPNet count positions from behind the padding token.
    if raw.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        places -= int(pad if pad is not None else 1) + 1
    return ClassifierConfig(labels, activation, min(places, _LONGEST), int(pad or 0))


def onnx_graph(folder: Path, names: tuple[str, ...] = _GRAPHS) -> str | None:
    """Return the file of a folder's graph, or None."""
    return next((name for name in names if (folder / name).is_file()), None)


def plain_onnx_card(folder: Path) -> ModelCard:
    """Describe a folder with ``config.json``, ``tokenizer.json`` and an ONNX graph but no card.

    ``int8`` runs ``model_quantized.onnx`` where there is one, else the graph as it is.

    Raises:
        DialensError: A file is missing or cannot be read.
    """
    graph = onnx_graph(folder)
    if graph is None or not (folder / "tokenizer.json").is_file():
        raise DialensError(
            f"{folder} is no ONNX folder: it needs model.onnx, tokenizer.json and config.json"
        )
    config = read_config(folder)
    quantised = onnx_graph(folder, _QUANTISED) or graph
    inside = folder / graph
    data = [one.name for one in inside.parent.glob("*.onnx_data")]
    data += [one.name for one in inside.parent.glob("*.onnx.data")]
    sources = {graph, quantised, "tokenizer.json"}
    sources |= {(inside.parent / name).relative_to(folder).as_posix() for name in data}
    task = Task(
        name=CLASSIFICATION,
        labels=config.labels,
        activation=config.activation,
        pair=None,
        thresholds=tuple([0.5] * len(config.labels)),
        metrics={},
        intended_use="",
        limits="",
        output="logits",
    )
    return ModelCard(
        name=folder.resolve().name,
        folder=folder,
        tasks={CLASSIFICATION: task},
        inputs=(),
        pad=config.pad,
        longest=config.longest,
        files={name: sha256_file(folder / name) for name in sorted(sources)},
        facts={"licence": "not stated: the folder has no card"},
        graphs={"int8": quantised, "fp32": graph},
    )
