"""Weights on a model hub: named by a revision that stays, fetched by the hub's client, checked.

The client, huggingface_hub, knows where the hub is (`HF_ENDPOINT`), who asks (`HF_TOKEN`) and where
files are kept (`HF_HOME`); what it has fetched once needs no network again. It checks sizes only:
hashes are checked here.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from dialens.base import first_line, sha256_file
from dialens.metrics._family import NotReadyError, ScorerContext
from dialens.models import PICKLED_WEIGHTS, SAFE_WEIGHTS, TOKENIZER_FILES, has_tokenizer

T = TypeVar("T")

HUB = "hub:"
"""What the place of weights on the hub begins with."""

_SMALL_FILES = ("*.json", "*.txt", "*.model", "*.spm")
_SAFE_FILES = ("model.safetensors", "model-*.safetensors")
_PICKLED_FILES = ("pytorch_model.bin", "pytorch_model-*.bin")
_KINDS = {".json", ".txt", ".model", ".spm", ".safetensors", ".bin", ".npy"}
_COMMIT = re.compile("[0-9a-f]{40}")
_BRANCHES = ("main", "master", "HEAD")
_LOGIN = "log in (`hf auth login`, or set HF_TOKEN)"


@dataclass(frozen=True)
class HubModel:
    """A model on the hub at one revision.

    Attributes:
        weights: What `--weights` calls them.
        repository: `ORGANISATION/NAME`.
        revision: A commit or a tag.
    """

    weights: str
    repository: str
    revision: str

    @classmethod
    def of(cls, weights: str, place: str) -> Self:
        """Read `hub:ORGANISATION/NAME@REVISION`; the hub is not asked.

        Raises:
            NotReadyError: It is something else, or its revision is a branch.

        Examples:
            >>> str(HubModel.of("bleurt", "hub:org/bleurt-20@v1"))
            'org/bleurt-20 at v1'
        """
        repository, _, revision = place.removeprefix(HUB).partition("@")
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", repository):
            raise NotReadyError(
                f"--weights {weights} takes hub:ORGANISATION/NAME@REVISION; seen: {place}"
            )
        if not revision or revision in _BRANCHES or revision.startswith("refs/"):
            raise NotReadyError(
                f"--weights {weights}={place} must name what it wants for good: add @ and a commit "
                "of 40 hexadecimal digits or a tag, as the model's page on the hub lists them"
            )
        return cls(weights, repository, revision)

    def __str__(self) -> str:
        return f"{self.repository} at {self.revision}"


def fetch(context: ScorerContext, model: HubModel, files: Sequence[str]) -> Path:
    """The folder of a model, in the client's cache; files that are there already stay.

    Pickles are not fetched unless the user allows them and there is nothing else.

    Args:
        context: Says whether pickles are allowed, and remembers hashes.
        model: Where it is.
        files: That must be there, beside the weights themselves.

    Raises:
        NotReadyError: The hub does not have it or cannot be reached, the revision is a branch, a
            file is missing, or is not what the hub promised.
    """
    _refuse_branch(model)
    small = [*_SMALL_FILES, *files]
    folder = _snapshot(model, [*small, *_SAFE_FILES])
    wanted = SAFE_WEIGHTS
    if context.allow_pickle and not _has_one(folder, SAFE_WEIGHTS):
        folder = _snapshot(model, [*small, *_PICKLED_FILES])
        wanted = PICKLED_WEIGHTS
    if not (all((folder / file).is_file() for file in files) and _has_one(folder, wanted)):
        raise NotReadyError(_what_it_lacks(model, files))
    if "config.json" in files and not has_tokenizer(folder):
        raise NotReadyError(
            f"{model} has no tokenizer ({TOKENIZER_FILES}): choose a model in the format of "
            "transformers"
        )
    for file in model_files(folder):
        _check_hash(context, model, file)
    return folder


def model_files(folder: Path) -> list[Path]:
    """What a model is read from: of weights in both formats, those that are only numbers.

    Whatever else is in the folder, or was fetched into it by others, says nothing of the model.
    """
    unread = {".bin"} if _has_one(folder, SAFE_WEIGHTS) else set()
    return [
        file
        for file in sorted(folder.iterdir())
        if file.suffix in _KINDS - unread and file.is_file()
    ]


def _has_one(folder: Path, files: Sequence[str]) -> bool:
    return any((folder / file).is_file() for file in files)


def _refuse_branch(model: HubModel) -> None:
    """A branch moves, whatever its name; only the hub knows which names are branches."""
    from huggingface_hub import HfApi

    if _COMMIT.fullmatch(model.revision):
        return
    try:
        refs = HfApi().list_repo_refs(model.repository)
    except Exception:  # without an answer, fetching says why, or finds what was fetched before
        return
    branches = {branch.name: branch.target_commit for branch in refs.branches}
    if model.revision in branches and model.revision not in {tag.name for tag in refs.tags}:
        raise NotReadyError(
            f"{model.revision} is a branch of {model.repository}, which can move: name the commit "
            f"that it is now, --weights {model.weights}={HUB}{model.repository}@"
            f"{branches[model.revision]}"
        )


def _snapshot(model: HubModel, patterns: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download

    path = _asked(
        model,
        lambda: snapshot_download(
            model.repository,
            revision=model.revision,
            allow_patterns=list(patterns),
            ignore_patterns=["*/*"],
        ),
    )
    return Path(str(path))


def _asked(model: HubModel, ask: Callable[[], T]) -> T:
    """What the hub answers; if it does not, an error that says why and what to do."""
    try:
        return ask()
    except Exception as error:  # whatever the network, the hub or its client can come up with
        raise NotReadyError(_why_not(model, error)) from error


def _why_not(model: HubModel, error: Exception) -> str:
    from huggingface_hub import constants, errors

    page = f"{constants.ENDPOINT}/{model.repository}"
    if isinstance(error, errors.GatedRepoError):  # a kind of the next
        return f"{page} is gated: accept its terms there and {_LOGIN}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{page} is not there, or private: check the name, or {_LOGIN}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{page} has no revision {model.revision}: choose a commit or tag that it lists"
    status = getattr(getattr(error, "response", None), "status_code", None)
    cause = first_line(error.__cause__ or error)
    remedy = _LOGIN if status in (401, 403) else "run it again"
    return (
        f"{model} cannot be fetched from {constants.ENDPOINT} ({cause}): {remedy}, or with no "
        f"network give a folder: --weights {model.weights}=FOLDER"
    )


def _what_it_lacks(model: HubModel, files: Sequence[str]) -> str:
    from huggingface_hub import HfApi

    ask = HfApi().list_repo_files
    listed = _asked(model, lambda: ask(model.repository, revision=model.revision))
    lacking = next((file for file in files if file not in listed), None)
    pickle = next((file for file in PICKLED_WEIGHTS if file in listed), None)
    if lacking is None and pickle is not None:
        return (
            f"{model} has {pickle}, a pickle, which can run code when it is read, and no "
            f"{SAFE_WEIGHTS[0]}: choose a revision that has one, convert it, or trust it with "
            "--allow-pickle"
        )
    return (
        f"{model} has no {lacking or SAFE_WEIGHTS[0]}: choose a model in the format of transformers"
    )


def _check_hash(context: ScorerContext, model: HubModel, file: Path) -> None:
    """Compare a file with the hash that the hub promised: the client names what it keeps by it.

    Where a file system has no links, nothing of the promise is left to compare with.
    """
    if not file.is_symlink():
        return
    promised = file.readlink().name
    if len(promised) == hashlib.sha256().digest_size * 2:
        is_good = file_hash(context, file) == promised
    elif _COMMIT.fullmatch(promised):
        is_good = promised in _sha1s(file)
    else:
        return  # a hub of another kind, whose marks are not hashes
    if not is_good:
        raise NotReadyError(
            f"{file.name} of {model} is not what the hub promised: its hash is not {promised}; "
            f"delete {file.parent.parent.parent / 'blobs' / promised} and run it again"
        )


def _sha1s(file: Path) -> set[str]:
    """Of a small file: as git counts it, with a header, and of its bytes alone, as mirrors do."""
    content = file.read_bytes()
    header = b"blob %d\0" % len(content)
    return {hashlib.sha1(before + content).hexdigest() for before in (header, b"")}


def file_hash(context: ScorerContext, file: Path) -> str:
    """SHA-256 of a file, computed once: files of weights are large."""
    return context.cached(sha256_file, file.resolve())
