"""Weights of automatic metrics: found in a folder or on the hub, checked, hashed, loaded once.

Nothing heavy is imported before something is loaded. Folders are as transformers saves them, with
weights in safetensors; files that can run code when they are read need the user's word for it.
"""

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base import DialensError
from dialens.metrics._family import NotReadyError, ScorerContext
from dialens.metrics.families._hub import HUB, HubModel, fetch, file_hash, model_files
from dialens.models import (
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    FolderError,
    check_tokenizer,
    chosen_device,
    on_device,
)
from dialens.models import load_model as load_folder_model
from dialens.models import load_tokenizer as load_folder_tokenizer

TRANSFORMERS = ("torch", "transformers", "safetensors")
"""Packages that run a folder of weights."""

_HASHED = 12  # characters of a hash in a signature


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to run.

    Attributes:
        model: In evaluation mode, in 32 bits, on the device.
        tokenizer: Of the same folder.
        device: `cpu` or `cuda`.
        folder: Where both came from.
        signature: The folder's name and a hash of what is in it.
    """

    model: Any
    tokenizer: Any
    device: str
    folder: Path
    signature: str


def lacking_packages(
    *packages: str, extra: str = "metrics", install: str | None = None
) -> str | None:
    """What to install before these packages can be imported; None if they are there.

    Args:
        packages: As they are imported.
        extra: Of dialens, that brings them.
        install: What brings them, where no extra does.

    Examples:
        >>> lacking_packages("json")
        >>> lacking_packages("json", "no_such_package")
        "needs the Python package no_such_package (pip install 'dialens[metrics]')"
    """
    gone = [name for name in packages if importlib.util.find_spec(name) is None]
    if not gone:
        return None
    install = install or f"'dialens[{extra}]'"
    named = f"package {gone[0]}" if len(gone) == 1 else f"packages {', '.join(gone)}"
    return f"needs the Python {named} (pip install {install})"


def lacking_weights(
    context: ScorerContext, name: str, what: str, *, files: Sequence[str] = ("config.json",)
) -> str | None:
    """What is missing before these weights can be loaded; None if nothing is.

    Weights on the hub count as there: whether they can be fetched shows when they are.

    Args:
        context: Says where the user has them.
        name: Of the weights, as `--weights NAME=FOLDER` takes it.
        what: Should be in the folder, in words: `an encoder such as roberta-large`.
        files: That must be there, beside the weights themselves.

    Examples:
        >>> lacking_weights(ScorerContext(), "bart_score", "a BART model")
        'give the weights of a BART model: --weights bart_score=FOLDER, with config.json,
        tokenizer files and model.safetensors in it (or bart_score=hub:ORGANISATION/NAME@REVISION)'
    """
    try:
        if context.weights.get(name, "").startswith(HUB):
            _on_hub(name, context.weights[name])
        else:
            _local(context, name, what, files)
    except NotReadyError as error:
        return str(error)
    return None


def load_folder(
    context: ScorerContext, name: str, what: str, *, files: Sequence[str] = ("config.json",)
) -> Path:
    """The folder of these weights, fetched from the hub if the user says so, and checked.

    Arguments as for `lacking_weights`.

    Raises:
        NotReadyError: None is given, a file is missing, or only a pickle is there.
    """
    place = context.weights.get(name, "")
    if place.startswith(HUB):
        model = _on_hub(name, place)
        return context.cached(fetch, context, model, tuple(files))
    return _local(context, name, what, files)


def _on_hub(name: str, place: str) -> HubModel:
    model = HubModel.of(name, place)
    lacking = lacking_packages("huggingface_hub")
    if lacking is not None:
        raise NotReadyError(lacking)
    return model


def _local(context: ScorerContext, name: str, what: str, files: Sequence[str]) -> Path:
    place = context.weights.get(name)
    if place is None:
        wanted = [*files, "tokenizer files"] if "config.json" in files else list(files)
        raise NotReadyError(
            f"give the weights of {what}: --weights {name}=FOLDER, with {', '.join(wanted)} and "
            f"{SAFE_WEIGHTS[0]} in it (or {name}=hub:ORGANISATION/NAME@REVISION)"
        )
    folder = Path(place)
    if not folder.is_dir():
        raise NotReadyError(
            f"the folder {folder} of --weights {name} is not there; it should hold {what}"
        )
    _check(folder, files, allow_pickle=context.allow_pickle)
    return folder


def _check(folder: Path, files: Sequence[str], *, allow_pickle: bool) -> None:
    for file in files:
        if not (folder / file).is_file():
            raise NotReadyError(f"{folder / file} is not there; copy the whole folder of the model")
    if "config.json" in files:
        try:
            check_tokenizer(folder)
        except FolderError as error:
            raise NotReadyError(str(error)) from error
    if any((folder / file).is_file() for file in SAFE_WEIGHTS):
        return
    pickle = next((file for file in PICKLED_WEIGHTS if (folder / file).is_file()), None)
    if pickle is None:
        raise NotReadyError(
            f"{folder / SAFE_WEIGHTS[0]} is not there; copy the whole folder of the model"
        )
    if not allow_pickle:
        raise NotReadyError(
            f"{folder / pickle} is a pickle, which can run code when it is read, and there is no "
            f"{SAFE_WEIGHTS[0]} beside it; convert it, or trust it with --allow-pickle"
        )


def weights_signature(context: ScorerContext, folder: Path) -> str:
    """The folder's name and a hash of its weights, configuration and vocabulary.

    Two folders with the same files sign alike but for their name.
    """
    resolved = folder.resolve()
    return f"{_name(resolved)}@{context.cached(_hash, context, resolved)}"


def _name(folder: Path) -> str:
    """A name for people: of the repository, where the hub's own folders are named by commits."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return re.sub(r"[|:,]", "-", folder.name)


