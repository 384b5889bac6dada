"""Where the models that ship lie: in this package, and in those beside it that are installed.

An index takes files of up to 100 MB, so the larger encoders are a package of their own,
`dialens-models`. Six trait models were fitted on data whose terms allow research only; they are the
package `dialens-traits`, so that nobody gets them unasked with what is Apache-2.0.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGED: Final = Path(__file__).parent / "data"
"""The models that every installation has."""

GET_LARGER: Final = "pip install dialens-models"
"""How to get the larger encoders."""

GET_TRAITS: Final = "pip install dialens-traits"
"""How to get the trait models that are for research only."""

_LARGER, _TRAITS = "dialens_models", "dialens_traits"


@cache
def shipped_places() -> tuple[Path, ...]:
    """The folders whose folders are models that ship.

    Examples:
        >>> (PACKAGED / "small").parent in shipped_places()
        True
    """
    return (PACKAGED, *_installed(_LARGER), *_installed(_TRAITS))


def has_larger_models() -> bool:
    """Whether the package with the larger models is installed."""
    return bool(_installed(_LARGER))


def has_trait_models() -> bool:
    """Whether the package with the trait models for research is installed."""
    return bool(_installed(_TRAITS))


@cache
def _installed(package: str) -> tuple[Path, ...]:
    spec = find_spec(package)
    found = spec.submodule_search_locations if spec else None
    return tuple(Path(place) for place in found or ())


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
