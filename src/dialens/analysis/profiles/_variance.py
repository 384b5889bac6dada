"""Variance between agents and within them, from one-way tables of any shape.

The model is `value = mean + agent + dialogue`, agents and dialogues drawn at random. Components
are those of the analysis of variance (Searle, Casella & McCulloch 1992, "Variance Components",
ch. 3): with unequal numbers of dialogues,

    within  = MSW
    between = (MSB − MSW) / n0,   n0 = (N − Σ nᵢ² / N) / (a − 1)

which equals Shrout and Fleiss's ICC(1,1) = between / (between + within) on complete tables. The
variance between agents is not held above zero: agents may lie closer together than the dialogues
of one of them would lead to expect, and that is a finding.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.statistics import Floats, Ints, Resampled, cluster_sums, resampled_sums

_MOST_BLOCKS = 6_000
_FEWEST_BLOCKS = 50
_NO_VARIANCE = 1e-12
_AT_ONCE = 65_536


@dataclass(frozen=True)
class OneWay:
    """Sizes, means and sums of squares of the agents: all that the components need.

    Attributes:
        sizes: How many dialogues each agent has.
        means: Their means.
        squares: Sums of squared deviations from them.
    """

    sizes: Floats
    means: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats, agents: Ints) -> "OneWay":
        """From one value a dialogue and the number of its agent, 0 … a − 1.

        Examples:
            >>> table = OneWay.of(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 1]))
            >>> table.means.tolist(), table.squares.tolist()
            ([2.0, 7.0], [2.0, 0.0])
        """
        sizes = np.bincount(agents).astype(np.float64)
        means = np.bincount(agents, values) / sizes
        squares = np.bincount(agents, (values - means[agents]) ** 2)
        return cls(sizes, means, np.asarray(squares, np.float64))

    @property
    def agents(self) -> int:
        """How many agents there are."""
        return len(self.sizes)

    @property
    def dialogs(self) -> int:
        """How many dialogues they have together."""
        return int(self.sizes.sum())

    @property
    def n0(self) -> float:
        """The number of dialogues an agent has, as the components count it."""
        total = self.sizes.sum()
        return float((total - (self.sizes**2).sum() / total) / (self.agents - 1))

    @property
    def mean_square_between(self) -> float:
        """Of the agents' means around the grand mean."""
        return float(_between(self.sizes, self.means)) / (self.agents - 1)

    @property
    def within(self) -> float:
        """The variance of dialogues within an agent, pooled over agents."""
        return float(self.squares.sum()) / (self.dialogs - self.agents)

    @property
    def between(self) -> float:
        """The variance of agents; negative where they lie closer than chance would put them."""
        return (self.mean_square_between - self.within) / self.n0

    @property
    def icc(self) -> float:
        """How alike two dialogues of one agent are: the agents' share of the variance.

        Examples:
            >>> values = np.array([9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6.0])
            >>> values = np.append(values, [10, 5, 6, 9, 6, 2, 4, 7.0])
            >>> table = OneWay.of(values, np.repeat(np.arange(6), 4))
            >>> round(table.icc, 2)  # Shrout & Fleiss 1979, Table 4: ICC(1,1)
            0.17
        """
        return float(_share(np.array(self.between), np.array(self.within)))

    def why_not(self) -> str | None:
        """Why there are no components; None where there are."""
        if self.agents < 2:
            return "one agent only"
        if self.dialogs == self.agents:
            return "no agent has two dialogues with a value"
        largest = float(np.abs(self.means).max())
        if max(self.within, self.mean_square_between) <= _NO_VARIANCE * max(largest, 1.0) ** 2:
            return "all dialogues have the same value"
        return None


@dataclass(frozen=True)
class FTest:
    """The test that agents do not differ, and the ICC's interval for agents drawn at random."""

    f: float
    df1: int
    df2: int
    p: float
    low: float
    high: float


