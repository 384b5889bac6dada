"""How a screen was answered, beside the answers: device, window, and how text was entered.

Survey methodology calls these paradata (Couper, 1998; Kreuter, 2013). A page's script measures
them; nothing of what was typed or pasted is in them but lengths. Without a script there are none.
"""

from typing import Annotated, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Setting

DEVICES = ("desktop", "tablet", "phone")
"""Classes of devices, by pointer and size of the screen."""

_Pixels = Annotated[int, Setting(ge=0, le=100_000)]
_Ratio = Annotated[float, Setting(ge=0, le=100, allow_inf_nan=False)]
_Count = Annotated[int, Setting(ge=0, le=10_000_000)]

_FEW_KEYS = 0.5
_TELLING = 20
_MOST = 0.5


class Paradata(BaseModel):
    """What a page says of how its screen was answered.

    Examples:
        >>> Paradata(device="phone", viewport_width=390).theme is None
        True
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    device: Literal["desktop", "tablet", "phone"] | None = None
    """desktop (a mouse or the like), tablet or phone"""
    viewport_width: _Pixels | None = None
    """Width of the window's content in CSS pixels, when the screen was submitted"""
    viewport_height: _Pixels | None = None
    """Height of the window's content in CSS pixels"""
    pixel_ratio: _Ratio | None = None
    """Device pixels for one CSS pixel; the browser's own zoom is part of it"""
    zoom: _Ratio | None = None
    """Zoom by pinching; 1 if there is none"""
    theme: Literal["light", "dark"] | None = None
    """Colours the page was shown in"""
    browser_language: str | None = Setting(default=None, pattern=r"^[A-Za-z0-9-]{1,35}$")
    """Language that the browser prefers"""
    anchor_in_view: float | None = Setting(default=None, ge=0, le=1, allow_inf_nan=False)
    """Share of the time on the screen for which half of the standard response was in view"""
    pastes: _Count | None = None
    """How often something was pasted or dropped into a text field"""
    pasted_characters: _Count | None = None
    """How many characters that added"""
    keys: _Count | None = None
    """Changes by typing in text fields: a character or a word of a suggestion, or a deletion"""
    characters: int | None = Setting(default=None, ge=-10_000_000, le=10_000_000)
    """Characters that were in the text fields in the end, or sent in messages"""


def paradata_columns() -> dict[str, str]:
    """The columns of the table, with what they mean: what is measured, then what follows from it.

    Examples:
        >>> list(paradata_columns())[-3:]
        ['keys_per_character', 'typing', 'pasting']
    """
    measured = {name: str(declared.description) for name, declared in Paradata.model_fields.items()}
    return measured | {
        "keys_per_character": "Keys for each character that was not pasted",
        "typing": f"`no_keys`, `few_keys` (below {_FEW_KEYS:g} a character) or `usual`, from "
        f"{_TELLING} characters on. Dictation and suggestions need few keys too",
        "pasting": f"`most` (from {_MOST:.0%} of the characters on), `some` or `none`. Quoting a "
        "reply is pasting too",
    }


PARADATA = pl.Schema(
    {
        "device": pl.String,
        "viewport_width": pl.Int64,
        "viewport_height": pl.Int64,
        "pixel_ratio": pl.Float64,
        "zoom": pl.Float64,
        "theme": pl.String,
        "browser_language": pl.String,
        "anchor_in_view": pl.Float64,
        "pastes": pl.Int64,
        "pasted_characters": pl.Int64,
        "keys": pl.Int64,
        "characters": pl.Int64,
    }
)
"""The measured columns."""


def with_grades(measured: pl.DataFrame) -> pl.DataFrame:
    """Add the graded flags `typing` and `pasting`: reasons to look twice, no verdict on anybody.

    Args:
        measured: With the columns of `PARADATA`.

    Examples:
        >>> row = {"keys": 10, "characters": 100, "pastes": 1, "pasted_characters": 60}
        >>> empty = dict.fromkeys(PARADATA)
        >>> graded = with_grades(pl.DataFrame([empty | row], schema=PARADATA))
        >>> graded.select("keys_per_character", "typing", "pasting").row(0)
        (0.25, 'few_keys', 'most')
    """
    written = pl.col("characters") - pl.col("pasted_characters")
    a_character = pl.when(written > 0).then(pl.col("keys") / written)
    return measured.with_columns(keys_per_character=a_character).with_columns(
        typing=pl.when(written < _TELLING)
        .then(None)
        .when(pl.col("keys") == 0)
        .then(pl.lit("no_keys"))
        .when(pl.col("keys_per_character") < _FEW_KEYS)
        .then(pl.lit("few_keys"))
        .when(pl.col("keys_per_character") >= _FEW_KEYS)
        .then(pl.lit("usual")),
        pasting=pl.when(pl.col("pasted_characters") == 0)
        .then(pl.lit("none"))
        .when(pl.col("pasted_characters") < _MOST * pl.col("characters"))
        .then(pl.lit("some"))
        .when(pl.col("pasted_characters") > 0)
        .then(pl.lit("most")),
    )
