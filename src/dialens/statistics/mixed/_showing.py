"""How a fitted model shows itself: fixed effects and variance components as small tables."""

from collections.abc import Sequence
from typing import Protocol

from dialens.base import counted, html_table, interval, number, p_value, text_table
from dialens.statistics.mixed._effects import FixedEffect
from dialens.statistics.mixed._inference import VarianceComponent
from dialens.statistics.mixed._terms import INTERCEPT

_MOST = 20
_EFFECT = ("fixed effect", "estimate", "error", "interval", "t", "p")
_COMPONENT = ("variance component", "sd", "interval", "share", "levels")


class Fit(Protocol):
    """What every fitted model has."""

    @property
    def response(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def n_missing(self) -> int: ...
    @property
    def fixed(self) -> tuple[FixedEffect, ...]: ...
    @property
    def components(self) -> tuple[VarianceComponent, ...]: ...
    @property
    def criterion(self) -> float: ...
    @property
    def singular(self) -> bool: ...


def fit_as_text(fit: Fit) -> str:
    """A line on the model, its fixed effects and its variance components."""
    effects, more = _effect_rows(fit.fixed)
    return "\n".join(
        [
            _lead(fit),
            text_table(_EFFECT, effects),
            *([more] if more else []),
            text_table(_COMPONENT, _component_rows(fit.components)),
        ]
    )


def fit_as_html(fit: Fit) -> str:
    """The same for a notebook."""
    effects, more = _effect_rows(fit.fixed)
    first = html_table(_lead(fit), _EFFECT, effects)
    return first + html_table(more, _COMPONENT, _component_rows(fit.components))


def _lead(fit: Fit) -> str:
    left = f", {counted(fit.n_missing, 'row')} left out for missing values" if fit.n_missing else ""
    edge = "; singular: a variance is zero, or a correlation ±1" if fit.singular else ""
    return (
        f"{type(fit).__name__} of {fit.response}: {counted(fit.n, 'observation')}{left}; "
        f"−2 log likelihood {number(fit.criterion, 2)}{edge}"
    )


def _effect_rows(effects: Sequence[FixedEffect]) -> tuple[list[list[str]], str]:
    rows = [
        [
            effect.name,
            number(effect.value, 3),
            number(effect.error, 3),
            interval(effect.low, effect.high, 3),
            number(effect.t, 2),
            p_value(effect.p),
        ]
        for effect in effects[:_MOST]
    ]
    rest = len(effects) - len(rows)
    return rows, f"… and {counted(rest, 'more effect')} in .fixed" if rest else ""


def _component_rows(components: Sequence[VarianceComponent]) -> list[list[str]]:
    return [
        [
            part.term if part.effect in ("", INTERCEPT) else f"{part.effect} | {part.term}",
            number(part.sd, 3),
            interval(part.low, part.high, 3),
            number(part.share, percent=True),
            f"{part.levels:,}",
        ]
        for part in components
    ]
