"""Numbers, intervals, p-values, counts, lists and durations as people read them.

Negative numbers get a true minus sign, zero has no sign, what is missing is a dash.
"""

from collections.abc import Sequence

MISSING = "–"


def number(value: float | None, digits: int | None = None, *, percent: bool = False) -> str:
    """A number with so many decimals.

    Args:
        value: None gives a dash.
        digits: Decimals; None chooses them by size (0 from 1,000, 1 from 1, 2 from 0.1, else 3;
            none for percentages).
        percent: Whether the value is a share, to be written in percent.

    Examples:
        >>> number(-13.94), number(0.289), number(1234.5), number(None)
        ('−13.9', '0.29', '1,234', '–')
        >>> number(0.5, 3), number(-0.001, 2), number(0.31, percent=True)
        ('0.500', '0.00', '31 %')
    """
    if value is None:
        return MISSING
    shown = value * 100 if percent else value
    decimals = digits if digits is not None else 0 if percent else _decimals(shown)
    text = f"{shown:,.{decimals}f}"
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
    return f"{text} %" if percent else text


def _decimals(value: float) -> int:
    size = abs(value)
    return 0 if size >= 1_000 else 1 if size >= 1 else 2 if size >= 0.1 or size == 0 else 3


def plain(value: float | None) -> str:
    """A number as one would type it: up to six digits, whole numbers without a point.

    Examples:
        >>> plain(100.0), plain(0.5), plain(1e6), plain(1 / 3), plain(None)
        ('100', '0.5', '1000000', '0.333333', '–')
    """
    if value is None:
        return MISSING
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


def interval(
    low: float | None, high: float | None, digits: int | None = None, *, percent: bool = False
) -> str:
    """Both ends of an interval, with equally many decimals; a dash where one is missing.

    Examples:
        >>> interval(6.02, 22.1), interval(-0.1, 0.25, 2), interval(None, 1.0)
        ('6.0 to 22.1', '−0.10 to 0.25', '–')
        >>> interval(0.2, 0.34, percent=True)
        '20 to 34 %'
    """
    if low is None or high is None:
        return MISSING
    if digits is None and not percent:
        digits = _decimals(max(abs(low), abs(high)))
    left = number(low, digits, percent=percent)
    return f"{left.removesuffix(' %')} to {number(high, digits, percent=percent)}"


def in_brackets(low: float | None, high: float | None, digits: int | None = 2) -> str:
    """The 95 % interval as it follows a number in a sentence; nothing where there is none.

    Examples:
        >>> in_brackets(0.1, 0.25), in_brackets(None, None)
        (' (95 % interval 0.10 to 0.25)', '')
    """
    if low is None or high is None:
        return ""
    return f" (95 % interval {interval(low, high, digits)})"


def p_value(value: float | None, *, equals: bool = False) -> str:
    """A p-value; with `equals` as it follows the letter p.

    Examples:
        >>> p_value(0.0001), p_value(0.0321), p_value(0.0321, equals=True), p_value(None)
        ('< 0.001', '0.032', '= 0.032', '–')
    """
    if value is None:
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{'= ' if equals else ''}{value:.3f}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A count and its noun.

    Examples:
        >>> counted(1, "agent"), counted(1200, "dialogue"), counted(2, "is", "are")
        ('1 agent', '1,200 dialogues', '2 are')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


_SINGULAR = {"were": "was", "are": "is", "have": "has"}


def did(count: int, words: str) -> str:
    """What so many people did: the words begin with a verb as it is for several.

    Examples:
        >>> did(1, "were screened out"), did(2, "are still at it"), did(1, "withdrew")
        ('was screened out', 'are still at it', 'withdrew')
    """
    verb, space, rest = words.partition(" ")
    return (_SINGULAR.get(verb, verb) if count == 1 else verb) + space + rest


def listed(parts: Sequence[str]) -> str:
    """Words joined as in a sentence.

    Examples:
        >>> listed(["joy", "fear", "trust"]), listed(["joy"]), listed([])
        ('joy, fear and trust', 'joy', '')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def capitalised(text: str | None) -> str:
    """A sentence with a capital first letter, the others as they are.

    Examples:
        >>> capitalised("only 3 items of ICC(2,1)"), capitalised(None)
        ('Only 3 items of ICC(2,1)', '')
    """
    return f"{text[0].upper()}{text[1:]}" if text else ""


def duration(seconds: float) -> str:
    """A length of time in its largest sensible unit.

    Examples:
        >>> [duration(s) for s in (3.21, 42, 125, 9000)]
        ['3.2 s', '42 s', '2 min', '2.5 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def as_text(name: str) -> str:
    r"""A name of a file as text that can be printed and written, also where its bytes are no UTF-8.

    Examples:
        >>> print(as_text("caf\udce9.jsonl"), as_text("café.jsonl"))
        caf\udce9.jsonl café.jsonl
    """
    return name.encode("utf-8", "backslashreplace").decode()
