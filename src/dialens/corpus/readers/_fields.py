"""What exports write in their fields: times, and objects that may be missing."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def moment(stamp: object) -> datetime | None:
    """A time that is ISO text or seconds since 1970; UTC without a zone, None if it is neither.

    Examples:
        >>> moment("2024-05-01T10:30:00Z") == moment("1714559400") == moment(1714559400.0)
        True
        >>> moment(None) is moment("yesterday") is None
        True
    """
    if isinstance(stamp, bool) or not isinstance(stamp, str | int | float):
        return None
    try:
        return datetime.fromtimestamp(float(stamp), UTC)
    except (ValueError, OverflowError, OSError):
        pass
    try:
        parsed = datetime.fromisoformat(str(stamp).removesuffix(" UTC"))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def object_in(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; an empty one where there is none.

    Examples:
        >>> object_in({"a": {"b": 1}}, "a"), object_in({"a": None}, "a")
        ({'b': 1}, {})
    """
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def text_in(record: Mapping[str, Any], key: str) -> str | None:
    """The text under a key, or None where there is none.

    Examples:
        >>> text_in({"a": "b"}, "a"), text_in({"a": [1]}, "a")
        ('b', None)
    """
    value = record.get(key)
    return value if isinstance(value, str) else None
