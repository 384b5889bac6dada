"""Choices between two, with what else differs between them: place, tag, form, length.

The log-odds that the first of two is preferred are the difference of abilities plus the worth of
standing first plus slopes times the differences of covariates (Bradley & Terry 1952 with
covariates; with the difference of lengths it is the idea of length-controlled AlpacaEval, Dubois et
al. 2024: what the odds would be at no difference). Estimates are Firth's (1993), finite also where
a side won everything; errors allow for raters and items at once (`_clusters`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse, special

from dialens.base import DialensError, Estimate
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.choices._clusters import ClusteredErrors, Pulls, clusters_of

FIRST = "first place"
"""The covariate that is always there: standing first."""

_STEPS = 60
_CLOSE = 1e-9
_FARTHEST = 3.0  # log-odds in one step


@dataclass(frozen=True)
class PairFit:
    """A fitted model of choices between two.

    Attributes:
        names: Of the parameters: candidates but the first, then `FIRST`, then covariates.
        values: Their estimates, in log-odds.
        unknown: Covariates that cannot be told from the others.
        n: How many choices.
        baseline: The candidate that others are compared with.
        errors: Over raters and items.
        confidence: Of the intervals.
    """

    names: tuple[str, ...]
    values: Floats
    unknown: tuple[str, ...]
    n: int
    baseline: str
    errors: ClusteredErrors
    confidence: float

    def effect(self, name: str) -> Estimate:
        """What a covariate adds to the log-odds."""
        if name in self.unknown:
            return Estimate(reason=f"`{name}` goes with the candidates or with other covariates")
        return self._combined({name: 1.0})

    def difference(self, first: str, second: str) -> Estimate:
        """The log-odds that one candidate is preferred to another, all covariates being equal."""
        weights = {first: 1.0, second: -1.0}
        weights.pop(self.baseline, None)
        return self._combined(weights)

    def _combined(self, weights: dict[str, float]) -> Estimate:
        vector = np.array([weights.get(name, 0.0) for name in self.names])
        value = float(vector @ self.values)
        return self.errors.estimate(vector, value, confidence=self.confidence, n=self.n)


def fit_pair_covariates(
    comparisons: pl.DataFrame, covariates: Sequence[str] = (), *, confidence: float = 0.95
) -> PairFit:
    """Abilities of candidates, the worth of standing first, and slopes of covariates.

    Args:
        comparisons: One row a choice: `first` and `second` (as they stood on the screen),
            `outcome` (1 if the first was preferred, 0.5 for a tie, 0), `rater`, `item`, and each
            covariate as the difference first minus second.
        covariates: Columns of it.
        confidence: Of the intervals.

    Examples:
        >>> rows = [("a", "b", float(i % 4 > 0), f"r{i % 8}", f"d{i}") for i in range(32)]
        >>> names = ["first", "second", "outcome", "rater", "item"]
        >>> table = pl.DataFrame(rows, names, orient="row")
        >>> turned = table.with_columns(first=pl.col("second"), second=pl.col("first"))
        >>> fit = fit_pair_covariates(pl.concat([table, turned]))
        >>> round(float(special.expit(fit.effect(FIRST).value)), 2)
        0.74
    """
    used = comparisons.drop_nulls(["first", "second", "outcome", *covariates])
    agents = sorted({*used["first"].unique(), *used["second"].unique()})
    if used.height < 2:
        raise DialensError("There are fewer than two choices with everything the model needs.")
    columns = {
        name: (used["first"] == name).cast(pl.Float64) - (used["second"] == name).cast(pl.Float64)
        for name in agents[1:]
    }
    columns[FIRST] = pl.Series(np.ones(used.height))
    columns |= {name: used[name].cast(pl.Float64) for name in covariates}
    x, names, unknown = _independent({k: v.to_numpy() for k, v in columns.items()})
    lost = [name for name in unknown if name in agents]
    if lost:
        raise DialensError(f"{lost[0]!r} cannot be told from the others by these choices.")
    y = used["outcome"].cast(pl.Float64).to_numpy()
    values = _firth(x, y)
    p = special.expit(x @ values)
    information = (p * (1 - p))[:, None, None] * x[:, :, None] * x[:, None, :]
    bread = np.linalg.inv(information.sum(axis=0))
    pulls = Pulls((y - p)[:, None] * x, information, sparse.eye_array(len(y)).tocsr(), bread)
    clusters: dict[str, Ints] = {
        kind: clusters_of(used[kind])
        for kind in ("rater", "item")
        if kind in used.columns and used[kind].null_count() < used.height
    }
    return PairFit(
        tuple(names),
        values,
        tuple(unknown),
        used.height,
        agents[0],
        ClusteredErrors.of(pulls, clusters),
        confidence,
    )


def _independent(columns: dict[str, Floats]) -> tuple[Floats, list[str], list[str]]:
    """The columns that the ones before them do not already say, and the names of the others."""
    kept: list[Floats] = []
    names, unknown = [], []
    for name, column in columns.items():
        candidate = np.column_stack([*kept, column])
        if np.linalg.matrix_rank(candidate) > len(kept):
            kept.append(column)
            names.append(name)
        else:
            unknown.append(name)
    return np.column_stack(kept), names, unknown


def _firth(x: Floats, y: Floats) -> Floats:
    """Newton's method on the likelihood with Jeffreys' prior."""
    values: Floats = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        p = special.expit(x @ values)
        weight = p * (1 - p)
        inverse = np.linalg.pinv((x * weight[:, None]).T @ x)
        leverage = weight * np.einsum("ni,ij,nj->n", x, inverse, x)
        step = inverse @ (x.T @ (y - p + leverage * (0.5 - p)))
        longest = float(np.abs(step).max())
        values = values + step * min(1.0, _FARTHEST / longest if longest else 1.0)
        if longest < _CLOSE:
            return values
    raise DialensError("The model of choices did not settle: too few choices for its covariates.")
