"""How wide a scale has to be for its boxes to stand in a row with their words below them."""

import unicodedata
from collections.abc import Sequence

_WIDTHS = (10, 13, 15, 20, 24, 28, 32, 36, 40)  # of `from-…` in scales.css, in rem
_BOX = 1.8  # rem, with the gap to the next: WCAG 2.2 wants 24 px (2.5.8)
_CHARACTER = 0.46  # rem, of the words below a box; more than most letters need
_GAP = 0.4
_SPARSE = 0.31  # of the scale for the words at one end, as in scales.css
_FEW = 5
_WIDE = 4  # Chinese and Japanese characters that stand side by side; words are split anywhere


def is_sparse(words: Sequence[str]) -> bool:
    """Whether only ends and middle of a scale have words, so that these may be wider than a box.

    Examples:
        >>> is_sparse(["no", "", "", "", "yes"]), is_sparse(["no", "hardly", "", "", "yes"])
        (True, False)
    """
    last = len(words) - 1
    return {place for place, said in enumerate(words) if said} <= {0, last / 2, last}


def is_long(words: Sequence[str]) -> bool:
    """Whether a scale wants the whole width of the page.

    Examples:
        >>> is_long([""] * 5), is_long([""] * 7), is_long(["no", "hardly", "rather", "yes"])
        (False, True, True)
    """
    return len(words) > _FEW or not is_sparse(words)


def row_from(words: Sequence[str]) -> int | None:
    """From which width on, in rem, a scale is a row; none if it is always a list.

    Args:
        words: Of each point, empty where it has none.

    Examples:
        >>> row_from([""] * 5), row_from([""] * 11), row_from(["no", "", "", "", "yes"])
        (10, 20, 10)
        >>> row_from(["Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree"])
        24
        >>> row_from(["非常不同意", "不同意", "中立", "同意", "非常同意"])
        24
        >>> row_from(["außerordentlich unzufriedenstellend"] * 7) is None
        True
    """
    widest = max((_width(word) for said in words for word in said.split()), default=0.0)
    needed = len(words) * _BOX
    if is_sparse(words):
        needed = max(needed, widest / _SPARSE)
    else:
        needed = len(words) * max(_BOX, widest + _GAP)
    return next((width for width in _WIDTHS if width >= needed), None)


def _width(word: str) -> float:
    """Of what may not be split, in rem: a word; of Chinese and Japanese some characters a line."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in word)
    return min(wide, _WIDE) * 2 * _CHARACTER if wide else len(word) * _CHARACTER
