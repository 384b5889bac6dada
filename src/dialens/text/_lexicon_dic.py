"""The ``.dic`` format of LIWC: categories with numbers, then words with those numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dialens.base import DialensError

_CATEGORY = re.compile(r"\s*(\d+)\s+(\S.*?)\s*$")
_LONG_NAME = re.compile(r"\s+\(.*\)$")  # LIWC 2015 writes "function (Function Words)"


class Parsed(NamedTuple):
    """What a text format yields, before it becomes a lexicon."""

    entries: list[tuple[str, str, float]]
    categories: Sequence[str] | None
    shortest_prefix: int | None
    notes: tuple[str, ...]


def looks_like_dic(lines: Sequence[str]) -> bool:
    """Tell a ``.dic`` file by its first line, a lone percent sign."""
    return next(line for line in lines if line.strip()).strip() == "%"


def parse_dic(file: Path, lines: Sequence[str]) -> Parsed:
    """Read a LIWC dictionary.

    Fields may be separated by tabs or spaces. A condition on the neighbouring words, such as
    ``<of>131/125`` or ``(02 134)125/464`` in LIWC 2007, cannot be applied to single tokens: it is
    skipped and counted, and the plain numbers of that line are kept.
    """
    numbered = [(n, line) for n, line in enumerate(lines, start=1) if line.strip()]
    closing = next((i for i, (_, line) in enumerate(numbered) if i and line.strip() == "%"), None)
    if closing is None:
        raise DialensError(
            f"{file}, line {numbered[0][0]}: the list of categories that begins with % is never "
            "closed; put a line with a single % before the words"
        )
    names = _categories(file, numbered[1:closing])
    entries: list[tuple[str, str, float]] = []
    conditions = without = 0
    for number, line in numbered[closing + 1 :]:
        term, fields = _fields(line)
        ids = [field for field in fields if field.isdecimal()]
        conditions += len(ids) < len(fields)
        without += not ids
        for field in ids:
            if int(field) not in names:
                raise DialensError(
                    f"{file}, line {number}: the word {term!r} has category {field}, which the "
                    f"header does not list (it has {', '.join(map(str, names))}); "
                    "mend the number or add the category"
                )
            entries.append((term, names[int(field)], 1.0))
    notes = []
    if conditions:
        notes.append(f"{conditions} lines with conditions on neighbouring words (kept without)")
    if without:
        notes.append(f"{without} words without a category left out")
    return Parsed(entries, tuple(names.values()), 1, tuple(notes))


def _categories(file: Path, numbered: Sequence[tuple[int, str]]) -> dict[int, str]:
    names: dict[int, str] = {}
    for number, line in numbered:
        match = _CATEGORY.match(line)
        if match is None:
            raise DialensError(
                f"{file}, line {number}: {line.strip()!r} is not a category; "
                "write a number, a tab and a name"
            )
        key, name = int(match[1]), _LONG_NAME.sub("", match[2])
        if key in names or name in names.values():
            raise DialensError(
                f"{file}, line {number}: category {key} {name!r} stands there twice; "
                "give each category one number and one name"
            )
        names[key] = name
    if not names:
        raise DialensError(f"{file}: no category between the two % lines; list at least one")
    return names


def _fields(line: str) -> tuple[str, list[str]]:
    """Split a line into the term (of several words, perhaps) and what follows it."""
    if "\t" in line.strip():
        term, _, rest = line.strip().partition("\t")
        return term.strip(), rest.split()
    words = line.split()
    end = next(
        (i for i, word in enumerate(words) if i and (word.isdecimal() or word[0] in "<(")),
        len(words),
    )
    return " ".join(words[:end]), words[end:]
