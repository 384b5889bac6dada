"""Find what a folder holds, by run records and manifests."""

from pathlib import Path

from dialens.workbench._catalogue import Catalogue


def find(folder: Path) -> Catalogue:
    """What a folder holds."""
    return Catalogue(folder.resolve(), ())
