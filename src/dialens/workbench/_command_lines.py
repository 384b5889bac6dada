"""The command line that makes an item again, from its run record."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dialens.base import RunRecord
from dialens.corpus import ReadOptions

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "score": {
        "agent": "--agent",
        "system": "--system",
        "columns": "--column",
        "roles": "--role",
        "metrics": "--metrics",
        "models": "--models",
        "own_models": "--model",
        "any_language": "--any-language",
        "whole_turns": "--whole-turns",
    },
    "compare": {"level": "--level", "baseline": "--baseline", "metrics": "--metrics"},
    "validate": {
        "ratings": "--ratings",
        "own_scores": "--scores",
        "quality": "--quality",
        "level": "--level",
        "metrics": "--metrics",
    },
    "agreement": {"quality": "--quality", "by": "--by", "normalise": "--normalise"},
    "study analyze": {"where": "--where", "normalise": "--normalise"},
}
"""Options by the names under which they are recorded, of commands that can be told from them."""

_DEFAULTS = {"level": "agent", "models": "default", "normalise": "auto"}
_MANY = 20
"""More metrics than this are a default rather than a choice."""


def shown_path(path: Path) -> str:
    """A path as it can be typed here: relative where it lies below the current folder."""
    try:
        return os.fspath(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return os.fspath(path)


def command_line(record: RunRecord, inputs: Sequence[str], output: Path) -> str | None:
    """The command line of a record, with paths as they are now; None if the record is no help.

    Args:
        record: Of the run.
        inputs: What was read, as it can be typed.
        output: What was written.

    Examples:
        >>> from dialens.base import Recorder
        >>> record = Recorder("score", {"corpus": "a b.jsonl", "models": "small"}, seed=7).record()
        >>> command_line(record, ["a b.jsonl"], Path("out"))
        "dialens score 'a b.jsonl' --models small --seed 7 -o out"
    """
    options = _OPTIONS.get(record.command)
    if options is None:
        return None
    words = ["dialens", *record.command.split(), *inputs]
    for name, option in options.items():
        words += _words(option, name, record.arguments.get(name))
    if str(record.seed) != "0":
        words += ["--seed", str(record.seed)]
    return shlex.join([*words, "-o", shown_path(output)])


def reading_words(options: ReadOptions, further: Mapping[str, str]) -> list[str]:
    """The options of `dialens convert` for how a source is read.

    Examples:
        >>> reading_words(ReadOptions(agent="a b", roles={"Ann": "agent"}), {"on_error": "skip"})
        ['--agent', 'a b', '--role', 'agent=Ann', '--on-error', 'skip']
    """
    said = {**asdict(options), **further}
    names = {**_OPTIONS["score"], "format": "--format", "on_error": "--on-error"}
    return [
        word
        for name, option in names.items()
        for word in _words(option, name, said.get(name) or None)
    ]


def _words(option: str, name: str, value: Any) -> list[str]:
    if value is None or value is False or value == [] or value == _DEFAULTS.get(name):
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        pairs = [(str(key), str(inner)) for key, inner in value.items()]
        if name == "roles":  # recorded by the speaker, given by the role
            pairs = [(role, speaker) for speaker, role in pairs]
        return [word for key, inner in pairs for word in (option, f"{key}={inner}")]
    if isinstance(value, list):
        if name == "own_scores":
            return [word for one in value for word in (option, str(one))]
        return [] if len(value) > _MANY else [option, ",".join(map(str, value))]
    return [option, str(value)]
