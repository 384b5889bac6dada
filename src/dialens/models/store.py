"""Where models are found: those that ship, by task or by name, and users' own folders."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dialens.errors import DialensError
from dialens.models.card import ModelCard, check_file, read_card
from dialens.models.runtime import Model, Precision

if TYPE_CHECKING:
    from dialens.models.huggingface import TorchModel

SHIPPED = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Listed:
    """One line of ``dialens models``."""

    name: str
    task: str
    size: str
    default: bool
    card: ModelCard


def list_models(folder: Path = SHIPPED) -> list[Listed]:
    """Return every task of every model in a folder; reads cards only.

    ``name`` is what :func:`load` takes: the task for its default size, ``task-size`` for another.
    The default of a task is the size that did better on held-out data, as its card says.
    """
    found = []
    for card in _cards(folder):
        defaults = card.facts.get("default_for", [])
        for task in card.tasks:
            default = task in defaults
            name = task if default else f"{task}-{card.name}"
            found.append(Listed(name, task, card.name, default, card))
    return sorted(found, key=lambda one: (one.task, not one.default))


def load(
    name: str | Path,
    task: str | None = None,
    *,
    precision: Precision = "int8",
    threads: int = 0,
    folder: Path = SHIPPED,
) -> Model | TorchModel:
    """Return a model by name (``emotion``, ``engagement-small``) or from a user's own folder.

    A folder with a ``card.json`` and ONNX files runs on ONNX Runtime; a Hugging Face
    sequence-classification folder (``config.json``, ``model.safetensors``) needs the ``train``
    extra. Weights are read at the first use, not here.

    Args:
        name: A name of :func:`list_models`, or a folder.
        task: Of a folder with several tasks; not needed where there is one.
        precision: ``int8`` or ``fp32``.
        threads: CPU threads; 0 leaves the choice to ONNX Runtime.
        folder: Where named models live.

    Raises:
        DialensError: If there is no such model.
    """
    path = Path(name)
    if path.is_dir():
        return _from_folder(path, task, precision, threads)
    listed = list_models(folder)
    for one in listed:
        if str(name) in (one.name, f"{one.task}-{one.size}"):
            return Model(one.card, one.task, precision=precision, threads=threads)
    names = [one.name for one in listed]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names) or 'none'}"
    raise DialensError(f"no model {str(name)!r}, and no such folder; {hint}")


def verify(folder: Path = SHIPPED) -> list[tuple[str, str | None]]:
    """Check every file of every model by its hash; return (file, what is wrong or None)."""
    found: list[tuple[str, str | None]] = []
    for card in _cards(folder):
        for name, sha256 in card.files.items():
            try:
                check_file(card.folder / name, sha256)
            except DialensError as error:
                found.append((f"{card.name}/{name}", str(error)))
            else:
                found.append((f"{card.name}/{name}", None))
    return found


def _cards(folder: Path) -> list[ModelCard]:
    # Other kinds of models (topics, traits) live in the same place with cards of their own shape.
    cards = []
    for file in sorted(folder.glob("*/card.json")):
        if (file.parent / "tokenizer.json").exists():
            cards.append(read_card(file.parent))
    return cards


def _from_folder(
    path: Path, task: str | None, precision: Precision, threads: int
) -> Model | TorchModel:
    if (path / "card.json").exists():
        card = read_card(path)
        if task is None:
            if len(card.tasks) != 1:
                raise DialensError(f"{path} has several tasks ({', '.join(card.tasks)}): name one")
            task = next(iter(card.tasks))
        return Model(card, task, precision=precision, threads=threads)
    if (path / "config.json").exists() and (path / "model.safetensors").exists():
        from dialens.models.huggingface import TorchModel

        return TorchModel(path, threads=threads)
    raise DialensError(
        f"{path} is no model: it needs card.json with ONNX files, or config.json, tokenizer files "
        "and model.safetensors of a Hugging Face classifier"
    )
