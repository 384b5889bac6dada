"""Files of ratings that are damaged, or are not as the tool that they seem to come from writes."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from dialens.base import DialensError, first_line

_DAMAGED = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    csv.Error,
    OSError,
    UnicodeError,
    RecursionError,
)
_OTHER_SHAPE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What comes of looking into values that nest otherwise than those of the tool do."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what looking into such a file raises into a sentence that names it.

    Examples:
        >>> with readable(Path("export.json")):
        ...     {"result": "text"}["result"].get("rating")
        Traceback (most recent call last):
        ...
        dialens.DialensError: export.json cannot be read as ratings: a value in it has another ...
    """
    try:
        yield
    except _DAMAGED as error:
        raise DialensError(
            f"{path} cannot be read as ratings ({first_line(error)}). Is it whole? Fetch it again, "
            "or write it as CSV with columns of text and numbers."
        ) from error
    except _OTHER_SHAPE as error:
        raise DialensError(
            f"{path} cannot be read as ratings: a value in it has another shape than its format "
            f"has there ({first_line(error)}). Mend it, or write a CSV with item, rater and value."
        ) from error
