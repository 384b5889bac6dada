"""Turns and dialogues in short lists: their first words, and where they open."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

_TEXT = 160


def unit_row(row: Mapping[str, Any], level: str, here: str = "") -> dict[str, Any]:
    """What is shown of a turn or dialogue: its words, and where it opens."""
    link = [("source", row["source"]), ("dialog", row["dialog"])]
    link += [("turn", str(row["turn"]))] if level == "turn" else []
    link += [("from", here)] if here else []
    text = " ".join((row.get("text", row.get("opening_text")) or "").split())
    where = f"{row['dialog']}, turn {row['turn']}" if level == "turn" else row["dialog"]
    return {
        "open": f"/dialogue?{urlencode(link)}",
        "where": where,
        "agent": row["agent"],
        "text": text[:_TEXT] + (" …" if len(text) > _TEXT else ""),
    }
