"""Times as logs write them."""

from datetime import UTC, datetime


def moment(value: object) -> datetime | None:
    """A time as logs write it: ISO 8601, or seconds, milli-, micro- or nanoseconds since 1970.

    Examples:
        >>> moment("2026-01-01T12:00:00Z").isoformat()
        '2026-01-01T12:00:00+00:00'
        >>> moment(1767268800) == moment("1767268800000") == moment(1767268800 * 10**9)
        True
    """
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    seconds = float(value)
    while seconds > 1e11:
        seconds /= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
