"""The number that is shown for the standard: of which qualities, and whether it can be given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dialens.base import did_you_mean
from dialens.studies._types import AnswerError, Field
from dialens.studies.instruments import Settings, instrument

if TYPE_CHECKING:
    from dialens.studies.design._design import Design

_NUMERICAL = ("numerical", "both")
_VALUE = "presentation.anchor_value"


def anchor_value(
    design: Design, quality: str, settings: Settings, scale: str | None = None
) -> float | None:
    """The number that the standard has on a quality; none where participants give no number.

    Args:
        design: The study.
        quality: What is judged.
        settings: Of the instrument it is judged with.
        scale: The level of the factor `scale`, where there is one.
    """
    if not instrument(settings.kind).numeric:
        return None
    given = design.presentation.anchor_value
    if isinstance(given, Mapping):
        for name in (scale, quality):
            if name in given:
                return given[name]
    elif given is not None:
        return given
    modulus: float | None = getattr(settings, "modulus", None)
    return modulus


def anchor_problem(design: Design) -> tuple[str, str] | None:
    """What is wrong with the numbers of the standard: where, and what; None if nothing."""
    given = design.presentation.anchor_value
    used = list(_used(design))
    levels = [scale for _, _, scale in used if scale is not None]
    if isinstance(given, Mapping):
        known = [*design.qualities, *levels]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known)
                return _VALUE, f"{name!r} is no quality. {hint}Qualities: {', '.join(known)}."
        for quality, settings, _ in used:
            if given.get(quality) is not None and not instrument(settings.kind).numeric:
                title = instrument(settings.kind).title.lower()
                said = f"{quality} is judged by {title}, which has no number: leave it out"
                return f"{_VALUE}.{quality}", said
    return _shown_problem(design, used) or _range_problem(design, used)


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


def _shown_problem(
    design: Design, used: list[tuple[str, Settings, str | None]]
) -> tuple[str, str] | None:
    anchor = design.factors.get("anchor")
    levels = [level.name for level in anchor.levels] if anchor else [design.presentation.anchor]
    shown = [level for level in levels if level in _NUMERICAL]
    if not shown:
        return None
    at = "factors.anchor" if anchor else "presentation.anchor"
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
    design: Design, used: list[tuple[str, Settings, str | None]]
) -> tuple[str, str] | None:
    given = design.presentation.anchor_value
    for quality, settings, scale in used:
        value = anchor_value(design, quality, settings, scale)
        outside = None if value is None else _outside(settings, value)
        if given is None or outside is None:
            continue
        owner = next((n for n in (scale, quality) if isinstance(given, Mapping) and n in given), "")
        remedy = f"give a number for each quality, e.g. anchor_value: {{{quality}: …}}"
        return f"{_VALUE}.{owner}".rstrip("."), (
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
