"""Laplace's approximation of the likelihood of logistic mixed models, with its gradient.

A cumulative logit is a sum of binary ones: with a = α_k − η and b = α_{k−1} − η, log(F(a) − F(b))
is log F(a) + log(1 − F(b)) + log(1 − exp(b − a)), and the last part knows nothing of the random
effects. Each observation is thus one or two rows of successes and failures, and one engine fits
binary, binomial and ordinal responses. The random effects are Λu with u standard normal; their
mode is found by Newton's method, and the curvature there gives the approximation (Bates et al.
2015, §3; Christensen 2019 for cumulative links). The gradient is exact: it follows the mode as the
parameters move.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.linalg import lapack

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.mixed._terms import RandomTerm

_NEWTON_STEPS = 80
_CONVERGED = 1e-18
_HALVINGS = 30
_MOST_DENSE = 6_000


@dataclass(frozen=True)
class LogitRows:
    """A response as rows of successes and failures.

    Attributes:
        owner: For each row, its observation.
        design: For each row, a column a parameter: thresholds first, then fixed effects.
        successes: For each row.
        trials: For each row.
        thresholds: How many of the parameters are thresholds.
        between: For each two neighbouring thresholds, how many answers lie between them.
        penalised: Parameters with a log-F(1, 1) penalty.
        observations: How many observations there are.
        constant: What the log-likelihood has besides.
    """

    owner: Ints
    design: Floats
    successes: Floats
    trials: Floats
    thresholds: int
    between: Floats
    penalised: Ints
    observations: int
    constant: float = 0.0

    def outside(self, psi: Floats) -> tuple[float, Floats, Floats]:
        """The part of the log-likelihood without random effects, its gradient and curvature."""
        gradient, curvature = np.zeros(len(psi)), np.zeros((len(psi), len(psi)))
        value = self.constant
        if len(self.between):
            gaps = np.diff(psi[: self.thresholds])
            if gaps.min() <= 0:
                return -np.inf, gradient, curvature
            value += float(self.between @ np.log(-np.expm1(-gaps)))
            at = np.arange(len(gaps))
            pull = self.between * np.exp(-gaps) / -np.expm1(-gaps)  # 1 / (e^g − 1), likewise
            gradient[at] -= pull
            gradient[at + 1] += pull
            # e^g / (e^g − 1)², written so that wide gaps do not overflow
            bend = self.between * np.exp(-gaps) / np.expm1(-gaps) ** 2
            curvature[at, at] += bend
            curvature[at + 1, at + 1] += bend
            curvature[at, at + 1] -= bend
            curvature[at + 1, at] -= bend
        chosen = psi[self.penalised]
        share = special.expit(chosen)
        value += float((chosen / 2 - np.logaddexp(0, chosen)).sum())
        gradient[self.penalised] += 0.5 - share
        curvature[self.penalised, self.penalised] += share * (1 - share)
        return value, gradient, curvature

    def inside(self, tau: Floats) -> float:
        """The log-likelihood of the rows at their linear predictors."""
        return float(self.successes @ tau - self.trials @ np.logaddexp(0, tau))


class _Factor:
    """H = T′WT + I, with the diagonal block of the largest grouping eliminated."""

    def __init__(self, diagonal: Floats, side: Floats, rest: Floats) -> None:
        self.first = len(diagonal)
        self.diagonal = diagonal
        self.scaled = side / diagonal[:, None]
        # LAPACK itself: with few random effects scipy's checks would take longer than the work.
        self.upper, _ = lapack.dpotrf(rest - self.scaled.T @ side)
        self.logdet = float(np.log(diagonal).sum() + 2 * np.log(self.upper.diagonal()).sum())

    def solve(self, right: Floats) -> Floats:
        """H⁻¹ times a vector."""
        head, tail = right[: self.first], right[self.first :]
        low = self._solved(tail - self.scaled.T @ head)
        return np.concatenate([head / self.diagonal - self.scaled @ low, low])

    def _solved(self, right: Floats) -> Floats:
        return np.asarray(lapack.dpotrs(self.upper, right)[0]) if len(right) else right

    def inverse(self) -> tuple[Floats, Floats, Floats]:
        """The blocks of H⁻¹: the diagonal of the first, the side, the rest."""
        rest = self._solved(np.eye(len(self.upper)))
        side = -self.scaled @ rest
        diagonal = 1 / self.diagonal - np.einsum("ij,ij->i", side, self.scaled)
        return diagonal, side, rest


@dataclass(frozen=True)
class Laplace:
    """The approximation at one set of parameters.

    Attributes:
        value: Minus the log-likelihood.
        gradient: By thresholds and fixed effects, then by θ.
        modes: Of u.
    """

    value: float
    gradient: Floats
    modes: Floats


class LatentSystem:
    """A logistic mixed model: its rows, its random effects, and its likelihood."""

    def __init__(self, rows: LogitRows, terms: Sequence[RandomTerm]) -> None:
        """Number the random effects; the largest grouping with one effect a level goes first."""
        self.rows = rows
        order = sorted(terms, key=lambda term: -term.levels.height)
        single = next((at for at, term in enumerate(order) if len(term.effects) == 1), None)
        self.terms = order if not single else [order[single], *order[:single], *order[single + 1 :]]
        self.n = rows.observations
        self.sizes = [len(term.effects) for term in self.terms]
        self.counts = [term.levels.height for term in self.terms]
        self.width = int(np.dot(self.sizes, self.counts)) if self.terms else 0
        self.first = self.counts[0] if self.terms and self.sizes[0] == 1 else 0
        if self.width - self.first > _MOST_DENSE:
            raise DialensError(
                f"Beside the largest grouping the model has {self.width - self.first:,} random "
                f"effects; more than {_MOST_DENSE:,} do not fit. Leave a term out, or fit a sample."
            )
        starts = np.cumsum([0, *np.multiply(self.sizes, self.counts)]).astype(np.int64)
        columns = [
            start + term.group[:, None] * len(term.effects) + np.arange(len(term.effects))
            for start, term in zip(starts, self.terms, strict=False)
        ]
        self.columns = np.hstack(columns) if columns else np.zeros((self.n, 0), np.int64)
        z = [term.covariates for term in self.terms]
        self.z = np.hstack(z) if z else np.zeros((self.n, 0))
        self.moments = [np.einsum("ni,nj->ij", part, part) / self.n for part in z]
        self._cells = [np.tril_indices(size) for size in self.sizes]
        self._modes = np.zeros(self.width)

    @property
    def parameters(self) -> int:
        """Thresholds and fixed effects."""
        return int(self.rows.design.shape[1])

    @property
    def diagonal(self) -> list[bool]:
        """For each θ, whether it is the standard deviation of an effect (never negative)."""
        return [bool(own) for row, column in self._cells for own in row == column]

    def factors(self, theta: Floats) -> list[Floats]:
        """The Cholesky factor of each term's covariance."""
        result, at = [], 0
        for size, cells in zip(self.sizes, self._cells, strict=True):
            factor = np.zeros((size, size))
            factor[cells] = theta[at : at + len(cells[0])]
            at += len(cells[0])
            result.append(factor)
        return result

    def laplace(self, psi: Floats, theta: Floats) -> Laplace:
        """Minus the log-likelihood with its gradient; infinite where thresholds cross."""
        outside, pull, _ = self.rows.outside(psi)
        if not np.isfinite(outside):
            return Laplace(np.inf, np.zeros(len(psi) + len(theta)), self._modes)
        fixed = self.rows.design @ psi
        t = self._loadings(theta)
        modes, factor, tau = self._mode(fixed, t)
        self._modes = modes
        value = -self.rows.inside(tau) - outside + modes @ modes / 2 + factor.logdet / 2
        gradient = self._gradient(t, modes, factor, tau)
        gradient[: len(psi)] -= pull
        return Laplace(float(value), gradient, modes)

    def information(self, psi: Floats, theta: Floats) -> Floats:
        """Of thresholds and fixed effects, with the random effects' covariance as known."""
        rows, t = self.rows, self._loadings(theta)
        _, factor, tau = self._mode(rows.design @ psi, t)
        share = special.expit(tau)
        weighted = rows.design * (rows.trials * share * (1 - share))[:, None]
        result = weighted.T @ rows.design + rows.outside(psi)[2]
        cross = [self._collect(t * self._gather(column)[:, None]) for column in weighted.T]
        solved = [factor.solve(column) for column in cross]
        return np.asarray(result - np.array(cross) @ np.array(solved).T, dtype=np.float64)

    def _loadings(self, theta: Floats) -> Floats:
        """For each observation, what each of its columns of u counts: ZΛ."""
        result, at = np.zeros_like(self.z), 0
        for size, factor in zip(self.sizes, self.factors(theta), strict=True):
            result[:, at : at + size] = self.z[:, at : at + size] @ factor
            at += size
        return result

    def _mode(self, fixed: Floats, t: Floats) -> tuple[Floats, _Factor, Floats]:
        """The most likely random effects, by Newton's method from the last ones found."""
        rows, modes = self.rows, self._modes
        tau = fixed + self._spread(t, modes)[rows.owner]
        value = rows.inside(tau) - modes @ modes / 2
        for _ in range(_NEWTON_STEPS):
            share = special.expit(tau)
            slope = self._gather(rows.successes - rows.trials * share)
            factor = self._factor(t, self._gather(rows.trials * share * (1 - share)))
            score = self._collect(t * slope[:, None]) - modes
            step = factor.solve(score)
            decrement = float(score @ step)
            if decrement < _CONVERGED:
                break
            for halving in range(_HALVINGS):
                moved = modes + step / 2**halving
                tau_moved = fixed + self._spread(t, moved)[rows.owner]
                reached = rows.inside(tau_moved) - moved @ moved / 2
                if reached >= value - 1e-12 * abs(value):
                    break
            modes, tau, value = moved, tau_moved, reached
        return modes, factor, tau

    def _gradient(self, t: Floats, modes: Floats, factor: _Factor, tau: Floats) -> Floats:
        """Of minus the log-likelihood by ψ (without its outside part) and θ."""
        rows, own = self.rows, self.rows.owner
        share = special.expit(tau)
        slope = rows.successes - rows.trials * share
        weight = rows.trials * share * (1 - share)
        bend = weight * (1 - 2 * share)
        pairs = self._pairs(factor)
        reach = (pairs @ t[:, :, None])[:, :, 0]
        variance = (t * reach).sum(axis=1)
        moved = factor.solve(self._collect(t * (variance / 2 * self._gather(bend))[:, None]))
        pull = -slope + variance[own] / 2 * bend - weight * self._spread(t, moved)[own]
        by_psi = rows.design.T @ pull
        whole, slopes, weights = self._gather(pull), self._gather(slope), self._gather(weight)
        carried = (
            whole[:, None] * modes[self.columns]
            + slopes[:, None] * moved[self.columns]
            + weights[:, None] * reach
        )
        by_theta, at = [], 0
        for size, cells in zip(self.sizes, self._cells, strict=True):
            block = self.z[:, at : at + size].T @ carried[:, at : at + size]
            by_theta.append(block[cells])
            at += size
        return np.concatenate([by_psi, *by_theta])

    def _gather(self, by_row: Floats) -> Floats:
        """Sums of rows by observation."""
        return _sums(self.rows.owner, by_row, self.n)

    def _collect(self, by_column: Floats) -> Floats:
        """Sums over observations by random effect."""
        return _sums(self.columns.ravel(), by_column.ravel(), self.width)

    def _spread(self, t: Floats, effects: Floats) -> Floats:
        """What random effects add to each observation."""
        return np.asarray((t * effects[self.columns]).sum(axis=1), dtype=np.float64)

    def _factor(self, t: Floats, weight: Floats) -> _Factor:
        weighted, first = t * weight[:, None], self.first
        head = 1 if first else 0
        rest = self.width - first
        tail = self.columns[:, head:] - first
        diagonal, side = np.ones(first), np.zeros((first, rest))
        if head:
            group = self.columns[:, 0]
            diagonal += _sums(group, weighted[:, 0] * t[:, 0], first)
            cells = group[:, None] * rest + tail
            side = _table(cells, weighted[:, :1] * t[:, head:], (first, rest))
        cells = tail[:, :, None] * rest + tail[:, None, :]
        inner = _table(cells, weighted[:, head:, None] * t[:, None, head:], (rest, rest))
        return _Factor(diagonal, side, inner + np.eye(rest))

    def _pairs(self, factor: _Factor) -> Floats:
        """For each observation, H⁻¹ between its random effects."""
        diagonal, side, rest = factor.inverse()
        head = 1 if self.first else 0
        width = self.z.shape[1]
        pairs = np.zeros((self.n, width, width))
        tail = self.columns[:, head:] - self.first
        pairs[:, head:, head:] = rest[tail[:, :, None], tail[:, None, :]]
        if head:
            group = self.columns[:, 0]
            pairs[:, 0, 0] = diagonal[group]
            pairs[:, 0, 1:] = pairs[:, 1:, 0] = side[group[:, None], tail]
        return pairs


def _sums(groups: Ints, values: Floats, count: int) -> Floats:
    """Sums of values by group; as numbers even where there is nothing to sum."""
    return np.bincount(groups, values, minlength=count).astype(np.float64)[:count]


def _table(cells: Ints, values: Floats, shape: tuple[int, int]) -> Floats:
    """Sums of values by cell, as a dense table."""
    return _sums(cells.ravel(), values.ravel(), shape[0] * shape[1]).reshape(shape)
