"""dialens looks at conversational agents through a human lens."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dialens.errors import DialensError

if TYPE_CHECKING:
    from dialens.corpus import Corpus, read
    from dialens.metrics import Resources, Scores, score
    from dialens.stats import (
        compare,
        fit_mixed,
        intervals,
        load_ratings,
        measure_agreement,
        power_curve,
        validate,
    )

__version__ = "0.1.0"

__all__ = [
    "Corpus",
    "DialensError",
    "Resources",
    "Scores",
    "__version__",
    "compare",
    "fit_mixed",
    "intervals",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "read",
    "score",
    "validate",
]

# Imported when first asked for: statistics alone take a second, and every command pays.
_ROOMS = {
    "dialens.corpus": ("Corpus", "read"),
    "dialens.metrics": ("Resources", "Scores", "score"),
    "dialens.stats": (
        "compare",
        "fit_mixed",
        "intervals",
        "load_ratings",
        "measure_agreement",
        "power_curve",
        "validate",
    ),
}


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(room), name)
    if f"{__name__}.{name}" in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
