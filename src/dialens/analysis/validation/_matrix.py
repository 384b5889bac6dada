"""How metrics go together: their correlations with each other, ordered by clustering.

Both axes are ordered by average linkage on 1 − |r|, as in Figure 2 of Giorgi et al. (2023): two
metrics that measure the same thing in opposite directions belong together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from dialens.statistics import Floats, Ints

_FEWEST = 3


@dataclass(frozen=True)
class Branch:
    """A join in the tree: an upside-down U over two subtrees.

    Attributes:
        left: Where the left leg stands, in rows from 0.
        right: Where the right leg stands.
        left_height: Where the left leg begins; 0 at a leaf.
        right_height: Where the right leg begins.
        height: Where they join: 1 − |r| on average.
        left_members: Names of the metrics below the left leg.
        right_members: Names of those below the right leg.
    """

    left: float
    right: float
    left_height: float
    right_height: float
    height: float
    left_members: tuple[str, ...]
    right_members: tuple[str, ...]

    @property
    def members(self) -> tuple[str, ...]:
        """Names of all metrics below."""
        return self.left_members + self.right_members


@dataclass(frozen=True)
class MetricMatrix:
    """Correlations between metrics, in the order of their clustering.

    Attributes:
        level: Of the units.
        scope: Which metrics: `groups` (P and A) or `all`.
        metrics: In order.
        r: Pearson's coefficients, pairwise over the units that have both.
        n: Units behind each.
        branches: The tree, lowest joins first.
        left_out: Metrics without variance or with too few units, and why.
    """

    level: str
    scope: str
    metrics: tuple[str, ...]
    r: Floats
    n: Ints
    branches: tuple[Branch, ...]
    left_out: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "level": self.level,
            "scope": self.scope,
            "metrics": list(self.metrics),
            "r": [[None if np.isnan(v) else round(float(v), 6) for v in row] for row in self.r],
            "n": self.n.tolist(),
            "left_out": self.left_out,
        }


def metric_matrix(
    values: Floats, names: Sequence[str], level: str, scope: str = "all"
) -> MetricMatrix | None:
    """Correlate columns with each other and put them in order; None if fewer than three remain.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> base = rng.normal(size=(50, 2))
        >>> table = np.column_stack([base[:, 0], base[:, 1], -base[:, 0], base[:, 1] * 2])
        >>> metric_matrix(table, ["a", "b", "minus a", "b again"], "turn").metrics
        ('a', 'minus a', 'b again', 'b')
    """
    left_out: dict[str, str] = {}
    kept: list[int] = []
    for number, name in enumerate(names):
        column = values[:, number]
        present = column[np.isfinite(column)]
        if len(present) < _FEWEST:
            left_out[name] = f"only {len(present)} units with a value"
        elif present.std() <= 1e-12 * max(1.0, float(np.abs(present).max())):
            left_out[name] = "no variance: all units have the same value"
        else:
            kept.append(number)
    if len(kept) < _FEWEST:
        return None
    r, n = _pairwise(values[:, kept])
    chosen = [names[number] for number in kept]
    apart = 1 - np.abs(np.nan_to_num(r))
    np.fill_diagonal(apart, 0.0)
    condensed = squareform(apart, checks=False)
    tree = hierarchy.linkage(condensed, method="average", optimal_ordering=True)
    order = hierarchy.leaves_list(tree).astype(np.int64)
    ordered = [chosen[number] for number in order]
    branches = _branches(tree, order, ordered)
    at = np.ix_(order, order)
    return MetricMatrix(level, scope, tuple(ordered), r[at], n[at], branches, left_out)


def _pairwise(values: Floats) -> tuple[Floats, Ints]:
    """Pearson's coefficients over the units that have both values, all pairs at once."""
    present = np.isfinite(values)
    centred = np.where(present, values - np.nanmean(values, axis=0), 0.0)
    centred /= np.maximum(np.sqrt((centred**2).sum(axis=0) / present.sum(axis=0)), 1e-300)
    seen = present.astype(np.float64)
    n = seen.T @ seen
    total, squares = centred.T @ seen, (centred**2).T @ seen
    spread = squares - total**2 / np.maximum(n, 1)
    cross = centred.T @ centred - total * total.T / np.maximum(n, 1)
    product = spread * spread.T
    enough = (n >= _FEWEST) & (product > 1e-16)
    r = np.where(enough, cross / np.sqrt(np.where(enough, product, 1.0)), np.nan)
    r = np.clip(r, -1.0, 1.0)
    np.fill_diagonal(r, 1.0)
    return r, n.astype(np.int64)


def _branches(tree: Floats, order: Ints, names: Sequence[str]) -> tuple[Branch, ...]:
    leaves = len(order)
    place = {int(leaf): float(row) for row, leaf in enumerate(order)}
    height = dict.fromkeys(range(leaves), 0.0)
    below: dict[int, tuple[str, ...]] = {int(leaf): (names[row],) for row, leaf in enumerate(order)}
    result = []
    for number, (one, other, join, _) in enumerate(tree):
        left, right = sorted((int(one), int(other)), key=lambda node: place[node])
        result.append(
            Branch(
                place[left],
                place[right],
                height[left],
                height[right],
                float(join),
                below[left],
                below[right],
            )
        )
        node = leaves + number
        place[node] = (place[left] + place[right]) / 2
        height[node], below[node] = float(join), result[-1].members
    return tuple(result)
