"""What the commands of `dialens study` share: the extra they need, said in a person's words."""

from collections.abc import Iterator
from contextlib import contextmanager

from dialens.errors import DialensError


@contextmanager
def studies_extra() -> Iterator[None]:
    """Turn a missing package of the extra `studies` into an error that says how to get it.

    Examples:
        >>> with studies_extra():
        ...     raise ModuleNotFoundError("No module named 'x'", name="x")
        Traceback (most recent call last):
        ...
        dialens.errors.DialensError: Studies need the package x: pip install 'dialens[studies]'.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise DialensError(
            f"Studies need the package {error.name}: pip install 'dialens[studies]'."
        ) from error
