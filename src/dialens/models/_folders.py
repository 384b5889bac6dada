"""Folders of models as Hugging Face's transformers saves them: checked, then loaded.

The one place that reads them, for classifiers, metrics and agents. Only local files are read, and
never code from a folder. Transformers makes an empty tokenizer where its files are missing, and
draws weights at random that a file does not hold: both are refused here.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base import DialensError, first_line

SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
"""Weights that are only numbers, whole or in pieces."""

PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""Weights that can run code when they are read."""

TOKENIZER_FILES = (
    "tokenizer.json, vocab.txt, vocab.json with merges.txt, or a *.model of sentencepiece"
)
"""What people mostly have, in words."""

_KINDS = (
    ("tokenizer.json",),
    ("vocab.txt",),
    ("vocab.json", "merges.txt"),
    ("vocab-src.json", "merges.txt"),  # FSMT
    ("tekken.json",),  # Mistral
)
_PIECES = (("*.model",), ("*.spm",))  # of sentencepiece; the second Marian's
_FILELESS = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")  # they know bytes
_NAMED = 3  # parameters; more are counted


class FolderError(DialensError):
    """A model or tokenizer that cannot be loaded; `reason` is what the library beneath said."""

    def __init__(self, problem: str, reason: str = "") -> None:
        super().__init__(f"{problem}: {reason}" if reason else problem)
        self.reason = reason


@dataclass(frozen=True)
class LoadedModel:
    """A model of transformers in evaluation mode, and what its file did not hold.

    Attributes:
        model: As transformers makes it.
        missing: Parameters that the file of weights lacks.
        mismatched: Parameters that it holds in another shape than `config.json` says.
    """

    model: Any
    missing: tuple[str, ...]
    mismatched: tuple[str, ...]

    def gaps(self, *, may_lack: Sequence[str] = ()) -> str | None:
        """Return which weights were drawn at random, in words; None if none was.

        Args:
            may_lack: Parts of names of parameters that may be missing, because their outputs are
                not used.

        Examples:
            >>> LoadedModel(None, ("head.bias", "pooler.bias"), ()).gaps(may_lack=["pooler."])
            'the file of weights lacks head.bias'
        """
        missing = [name for name in self.missing if not any(part in name for part in may_lack)]
        if missing:
            return f"the file of weights lacks {_named(missing)}"
        if self.mismatched:
            names = _named(self.mismatched)
            return f"the file of weights holds in another shape than config.json says {names}"
        return None


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds all files of some kind of tokenizer; nothing is imported."""
    if _holds(folder, (*_KINDS, *_PIECES)):
        return True
    try:
        config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("tokenizer_class") in _FILELESS


def lacks_sentencepiece(folder: Path) -> bool:
    """Whether a folder's only tokenizer takes the package sentencepiece, which is not installed."""
    return (
        _holds(folder, _PIECES)
        and not _holds(folder, _KINDS)
        and importlib.util.find_spec("sentencepiece") is None
    )


def check_tokenizer(folder: Path) -> None:
    """Make sure that a folder has a tokenizer that can be read here; nothing is imported.

    Raises:
        FolderError: Its files are missing, or it takes a package that is not installed.
    """
    if not has_tokenizer(folder):
        raise FolderError(
            f"{folder} has no tokenizer ({TOKENIZER_FILES}); copy the whole folder of the model"
        )
    if lacks_sentencepiece(folder):
        raise FolderError(
            f"the tokenizer in {folder} needs the Python package sentencepiece "
            "(pip install sentencepiece)"
        )


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a folder.

    Raises:
        FolderError: There is none, it is damaged, or its vocabulary is missing.
    """
    from transformers import AutoTokenizer

    check_tokenizer(folder)
    try:
        with quietly():
            tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # each library beneath raises kinds of its own
        raise FolderError(
            f"{folder} has no tokenizer that can be read (tokenizer.json, or vocab files and "
            "tokenizer_config.json)",
            first_line(error),
        ) from error
    files = getattr(tokenizer, "vocab_files_names", {}).values()
    lacking = _lacking_vocabulary(folder, files)
    if lacking is not None:
        raise FolderError(
            f"{folder} has no vocabulary for its {type(tokenizer).__name__} ({lacking}); copy the "
            "whole folder of the model"
        )
    return tokenizer


def load_model(folder: Path, kind: str, **options: Any) -> LoadedModel:
    """Load the model of a folder, by safetensors unless the options say otherwise.

    Args:
        folder: Holds `config.json` and the weights.
        kind: The class in transformers, such as `AutoModelForCausalLM`.
        options: More of its `from_pretrained`.

    Raises:
        FolderError: The files are damaged, or of another architecture.
    """
    import transformers

    options = {"use_safetensors": True, **options}
    try:
        with quietly():
            model, info = getattr(transformers, kind).from_pretrained(
                str(folder), local_files_only=True, output_loading_info=True, **options
            )
    except Exception as error:  # each library beneath raises kinds of its own
        raise FolderError(f"{folder} cannot be loaded", first_line(error)) from error
    missing, mismatched = info["missing_keys"], (name for name, *_ in info["mismatched_keys"])
    return LoadedModel(model.eval(), tuple(sorted(missing)), tuple(sorted(mismatched)))


def load_gguf(file: Path) -> tuple[Any, Any]:
    """Load the language model and the tokenizer of a GGUF file.

    Raises:
        FolderError: The file is damaged, or of an architecture that transformers cannot unpack.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"gguf_file": file.name, "local_files_only": True}
    model: Any
    try:
        with quietly(), _bar_on_terminals():
            tokenizer = AutoTokenizer.from_pretrained(str(file.parent), **options)
            model = AutoModelForCausalLM.from_pretrained(str(file.parent), **options)
    except Exception as error:  # the reader of this format raises whatever its bytes lead to
        raise FolderError(f"{file} cannot be loaded", first_line(error)) from error
    return model.eval(), tokenizer


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep transformers from drawing bars and giving advice while a folder is read."""
    import transformers

    logging: Any = transformers.utils.logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def _bar_on_terminals() -> Iterator[None]:
    """Have the bar of unpacking drawn on terminals only; transformers draws it into logs too."""
    from transformers import modeling_gguf_pytorch_utils

    reader: Any = modeling_gguf_pytorch_utils
    drawn = reader.tqdm
    reader.tqdm = functools.partial(drawn, disable=None, leave=False)
    try:
        yield
    finally:
        reader.tqdm = drawn


def _holds(folder: Path, kinds: Iterable[tuple[str, ...]]) -> bool:
    return any(all(any(folder.glob(file)) for file in kind) for kind in kinds)


def _lacking_vocabulary(folder: Path, files: Iterable[str]) -> str | None:
    """What a tokenizer would have to be read from; None where that, or some of it, is there."""
    whole = "tokenizer.json"  # serves every class
    own = [file for file in files if file not in (whole, "tokenizer_config.json")]
    if not own or any((folder / file).is_file() for file in (whole, *own)):
        return None
    return f"{whole}, or {' and '.join(own)}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
