"""The tables of a run: scores, dialogues with their reasons, and the sums behind them."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from dialens.metrics._parts import UNITS, Part
from dialens.metrics._state import Floats, State

SCORES = pl.Schema(
    {
        "metric": pl.String,
        "level": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "dialog": pl.String,
        "turn": pl.Int32,
        "value": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "reason": pl.String,
        "signature": pl.String,
    }
)
"""One row a metric value of a unit. `n` counts the agent's turns behind it, `n_missing` those that
gave none; `reason` says why."""


def reason_column(name: str) -> str:
    """The column of `Scores.dialogs` that says why a metric is null."""
    return f"{name}|reason"


def long(part: Part, signatures: Mapping[str, str]) -> pl.DataFrame:
    """A part as rows of the scores table, metric by metric."""
    names, columns = list(part.columns), part.columns.values()
    if not names:
        return SCORES.to_frame()
    height = part.units.height
    metric = np.repeat(np.arange(len(names)), height)
    units = pl.concat([part.units.select(UNITS)] * len(names), rechunk=True)
    value = np.concatenate([column.values.value for column in columns])
    frame = units.with_columns(
        pl.Series("metric", names)[metric],
        pl.Series("level", [part.level]).new_from_index(0, len(metric)),
        pl.Series("value", value, nan_to_null=True),
        pl.Series("n", np.concatenate([column.n for column in columns])),
        pl.Series("n_missing", np.concatenate([column.n_missing for column in columns])),
        pl.concat([column.reason() for column in columns], rechunk=True),
        pl.Series("signature", [signatures[name] for name in names])[metric],
    )
    return frame.select(SCORES.names())


def state_table(part: Part, partial: pl.Series) -> pl.DataFrame:
    """The sums behind the dialogues of a part, a column a number.

    Args:
        part: Of a run.
        partial: The ids of dialogues that broke off.
    """
    state = part.state
    assert state is not None
    assert part.contexts is not None
    columns = {"other_turns": state.other_turns.astype(np.float64)}
    for side, counts in (("own", state.own), ("other", state.other)):
        for name, rows in counts.items():
            columns |= {
                f"{side}|{name}|{column}": rows[:, column] for column in range(rows.shape[1])
            }
    broke_off = part.units["dialog"].is_in(partial.implode()).alias("partial")
    numbers = (pl.Series(name, values) for name, values in columns.items())
    return part.units.select(*UNITS[:3]).hstack([part.contexts, broke_off, *numbers])


def dialog_table(part: Part) -> pl.DataFrame:
    """The values of the dialogues of a part, and the reasons of those that are missing."""
    columns = []
    for name, column in part.columns.items():
        columns += [
            pl.Series(name, column.values.value, nan_to_null=True),
            column.values.reason().alias(reason_column(name)),
        ]
    return part.units.select(*UNITS[:3]).hstack(columns)


def state_of(numbers: Mapping[str, Floats]) -> State:
    """A state back from the columns of `state_table`, or from sums of them."""
    sides: dict[str, dict[str, list[Floats]]] = {"own": {}, "other": {}}
    for key, column in numbers.items():
        if "|" in key:
            side, name, _ = key.split("|")
            sides[side].setdefault(name, []).append(column)
    own, other = (
        {name: np.column_stack(columns) for name, columns in sides[side].items()}
        for side in ("own", "other")
    )
    return State(own, other, numbers["other_turns"].astype(np.int64))
