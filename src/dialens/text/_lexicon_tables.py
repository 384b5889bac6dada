"""Lexicons as tables of text: NRC's files, plain TSV or CSV, long or wide."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dialens.base import DialensError
from dialens.text._lexicon_dic import Parsed

_WORD = {"word", "words", "term", "token", "entry", "dicterm", "lemma"}
_CATEGORY = {"category", "cat", "emotion", "label", "affectdimension", "dimension", "affect"}
_WEIGHT = {
    "weight", "score", "value", "association", "intensity", "emotionintensityscore", "strength",
}  # fmt: skip
_NRC = {
    "anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust",
    "positive", "negative",
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
_MARK = {"x": 1.0, "": 0.0}

_Row = tuple[int, list[str]]


class _Layout(NamedTuple):
    """Which column holds what; ``None``: there is no such column."""

    word: int
    category: int | None
    weight: int | None


def parse_table(file: Path, lines: Sequence[str], label: str) -> Parsed:
    """Read a table of words; ``label`` names the category where the file has none."""
    rows = _rows(lines)
    if _is_word_lists(rows):
        listed = [(word.strip(), row[0].strip(), 1.0) for _, row in rows for word in row[1:]]
        return Parsed(listed, None, 2, ())
    _check_width(file, rows)
    header = _header(rows[0][1])
    if header is None:
        layout = _guess(file, rows)
        entries = [_entry(file, row, layout, label) for row in rows]
        native = layout.weight is not None and {e[1].lower() for e in entries} <= _NRC
        return Parsed(entries, None, None if native else 2, ())
    if len(rows) == 1:
        raise DialensError(f"{file}: a header and no word under it; a lexicon needs words")
    if header.category is None and header.weight is None and len(rows[0][1]) > 1:
        return _wide(file, rows, header.word)
    entries = [_entry(file, row, header, label) for row in rows[1:]]
    return Parsed(entries, None, 2, ())


def _rows(lines: Sequence[str]) -> list[_Row]:
    first = next(line for line in lines if line.strip())
    if "\t" in first or "," not in first:
        # No quoting: in NRC's files the quotation mark is a word.
        return [(n, line.split("\t")) for n, line in enumerate(lines, start=1) if line.strip()]
    reader = csv.reader(line + "\n" for line in lines)
    return [(reader.line_num, row) for row in reader if any(field.strip() for field in row)]


def _is_word_lists(rows: Sequence[_Row]) -> bool:
    """Tell Empath's layout: most lines are longer than three columns, no width is common."""
    widths = Counter(len(row) for _, row in rows)
    long = sum(count for width, count in widths.items() if width > 3)
    return len(rows) > 1 and 2 * long > len(rows) and 2 * max(widths.values()) <= len(rows)


def _check_width(file: Path, rows: Sequence[_Row]) -> None:
    width = len(rows[0][1])
    for number, row in rows:
        if len(row) != width:
            raise DialensError(
                f"{file}, line {number}: {len(row)} columns where line {rows[0][0]} has {width} "
                f"({' | '.join(row)[:80]!r}); give every line the same columns"
            )


def _header(row: Sequence[str]) -> _Layout | None:
    names = [re.sub(r"[^a-z]", "", field.lower()) for field in row]
    places = [
        [i for i, name in enumerate(names) if name in heads]
        for heads in (_WORD, _CATEGORY, _WEIGHT)
    ]
    word, category, weight = (columns[0] if columns else None for columns in places)
    if word is None:
        return None
    wide = len(row) > 1 and category is None and weight is None
    if wide and (word != 0 or any(_NUMBER.match(field.strip()) for field in row)):
        return None  # a line of data that happens to be about the word "word"
    return _Layout(word, category, weight)


def _guess(file: Path, rows: Sequence[_Row]) -> _Layout:
    width = len(rows[0][1])
    if width == 1:
        return _Layout(0, None, None)
    if width > 3:
        raise DialensError(
            f"{file}, line {rows[0][0]}: {width} columns and no header "
            f"({' | '.join(rows[0][1])[:80]!r}); name the columns word, category and weight"
        )
    numeric = [_numbers(rows, i) for i in range(width)]
    best = max(range(width), key=lambda i: (numeric[i], i))
    weight = best if 2 * numeric[best] > len(rows) else None
    rest = [i for i in range(width) if i != weight]
    if len(rest) == 1:
        return _Layout(rest[0], None, weight)
    if len(rest) == 3:
        number, row = rows[0]
        raise DialensError(
            f"{file}, line {number}: none of the three columns holds numbers "
            f"({' | '.join(row)[:80]!r}); one must be the weight"
        )
    # The category column is the one that names emotions, else the one with fewer distinct values.
    distinct = {i: {row[i].strip().lower() for _, row in rows} for i in rest}
    category = min(rest, key=lambda i: (not distinct[i] <= _NRC, len(distinct[i]), -i))
    (word,) = (i for i in rest if i != category)
    return _Layout(word, category, weight)


def _numbers(rows: Sequence[_Row], column: int) -> int:
    return sum(_NUMBER.match(row[column].strip()) is not None for _, row in rows)


def _entry(file: Path, numbered: _Row, layout: _Layout, label: str) -> tuple[str, str, float]:
    number, row = numbered
    term = row[layout.word].strip()
    category = label if layout.category is None else row[layout.category].strip()
    if not term or not category:
        raise DialensError(
            f"{file}, line {number}: the {'word' if not term else 'category'} is empty "
            f"({' | '.join(row)[:80]!r}); fill it or remove the line"
        )
    weight = "1" if layout.weight is None else row[layout.weight].strip()
    return term, category, _number(file, number, term, weight)


def _number(file: Path, line: int, term: str, field: str) -> float:
    if not _NUMBER.match(field):
        raise DialensError(
            f"{file}, line {line}: the weight of {term!r} is {field!r}, which is not a number; "
            "write one such as 0.5"
        )
    return float(field)


def _wide(file: Path, rows: Sequence[_Row], word: int) -> Parsed:
    names = [name.strip() for name in rows[0][1]]
    entries = []
    for number, row in rows[1:]:
        term = row[word].strip()
        for place, field in enumerate(row):
            if place == word:
                continue
            mark = field.strip().lower()
            value = _MARK[mark] if mark in _MARK else _number(file, number, term, mark)
            if value:
                entries.append((term, names[place], value))
    categories = tuple(name for place, name in enumerate(names) if place != word)
    liwc = names[word].lower() == "dicterm"
    return Parsed(entries, categories, 1 if liwc else 2, ())
