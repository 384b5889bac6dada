"""The number that is shown before a rating: of which qualities, and whether it can be given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dialens.base import did_you_mean
from dialens.studies._types import AnswerError, Field
from dialens.studies.design._factors import ANCHOR_VALUE, Level
from dialens.studies.instruments import Settings, instrument

if TYPE_CHECKING:
    from dialens.studies.design._design import Design

_NUMERICAL = ("numerical", "both")
_VALUE = "presentation.anchor_value"
_FACTOR = "factors.anchor_value"


def anchor_value(
    design: Design,
    quality: str,
    settings: Settings,
    scale: str | None = None,
    level: Level | None = None,
) -> float | None:
    """The number that is shown of a quality; none where participants give no number.

    Args:
        design: The study.
        quality: What is judged.
        settings: Of the instrument it is judged with.
        scale: The level of the factor `scale`, where there is one.
        level: Of the factor `anchor_value`, where there is one.
    """
    if not instrument(settings.kind).numeric:
        return None
    given = design.presentation.anchor_value if level is None else level.value
    if isinstance(given, Mapping):
        for name in (scale, quality):
            if name in given:
                return given[name]
    elif given is not None or level is not None:
        return given
    modulus: float | None = getattr(settings, "modulus", None)
    return modulus if level is None else None


_Used = list[tuple[str, Settings, str | None]]


def anchor_problem(design: Design) -> tuple[str, str] | None:
    """What is wrong with the numbers that are shown: where, and what; None if nothing."""
    used: _Used = list(_used(design))
    factor = design.factors.get(ANCHOR_VALUE)
    if factor is None:
        return (
            _names_problem(design, design.presentation.anchor_value, _VALUE, used)
            or _shown_problem(design, used)
            or _range_problem(design, used, _VALUE, None)
        )
    if design.presentation.anchor_value is not None:
        return _VALUE, "the factor anchor_value says which numbers are shown: leave this out"
    if not any(instrument(settings.kind).numeric for _, settings, _ in used):
        return _FACTOR, "shows numbers, and no quality is answered with one"
    for place, level in enumerate(factor.levels):
        at = f"{_FACTOR}.levels.{place}"
        if level.value is not None and level.note is None and not _number_levels(design):
            return at, (
                "shows the number of the standard, and presentation.anchor is none. Set it to "
                "numerical or both, or say by a note how the number is told, "
                "e.g. note: Another rater gave {value}."
            )
        problem = _names_problem(design, level.value, at, used) or _range_problem(
            design, used, at, level
        )
        if problem:
            return problem
    return None


def _names_problem(
    design: Design, given: float | Mapping[str, float | None] | None, at: str, used: _Used
) -> tuple[str, str] | None:
    """A number for what is no quality, or has no number."""
    if not isinstance(given, Mapping):
        return None
    known = [*design.qualities, *(scale for _, _, scale in used if scale is not None)]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            return at, f"{name!r} is no quality. {hint}Qualities: {', '.join(known)}."
    for quality, settings, _ in used:
        if given.get(quality) is not None and not instrument(settings.kind).numeric:
            title = instrument(settings.kind).title.lower()
            said = f"{quality} is judged by {title}, which has no number: leave it out"
            return f"{at}.{quality}", said
    return None


def _used(design: Design) -> Iterator[tuple[str, Settings, str | None]]:
    """Each quality with each instrument that it is judged with, and the level that says so."""
    scale = design.factors.get("scale")
    for name, quality in design.qualities.items():
        if scale is None:
            yield name, quality.instrument, None
            continue
        for level in scale.levels:
            if level.instrument is not None:
                yield name, level.instrument, level.name


def _number_levels(design: Design) -> list[str]:
    """The kinds of anchor in use that show the standard's number."""
    anchor = design.factors.get("anchor")
    levels = [level.name for level in anchor.levels] if anchor else [design.presentation.anchor]
    return [level for level in levels if level in _NUMERICAL]


def _shown_problem(design: Design, used: _Used) -> tuple[str, str] | None:
    shown = _number_levels(design)
    if not shown:
        return None
    at = "factors.anchor" if "anchor" in design.factors else "presentation.anchor"
    numeric = [entry for entry in used if instrument(entry[1].kind).numeric]
    if not numeric:
        said = f"{' or '.join(shown)} shows a number, and no quality is answered with one"
        return at, f"{said}. Use textual, or an instrument with numbers."
    given = design.presentation.anchor_value
    for quality, settings, scale in numeric:
        if anchor_value(design, quality, settings, scale) is not None:
            continue
        if isinstance(given, Mapping) and (quality in given or scale in given):
            continue  # null: none is wanted
        return at, (
            f"{' or '.join(shown)} shows a number, and none is known for {quality}. Set {_VALUE}: "
            f"a number, or one for each quality, e.g. {{{quality}: 3}} (null for none)"
        )
    return None


def _range_problem(
    design: Design, used: _Used, at: str, level: Level | None
) -> tuple[str, str] | None:
    given = design.presentation.anchor_value if level is None else level.value
    for quality, settings, scale in used:
        value = anchor_value(design, quality, settings, scale, level)
        outside = None if value is None else _outside(settings, value)
        if given is None or outside is None:
            continue
        owner = next((n for n in (scale, quality) if isinstance(given, Mapping) and n in given), "")
        key = "anchor_value" if level is None else "value"
        remedy = f"give a number for each quality, e.g. {key}: {{{quality}: …}}"
        return f"{at}.{owner}".rstrip("."), (
            f"{value:g} cannot be the number of {quality}{f' ({scale})' if scale else ''}: "
            f"{outside}. " + (f"Mend it, or {remedy}" if not owner else "Choose one that can.")
        )
    return None


def _outside(settings: Settings, value: float) -> str | None:
    """Why nobody could have given the number; None if somebody could."""
    used = instrument(settings.kind)
    field = Field("anchor", used.name, options={"prompt": "", **used.options(settings)})
    scale = used.scale(field)
    low, high = scale.get("low"), scale.get("high")
    if low is not None and high is not None:
        return None if low <= value <= high else f"its scale goes from {low:g} to {high:g}"
    try:
        used.validate(field, value)
    except AnswerError as error:
        return error.message.rstrip(".")
    return None
