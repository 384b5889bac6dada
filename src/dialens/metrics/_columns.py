"""A metric's values for the units of a part, and what their turns lacked."""

from collections.abc import Mapping, Sequence

import numpy as np

from dialens.base import DialensError, first_line, listed
from dialens.metrics._batch import Ints
from dialens.metrics._card import Metric
from dialens.metrics._parts import Column
from dialens.metrics._state import State, Values

_ROUNDING = 1e-6


def broken_code(metrics: Sequence[str], error: Exception) -> DialensError:
    return DialensError(
        f"The code of {listed(metrics)} breaks down ({type(error).__name__}: {first_line(error)}). "
        "Mend it, or leave the metric out with --metrics; `dialens.testing.check_metric` tries it."
    )


def _values(metric: Metric, state: State, failures: Mapping[str, str]) -> Values:
    """A metric's values, or why it has none: a model that failed is the reason for every unit."""
    failure = failures.get(metric.name)
    if failure is not None:
        return Values.none(len(state.other_turns), failure)
    try:
        values = metric.definition.compute(state)
    except DialensError:
        raise
    except Exception as error:
        raise broken_code([metric.name], error) from error
    _check_range(metric, values)
    return values


def _check_range(metric: Metric, values: Values) -> None:
    """Refuse a value outside the range that the metric's card declares."""
    low, high = metric.card.range
    if (low is None and high is None) or np.isnan(values.value).all():
        return
    least, most = float(np.nanmin(values.value)), float(np.nanmax(values.value))
    wrong = None
    if low is not None and least < low - _ROUNDING:
        wrong = f"{least:.6g}, below the {low:g}"
    elif high is not None and most > high + _ROUNDING:
        wrong = f"{most:.6g}, above the {high:g}"
    if wrong:
        raise DialensError(
            f"The metric {metric.name} gives {wrong} that its range declares. Mend it, or leave "
            "the metric out with --metrics; `dialens.testing.check_metric` tries it."
        )


def turn_column(metric: Metric, state: State, failures: Mapping[str, str]) -> Column:
    values = _values(metric, state, failures)
    present = (values.code == 0).astype(np.int64)
    return Column(values, present, 1 - present)


def larger_column(
    metric: Metric,
    state: State,
    failures: Mapping[str, str],
    agent_turns: Ints,
    turns: Column | None,
    unit_of_turn: Ints,
) -> Column:
    """The column of a larger level; `turns` and `unit_of_turn` say what its turns lacked."""
    values = _values(metric, state, failures)
    if turns is None:
        n = agent_turns
        if metric.definition.turns is not None:
            n = metric.definition.turns(state).astype(np.int64)
            n = np.zeros_like(n) if metric.name in failures else n
        return Column(values, n, agent_turns - n)
    reasons = turns.values.reasons
    lacking = np.flatnonzero(turns.values.code)
    cell = unit_of_turn[lacking] * len(reasons) + turns.values.code[lacking] - 1
    counted = np.bincount(cell, minlength=len(agent_turns) * len(reasons))
    missing = counted.reshape(len(agent_turns), len(reasons))
    n_missing = missing.sum(axis=1)
    return Column(values, agent_turns - n_missing, n_missing, missing, reasons)
