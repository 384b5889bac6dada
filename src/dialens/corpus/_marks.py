"""What `meta` says of a reply beside its words: that it was cut off, that it is something else.

`finish` is why a reply ended where it did, as `dialens agents collect` and readers of logs write
it; one that ended by itself has none. A reply without a word may call a tool or show a picture,
and says something then; otherwise it is silence.
"""

from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

FINISH = "finish"
"""The key of `meta` that says why a reply ended in the middle."""

LEFT_OUT = "left_out"
"""The role of an agent's turn that is context to what follows, and not scored."""

_CUT_OFF = ("length", "content_filter")
_ENDINGS = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
}
_CONTENT = ("tool_calls", "function_call", "content", "media", "attachments")
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def is_cut_off() -> pl.Expr:
    """Whether a turn is an agent's, and was cut off at the most tokens or by a filter.

    Examples:
        >>> rows = {"role": "agent", "meta": ['{"finish":"length"}', '{"finish":"tool_calls"}']}
        >>> pl.DataFrame(rows).select(is_cut_off()).to_series().to_list()
        [True, False]
    """
    ends = rf'"{FINISH}"\s*:\s*"(?:{"|".join(_CUT_OFF)})"'
    marked = pl.col("meta").str.contains(ends).fill_null(value=False)
    return (pl.col("role") == "agent") & marked


def finish_of(reason: object) -> dict[str, object]:
    """What goes to `meta` of a reply for the reason that a log names; nothing if it is whole.

    Examples:
        >>> finish_of("max_tokens"), finish_of("stop"), finish_of(None)
        ({'finish': 'length'}, {}, {})
    """
    word = _ENDINGS.get(str(reason).lower(), str(reason).lower())
    return {FINISH: word} if word in _CUT_OFF else {}


def silences(turns: pl.DataFrame) -> NDArray[np.bool_]:
    """Which turns say nothing at all: no word, and no picture or call of a tool either.

    Examples:
        >>> said = {"text": ["Hi.", " ", ""], "meta": [None, None, '{"tool_calls": [{}]}']}
        >>> silences(pl.DataFrame(said)).tolist()
        [False, True, False]
    """
    blank = turns["text"].fill_null("").str.strip_chars() == ""
    result: NDArray[np.bool_] = blank.to_numpy().copy()
    if "meta" in turns.columns:
        rows = (blank & turns["meta"].is_not_null()).arg_true()
        for row, meta in zip(rows, turns["meta"].gather(rows), strict=True):
            result[row] = not _shows_something(_OBJECT.decode(meta))
    return result


def _shows_something(meta: dict[str, Any]) -> bool:
    message = meta.get("message")
    return any(
        place.get(key)
        for place in (meta, message if isinstance(message, dict) else {})
        for key in _CONTENT
    )