def _hash(context: ScorerContext, folder: Path) -> str:
    marks = hashlib.sha256()
    for file in model_files(folder):
        marks.update(f"{file.name}\0{file_hash(context, file)}\n".encode())
    return marks.hexdigest()[:_HASHED]


def device_of(context: ScorerContext) -> str:
    """`cpu` or `cuda`, as the user says or the machine has it.

    Raises:
        NotReadyError: A GPU was asked for and PyTorch sees none.
    """
    try:
        return chosen_device(context.device)
    except DialensError as error:
        raise NotReadyError(str(error)) from error


def load_model(
    context: ScorerContext,
    name: str,
    what: str,
    kind: str = "AutoModel",
    *,
    files: Sequence[str] = ("config.json",),
    may_lack: Sequence[str] = ("pooler.",),
) -> Loaded:
    """A transformers model and its tokenizer, in memory once however many metrics ask for it.

    Args:
        context: Says where the user has the weights, and where they run.
        name: Of the weights, as `--weights NAME=FOLDER` takes it.
        what: Should be in the folder, in words.
        kind: The class in transformers, such as `AutoModelForCausalLM`.
        files: That must be there, beside the weights themselves.
        may_lack: Parts (of parameter names) that may be missing from the file, because their
            outputs are not used. Anything else that is missing would be drawn at random: refused.

    Raises:
        NotReadyError: Something is missing, damaged, or of another architecture.
    """
    lacking = lacking_packages(*TRANSFORMERS)
    if lacking is not None:
        raise NotReadyError(lacking)
    folder = load_folder(context, name, what, files=files)
    return context.cached(_loaded, context, folder, kind, tuple(may_lack))


def _loaded(context: ScorerContext, folder: Path, kind: str, may_lack: tuple[str, ...]) -> Loaded:
    import torch

    device = device_of(context)
    if context.threads:
        torch.set_num_threads(context.threads)
    safe = any((folder / file).is_file() for file in SAFE_WEIGHTS)
    try:
        loaded = load_folder_model(folder, kind, use_safetensors=safe, dtype=torch.float32)
    except FolderError as error:  # damaged files, or another architecture
        raise NotReadyError(f"{folder} cannot be loaded as {kind}: {error.reason}") from error
    gaps = loaded.gaps(may_lack=may_lack)
    if gaps is not None:
        raise NotReadyError(f"{folder} is not a whole {kind}: {gaps}")
    tokenizer = load_tokenizer(context, folder)
    model = on_device(loaded.model.requires_grad_(False), device, folder)
    return Loaded(model, tokenizer, device, folder, weights_signature(context, folder))


def check_labels(loaded: Loaded, labels: int, what: str) -> None:
    """Refuse a classifier with another number of outputs.

    Raises:
        NotReadyError: Says how many it has, and what was wanted.
    """
    seen = loaded.model.config.num_labels
    if seen != labels:
        raise NotReadyError(f"{loaded.folder} gives {seen} labels; it should hold {what}")


def check_tokens(loaded: Loaded, *names: str) -> None:
    """Refuse a tokenizer without special tokens that inputs are made with, such as `mask_token`.

    Raises:
        NotReadyError: Names the first that is missing.
    """
    for name in names:
        if getattr(loaded.tokenizer, f"{name}_id", None) is None:
            raise NotReadyError(
                f"the tokenizer in {loaded.folder} has no {name}: name it in tokenizer_config.json"
            )


def load_tokenizer(context: ScorerContext, folder: Path) -> Any:
    """The tokenizer of a folder, once for all who ask.

    Raises:
        NotReadyError: There is none, or it is damaged.
    """
    return context.cached(_tokenizer, folder)


def _tokenizer(folder: Path) -> Any:
    try:
        return load_folder_tokenizer(folder)
    except FolderError as error:
        raise NotReadyError(str(error)) from error
