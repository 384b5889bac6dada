"""Errors of writing, most of the time of a full disk, as messages for users."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl

from dialens.base import DialensError, NoRoom

_UNFINISHED: Final = "Invalid thrift: transport error"
"""All that Polars says where there is no room for the end of a file."""


@contextmanager
def writing_to(folder: Path, *, kept: str) -> Iterator[None]:
    """Turn what Python and Polars raise about files in the block into a user's error.

    Args:
        folder: That is being written to.
        kept: What a resumed run does not do again: `steps`, `shards`.

    Raises:
        DialensError: Something could not be written.

    Examples:
        >>> with writing_to(Path("red"), kept="steps"):
        ...     raise OSError(28, "No space left on device")
        Traceback (most recent call last):
        ...
        dialens.DialensError: red cannot be written to: No space left on device. Make room, \
and run the same command again: finished steps are kept.
    """
    try:
        yield
    except (OSError, NoRoom, pl.exceptions.PolarsError) as error:
        # Polars puts the system's own words last.
        reason = getattr(error, "strerror", None) or str(error).rpartition("IO error: ")[2]
        if reason.endswith(_UNFINISHED):
            reason = "the end of a file found no room"
        # Polars never releases an error of a table that was written in batches. With its traceback
        # it would keep the engine alive, which complains at the end of Python about not being
        # closed.
        raise DialensError(
            f"{folder} cannot be written to: {reason}. Make room, and run the same command again: "
            f"finished {kept} are kept."
        ) from error.with_traceback(None)
