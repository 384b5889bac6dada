"""Separation: effects that no finite number fits, because an answer is certain at a level."""

import numpy as np
from scipy import optimize

from dialens.statistics._bootstrap import Ints
from dialens.statistics.mixed._laplace import LogitRows


def separated(rows: LogitRows) -> Ints:
    """The parameters that grow without bound.

    A direction in which no row is worse off and some row is better off raises the likelihood for
    ever (Albert & Anderson 1984). A linear program finds one if there is any (Konis 2007).
    Thresholds move along with effects and are not named.
    """
    thresholds = rows.thresholds
    signed = []
    certain = (rows.successes == 0) | (rows.successes == rows.trials)
    sign = np.where(rows.successes > 0, 1.0, -1.0)
    signed.append(np.unique(rows.design[certain] * sign[certain, None], axis=0))
    fixed = np.unique(rows.design[~certain], axis=0)
    if thresholds > 1:
        order = np.zeros((thresholds - 1, rows.design.shape[1]))
        order[np.arange(thresholds - 1), np.arange(thresholds - 1)] = -1.0
        order[np.arange(thresholds - 1), np.arange(1, thresholds)] = 1.0
        signed.append(order)
    better, gain = np.vstack(signed), signed[0].sum(axis=0)
    found = np.zeros(rows.design.shape[1], dtype=bool)
    # One direction may show only some of the effects, so look again with those held.
    for _ in range(rows.design.shape[1]):
        result = optimize.linprog(
            -gain,
            A_ub=-better,
            b_ub=np.zeros(len(better)),
            A_eq=fixed if len(fixed) else None,
            b_eq=np.zeros(len(fixed)) if len(fixed) else None,
            bounds=[(0, 0) if held else (-1, 1) for held in found],
            method="highs",
        )
        if result.x is None or float(gain @ result.x) < 1e-7:
            break
        moving = np.abs(result.x) > 1e-7
        moving[:thresholds] = False
        if not moving.any():
            break
        found |= moving
    return np.flatnonzero(found)
