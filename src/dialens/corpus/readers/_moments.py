"""Times as exports write them: ISO text, or seconds since 1970 as a number or as text."""

from datetime import UTC, datetime


def moment(stamp: object) -> datetime | None:
    """The time, in UTC where the source names no zone; None where it makes no sense.

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
