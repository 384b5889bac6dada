"""How numbers of a rating study are written: signs, intervals, p-values with their family."""

from collections.abc import Mapping
from typing import Any

ALPHA = 0.05


def number(value: float | None, *, percent: bool = False, digits: int | None = None) -> str:
    """A number with as many digits as it deserves; a true minus sign, no negative zero.

    Examples:
        >>> number(-13.94), number(0.289), number(0.31, percent=True), number(None)
        ('−13.9', '0.29', '31 %', '–')
    """
    if value is None:
        return "–"
    shown = value * 100 if percent else value
    places = digits if digits is not None else 0 if percent else _places(shown)
    text = f"{shown:,.{places}f}"
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
    return f"{text} %" if percent else text


def _places(value: float) -> int:
    size = abs(value)
    return 0 if size >= 1_000 else 1 if size >= 1 else 2 if size >= 0.1 or size == 0 else 3


def interval(
    low: float | None, high: float | None, *, percent: bool = False, digits: int | None = None
) -> str:
    """Both ends in words.

    Examples:
        >>> interval(6.02, 22.1), interval(0.2, 0.34, percent=True), interval(None, 1.0)
        ('6.0 to 22.1', '20 to 34 %', '–')
    """
    if low is None or high is None:
        return "–"
    if digits is None and not percent:
        digits = _places(max(abs(low), abs(high)))
    left = number(low, percent=percent, digits=digits)
    return f"{left.removesuffix(' %')} to {number(high, percent=percent, digits=digits)}"


def p_value(value: float | None, *, equals: bool = False) -> str:
    """A p-value.

    Examples:
        >>> p_value(0.0001), p_value(0.0321, equals=True), p_value(None)
        ('< 0.001', '= 0.032', '–')
    """
    if value is None:
        return "–"
    if value < 0.001:
        return "< 0.001"
    return f"{'= ' if equals else ''}{value:.3f}"


def told(row: Mapping[str, Any]) -> bool:
    """Whether a row's corrected p is below the level."""
    return row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA


def with_family(row: Mapping[str, Any]) -> str:
    """The corrected p and the family it was corrected over.

    Examples:
        >>> with_family({"p_adjusted": 0.0124, "family": 19})
        'corrected p = 0.012, family of 19 tests'
    """
    if row["p_adjusted"] is None:
        return "not tested"
    family = row["family"]
    tests = "1 test" if family == 1 else f"{family:,} tests"
    return f"corrected p {p_value(row['p_adjusted'], equals=True)}, family of {tests}"


def bounds(row: Mapping[str, Any], *, percent: bool = False, flip: bool = False) -> str:
    """`95 % interval 6.0 to 22.1`, or why there is none."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return row.get("reason") or "no interval"
    if flip:
        low, high = -high, -low
    return f"95 % interval {interval(low, high, percent=percent)}"
