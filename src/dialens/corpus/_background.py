"""What a speaker was given to speak from, and raters saw: a persona, a fact, a document.

It stands in the `meta` of the turn that was spoken from it, under one of :data:`KEYS`, as a text or
a list of texts. A column `background` of a CSV or Parquet file comes there by itself, and so does
what USR's files and rated units call a fact. Other names are not guessed at: what nobody but the
agent saw does not help to tell how people find a reply (docs/models.md has figures).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

KEYS = ("background", "fact")
"""Where it is looked for, in this order."""

_NONE = frozenset({"_nofact", "_no_fact"})  # what USR writes where there was none
_OWNER = "your persona:"  # how PersonaChat's files begin every line of a persona
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def backgrounds(turns: pl.DataFrame) -> list[str | None]:
    r"""Return what each turn was spoken from, as lines; None where nothing is known.

    Examples:
        >>> meta = ['{"fact": "your persona: I sail.\\nyour persona: I cook."}', "{}", None]
        >>> backgrounds(pl.DataFrame({"meta": meta}))
        ['I sail.\nI cook.', None, None]
    """
    result: list[str | None] = [None] * turns.height
    if "meta" not in turns.columns:
        return result
    named = turns["meta"].str.contains_any([f'"{key}"' for key in KEYS]).fill_null(value=False)
    rows = named.arg_true()
    for row, meta in zip(rows, turns["meta"].gather(rows), strict=True):
        result[row] = background(_OBJECT.decode(meta))
    return result


def background(meta: Mapping[str, object]) -> str | None:
    r"""Return what a turn with this `meta` was spoken from, as lines.

    Examples:
        >>> background({"background": ["I sail.", "I cook."], "fact": "Ships float."})
        'I sail.\nI cook.'
    """
    for key in KEYS:
        lines = _lines(meta.get(key))
        if lines:
            return "\n".join(lines)
    return None


def _lines(value: object) -> list[str]:
    texts: Sequence[object] = value if isinstance(value, list) else [value]
    lines = [
        line.strip().removeprefix(_OWNER).strip()
        for text in texts
        if isinstance(text, str)
        for line in text.splitlines()
    ]
    return [line for line in lines if line and line not in _NONE]
