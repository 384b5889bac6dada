"""Numbers as people type them: decimal points and commas, groups of three, other digits.

A phone's keypad has the decimal mark of its language and no other, so both are taken. What could
be either a thousand or three decimals is refused, for a mistake there is a thousandfold.
"""

import math
import re
import unicodedata

from dialens.studies._types import JSON, AnswerError, Field

_EXAMPLE = 12.5
_MARKS = str.maketrans(
    {
        "٫": ",",  # the Arabic decimal mark
        "٬": " ",  # the Arabic thousands mark
        "،": ",",
        "，": ",",
        "．": ".",
        "。": ".",
        "−": "-",
        "－": "-",
        "＋": "+",
        "'": " ",  # thousands in Switzerland
        "’": " ",
        # marks of direction, which a right-to-left keyboard may add
        "\u200e": None,
        "\u200f": None,
        "\u061c": None,
    }
)
_SPACE = re.compile(r"\s")
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){_EXPONENT}", re.ASCII)
_TWO_WAYS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_GROUPED = {
    " ": re.compile(r"[+-]?\d{1,3}(?: \d{3})+(?:[.,]\d*)?", re.ASCII),
    ",": re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})", re.ASCII),
    ".": re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d*|(?:\.\d{3}){2,})", re.ASCII),
}


def number_in(field: Field, value: JSON, *, largest: float = math.inf) -> float:
    """A finite number, from JSON or from what somebody typed.

    Args:
        field: What was asked.
        value: What came from the page.
        largest: What is asked for is not larger: a reading beyond it was not meant.

    Examples:
        >>> asked = Field("q", "magnitude")
        >>> number_in(asked, " 12.5 "), number_in(asked, "12,5"), number_in(asked, "٥٠")
        (12.5, 12.5, 50.0)
        >>> number_in(asked, "1 234,5"), number_in(asked, "1.234.567")
        (1234.5, 1234567.0)
        >>> number_in(asked, "1,234", largest=100)
        1.234
        >>> number_in(asked, "1,234")
        Traceback (most recent call last):
        ...
        dialens.studies._types.AnswerError: “1,234” can be read in two ways. Please write 1234, ...
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _no_number(field)
    try:
        number = float(_plain(field, value, largest) if isinstance(value, str) else value)
    except OverflowError as error:
        raise _no_number(field) from error
    if not math.isfinite(number):
        raise AnswerError.of(field.name, "error_number_large")
    return number


def _plain(field: Field, typed: str, largest: float) -> str:
    """What was typed, as Python writes a number."""
    text = "".join(_ascii(character) for character in typed.translate(_MARKS)).strip()
    text = _SPACE.sub(" ", text)
    if _TWO_WAYS.fullmatch(text):
        small = text.replace(",", ".")
        large = re.sub("[.,]", "", text)
        if abs(float(large)) <= largest:
            raise AnswerError.of(
                field.name,
                "error_number_ambiguous",
                typed=typed.strip(),
                large=int(large),
                small=round(float(small), 2),
            )
        return small
    for mark, groups in _GROUPED.items():
        if groups.fullmatch(text):
            text = text.replace(mark, "")
            break
    text = text.replace(",", ".") if text.count(",") == 1 else text
    if not _PLAIN.fullmatch(text):
        raise _no_number(field)
    return text


def _ascii(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


def _no_number(field: Field) -> AnswerError:
    return AnswerError.of(field.name, "error_number", example=_EXAMPLE)
