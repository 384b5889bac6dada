"""A folder that is open."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dialens.workbench._catalogue import Catalogue
from dialens.workbench._finding import find


@dataclass
class Workbench:
    """A folder that is open, with what was found in it.

    Attributes:
        folder: The folder, absolute.
        catalogue: What it holds.
    """

    folder: Path
    catalogue: Catalogue

    @classmethod
    def open(cls, folder: Path, *, report: Callable[[str], None] | None = None) -> Self:
        """Open a folder; `report` is told what is being done."""
        if report is not None:
            report(f"Looking through {folder}.")
        there = find(folder)
        return cls(there.folder, there)

    def refresh(self) -> bool:
        """Find again; says whether something changed."""
        before, self.catalogue = self.catalogue, find(self.folder)
        return before != self.catalogue

    def close(self) -> None:
        """Release what is open."""
