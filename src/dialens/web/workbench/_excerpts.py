"""The part of a text that a table shows: where the words stand that were searched for."""

import re

from dialens.workbench import Search

_EXCERPT = 240
_BEFORE = 60


def marked(text: str, search: Search | None) -> list[tuple[str, bool]]:
    """An excerpt of a text in pieces, each with whether it is what was searched for.

    Examples:
        >>> marked("I am so sorry.", Search.parse("sorry"))
        [('I am so ', False), ('sorry', True), ('.', False)]
    """
    pattern = _to_mark(search)
    first = pattern.search(text) if pattern else None
    start = max(0, first.start() - _BEFORE) if first and first.end() > _EXCERPT else 0
    excerpt = text[start : start + _EXCERPT]
    pieces: list[tuple[str, bool]] = [("… ", False)] if start else []
    place = 0
    for found in pattern.finditer(excerpt) if pattern else ():
        if found.end() > found.start():
            pieces += [(excerpt[place : found.start()], False), (found.group(), True)]
            place = found.end()
    pieces.append((excerpt[place:], False))
    if start + _EXCERPT < len(text):
        pieces.append((" …", False))
    return [piece for piece in pieces if piece[0]]


def _to_mark(search: Search | None) -> re.Pattern[str] | None:
    if search is None:
        return None
    if search.shown:
        words = "|".join(re.escape(word) for word in sorted(search.shown, key=len, reverse=True))
        return re.compile(rf"(?<!\w)(?:{words})" if search.match else words, re.IGNORECASE)
    try:
        return re.compile(search.pattern or "(?!)")
    except re.error:
        return None
