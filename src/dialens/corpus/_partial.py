"""Conversations that did not come to their end, and are kept all the same."""

import polars as pl

PARTIAL = "partial"
"""The key of a turn's `meta` that says that the conversation broke off there; `reason` says why."""


def partial_dialogs(turns: pl.LazyFrame) -> pl.Series:
    """The ids of dialogues that are marked as broken off.

    Examples:
        >>> meta = ['{"partial":true,"reason":"timeout"}', '{"note":"partial"}', None]
        >>> turns = pl.LazyFrame({"dialog": ["a", "b", "c"], "meta": meta})
        >>> partial_dialogs(turns).to_list()
        ['a']
    """
    named = turns.filter(pl.col("meta").str.contains(f'"{PARTIAL}"', literal=True))
    marked = pl.col("meta").str.json_path_match(f"$.{PARTIAL}") == "true"
    found = named.filter(marked).select(pl.col("dialog").unique()).collect(engine="streaming")
    return found["dialog"].sort()
