"""Where the models that ship lie: in this package, and in `dialens-models` if it is installed.

An index takes files of up to 100 MB, so the larger encoders are a package of their own.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGED: Final = Path(__file__).parent / "data"
"""The models that every installation has."""

GET_LARGER: Final = "pip install dialens-models"
"""How to get the others."""

_LARGER = "dialens_models"


@cache
def shipped_places() -> tuple[Path, ...]:
    """The folders whose folders are models that ship.

    Examples:
        >>> (PACKAGED / "small").parent in shipped_places()
        True
    """
    larger = find_spec(_LARGER)
    found = larger.submodule_search_locations if larger else None
    return (PACKAGED, *(Path(place) for place in found or ()))


def has_larger_models() -> bool:
    """Whether the package with the larger models is installed."""
    return len(shipped_places()) > 1


def shipped_folder(name: str) -> Path | None:
    """The folder of a model that ships; None if it is not installed.

    Examples:
        >>> shipped_folder("small") == PACKAGED / "small"
        True
    """
    places = (place / name for place in shipped_places())
    return next((place for place in places if place.is_dir()), None)


def is_shipped(folder: Path) -> bool:
    """Whether a model's folder is one of ours, whose files are known by their hashes."""
    return folder.parent in shipped_places()
