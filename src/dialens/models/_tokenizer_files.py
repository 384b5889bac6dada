"""Which files a tokenizer is read from: where they are missing, transformers makes an empty one."""

import json
from collections.abc import Iterable
from pathlib import Path

WANTED = "tokenizer.json, vocab.txt, vocab.json with merges.txt, or a *.model of sentencepiece"
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


def _holds(folder: Path, kinds: Iterable[tuple[str, ...]]) -> bool:
    return any(all(any(folder.glob(file)) for file in kind) for kind in kinds)


def needs_sentencepiece(folder: Path) -> bool:
    """Whether a folder has no tokenizer but one that takes sentencepiece to read."""
    return _holds(folder, _PIECES) and not _holds(folder, _KINDS)


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds all files of some kind of tokenizer; nothing is imported."""
    if _holds(folder, (*_KINDS, *_PIECES)):
        return True
    try:
        told = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("tokenizer_class") in _FILELESS


def lacking_vocabulary(folder: Path, files: Iterable[str]) -> str | None:
    """What a tokenizer would have to be read from; None where that, or some of it, is there.

    Args:
        folder: Of the model.
        files: That the tokenizer's class names; none if it needs none.
    """
    whole = "tokenizer.json"  # serves every class
    own = [file for file in files if file not in (whole, "tokenizer_config.json")]
    if not own or any((folder / file).is_file() for file in (whole, *own)):
        return None
    return f"{whole}, or {' and '.join(own)}"
