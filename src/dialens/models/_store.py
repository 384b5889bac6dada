"""Where models are found: those that ship, by task or by name, and users' own folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dialens.base import DialensError, did_you_mean
from dialens.models._card import ModelCard, read_card
from dialens.models._classifiers import CLASSIFICATION, onnx_graph, plain_onnx_card
from dialens.models._places import GET_LARGER, has_larger_models, shipped_places
from dialens.models._runtime import Model, Precision

if TYPE_CHECKING:
    from dialens.models._huggingface import TorchModel


@dataclass(frozen=True)
class Listed:
    """One line of ``dialens models``."""

    name: str
    task: str
    size: str
    default: bool
    card: ModelCard


def list_models(folder: Path | None = None) -> list[Listed]:
    """Return every task of every model that ships, or of those in a folder; reads cards only.

    ``name`` is what :func:`load` takes: the task for its default size, ``task-size`` for another.
    The default of a task is the size that did better on held-out data, as its card says; where the
    larger models are not installed, the size that is. Topics and trait models are in
    :func:`~dialens.models._catalogue`.

    Examples:
        >>> all(one.task in one.card.tasks for one in list_models())
        True
    """
    listed = []
    cards = [card for place in places_of(folder) for card in _cards(place)]
    declared = {task for card in cards for task in card.facts.get("default_for", ())}
    for card in cards:
        defaults = {*card.facts.get("default_for", ()), *stand_ins(folder, card.tasks, declared)}
        for task in card.tasks:
            default = task in defaults
            name = task if default else f"{task}-{card.name}"
            listed.append(Listed(name, task, card.name, default, card))
    return sorted(listed, key=lambda one: (one.task, not one.default))


def load(
    name: str | Path,
    task: str | None = None,
    *,
    precision: Precision = "int8",
    threads: int = 0,
    device: str = "cpu",
    folder: Path | None = None,
) -> Model | TorchModel:
    """Return a model by name (``emotion``, ``engagement-small``) or from a user's own folder.

    A folder with a ``card.json`` and ONNX files runs on ONNX Runtime, and so does an exported
    classifier (``config.json``, ``tokenizer.json``, ``model.onnx``); a Hugging Face
    sequence-classification folder (``config.json``, ``model.safetensors``) needs the ``train``
    extra. Weights are read at the first use, not here.

    Args:
        name: A name of :func:`list_models`, or a folder. A name goes before a folder of the same
            name in the current place; write ``./emotion`` for that.
        task: Of a folder with several tasks; not needed where there is one.
        precision: What processors compute in, ``int8`` or ``fp32``.
        threads: Batches worked on at once, each on one core; 0 takes all cores.
        device: ``cpu``, ``cuda``, or ``auto`` for a graphics card where there is one. An exported
            classifier of somebody else's stays on the processor.
        folder: Where named models live; those that ship if not given.

    Raises:
        DialensError: If there is no such model.

    Examples:
        >>> load("emotoin")
        Traceback (most recent call last):
        dialens.DialensError: no model 'emotoin', and no such folder. ...
    """
    path = Path(name)
    named = isinstance(name, str)  # Path("./emotion") forgets its dot, the string does not
    listed = list_models(folder)
    for one in listed if named else ():
        if name in (one.name, f"{one.task}-{one.size}"):
            return Model(one.card, one.task, precision=precision, threads=threads, device=device)
    if path.is_dir():
        return _from_folder(path, task, precision, threads, device)
    names = [one.name for one in listed]
    raise DialensError(
        f"no model {str(name)!r}, and no such folder. {did_you_mean(str(name), names)}"
        f"There are: {', '.join(names) or 'none'} (`dialens models` checks them)"
        f"{larger_hint(folder)}"
    )


def places_of(folder: Path | None) -> tuple[Path, ...]:
    """A folder of models, or those that ship."""
    return shipped_places() if folder is None else (folder,)


def stand_ins(folder: Path | None, tasks: Iterable[str], declared: set[str]) -> set[str]:
    """Tasks whose default is among the larger models, where these are not installed."""
    return set() if folder or has_larger_models() else set(tasks) - declared


def larger_hint(folder: Path | None = None) -> str:
    """How to get the larger models, where they are not installed; else nothing."""
    return "" if folder or has_larger_models() else f"; larger models: {GET_LARGER}"


def _cards(folder: Path) -> list[ModelCard]:
    # Other kinds of models (topics, traits) live in the same place with cards of their own shape.
    # A card that cannot be read must not keep the other models from loading; `verify` names it.
    cards = []
    for file in sorted(folder.glob("*/card.json")):
        if b'"tasks"' not in file.read_bytes():
            continue
        with contextlib.suppress(DialensError):
            cards.append(read_card(file.parent))
    return cards


def _from_folder(
    path: Path, task: str | None, precision: Precision, threads: int, device: str
) -> Model | TorchModel:
    if (path / "card.json").exists():
        card = read_card(path)
        if task is None:
            if len(card.tasks) != 1:
                raise DialensError(f"{path} has several tasks ({', '.join(card.tasks)}): name one")
            task = next(iter(card.tasks))
        return Model(card, task, precision=precision, threads=threads, device=device)
    if (path / "config.json").exists():
        if onnx_graph(path) is not None:
            card = plain_onnx_card(path)
            return Model(card, task or CLASSIFICATION, precision=precision, threads=threads)
        from dialens.models._folders import SAFE_WEIGHTS
        from dialens.models._huggingface import TorchModel

        if any((path / name).exists() for name in SAFE_WEIGHTS):
            return TorchModel(path, threads=threads, device=device)
    raise DialensError(
        f"{path} is no model: it needs card.json with ONNX files, or config.json, tokenizer files "
        "and model.onnx or model.safetensors of a Hugging Face classifier"
    )
