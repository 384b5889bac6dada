"""Columns of a table with a row an exchange: who speaks in them, and what joins its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialens.base import DialensError
from dialens.corpus._columns import chosen_columns, column_names
from dialens.corpus._read_options import ReadOptions
from dialens.corpus.readers._conversation import BY_SIDE

THREADS = ("conversation_id", "conv_id", "dialog_id", "dialogue_id", "chat_id", "session_id")
"""Columns that name a conversation, before others that could."""

ORDER = ("turn", "time")
"""Parts of a shape that put the exchanges of a conversation in order."""

_EXCHANGE = ("prompt", "response")
_CASES = ("case", "interaction")
"""What a column may begin with that tells test cases apart, or exchanges themselves."""


def named_columns(columns: Sequence[str], options: ReadOptions) -> dict[str, str] | None:
    """The columns that the user names, by our names for them; None where one is not there."""
    try:
        return chosen_columns(columns, options)
    except DialensError:
        return None


def by_side(
    by_name: Mapping[str, str], prompt: str | None, response: str | None
) -> tuple[str | None, str | None]:
    """The prompt and the response of columns that are called by who speaks in them.

    Args:
        by_name: The columns by their names in lower case.
        prompt: Its column, where that is known.
        response: Its column, where the user names it.

    Examples:
        >>> by_side({"user": "User", "assistant": "Assistant"}, None, None)
        ('User', 'Assistant')
        >>> by_side({"bot_response": "bot_response", "model": "model"}, "prompt", None)
        ('prompt', 'bot_response')
    """
    for users, agents in BY_SIDE:
        asked = prompt or next((by_name[name] for name in users if name in by_name), None)
        replied = response or next((by_name[name] for name in agents if name in by_name), None)
        if asked is not None and replied is not None:
            return asked, replied
    return prompt, response


def thread_columns(
    columns: Sequence[str], parts: Mapping[str, str | None], options: ReadOptions
) -> dict[str, str]:
    """The columns by which exchanges are joined to a dialogue, and put in order."""
    taken = {name for name in (parts["prompt"], parts["response"], parts["input"]) if name}
    others = [name for name in columns if name not in taken]
    only = replace(
        options, columns={k: v for k, v in options.columns.items() if k not in _EXCHANGE}
    )
    found = {ours: name for name, ours in column_names(others, only).ours.items()}
    by_id = parts["id"] and parts["id"].strip().lower() in THREADS
    thread = parts["id"] if by_id else found.get("dialog")
    if thread is None:
        return {}
    if "dialog" not in options.columns and thread.strip().lower().startswith(_CASES):
        return {}
    order = {"turn": found.get("turn"), "time": found.get("created_at")}
    return {"id": thread, "thread": thread, **{k: v for k, v in order.items() if v}}
