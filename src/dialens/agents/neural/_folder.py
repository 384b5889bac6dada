"""An agent's folder: `config.json`, `weights.safetensors`, `tokenizer.json`, `card.json`.

A folder is known by its card, which holds the hashes of the others; damaged files are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dialens.agents.neural._inference import Writer
from dialens.agents.neural._shape import Shape
from dialens.agents.neural._subwords import Subwords
from dialens.agents.neural._weights import load_weights, save_weights
from dialens.base import DialensError, make_folder, sha256_file
from dialens.models import topics as topic_tables
from dialens.models.topics import TopicTable

CARD: Final = "card.json"
CONFIG: Final = "config.json"
WEIGHTS: Final = "weights.safetensors"
TOKENIZER: Final = "tokenizer.json"
TOPICS: Final = "topics"

SHIPPED: Final = Path(__file__).parent.parent / "data"
"""Where the agents that come with the package live, by kind."""


@dataclass(frozen=True, eq=False)
class AgentFolder:
    """What is needed to talk.

    Attributes:
        shape: Sizes and kind.
        writer: The network.
        subwords: The vocabulary.
        topic_table: Subwords of the words of each topic (THRED); row 0 is no topic.
        blocked: Words that are not said unless the guard is switched off.
        card: Where the agent comes from and what it is good for.
        identity: Hash of the weights.
        own_topics: Folder of the topic model, where it is not the shipped one.
    """

    shape: Shape
    writer: Writer = field(repr=False)
    subwords: Subwords = field(repr=False)
    topic_table: NDArray[np.int64] = field(repr=False)
    blocked: tuple[str, ...] = field(repr=False)
    card: Mapping[str, Any] = field(repr=False)
    identity: str
    own_topics: Path | None = None

    def topics(self) -> TopicTable:
        """The topic model by which contexts get their topic words."""
        return topic_tables.load(self.own_topics)


def write_agent(
    folder: Path,
    *,
    shape: Shape,
    weights: Mapping[str, NDArray[Any]],
    subwords: Subwords,
    topic_table: NDArray[Any],
    blocked: Sequence[str],
    card: Mapping[str, Any],
    own_topics: TopicTable | None = None,
    small: bool = True,
) -> None:
    """Write a folder.

    Args:
        folder: Where to; it is made.
        shape: Sizes and kind.
        weights: By the names that PyTorch gives them.
        subwords: The vocabulary.
        topic_table: Subwords of the words of each topic.
        blocked: Words that are not to be said.
        card: What to say about it; hashes are added.
        own_topics: The topic model, where it is not the shipped one.
        small: Weights in one byte each; otherwise two.
    """
    make_folder(folder)
    save_weights(weights, folder / WEIGHTS, small=small)
    subwords.save(folder / TOKENIZER)
    config: dict[str, Any] = {"network": shape.as_dict(), "blocked": sorted(blocked)}
    if shape.kind == "thred":
        config["topic_words"] = [[int(one) for one in row if one] for row in topic_table]
        if own_topics is not None:
            topic_tables.save(own_topics, folder / TOPICS)
    (folder / CONFIG).write_text(json.dumps(config, separators=(",", ":")) + "\n", "utf-8")
    files = {name: sha256_file(folder / name) for name in (CONFIG, WEIGHTS, TOKENIZER)}
    about = {**card, "files": files}
    (folder / CARD).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_agent(folder: Path, *, kind: str | None = None) -> AgentFolder:
    """Read and check a folder.

    Args:
        folder: Of a trained agent.
        kind: What it must be, if that is known.

    Raises:
        DialensError: A file is missing or damaged, or the agent is of another kind.
    """
    card = _json(folder / CARD)
    if not isinstance(card.get("files"), dict):
        raise DialensError(f"{folder / CARD} names no files: {folder} is not an agent's folder.")
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        _check(folder / name, card["files"].get(name))
    config = _json(folder / CONFIG)
    try:
        shape = Shape.of(config["network"])
    except (KeyError, TypeError) as error:
        raise DialensError(f"{folder / CONFIG} describes no network ({error}).") from error
    if kind is not None and shape.kind != kind:
        raise DialensError(
            f"{folder} holds a {shape.kind}, not a {kind}: write {shape.kind}:{folder}."
        )
    rows = config.get("topic_words", [[]])
    table = np.zeros((len(rows), shape.topic_words), np.int64)
    for row, words in enumerate(rows):
        table[row, : len(words)] = words
    return AgentFolder(
        shape,
        Writer(shape, load_weights(folder / WEIGHTS)),
        Subwords.load(folder / TOKENIZER),
        table,
        tuple(config.get("blocked", ())),
        card,
        str(card["files"][WEIGHTS]),
        folder / TOPICS if (folder / TOPICS).is_dir() else None,
    )


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise DialensError(
            f"{file} cannot be read ({error.strerror}): name a folder that `dialens agents train` "
            "wrote."
        ) from error
    except ValueError as error:
        raise DialensError(
            f"{file} is damaged ({error}); fetch or train the agent again."
        ) from error
    if not isinstance(content, dict):
        raise DialensError(f"{file} is not an agent's.")
    return content


def _check(file: Path, wanted: object) -> None:
    if not file.is_file():
        raise DialensError(f"{file} is missing; fetch or train the agent again.")
    seen = sha256_file(file)
    if seen != wanted:
        raise DialensError(
            f"{file} is damaged or was changed: its SHA-256 is {seen[:12]}…, not the one in "
            f"{CARD}; fetch or train the agent again."
        )
