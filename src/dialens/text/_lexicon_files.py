"""Read lexicons from the files people have, recognised by their content.

================================  ==================================================================
LIWC ``.dic``                     ``%``, numbered categories, ``%``, then words with numbers
LIWC-22 ``.dicx`` and wide CSV    a column of words and one column a category (``X`` or a weight)
NRC Hashtag Emotion Lexicon       ``emotion TAB word TAB score``
NRC EmoLex, affect intensity      ``word TAB emotion TAB score`` (with or without header)
plain TSV or CSV                  word, category and perhaps weight, with or without header
lists of words (Empath)           a category and its words on each line, separated by tabs
DLATK's SQLite tables             columns ``term, category, weight``; ``FILE::TABLE`` picks a table
================================  ==================================================================

Text files may be gzipped and must be UTF-8. Every field is text until proven a number, so the words
*nan*, *null* and *NA* stay words. Whatever is left out is counted in the lexicon's notes.

**Stars.** In ``.dic`` and ``.dicx`` files a final star is always a wildcard. In plain tables it is
one if two characters or more stand before it. In NRC's own files and in weighted tables of DLATK
stars are plain characters: their words come from tweets, where ``f***`` and ``a*`` are spellings.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from dialens.base import DialensError
from dialens.text._lexicon import Lexicon
from dialens.text._lexicon_dic import looks_like_dic, parse_dic
from dialens.text._lexicon_sqlite import looks_like_sqlite, parse_sqlite
from dialens.text._lexicon_tables import parse_table

PLUTCHIK = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust")
"""The eight basic emotions of Plutchik (1980), in alphabetical order."""


def read_lexicon(
    path: str | Path,
    *,
    table: str | None = None,
    name: str | None = None,
    wanted: Sequence[str] = (),
) -> Lexicon:
    r"""Read a lexicon; the format is recognised from the content.

    Args:
        path: The file. ``FILE::TABLE`` names a table of an SQLite file.
        table: Table of an SQLite file, instead of ``FILE::TABLE``.
        name: Name of the lexicon; by default that of the file (and table).
        wanted: Categories the caller needs; chooses among several SQLite tables.

    Raises:
        DialensError: The file is missing, of no known format, or malformed; the message says
            which line, what was seen and what to do.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> file = folder / "mood.tsv"
        >>> _ = file.write_text("word\tcategory\nhapp*\tjoy\nnan\tfamily\n")
        >>> lexicon = read_lexicon(file)
        >>> lexicon.name, lexicon.categories, sorted(lexicon.terms)
        ('mood', ('joy', 'family'), ['happ*', 'nan'])
    """
    file, table = _split(path, table)
    content = _content(file)
    if looks_like_sqlite(content):
        chosen, entries = parse_sqlite(file, table, wanted)
        weighted = bool((entries["weight"] != 1.0).any())
        return Lexicon.from_entries(
            name or f"{file.stem}::{chosen}",
            entries,
            shortest_prefix=None if weighted else 1,
            source=f"{file.name}, table {chosen}",
        )
    if table is not None:
        raise DialensError(
            f"{file}: a table ({table!r}) was asked for, but this is not an SQLite file; "
            "leave the table out"
        )
    lines = _text(file, content)
    label = name or _stem(file)
    parsed = parse_dic(file, lines) if looks_like_dic(lines) else parse_table(file, lines, label)
    return Lexicon.from_entries(
        label,
        parsed.entries,
        categories=parsed.categories,
        shortest_prefix=parsed.shortest_prefix,
        source=file.name,
        notes=parsed.notes,
    )


def as_emotion_lexicon(lexicon: Lexicon) -> Lexicon:
    """Return the lexicon over Plutchik's eight emotions, in their alphabetical order.

    Names are compared without regard to case; other categories (positive, negative) are dropped.
    Weights are shares of an emotion and cannot be negative: entries with a negative weight (a word
    that speaks *against* the emotion) are dropped and counted in the notes, as NRC's own lists
    hold positive associations only.

    Raises:
        DialensError: An emotion is missing, or has no word with a positive weight.

    Examples:
        >>> words = [(f"word{i}", emotion.upper(), 1.0) for i, emotion in enumerate(PLUTCHIK)]
        >>> as_emotion_lexicon(Lexicon.from_entries("x", words)).categories[:3]
        ('anger', 'anticipation', 'disgust')
    """
    lowered = {category: category.strip().lower() for category in lexicon.categories}
    absent = [emotion for emotion in PLUTCHIK if emotion not in lowered.values()]
    if absent:
        raise DialensError(
            f"lexicon {lexicon.name!r} has no category {', '.join(absent)}; an emotion lexicon "
            f"needs all of {', '.join(PLUTCHIK)}, this one has {_some(lexicon.categories)}"
        )
    entries = lexicon.entries.with_columns(pl.col("category").replace(lowered)).filter(
        pl.col("category").is_in(PLUTCHIK)
    )
    negative = entries.filter(pl.col("weight") < 0).height
    entries = entries.filter(pl.col("weight") > 0)
    silent = sorted(set(PLUTCHIK) - set(entries["category"]))
    if silent:
        raise DialensError(
            f"lexicon {lexicon.name!r} has no word with a positive weight for {', '.join(silent)}; "
            "an emotion lexicon needs words for each emotion"
        )
    notes = [f"{negative} entries with a negative weight left out"] if negative else []
    key = ["term", "category", "wildcard"]  # "Joy" and "joy" may have met
    entries = entries.group_by(key).agg(pl.col("weight").max()).sort("term", "wildcard", "category")
    return replace(
        lexicon,
        categories=PLUTCHIK,
        entries=entries.select("term", "category", "weight", "wildcard"),
        notes=(*lexicon.notes, *notes),
    )


def read_emotion_lexicon(path: str | Path, *, name: str | None = None) -> Lexicon:
    """Read a lexicon and require Plutchik's eight emotions (``--lexicon emotion=FILE[::TABLE]``).

    Examples:
        >>> read_emotion_lexicon("nowhere.txt")
        Traceback (most recent call last):
        dialens.DialensError: nowhere.txt: no such file; check the path of the lexicon
    """
    return as_emotion_lexicon(read_lexicon(path, name=name, wanted=PLUTCHIK))


def _split(path: str | Path, table: str | None) -> tuple[Path, str | None]:
    file, separator, suffix = str(path).rpartition("::")
    if separator and table is None and not Path(path).exists():
        return Path(file), suffix
    return Path(path), table


def _content(file: Path) -> bytes:
    if not file.is_file():
        what = "is a folder, not a file" if file.is_dir() else "no such file"
        raise DialensError(f"{file}: {what}; check the path of the lexicon")
    content = file.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DialensError(f"{file}: broken gzip file ({error}); fetch it again") from error
    return content


def _text(file: Path, content: bytes) -> list[str]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DialensError(
            f"{file}, line {line}: byte {content[error.start]:#04x} is not UTF-8; "
            "save the file as UTF-8"
        ) from error
    if not text.strip():
        raise DialensError(f"{file}: the file is empty; a lexicon needs at least one word")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _stem(file: Path) -> str:
    return Path(file.stem).stem if file.suffix == ".gz" else file.stem


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
