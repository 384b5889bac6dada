"""Walk through a folder: so deep, so much and no further, and around no circle twice."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEEPEST = 6
MOST_ENTRIES = 50_000
_NOT_OURS = {
    "node_modules",
    "site-packages",
    "__pycache__",
    "venv",
    "env",
    "build",
    "dist",
    "target",
}


@dataclass(frozen=True)
class Place:
    """A folder on the way.

    Attributes:
        path: The folder, absolute.
        files: Names of the files in it, hidden ones left out.
    """

    path: Path
    files: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Whether it holds all these files."""
        return all(name in self.files for name in names)


def walk(folder: Path, notes: list[str]) -> Iterator[Place]:
    """The folder and those below it, in the order of their names.

    Hidden folders, those of other tools and links to where one has been are left out.

    Args:
        folder: Where to begin, absolute.
        notes: What was not looked at is added here, in words.
    """
    seen: set[tuple[int, int]] = set()
    waiting, entries = [(folder, 0)], 0
    while waiting:
        path, depth = waiting.pop()
        try:
            about = path.stat()
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            with os.scandir(path) as listing:
                found = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            notes.append(f"{path} was left out: {(error.strerror or 'unreadable').lower()}.")
            continue
        entries += len(found)
        if entries > MOST_ENTRIES:
            notes.append(
                f"More than {MOST_ENTRIES:,} files lie here; from {path} on they were left out. "
                "Open a folder further in."
            )
            return
        partial = [entry.name for entry in found if _is_partial(entry.name)]
        notes.extend(
            f"{path / name} is half written: a command is still at it, or broke off; then it may "
            "be deleted."
            for name in partial
        )
        shown = [entry for entry in found if not entry.name.startswith(".")]
        folders = [entry.name for entry in shown if _is_folder(entry) and entry.name not in partial]
        inner = [name for name in folders if name not in _NOT_OURS]
        if depth < DEEPEST:
            waiting.extend((path / name, depth + 1) for name in reversed(inner))
        elif inner:
            notes.append(f"{path} goes deeper than {DEEPEST} folders; that was left out.")
        files = [entry.name for entry in shown if entry.name not in folders]
        yield Place(path, tuple(name for name in files if name not in partial))


def _is_partial(name: str) -> bool:
    return name.endswith(".partial") or ".partial." in name


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
