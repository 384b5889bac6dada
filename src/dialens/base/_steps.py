"""Resuming after a kill: finished steps leave markers that know when they are stale.

A marker is a small JSON file, written last and atomically. Its key is a hash of everything that the
step depends on. A step whose marker has the expected key is not done again; one whose marker is
missing, damaged or stale is. Three shapes of work use this:

- a chain of steps, each with a folder of results (:class:`StepChain`);
- shards, each with a marker (:func:`read_marker`, :func:`write_marker`), or with the key in the
  name of a file that appears atomically and so is its own marker (:func:`step_key`);
- one long work that keeps its own checkpoints in a folder (:func:`open_state`).
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base._errors import DialensError
from dialens.base._storage import atomic_file, make_folder

_STATE = "state.json"


def step_key(upstream: object) -> str:
    """A hash of everything that a step depends on, given as JSON values.

    Examples:
        >>> step_key({"seed": 0, "data": "ab"}) == step_key({"data": "ab", "seed": 0})
        True
        >>> step_key({"seed": 0}) == step_key({"seed": 1})
        False
    """
    return hashlib.sha256(json.dumps(upstream, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Marker:
    """What a finished step leaves behind.

    Attributes:
        key: Of everything that the step depends on.
        content: What the step says about its result.
    """

    key: str
    content: Mapping[str, Any]


def read_marker(path: Path) -> Marker | None:
    """Read a marker; None if there is none or it is damaged, so that its step is done again.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "part-0-00000.json"
        >>> read_marker(path) is None, path.write_text("{"), read_marker(path) is None
        (True, 1, True)
    """
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not isinstance(key := content.pop("key", None), str):
        return None
    return Marker(key, content)


def write_marker(path: Path, key: str, content: Mapping[str, Any]) -> None:
    """Write a marker atomically.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "part-0-00000.json"
        >>> write_marker(path, step_key("data"), {"rows": 3})
        >>> read_marker(path).content
        {'rows': 3}
    """
    with atomic_file(path) as scratch:
        text = json.dumps({"key": key, **content}, indent=2, ensure_ascii=False)
        scratch.write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class StepResult:
    """A finished step: its marker's content, and whether an earlier run had done it."""

    content: Mapping[str, Any]
    reused: bool


@dataclass
class StepChain:
    """Steps one after another, each depending on all before it.

    Attributes:
        folder: Holds a folder and a marker for each step.
        key: Of everything so far; at the beginning, of the data.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> def count(target):
        ...     return {"files": len(list(target.iterdir()))}
        >>> chain = StepChain(folder, step_key("data"))
        >>> chain.extend("SELECT 1")
        >>> chain.run("first", count).reused, chain.run("first", count).reused
        (False, True)
        >>> chain.extend("SELECT 2")
        >>> chain.run("first", count).reused
        False
    """

    folder: Path
    key: str

    def extend(self, *upstream: object) -> None:
        """Let all later steps depend on this, too."""
        self.key = step_key([self.key, *upstream])

    def run(self, name: str, work: Callable[[Path], Mapping[str, Any]]) -> StepResult:
        """Do a step unless its marker has the current key.

        Args:
            name: Of the step and its folder.
            work: Fills an empty folder and says what it holds. The folder gets its name only when
                it is complete.
        """
        folder, path = self.folder / name, self.folder / f"{name}.json"
        marker = read_marker(path)
        if marker is not None and marker.key == self.key and folder.is_dir():
            return StepResult(marker.content, reused=True)
        started = time.perf_counter()
        partial = self.folder / f"{name}.partial"
        for old in (partial, folder):
            shutil.rmtree(old, ignore_errors=True)
        path.unlink(missing_ok=True)
        make_folder(partial)
        content = work(partial)
        partial.rename(folder)
        content = {**content, "seconds": round(time.perf_counter() - started, 3)}
        write_marker(path, self.key, content)
        return StepResult(content, reused=False)


def open_state(folder: Path, depends_on: Mapping[str, Any], *, restart: bool = False) -> bool:
    """Open the folder of checkpoints of a long work, or begin one; true if there is one to resume.

    Args:
        folder: Where the work keeps its checkpoints.
        depends_on: What the work depends on; checkpoints of other work are refused.
        restart: Delete the checkpoints and begin anew.

    Raises:
        DialensError: The folder holds other files, or checkpoints of other work.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "bot.training"
        >>> open_state(folder, {"seed": 0}), open_state(folder, {"seed": 0})
        (False, True)
    """
    path = folder / _STATE
    if folder.exists() and not path.exists() and any(folder.iterdir()):
        raise DialensError(
            f"{folder} is needed for checkpoints, but holds other files (and no {_STATE}). Move "
            "it away."
        )
    if restart and folder.exists():
        shutil.rmtree(folder)
    content = json.loads(json.dumps(depends_on))
    key = step_key(content)
    if path.exists():
        marker = read_marker(path)
        if marker is None:
            raise DialensError(
                f"{path} is damaged, so its checkpoints cannot be used. Give --restart to begin "
                "anew."
            )
        if marker.key != key:
            names = sorted(
                name
                for name in {*marker.content, *content}
                if marker.content.get(name) != content.get(name)
            )
            raise DialensError(
                f"{folder} holds an interrupted run that differs in {', '.join(names)}. Give the "
                "same options to resume it, or --restart to begin anew."
            )
        return True
    write_marker(path, key, content)
    return False
