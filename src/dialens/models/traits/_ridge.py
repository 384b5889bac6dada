"""Ridge regression with many more features than people, for a whole path of penalties at once.

With n people and p n-grams, n ≪ p, the dual form needs one eigendecomposition of an n × n matrix:
for K = X̃X̃ᵀ with centred features X̃ and centred target ỹ, c = (K + αI)⁻¹ỹ and w = X̃ᵀc (Saunders,
Gammerman & Vovk 1998). Every penalty α then costs one product. Beyond :data:`DUAL_LIMIT` rows the
same problem is solved by LSMR without forming K.

Features come in blocks (n-grams, topics). Each block is divided by the root of its mean squared
centred norm, so that a block's weight says how much it counts, whatever its units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsmr

Features: TypeAlias = sparse.csr_array | NDArray[np.float64]
Vector: TypeAlias = NDArray[np.float64]

DUAL_LIMIT = 4000
"""Rows up to which the dual form is used (its cost grows with the cube of the rows)."""


@dataclass(frozen=True)
class RidgeFit:
    """One linear model a penalty: coefficients of each block (features × penalties), intercepts."""

    coefficients: tuple[NDArray[np.float64], ...]
    intercepts: Vector

    def predict(self, blocks: Sequence[Features]) -> NDArray[np.float64]:
        """Return predictions, ``rows × penalties``."""
        total = np.tile(self.intercepts, (blocks[0].shape[0], 1))
        for features, coefficient in zip(blocks, self.coefficients, strict=True):
            total += features @ coefficient
        return total


def ridge_path(
    blocks: Sequence[Features],
    weights: Sequence[float],
    target: Vector,
    penalties: Sequence[float],
) -> RidgeFit:
    """Fit ridge models of ``target`` on the blocks, one a penalty.

    Args:
        blocks: Feature matrices with the same rows, sparse or dense, not centred.
        weights: Share of each block in the squared norm of a row; 0 leaves a block out.
        target: What to predict.
        penalties: Penalties α, relative to the rescaled features.

    Examples:
        >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> fit = ridge_path([x], [1.0], np.array([1.0, 3.0, 5.0, 7.0]), [1e-9])
        >>> fit.predict([np.array([[4.0]])]).round(6).tolist()
        [[9.0]]
    """
    means = [np.asarray(block.mean(axis=0)).ravel() for block in blocks]
    scales = [
        np.sqrt(weight / _mean_square(block, mean)) if weight > 0 else 0.0
        for block, mean, weight in zip(blocks, means, weights, strict=True)
    ]
    centred = target - target.mean()
    if len(target) <= DUAL_LIMIT:
        duals = _dual(blocks, means, scales, centred, penalties)
        raw = [np.asarray(block.T @ duals) for block in blocks]
        coefficients = [
            scale**2 * (part - np.outer(mean, duals.sum(axis=0)))
            for part, mean, scale in zip(raw, means, scales, strict=True)
        ]
    else:
        coefficients = _primal(blocks, means, scales, centred, penalties)
    shift = sum(mean @ part for mean, part in zip(means, coefficients, strict=True))
    return RidgeFit(tuple(coefficients), target.mean() - np.asarray(shift))


def _mean_square(block: Features, mean: Vector) -> float:
    values = block.data if isinstance(block, sparse.csr_array) else block.ravel()
    square: float = float(values @ values) / block.shape[0] - float(mean @ mean)
    return max(square, 1e-12)


def _gram(block: Features) -> NDArray[np.float64]:
    if isinstance(block, sparse.csr_array):
        dense: NDArray[np.float64] = (block @ block.T).toarray()
        return dense
    return block @ block.T


def _dual(
    blocks: Sequence[Features],
    means: Sequence[Vector],
    scales: Sequence[float],
    centred: Vector,
    penalties: Sequence[float],
) -> NDArray[np.float64]:
    rows = len(centred)
    kernel = np.zeros((rows, rows))
    for block, scale in zip(blocks, scales, strict=True):
        if scale > 0:
            kernel += scale**2 * _gram(block)
    by_row = kernel.mean(axis=0)
    kernel += by_row.mean() - by_row[None, :] - by_row[:, None]
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ centred
    shrunk = projected[:, None] / (values[:, None] + np.asarray(penalties)[None, :])
    duals: NDArray[np.float64] = vectors @ shrunk
    return duals


def _primal(
    blocks: Sequence[Features],
    means: Sequence[Vector],
    scales: Sequence[float],
    centred: Vector,
    penalties: Sequence[float],
) -> list[NDArray[np.float64]]:
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = [slice(end - b.shape[1], end) for end, b in zip(ends, blocks, strict=True)]

    def forward(x: Vector) -> Vector:
        total = np.zeros(len(centred))
        for block, mean, scale, part in zip(blocks, means, scales, parts, strict=True):
            total += scale * (block @ x[part] - mean @ x[part])
        return total

    def backward(residual: Vector) -> Vector:
        pieces = [
            scale * (block.T @ residual - mean * residual.sum())
            for block, mean, scale in zip(blocks, means, scales, strict=True)
        ]
        return np.concatenate(pieces)

    operator = LinearOperator(
        (len(centred), int(ends[-1])), matvec=forward, rmatvec=backward, dtype=np.float64
    )
    solved = np.stack(
        [lsmr(operator, centred, damp=np.sqrt(a), atol=1e-6, btol=1e-6)[0] for a in penalties],
        axis=1,
    )
    return [scale * solved[part] for scale, part in zip(scales, parts, strict=True)]
