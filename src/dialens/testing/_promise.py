"""What a broken promise is."""

import json
from typing import Any


def promise(kept: object, broken: str) -> None:
    """Raise with a sentence that says what is broken, unless it is kept.

    Examples:
        >>> promise([], "The metric has no levels.")
        Traceback (most recent call last):
        ...
        AssertionError: The metric has no levels.
    """
    if not kept:
        raise AssertionError(broken)


def is_json(value: Any) -> bool:
    """Whether a value comes back the same when written as JSON and read again.

    Examples:
        >>> is_json({"low": 1}), is_json({1: "low"}), is_json({"low": {1, 2}})
        (True, False, False)
    """
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False
