"""What moved the ratings of one judge, with intervals over the items it rated.

One model is no sample of models, and its repeats are no sample of raters: what can be drawn again
are items, and answers to them. Repeats are averaged first, so that an item brings one number a
condition and repeats that say the same, or share one answer, count once. Items are then compared
with themselves (least squares with a level for each item), and intervals are Student's t on the
jackknife over items: with every item under every condition this is the paired t test of the items'
differences. Items that were judged in one request are left out together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import special

from dialens.base import Estimate
from dialens.statistics._bootstrap import Floats, Ints

FEWEST_ITEMS: Final = 3
"""Items (screens, where several share one) below which there is no interval."""
FEW_ITEMS: Final = 8
"""With fewer, an interval over items is told with a warning."""

SAME_EFFECT: Final = "no interval: the effect is the same for every item"
_APART = "the conditions cannot be told apart within these items"
_TOO_FEW = f"no interval: it rests on fewer than {FEWEST_ITEMS} items"
_ONE_ITEM = "no interval: without one of the items it is not known"
_ROUNDING = 1e-9


@dataclass(frozen=True)
class OverItems:
    """Slopes of a judge's ratings, whole and with each cluster of items left out.

    Attributes:
        names: Of the columns.
        whole: A slope a column.
        left: Clusters × columns.
        parts: Clusters × columns × columns: what each tells about the columns.
        levels: The mean rating where all columns are zero: whole first, then each left out.
        scale: The largest rating in size, for rounding.
        confidence: Of the intervals.
    """

    names: tuple[str, ...]
    whole: Floats
    left: Floats
    parts: Floats
    levels: Floats
    scale: float
    confidence: float

    def contrast(self, weights: Mapping[str, float]) -> Estimate:
        """A combination of slopes; value and interval are null, with the reason, if unknown."""
        vector = self._vector(weights)
        used, why = self._known(vector)
        if why == _APART:
            return Estimate(reason=why)
        value = float(vector @ self.whole)
        if why is not None:
            return Estimate(value, n=used, reason=why)
        error = float(np.sqrt(self._covariance([self.left @ vector - value])[0, 0]))
        degrees = self.degrees(weights)
        if error <= _ROUNDING * self.scale:
            return Estimate(value, n=used, reason=SAME_EFFECT)
        reach = error * float(special.stdtrit(degrees, (1 + self.confidence) / 2))
        p = 2 * float(special.stdtr(degrees, -abs(value) / error))
        return Estimate(value, value - reach, value + reach, p, n=used)

    def effect(self, name: str) -> Estimate:
        """The slope of one column."""
        return self.contrast({name: 1.0})

    def share(
        self, weights: Mapping[str, float], base: Mapping[str, float], target: float
    ) -> Estimate:
        """Which share of the way from a level to a target a combination of slopes is.

        Args:
            weights: Of the slopes.
            base: Weights of the slopes in the level that the way begins at.
            target: Where it would end.

        Returns:
            The ratio with Fieller's (1954) interval; its p is that of the combination.
        """
        moved = self.contrast(weights)
        if moved.value is None:
            return moved
        start = self._vector(base)
        rooms = target - self.levels - np.concatenate([[self.whole @ start], self.left @ start])
        room = float(rooms[0])
        if abs(room) <= _ROUNDING * max(self.scale, abs(target)):
            return Estimate(reason="unanchored ratings already lie at the anchor’s value")
        share = moved.value / room
        if moved.low is None:
            return Estimate(share, n=moved.n, reason=moved.reason)
        pulls = self.left @ self._vector(weights) - moved.value
        covariance = self._covariance([pulls, rooms[1:] - room])
        t2 = float(special.stdtrit(self.degrees(weights), (1 + self.confidence) / 2)) ** 2
        a = room**2 - t2 * covariance[1, 1]
        if a <= 0:
            return Estimate(reason="unanchored ratings already lie at the anchor’s value")
        b = moved.value * room - t2 * covariance[0, 1]
        c = moved.value**2 - t2 * covariance[0, 0]
        reach = float(np.sqrt(max(b * b - a * c, 0.0)))
        return Estimate(share, (b - reach) / a, (b + reach) / a, moved.p, n=moved.n)

    def degrees(self, weights: Mapping[str, float]) -> float:
        """Clusters that carry a combination, as many as equal ones would be, less one."""
        carried = self._carried(self._vector(weights))
        total = np.square(carried).sum()
        return max(float(carried.sum() ** 2 / total) - 1, 1.0) if total else 1.0

    def _vector(self, weights: Mapping[str, float]) -> Floats:
        vector = np.zeros(len(self.names))
        for name, weight in weights.items():
            vector[self.names.index(name)] = weight
        return vector

    def _carried(self, vector: Floats) -> Floats:
        toward = np.linalg.pinv(self.parts.sum(axis=0), rcond=1e-10, hermitian=True) @ vector
        carried: Floats = np.einsum("gij,i,j->g", self.parts, toward, toward)
        return np.where(carried > _ROUNDING * max(carried.max(), 1e-300), carried, 0.0)

    def _known(self, vector: Floats) -> tuple[int, str | None]:
        """How many clusters carry a combination, and why it has no interval, if so."""
        total = self.parts.sum(axis=0)
        if not _in_span(total, vector):
            return 0, _APART
        used = int(np.count_nonzero(self._carried(vector)))
        if used < FEWEST_ITEMS:
            return used, _TOO_FEW
        if not all(_in_span(total - part, vector) for part in self.parts):
            return used, _ONE_ITEM
        return used, None

    def _covariance(self, pulls: Sequence[Floats]) -> Floats:
        moved = np.stack(pulls)
        count = moved.shape[1]
        made: Floats = moved @ moved.T * (count - 1) / count
        return made


def _in_span(information: Floats, vector: Floats) -> bool:
    back = information @ np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ vector
    return bool(np.allclose(back, vector, atol=1e-6))


def over_items(
    values: Any,
    columns: Mapping[str, Any],
    item: Sequence[Any],
    cluster: Sequence[Any] | None = None,
    *,
    within: bool = True,
    confidence: float = 0.95,
) -> OverItems:
    """Slopes of one judge's ratings on columns, and what each cluster of items does to them.

    Args:
        values: Ratings, those of repeats averaged.
        columns: What may move them, a number a rating each.
        item: What was rated.
        cluster: What is left out together; the item itself if not given.
        within: Whether items are compared with themselves only; else each may stand for itself.
        confidence: Of the intervals.

    Examples:
        Four items with and without a number on the screen; the paired t test of 2, 3, 4, 7:

        >>> shown = [0.0, 1.0] * 4
        >>> made = over_items([1, 3, 2, 5, 3, 7, 1, 8], {"shown": shown}, [*"aabbccdd"])
        >>> found = made.effect("shown")
        >>> round(found.value, 2), round(found.low, 2), round(found.high, 2), round(found.p, 3)
        (4.0, 0.56, 7.44, 0.034)
    """
    y = np.asarray(values, dtype=np.float64)
    names = tuple(columns)
    x = np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in names])
    places, group = _numbered(item), _numbered(item if cluster is None else cluster)
    count = int(group.max()) + 1
    rows, means = (
        _sums(np.ones((len(y), 1)), group, count),
        _sums(np.column_stack([y, x]), group, count),
    )
    a, b = x, y
    if within:
        size = _sums(np.ones((len(y), 1)), places, int(places.max()) + 1)
        a = x - (_sums(x, places, len(size)) / size)[places]
        b = y - (_sums(y[:, None], places, len(size)) / size)[places, 0]
    else:
        a, names = np.column_stack([x, np.ones(len(y))]), (*names, "")
    parts = _sums((a[:, :, None] * a[:, None, :]).reshape(len(y), -1), group, count)
    parts = parts.reshape(count, a.shape[1], a.shape[1])
    sums = _sums(a * b[:, None], group, count)
    slopes = np.concatenate(
        [
            _solved(parts.sum(axis=0), sums.sum(axis=0))[None],
            _solved(parts.sum(axis=0) - parts, sums.sum(axis=0) - sums),
        ]
    )
    totals = np.concatenate([means.sum(axis=0)[None], means.sum(axis=0) - means])
    sizes = np.concatenate([rows.sum(axis=0)[None], rows.sum(axis=0) - rows])[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = (totals[:, 0] - (totals[:, 1:] * slopes[:, : x.shape[1]]).sum(axis=1)) / sizes
    largest = float(np.abs(y).max(initial=0.0)) or 1.0
    return OverItems(names, slopes[0], slopes[1:], parts, levels, largest, confidence)


def _solved(information: Floats, sums: Floats) -> Floats:
    inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    made: Floats = np.einsum("...ij,...j->...i", inverse, sums)
    return made


def _sums(values: Floats, group: Ints, count: int) -> Floats:
    made = np.zeros((count, values.shape[1]))
    np.add.at(made, group, values)
    return made


def _numbered(names: Sequence[Any]) -> Ints:
    return np.unique([str(name) for name in names], return_inverse=True)[1].astype(np.int64)
