"""Answers on a scale and answers of yes and no, as rows of successes and failures."""

import numpy as np
import polars as pl
from scipy import special

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.mixed._laplace import LogitRows

_MOST_CATEGORIES = 30


def categories(column: pl.Series) -> tuple[Ints, list[str]]:
    """Answers as codes from 0, and the answers that occur in their order."""
    if column.dtype == pl.Enum:
        order = column.to_physical()
    elif column.dtype.is_numeric() or column.dtype == pl.Boolean:
        order = column.cast(pl.Float64)
    else:
        raise DialensError(
            f"The response {column.name!r} is {column.dtype}: its answers have no order. Give "
            "numbers, or a column of type Enum with the answers from lowest to highest."
        )
    _, first, codes = np.unique(order.to_numpy(), return_index=True, return_inverse=True)
    names = [_word(column[int(at)]) for at in first]
    if len(names) < 2:
        raise DialensError(
            f"Every value of {column.name!r} is {names[0]}: there is nothing to explain."
        )
    if len(names) > _MOST_CATEGORIES:
        raise DialensError(
            f"{column.name!r} has {len(names)} different values; an ordinal model needs a "
            f"threshold between each two and takes at most {_MOST_CATEGORIES}. Use `fit_mixed`."
        )
    return codes.astype(np.int64), names


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def ordinal_rows(codes: Ints, x: Floats) -> LogitRows:
    """Each answer: not above its upper threshold, and above its lower one."""
    cuts = int(codes.max())
    below, above = np.flatnonzero(codes < cuts), np.flatnonzero(codes > 0)
    owner = np.concatenate([below, above])
    at = np.concatenate([codes[below], codes[above] - 1])
    design = np.zeros((len(owner), cuts + x.shape[1]))
    design[np.arange(len(owner)), at] = -1.0
    design[:, cuts:] = x[owner]
    return LogitRows(
        owner=owner,
        design=design,
        successes=np.repeat([0.0, 1.0], [len(below), len(above)]),
        trials=np.ones(len(owner)),
        thresholds=cuts,
        between=np.bincount(codes, minlength=cuts + 1)[1:-1].astype(np.float64),
        penalised=np.zeros(0, np.int64),
        observations=len(codes),
    )


def counts(used: pl.DataFrame, response: str, trials: str | None) -> tuple[Floats, Floats]:
    """Successes and trials of each row."""
    column = used[response]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise DialensError(
            f"The response {response!r} is {column.dtype}. Give 0 and 1, or true and false."
        )
    successes = column.cast(pl.Float64).to_numpy().astype(np.float64)
    if trials is None:
        sizes, remedy = np.ones(len(successes)), "Give 0 and 1, or name a column of trials"
    else:
        sizes = used[trials].cast(pl.Float64).to_numpy().astype(np.float64)
        remedy = f"Give whole numbers between 0 and {trials!r}"
    bad = (successes < 0) | (successes > sizes) | (successes % 1 != 0) | (sizes % 1 != 0)
    if bad.any():
        raise DialensError(f"{response!r} holds {successes[bad][0]:g}. {remedy}.")
    if successes.sum() in (0.0, sizes.sum()):
        which = "no" if successes.sum() == 0 else "every"
        raise DialensError(f"{response!r} counts {which} success: there is nothing to explain.")
    return successes, sizes


def binomial_rows(successes: Floats, trials: Floats, x: Floats) -> LogitRows:
    """Each row as it is, with the number of its orders in the likelihood."""
    orders = special.gammaln(trials + 1) - special.gammaln(successes + 1)
    return LogitRows(
        owner=np.arange(len(trials)),
        design=x,
        successes=successes,
        trials=trials,
        thresholds=0,
        between=np.zeros(0),
        penalised=np.zeros(0, np.int64),
        observations=len(trials),
        constant=float((orders - special.gammaln(trials - successes + 1)).sum()),
    )
