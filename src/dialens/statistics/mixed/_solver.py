"""Profiled (restricted) likelihood of a mixed model from its cross-products.

As in Bates, Mächler, Bolker & Walker (2015, J. Stat. Softw. 67(1), §3): with the random effects'
covariance written as σ²ΛΛ′, the likelihood is a function of Λ alone, and each evaluation is one
Cholesky factor of ΛZ′ZΛ + I bordered by X and y. The observations enter once, as cross-products.
The largest grouping, and every grouping in which it is nested, has a block-diagonal part and is
eliminated without fill; what remains is small and dense.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.sparse import linalg as sparse_linalg

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._terms import RandomTerm

_MOST_DENSE = 6_000
_DENSE_BLOCK = 30_000_000
_NEGLIGIBLE = 1e-4
_SMALL = 300  # columns up to which one dense factor is faster than eliminating blocks
_SAME = 1e-6
_OFF_EDGE = (0.02, 0.05, 0.12, 0.5)
_RESTARTS = 4

if TYPE_CHECKING:
    _Sparse = sparse.csr_array[np.float64]


@dataclass(frozen=True)
class Solved:
    """The model at one relative covariance.

    Attributes:
        logdet: Of ΛZ′ZΛ + I.
        factor: Upper triangular R with R′R = X′V⁻¹X (times σ²), X orthonormal.
        cross: R⁻ᵀX′V⁻¹y (times σ).
        residual: The penalised residual sum of squares.
    """

    logdet: float
    factor: Floats
    cross: Floats
    residual: float


class MixedSystem:
    """Cross-products of a model, and its likelihood at any relative covariance."""

    def __init__(self, y: Floats, x: Floats, terms: Sequence[RandomTerm]) -> None:
        """Take the observations in once; afterwards their number no longer matters."""
        order = sorted(range(len(terms)), key=lambda i: -terms[i].levels.height)
        self.terms = [terms[i] for i in order]
        self.n, self.p = x.shape
        # With X orthonormal and y free of it, sums of squares keep their digits.
        self.orthonormal, self._r = np.linalg.qr(x)
        self._start = np.linalg.solve(self._r, self.orthonormal.T @ y) if self.p else np.zeros(0)
        rest = y - x @ self._start
        self._scale = float(np.sqrt(rest @ rest / max(len(rest), 1))) or 1.0
        self.sizes = [len(term.effects) for term in self.terms]
        self.counts = [term.levels.height for term in self.terms]
        self.width = int(np.dot(self.sizes, self.counts)) if self.terms else 0
        z = [_indicator(term) for term in self.terms]
        border = np.column_stack([self.orthonormal, rest / self._scale])
        everything = sparse.hstack([*z, sparse.csr_array(border)], format="csr")
        self._products = sparse.csr_array(everything.T @ everything)
        self._products.sort_indices()
        self.moments = [
            np.einsum("ni,nj->ij", term.covariates, term.covariates) / self.n for term in self.terms
        ]
        self._chain = _nested_chain(self.terms)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Diagonals of the relative Cholesky factors are not negative."""
        found: list[tuple[float, float]] = []
        for size in self.sizes:
            rows, columns = np.tril_indices(size)
            found += [(0.0 if diagonal else -np.inf, np.inf) for diagonal in rows == columns]
        return found

    def factors(self, theta: Floats) -> list[Floats]:
        """The relative Cholesky factor of each term."""
        result, at = [], 0
        for size in self.sizes:
            factor = np.zeros((size, size))
            rows, columns = np.tril_indices(size)
            factor[rows, columns] = theta[at : at + len(rows)]
            at += len(rows)
            result.append(factor)
        return result

    def solve(self, theta: Floats) -> Solved:
        """Everything the likelihood needs, at one relative covariance."""
        small = self._small is not None
        work: _Sparse | Floats = self._scaled_small(theta) if small else self._scaled(theta)
        logdet = 0.0
        for at in range(0 if small else self._chain):
            work, part = _eliminated(sparse.csr_array(work), self.sizes[at], self.counts[at])
            logdet += part
        inner = work.shape[0] - self.p - 1
        if inner > _MOST_DENSE:
            dense, part = _eliminated_sparse(sparse.csc_array(work), inner)
            logdet, inner = logdet + part, 0
        else:
            dense = work if isinstance(work, np.ndarray) else work.toarray()
        try:
            upper = linalg.cholesky(dense, lower=False, check_finite=False, overwrite_a=True)
        except linalg.LinAlgError:
            raise DialensError(
                "The mixed model fits its data exactly (no residual is left), so variances cannot "
                "be estimated. Check for a response without noise or as many effects as rows."
            ) from None
        logdet += 2 * float(np.log(np.diag(upper)[:inner]).sum())
        last = inner + self.p
        rows = slice(inner, last)
        return Solved(logdet, upper[rows, rows], upper[rows, last], float(upper[-1, -1] ** 2))

    def criterion(self, theta: Floats, *, reml: bool) -> float:
        """−2 log (restricted) likelihood with σ² profiled out."""
        solved = self.solve(theta)
        free = self.n - self.p if reml else self.n
        spread = solved.residual * self._scale**2 / free
        value = solved.logdet + free * (1 + np.log(2 * np.pi * spread))
        return float(value + (self._border(solved) if reml else 0.0))

    def parts(self, theta: Floats, *, reml: bool) -> tuple[float, float, Floats]:
        """Pieces of the likelihood for any σ.

        The part of −2 log likelihood without σ, the residual sum of squares, and the covariance
        of the fixed effects for σ = 1.
        """
        solved = self.solve(theta)
        constant = solved.logdet + (self._border(solved) if reml else 0.0)
        return constant, solved.residual * self._scale**2, self._covariance(solved, 1.0)

    def estimate(self, theta: Floats, *, reml: bool) -> tuple[Floats, Floats, float]:
        """Fixed effects, their covariance, and σ."""
        solved = self.solve(theta)
        free = self.n - self.p if reml else self.n
        sigma = float(np.sqrt(solved.residual / free)) * self._scale
        moved = linalg.solve_triangular(solved.factor, solved.cross) if self.p else np.zeros(0)
        beta = self._start + self._scale * linalg.solve(self._r, moved) if self.p else self._start
        return beta, self._covariance(solved, sigma), sigma

    def best(self, *, reml: bool) -> Floats:
        """The relative covariance at which the likelihood is highest."""
        if not self.terms:
            return np.zeros(0)
        start = np.array([1.0 if low == 0.0 else 0.0 for low, _ in self.bounds])
        if float(self.solve(start * 0).residual) < 1e-20 * self.n:
            raise DialensError("The response does not vary, so there is no variance to share out.")
        theta, value = self._edged(*self._search(start, 0.5, reml=reml), reml=reml)
        for _ in range(_RESTARTS):
            away = self._away(theta, value, reml=reml)
            if away is None:
                break
            # Close to where it goes on, so the first steps are small.
            moved = self._edged(*self._search(away, 0.1, reml=reml), reml=reml)
            if moved[1] >= value - _SAME:
                break
            theta, value = moved
        return theta

    def _search(self, start: Floats, radius: float, *, reml: bool) -> tuple[Floats, float]:
        """The best relative covariance that is reached from a start."""
        options: Any = {"initial_tr_radius": radius, "final_tr_radius": 2e-5, "maxfev": 600}

        def value_at(theta: Floats) -> float:
            return self.criterion(np.maximum(theta, self._lower), reml=reml)

        quick: Any = {"jac": "3-point", "method": "L-BFGS-B", "options": {"ftol": 1e-13}}
        careful: Any = {"method": "COBYQA", "options": options}
        try:  # where the criterion is cheap, its differences cost less than a model of it
            chosen = careful if self._small is None else quick
            result = optimize.minimize(value_at, start, bounds=self.bounds, **chosen)
        except DialensError:  # a first step too far, to where nothing is left of the residual
            result = optimize.minimize(value_at, start, bounds=self.bounds, **careful)
        theta = np.maximum(np.asarray(result.x, dtype=np.float64), self._lower)
        return theta, float(result.fun)

    def _edged(self, theta: Floats, value: float, *, reml: bool) -> tuple[Floats, float]:
        """The same with negligible standard deviations at zero."""
        for at in np.flatnonzero((self._lower == 0.0) & (theta < _NEGLIGIBLE * 10)):
            edge = theta.copy()
            edge[at] = 0.0
            reached = self.criterion(edge, reml=reml)
            if reached <= value + 1e-6:
                theta, value = edge, reached
        return theta, value

    def _away(self, theta: Floats, value: float, *, reml: bool) -> Floats | None:
        """A point off the edge at which the likelihood is higher, if there is one.

        The likelihood is a function of θ², so its slope in θ is zero at the edge even where it
        rises from there, and a search can stop at a variance of zero that is not the best.
        """
        for at in np.flatnonzero((self._lower == 0.0) & (theta == 0.0)):
            for size in _OFF_EDGE:
                tried = theta.copy()
                tried[at] = size
                if self.criterion(tried, reml=reml) < value - _SAME:
                    return tried
        return None

    def effects(self, theta: Floats) -> list[Floats]:
        """Conditional means of the random effects, one array (levels × effects) a term."""
        work = sparse.csc_array(self._scaled(theta))
        inner, z = work[: self.width, : self.width], work[: self.width, self.width :].toarray()
        solved = self.solve(theta)
        moved = linalg.solve_triangular(solved.factor, solved.cross) if self.p else np.zeros(0)
        right = z[:, -1] - z[:, :-1] @ moved
        spherical = sparse_linalg.spsolve(sparse.csc_array(inner), right)
        result, at = [], 0
        for size, count, factor in zip(self.sizes, self.counts, self.factors(theta), strict=True):
            block = np.asarray(spherical[at : at + size * count]).reshape(count, size)
            result.append(self._scale * block @ factor.T)
            at += size * count
        return result

    @cached_property
    def _small(self) -> Floats | None:
        """The cross-products as a dense table, where there are few columns and no slopes."""
        few = self._products.shape[0] <= _SMALL and all(size == 1 for size in self.sizes)
        return self._products.toarray() if few else None

    def _scaled_small(self, theta: Floats) -> Floats:
        """What `_scaled` gives, from the dense table."""
        assert self._small is not None
        scale = np.concatenate([np.repeat(theta, self.counts), np.ones(self.p + 1)])
        work: Floats = self._small * scale[:, None] * scale
        inner = np.arange(self.width)
        work[inner, inner] += 1.0
        return work

    @cached_property
    def _lower(self) -> Floats:
        return np.array([low for low, _ in self.bounds], dtype=np.float64)

    def _border(self, solved: Solved) -> float:
        """The log determinant of X′V⁻¹X for X as given."""
        inner = np.log(np.abs(np.diag(solved.factor))).sum()
        return float(2 * (inner + np.log(np.abs(np.diag(self._r))).sum()))

    def _covariance(self, solved: Solved, sigma: float) -> Floats:
        if not self.p:
            return np.zeros((0, 0))
        half = linalg.solve_triangular(solved.factor @ self._r, np.eye(self.p))
        return np.asarray(sigma**2 * half @ half.T, dtype=np.float64)

    def _scaled(self, theta: Floats) -> "_Sparse":
        """Λ′ZᵀZΛ + I, bordered by X and y."""
        plain = all(size == 1 for size in self.sizes)
        ones = np.ones(self.width)
        if plain:
            scale = np.ones(self.width + self.p + 1)
            scale[: self.width] = np.repeat(theta, self.counts)
            rows = np.repeat(np.arange(len(scale)), np.diff(self._products.indptr))
            data = self._products.data * scale[rows] * scale[self._products.indices]
            work = sparse.csr_array(
                (data, self._products.indices, self._products.indptr), shape=self._products.shape
            )
        else:
            blocks = [
                sparse.kron(sparse.eye_array(count), factor.T, format="csr")
                for count, factor in zip(self.counts, self.factors(theta), strict=True)
            ]
            left = sparse.block_diag([*blocks, sparse.eye_array(self.p + 1)], format="csr")
            work = sparse.csr_array(left @ self._products @ left.T)
        unit = sparse.diags_array(np.concatenate([ones, np.zeros(self.p + 1)]), format="csr")
        return sparse.csr_array(work + unit)


