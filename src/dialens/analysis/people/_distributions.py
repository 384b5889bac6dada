"""How often each answer was given to each agent."""

from itertools import pairwise

import numpy as np
import polars as pl

from dialens.analysis.people._ratings import RatedQuality
from dialens.analysis.people._scales import LIKERT, YES_NO
from dialens.analysis.people._tables import DISTRIBUTIONS

_BANDS = 5


def distribution(quality: RatedQuality) -> pl.DataFrame:
    """Counts and shares of answers: each answer of a scale with few, else bands of them.

    Sliders with known ends are cut into five equal bands, other numbers into five bands that hold
    about as many answers each over all agents.

    Examples:
        >>> from dialens.analysis.people._scales import AnswerScale
        >>> table = pl.DataFrame({"agent": ["x", "x", "y"], "value": [1.0, 0.0, 1.0]})
        >>> distribution(RatedQuality("q", "q", AnswerScale("yes_no", 0, 1, ""), table, {})).rows()
        [('q', 'x', 'no', 1, 0.5), ('q', 'x', 'yes', 1, 0.5), ('q', 'y', 'no', 0, 0.0),
         ('q', 'y', 'yes', 1, 1.0)]
    """
    values = quality.ratings.select("agent", "value")
    if not values.height:
        return DISTRIBUTIONS.to_frame()
    names = _answers(quality)
    cells = values.select(pl.col("agent").unique().sort()).join(
        pl.DataFrame({"place": range(len(names)), "answer": names}), how="cross"
    )
    counts = values.with_columns(place=_places(quality)).group_by("agent", "place").agg(n=pl.len())
    return (
        cells.with_columns(pl.col("place").cast(pl.Int64))
        .join(
            counts.with_columns(pl.col("place").cast(pl.Int64)), on=["agent", "place"], how="left"
        )
        .sort("agent", "place")
        .with_columns(quality=pl.lit(quality.quality), n=pl.col("n").fill_null(0).cast(pl.Int64))
        .with_columns(share=pl.col("n") / pl.col("n").sum().over("agent"))
        .select(DISTRIBUTIONS.names())
    )


def _points(quality: RatedQuality) -> list[float]:
    """Every answer of a scale with few of them, also those that nobody gave."""
    found: list[float] = quality.ratings["value"].unique().sort().to_list()
    low, high = quality.scale.low, quality.scale.high
    if quality.scale.kind == LIKERT and low is not None and high is not None:
        possible = {float(point) for point in range(int(low), int(high) + 1)}
        return sorted(possible | set(found))
    return [0.0, 1.0] if quality.scale.kind == YES_NO else found


def _answers(quality: RatedQuality) -> list[str]:
    if quality.scale.kind == YES_NO:
        return ["no", "yes"]
    if quality.scale.kind == LIKERT:
        return [f"{point:g}" for point in _points(quality)]
    cuts = [f"{cut:.3g}" for cut in _cuts(quality)]
    if not cuts:
        return ["all"]
    between = [f"{a} to {b}" for a, b in pairwise(cuts)]
    return [f"up to {cuts[0]}", *between, f"over {cuts[-1]}"]


def _places(quality: RatedQuality) -> pl.Series:
    few = quality.scale.kind in (LIKERT, YES_NO)
    edges = _points(quality) if few else _cuts(quality)
    return pl.Series(np.searchsorted(edges, quality.ratings["value"].to_numpy()))


def _cuts(quality: RatedQuality) -> list[float]:
    low, high = quality.scale.low, quality.scale.high
    if low is not None and high is not None and high > low:
        return [low + (high - low) * at / _BANDS for at in range(1, _BANDS)]
    values = quality.ratings["value"]
    found = [float(values.quantile(at / _BANDS) or 0.0) for at in range(1, _BANDS)]
    return sorted(set(found))
