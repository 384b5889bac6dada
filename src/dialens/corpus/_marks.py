"""What `meta` says of a reply beside its words: that it was cut off, that it is something else.

`finish` is why a reply ended where it did, as `dialens agents collect` and readers of logs write
it; one that ended by itself has none. A reply without a word may call a tool or show a picture,
and says something then; otherwise it is silence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.corpus._names import agent_labels

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
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "refusal": "content_filter",
}
"""What others than OpenAI call it when a reply was cut off."""
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


@dataclass(frozen=True)
class CutOff:
    """How many replies of an agent were cut off.

    Attributes:
        agent: What it is called, with its system where that is needed.
        cut_off: How many of its turns.
        turns: How many it has.
    """

    agent: str
    cut_off: int
    turns: int

    @property
    def share(self) -> float:
        """Of its turns, those that were cut off."""
        return self.cut_off / self.turns


def cut_off_turns(turns: pl.LazyFrame) -> list[CutOff]:
    """Whose replies were cut off, those with most of them first; agents without any are left out.

    Examples:
        >>> rows = {"system": "s", "agent": "b", "role": "agent", "meta": ['{"finish":"length"}']}
        >>> cut_off_turns(pl.DataFrame(rows).lazy())
        [CutOff(agent='b', cut_off=1, turns=1)]
    """
    counts = (
        turns.group_by("system", "agent", maintain_order=True)
        .agg(cut_off=is_cut_off().sum(), turns=(pl.col("role") == "agent").sum())
        .collect(engine="streaming")
    )
    labels = agent_labels(counts.select("system", "agent").rows())
    both = zip(labels, counts["cut_off"], counts["turns"], strict=True)
    agents = [CutOff(label, cut_off, turns) for label, cut_off, turns in both if cut_off]
    return sorted(agents, key=lambda one: one.share, reverse=True)


def finish_of(result: Mapping[str, Any]) -> dict[str, object]:
    """What goes to `meta` of a reply for what a log says of its end; nothing if it is whole.

    Args:
        result: The body of a response: OpenAI's chat completions and Responses, Anthropic's
            messages, Gemini's candidates, the output of a sample of Inspect.

    Examples:
        >>> finish_of({"choices": [{"finish_reason": "length"}]})
        {'finish': 'length'}
        >>> finish_of({"stop_reason": "end_turn"})
        {}
    """
    places = [result.get("choices"), result.get("candidates"), [result]]
    first = next(place[0] for place in places if isinstance(place, list) and place)
    about = first if isinstance(first, dict) else {}
    details = about.get("incomplete_details")
    named = [about.get(key) for key in ("finish_reason", "stop_reason", "finishReason")]
    named.append(details.get("reason") if isinstance(details, dict) else None)
    for reason in named:
        word = str(reason).lower()
        word = _ENDINGS.get(word, word)
        if word in _CUT_OFF:
            return {FINISH: word}
    return {}


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