def _indicator(term: RandomTerm) -> "_Sparse":
    """Z of a term: the effects of one level stand together."""
    n, size = term.covariates.shape
    columns = (term.group[:, None] * size + np.arange(size)).ravel()
    rows = np.repeat(np.arange(n), size)
    shape = (n, term.levels.height * size)
    return sparse.csr_array((term.covariates.ravel(), (rows, columns)), shape=shape)


def _nested_chain(terms: Sequence[RandomTerm]) -> int:
    """How many terms, from the largest, can be eliminated block by block without fill.

    The first always; each further one if all before it are nested in it.
    """
    for at in range(1, len(terms)):
        for inner in terms[:at]:
            pairs = np.unique(inner.group * np.int64(terms[at].levels.height) + terms[at].group)
            if len(pairs) != inner.levels.height:
                return at
    return len(terms)


def _eliminated(work: "_Sparse", size: int, count: int) -> tuple["_Sparse | Floats", float]:
    """The Schur complement of the first `count` blocks of `size`, and their log determinant."""
    width = size * count
    side = sparse.csr_array(work[width:, :width])
    rest = work[width:, width:]
    if size == 1:
        diagonal = work.diagonal()[:width]
        logdet = float(np.log(diagonal).sum())
        half = np.sqrt(1 / diagonal)
        cells = side.shape[0] * side.shape[1]
        if cells <= _DENSE_BLOCK and side.nnz > 0.03 * cells:
            block = side.toarray() * half
            return rest.toarray() - block @ block.T, logdet
        scaled = sparse.csr_array(side @ sparse.diags_array(half))
    else:
        corner = sparse.coo_array(work[:width, :width])
        blocks = np.zeros((count, size, size))
        blocks[corner.row // size, corner.row % size, corner.col % size] = corner.data
        lower = np.linalg.cholesky(blocks)
        logdet = 2 * float(np.log(np.einsum("nii->ni", lower)).sum())
        inverse = np.linalg.inv(lower).transpose(0, 2, 1)
        order = np.arange(count)
        half_inverse = sparse.bsr_array((inverse, order, np.arange(count + 1)), shape=(width,) * 2)
        scaled = sparse.csr_array(side @ sparse.csr_array(half_inverse))
    return sparse.csr_array(rest - scaled @ scaled.T), logdet


def _eliminated_sparse(work: "sparse.csc_array[np.float64]", inner: int) -> tuple[Floats, float]:
    """The same for two large crossed groupings, by a sparse factorisation."""
    factor = sparse_linalg.splu(
        sparse.csc_matrix(work[:inner, :inner]),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    side = work[:inner, inner:].toarray()
    corner = work[inner:, inner:].toarray() - side.T @ factor.solve(side)
    return corner, float(np.log(np.abs(factor.U.diagonal())).sum())
