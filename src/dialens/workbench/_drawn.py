"""How the items of a study were drawn from a folder: kept beside the study, in `drawn.json`.

Ratings name agent, conversation and turn. From which of several collections of conversations these
are stands here, so that ratings find the way back.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

DRAWN = "drawn.json"
_UNITS = pl.Schema({"source": pl.String, "agent": pl.String, "dialog": pl.String, "turn": pl.Int32})
_KEYS = ("agent", "dialog", "turn")


def write_drawn(folder: Path, content: Mapping[str, Any]) -> None:
    """Write down how a study's items were drawn; `units` lists them."""
    text = json.dumps(content, ensure_ascii=False, indent=1)
    (folder / DRAWN).write_text(text + "\n", "utf-8")


def read_drawn(folder: Path) -> dict[str, Any] | None:
    """How a study's items were drawn; None where they were not drawn from a folder."""
    try:
        content = json.loads((folder / DRAWN).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def sources_of(folder: Path) -> pl.DataFrame:
    """The collection that each unit of a study is of: source, agent, dialog, turn."""
    units = (read_drawn(folder) or {}).get("units")
    rows = [one for one in units if isinstance(one, Mapping)] if isinstance(units, list) else []
    kept = [{name: one.get(name) for name in _UNITS} for one in rows]
    try:
        return pl.DataFrame(kept, schema=_UNITS).unique(_KEYS, keep="first", maintain_order=True)
    except (pl.exceptions.PolarsError, TypeError, ValueError):
        return _UNITS.to_frame()