def f_test(table: OneWay, confidence: float = 0.95) -> FTest:
    """Exact where agents have equally many dialogues (Shrout & Fleiss 1979).

    Otherwise the mean square between agents is that of their plain means times the harmonic mean
    of their sizes, which is close to exact (Thomas & Hultquist 1978). The test itself is exact in
    either case.

    Examples:
        >>> values = np.array([9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6.0])
        >>> values = np.append(values, [10, 5, 6, 9, 6, 2, 4, 7.0])
        >>> found = f_test(OneWay.of(values, np.repeat(np.arange(6), 4)))
        >>> round(found.f, 2), found.df1, found.df2, round(found.low, 3), round(found.high, 3)
        (1.79, 5, 18, -0.133, 0.723)
    """
    df1, df2 = table.agents - 1, table.dialogs - table.agents
    if table.within <= 0:
        return FTest(np.inf, df1, df2, 0.0, 1.0, 1.0)
    f = table.mean_square_between / table.within
    size = table.agents / float((1 / table.sizes).sum())
    plain = size * float(table.means.var(ddof=1)) / table.within
    tail = (1 - confidence) / 2
    ends = [plain / float(stats.f.isf(q, df1, df2)) for q in (tail, 1 - tail)]
    low, high = ((end - 1) / (end - 1 + size) for end in ends)
    return FTest(f, df1, df2, float(stats.f.sf(f, df1, df2)), low, high)


def resampled(values: Floats, agents: Ints, resamples: int, rng: np.random.Generator) -> Resampled:
    """The ICC of these very agents with their dialogues drawn anew, each agent's by themselves.

    Means of drawn dialogues differ more than the agents do, and copies of a dialogue differ less
    than dialogues do: left alone, the bootstrap would push every ICC upwards. Both are known
    exactly from the dialogues that are drawn from, and taken off: a drawn mean varies by
    `squaresᵢ / nᵢ²`, a drawn sum of squares is short by one part in nᵢ. Of agents with very many
    dialogues random blocks are drawn (see `coarsened`).
    """
    table = OneWay.of(values, agents)
    shift = float(((1 - table.sizes / table.dialogs) * table.squares / table.sizes).sum())
    room = max(_FEWEST_BLOCKS, _MOST_BLOCKS // table.agents)
    means, squares = np.empty((2, resamples, table.agents))
    for number, size in enumerate(table.sizes):
        own = values[agents == number] - table.means[number]
        blocks = rng.permutation(len(own)) % min(len(own), room)
        parts = cluster_sums(np.column_stack([np.ones_like(own), own, own**2]), blocks)
        count, first, second = resampled_sums(parts, resamples, rng).T
        means[:, number] = table.means[number] + first / count
        drawn = np.maximum(second / count - (first / count) ** 2, 0.0)
        squares[:, number] = size * drawn * size / max(size - 1, 1)
    within = squares.sum(axis=1) / (table.dialogs - table.agents)
    around = _between(table.sizes, means) - shift
    replicates = _share((around / (table.agents - 1) - within) / table.n0, within)
    return Resampled(table.icc, replicates, _pulls(table, values, agents))


def _pulls(table: OneWay, values: Floats, agents: Ints) -> Floats:
    """The mean of the leave-one-dialogue-out ICCs minus each of them, for the acceleration."""
    parts = [
        _left_out(table, values[start : start + _AT_ONCE], agents[start : start + _AT_ONCE])
        for start in range(0, len(values), _AT_ONCE)
    ]
    one_less = np.concatenate(parts)
    there = one_less[np.isfinite(one_less)]
    pulls: Floats = (there.mean() - there) if len(there) else np.zeros(1)
    return pulls


def _left_out(table: OneWay, values: Floats, agents: Ints) -> Floats:
    """The ICC without each of some dialogues in turn."""
    n, mean = table.sizes[agents], table.means[agents]
    several = n > 1
    left = np.where(several, n - 1, 1)
    moved = np.where(several, (mean * n - values) / left, mean)
    squares = table.squares.sum() - np.where(several, (values - mean) ** 2 * n / left, 0.0)
    total = table.dialogs - 1.0
    sum_n, sum_squares = total, (table.sizes**2).sum() - n**2 + (n - 1) ** 2
    first = (table.sizes * table.means).sum() - values
    second = (table.sizes * table.means**2).sum() - n * mean**2 + (n - 1) * moved**2
    count = table.agents - (~several)
    with np.errstate(divide="ignore", invalid="ignore"):
        n0 = (total - sum_squares / sum_n) / (count - 1)
        within = squares / (total - count)
        between = ((second - first**2 / total) / (count - 1) - within) / n0
    return _share(between, within)


def _between(sizes: Floats, means: Floats) -> Floats:
    """The sum of squares between agents, for one row of means or many."""
    grand = (means * sizes).sum(axis=-1, keepdims=True) / sizes.sum()
    found: Floats = (sizes * (means - grand) ** 2).sum(axis=-1)
    return found


def _share(between: Floats, within: Floats) -> Floats:
    """The ICC; not defined where there is no variance, or less than none."""
    total = between + within
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, between / total, np.nan)
