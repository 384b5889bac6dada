"""Fewer collections of garbage while very many objects are made that stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 100_000
_OF_YOUNGER = 20


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage less often inside the block.

    Python looks through what is new after every 700 objects, and now and then through everything.
    Where a batch of a million small objects is made, none of them in a circle, that is a third of
    the time.

    Examples:
        >>> with rare_collections():
        ...     gc.get_threshold()[0]
        100000
    """
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, _OF_YOUNGER, _OF_YOUNGER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
