"""A metric beside what people or judges said: how far they go together, and where they part.

Units are put in order twice, by the metric and by the mean rating, and the two places are
subtracted. Places need no scale, a single outlier moves them by little, and both lists mean the
same: a unit that one side puts near its top and the other near its bottom. Correlations are those
of `dialens validate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.validation import POOLED, WITHIN, correlations_by_scope, without_references
from dialens.base import Estimate
from dialens.statistics import ClusterDraws, Floats, Ints, jackknife_t, ranks
from dialens.statistics.correlation import Correlations
from dialens.workbench._columns import Column
from dialens.workbench._index import Index

FEWEST_RATED = 10
"""Below so many rated units two orders differ by chance alone, and lists of them would mislead."""

SHOWN = 10
_MOST_UNITS = 5_000
_HALF = 0.5
_PERMUTATIONS = 1
"""P-values are left out, so there is no need to draw for them."""

_FEWEST_AGENTS = 3


@dataclass(frozen=True)
class Gap:
    """A unit on which two orders differ.

    Attributes:
        id: Number of the unit in the index.
        value: The metric's.
        rating: The mean rating.
        ratings: How many ratings that is the mean of; None where nobody knows.
        place: Its place by the metric, 0 the lowest, 1 the highest.
        rated_place: Its place by the rating.
    """

    id: int
    value: float
    rating: float
    ratings: int | None
    place: float
    rated_place: float

    @property
    def gap(self) -> float:
        """How much higher the metric puts it."""
        return self.place - self.rated_place


@dataclass(frozen=True)
class Parting:
    """Where a metric and ratings part.

    Attributes:
        metric_high: Upper half by the metric, lower half by the ratings; the widest gap first.
        rating_high: The other way round.
        n_metric_high: How many there are of the first kind.
        n_rating_high: How many of the second.
    """

    metric_high: tuple[Gap, ...]
    rating_high: tuple[Gap, ...]
    n_metric_high: int
    n_rating_high: int


@dataclass(frozen=True)
class Association:
    """How far a metric and ratings go together, at a level.

    Attributes:
        level: Of the units.
        scope: `within` agents, or `pooled` over all units.
        n: Units.
        clusters: Dialogues or openings that these come from; intervals count those.
        pearson: Its coefficient.
        spearman: Its coefficient.
    """

    level: str
    scope: str
    n: int
    clusters: int
    pearson: Estimate
    spearman: Estimate


@dataclass(frozen=True)
class Rated:
    """Units that have both.

    Attributes:
        level: turn or dialog.
        frame: `id`, `source`, `system`, `agent`, `dialog`, `opening`, `value`, `rating`, `ratings`.
        left_out: Agents whose words people wrote.
    """

    level: str
    frame: pl.DataFrame
    left_out: tuple[str, ...]


_RATED = pl.Schema(
    {
        "id": pl.Int64,
        "source": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "dialog": pl.String,
        "opening": pl.UInt64,
        "value": pl.Float64,
        "rating": pl.Float64,
        "ratings": pl.Int64,
    }
)


def rated_units(index: Index, level: str, column: Column, said: Column) -> Rated:
    """The units of a level that have a value and a rating, but for human references.

    Args:
        index: Of the folder.
        level: turn or dialog.
        column: A metric, or what a judge said.
        said: What people said, or a judge.
    """
    key = "t.row" if level == "turn" else "t.talk"
    opening = "d.opening from turns t join dialogs d on t.talk = d.talk"
    opening = opening if level == "turn" else "t.opening from dialogs t"
    value = f'{"l" if column.live else "t"}."{column.sql}"'
    rating = f'l."{said.sql}"'
    names = "t.source, t.system, t.agent, t.dialog"
    head, tail = opening.split(" from ", 1)
    found = index.sql(
        f"select {key}, {names}, {head}, {value}, {rating}, l.{count_of(said)}::bigint from {tail} "
        f"join live_{level} l on {key} = l.id "
        f"where {value} is not null and {rating} is not null order by {key}"
    )
    frame = pl.DataFrame(found, schema=_RATED, orient="row")
    kept, left_out = without_references(frame)
    return Rated(level, kept, left_out)


def count_of(said: Column) -> str:
    """The column beside that of a mean rating that says how many ratings it is of."""
    return f"n{said.sql[1:]}"


def places(values: Floats) -> Floats:
    """Each value's place among all: the share below it and half of those equal to it.

    Examples:
        >>> places(np.array([10.0, 30.0, 20.0, 20.0])).tolist()
        [0.125, 0.875, 0.5, 0.5]
    """
    result: Floats = (ranks(values) - 0.5) / len(values)
    return result


def parting(rated: pl.DataFrame, *, lower_is_better: bool = False, shown: int = SHOWN) -> Parting:
    """Units that one side puts into its upper half and the other into its lower.

    Args:
        rated: With `id`, `value`, `rating` and `ratings`.
        lower_is_better: Whether a low value of the metric is what says yes.
        shown: How many of each kind are named.

    Examples:
        >>> few = pl.DataFrame(
        ...     {
        ...         "id": [7, 8, 9],
        ...         "value": [1.0, 2.0, 3.0],
        ...         "rating": [5.0, 4.0, 3.0],
        ...         "ratings": [2, 2, 1],
        ...     }
        ... )
        >>> [(gap.id, round(gap.gap, 2)) for gap in parting(few).metric_high]
        [(9, 0.67)]
    """
    value, rating = (rated[name].to_numpy().astype(np.float64) for name in ("value", "rating"))
    by_metric = places(-value if lower_is_better else value)
    by_rating = places(rating)
    apart = by_metric - by_rating
    high = np.flatnonzero((by_metric > _HALF) & (by_rating < _HALF))
    low = np.flatnonzero((by_metric < _HALF) & (by_rating > _HALF))
    ids = rated["id"].to_numpy()
    high = high[np.lexsort((ids[high], -apart[high]))]
    low = low[np.lexsort((ids[low], apart[low]))]
    counts = rated["ratings"].to_list()

    def gaps(chosen: Ints) -> tuple[Gap, ...]:
        return tuple(
            Gap(int(ids[i]), float(value[i]), float(rating[i]), counts[i], float(by_metric[i]),
                float(by_rating[i]))
            for i in chosen[:shown]
        )  # fmt: skip

    return Parting(gaps(high), gaps(low), len(high), len(low))


def associations(rated: Rated, *, resamples: int = RESAMPLES, seed: int = 0) -> list[Association]:
    """How far values and ratings go together: within agents if there are several, and pooled.

    Units of one dialogue, or of dialogues that open alike, are drawn together, as `dialens
    validate` draws them. Of very many units a random sample is taken.
    """
    frame = rated.frame
    if frame.height > _MOST_UNITS:
        frame = frame.sample(_MOST_UNITS, seed=seed).sort("id")
    if frame.height < FEWEST_RATED:
        return []
    agents = frame.select(pl.struct("system", "agent").rank("dense")).to_series()
    clusters = _clusters(frame)
    found = correlations_by_scope(
        frame.select("value").to_numpy(),
        frame.select("rating").to_numpy(),
        ClusterDraws.of(clusters, resamples, np.random.default_rng([seed, 0])),
        agents.cast(pl.Int64).to_numpy(),
        seed=seed,
        permutations=_PERMUTATIONS,
    )
    return [
        _association(rated.level, scope, result)
        for scope, result in found.items()
        if scope in (WITHIN, POOLED)
    ]


def _association(level: str, scope: str, found: Correlations) -> Association:
    pearson, spearman = (found.estimates[name][0][0] for name in ("pearson", "spearman"))
    return Association(
        level,
        scope,
        int(found.n[0, 0]),
        int(found.n_clusters[0, 0]),
        replace(pearson, p=None),
        replace(spearman, p=None),
    )


def _clusters(frame: pl.DataFrame) -> Ints:
    """Openings where they tell the dialogues of each agent apart, else dialogues."""
    talks = frame.select("source", "system", "agent", "dialog", "opening").unique()
    agents = talks.group_by("system", "agent").agg(kinds=pl.col("opening").n_unique(), n=pl.len())
    usable = not talks["opening"].null_count() and (agents["kinds"] * 2 >= agents["n"]).all()
    key = pl.col("opening") if usable else pl.struct("source", "dialog")
    numbers: Ints = frame.select(key.rank("dense").cast(pl.Int64)).to_series().to_numpy()
    return numbers


def association_of_agents(
    index: Index, column: str, rated: Rated, *, seed: int = 0
) -> Association | None:
    """Agents' own values beside the means of what was said of their units; None below three."""
    at_agents = index.columns("agent").get(column)
    if at_agents is None or at_agents.live:
        return None
    found = index.sql(f'select source, system, agent, "{at_agents.sql}" from agents t')
    values = pl.DataFrame(
        found, schema=[("source", pl.String), ("system", pl.String), ("agent", pl.String),
                       ("value", pl.Float64)], orient="row"
    )  # fmt: skip
    keys = ["source", "system", "agent"]
    means = rated.frame.group_by(keys).agg(pl.col("rating").mean())
    both = means.join(values, on=keys).drop_nulls().sort(keys)
    if both.height < _FEWEST_AGENTS:
        return None
    draws = ClusterDraws.of(np.arange(both.height), RESAMPLES, np.random.default_rng([seed, 1]))
    x, y = both.select("value").to_numpy(), both.select("rating").to_numpy()
    result = correlations_by_scope(x, y, draws, None, seed=seed, permutations=_PERMUTATIONS)[POOLED]
    return _association("agent", POOLED, result)


def mean_gap(rated: pl.DataFrame) -> Estimate:
    """The mean of a judge's value less people's, with its interval over dialogues."""
    gaps = rated.group_by("source", "dialog").agg(d=(pl.col("value") - pl.col("rating")).mean())
    d = gaps["d"].to_numpy()
    if len(d) < FEWEST_RATED:
        return Estimate(float(d.mean()) if len(d) else None, n=len(d), reason="too few dialogues")
    low, high, p = jackknife_t(d.mean(), 0.0, [(d - d.mean()) / (len(d) - 1)])
    return Estimate(float(d.mean()), float(low), float(high), float(p), len(d), basis="dialogues")


def said_columns(index: Index, level: str) -> Sequence[Column]:
    """What people said at a level, then what judges and others said."""
    order = {"people": 0, "judge": 1, "simulated": 2}
    said = [c for c in index.columns(level).values() if c.kind in order]
    return sorted(said, key=lambda column: (order[column.kind], column.name))
