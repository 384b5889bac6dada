"""What people said of agents, from any table of ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dialens.analysis.people._choice_rows import name_choices
from dialens.analysis.people._choices import Choices, choices_of, people_from_choices
from dialens.analysis.people._distributions import distribution
from dialens.analysis.people._model import judge
from dialens.analysis.people._ratings import RatedQuality, rated_qualities
from dialens.analysis.people._scales import (
    RATED,
    AnswerScale,
    chosen_kinds,
    lower_qualities,
    with_kinds,
)
from dialens.analysis.people._tables import AGENT_DIFFERENCES, AGENTS, DISTRIBUTIONS, WINS
from dialens.base import DialensError, listed, one_thread
from dialens.statistics import corrected


@dataclass(frozen=True)
class People:
    """What people said of agents.

    Attributes:
        agents: A row an agent and quality: mean, interval, rank.
        agent_differences: A row a pair of agents and quality, corrected over all of them.
        distributions: How often each answer was given.
        wins: A row a pair of agents that were chosen between.
        notes: What was left out, by quality.
        smallest: The smallest difference that matters, by quality, where it was named.
        scales: The kind of answer of each quality.
        lower: Qualities of which less is better.
        rated: The ratings that models were fitted to, quality by quality.
    """

    agents: pl.DataFrame
    agent_differences: pl.DataFrame
    distributions: pl.DataFrame
    wins: pl.DataFrame
    notes: tuple[tuple[str, str], ...]
    smallest: Mapping[str, float]
    scales: Mapping[str, AnswerScale]
    lower: frozenset[str] = frozenset()
    rated: tuple[RatedQuality, ...] = ()


def what_people_said(
    ratings: pl.DataFrame,
    *,
    smallest: float | Mapping[str, float] | None = None,
    scales: Mapping[str, str] | None = None,
    lower: Sequence[str] = (),
    confidence: float = 0.95,
) -> People:
    """Which agent people preferred, on what, and by how much.

    Args:
        ratings: A row a rating: rater, dialog (the item), agent, quality, value; `turn`, `system`
            and `scale` where there are any. As `load_ratings` gives it.
        smallest: The smallest difference that matters, in points (a share for yes and no, a ratio
            for magnitudes): one for all qualities, or by quality. Differences are then tested for
            being smaller.
        scales: The kind of answer of a quality, where the column `scale` does not say it:
            `likert`, `slider`, `magnitude`, `yes_no`, `pairwise`, `best_worst` or `ranking`.
        lower: Qualities of which less is better, besides those whose `scale` says so.
        confidence: Of all intervals.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> rows = [
        ...     {
        ...         "rater": f"r{r}",
        ...         "dialog": f"d{d}",
        ...         "agent": agent,
        ...         "quality": "tone",
        ...         "value": 50 + better + rng.normal(0, 10),
        ...     }
        ...     for r in range(8)
        ...     for d in range(8)
        ...     for agent, better in (("x", 15), ("y", 0))
        ... ]
        >>> people = what_people_said(pl.DataFrame(rows))
        >>> people.agents.select("agent", "n", pl.col("mean").round(), "rank").rows()
        [('x', 64, 65.0, 1), ('y', 64, 49.0, 2)]
        >>> people.agent_differences["p_adjusted"][0] < 0.001
        True
    """
    qualities: list[str] = ratings["quality"].unique(maintain_order=True).to_list()
    kinds = chosen_kinds(scales, qualities)
    ratings = name_choices(with_kinds(ratings, kinds))
    parts = rated_qualities(ratings, kinds)
    rated = [part for part in parts if part.scale.kind in RATED]
    choices = choices_of(ratings)
    less = lower_qualities(ratings, lower)
    names = {part.quality: part.asked for part in rated} | {
        n: c.quality for n, c in choices.items()
    }
    less = frozenset(name for name, asked in names.items() if asked in less)
    wanted = _smallest(smallest, [*(part.quality for part in rated), *choices])
    with one_thread():
        found = [
            *(_rated(part, wanted.get(part.quality), confidence) for part in rated),
            *(_between(n, c, wanted.get(n), confidence) for n, c in choices.items()),
        ]
    differences = pl.concat([AGENT_DIFFERENCES.to_frame(), *(one.differences for one in found)])
    return People(
        _ranked(pl.concat([AGENTS.to_frame(), *(one.agents for one in found)]), less),
        corrected(differences).select(AGENT_DIFFERENCES.names()),
        pl.concat([DISTRIBUTIONS.to_frame(), *(one.distribution for one in found)]),
        pl.concat([WINS.to_frame(), *(one.wins for one in found)]),
        tuple((one.quality, note) for one in found for note in one.notes),
        wanted,
        {part.quality: part.scale for part in rated},
        less,
        tuple(rated),
    )


def _ranked(agents: pl.DataFrame, lower: frozenset[str]) -> pl.DataFrame:
    """Ranks counted from the other end where less is better."""
    less = pl.col("quality").is_in(list(lower)) & pl.col("rank").is_not_null()
    count = pl.col("rank").count().over("quality")
    fewest = pl.col("rank").rank("min", descending=True).over("quality").cast(pl.Int64)
    return agents.with_columns(
        pl.when(less).then(fewest).otherwise("rank").alias("rank"),
        pl.when(less).then(count + 1 - pl.col("rank_high")).otherwise("rank_low").alias("rank_low"),
        pl.when(less)
        .then(count + 1 - pl.col("rank_low"))
        .otherwise("rank_high")
        .alias("rank_high"),
    ).cast({"rank_low": pl.Int64, "rank_high": pl.Int64})


@dataclass(frozen=True)
class _Found:
    """The tables of one quality."""

    quality: str
    agents: pl.DataFrame
    differences: pl.DataFrame
    distribution: pl.DataFrame
    wins: pl.DataFrame
    notes: tuple[str, ...]


def _rated(part: RatedQuality, smallest: float | None, confidence: float) -> _Found:
    judged = judge(part, smallest=smallest, confidence=confidence)
    return _Found(
        part.quality,
        pl.DataFrame(judged.agents, schema=AGENTS),
        pl.DataFrame(judged.differences, schema=AGENT_DIFFERENCES),
        distribution(part),
        WINS.to_frame(),
        tuple(judged.notes),
    )


def _between(quality: str, choices: Choices, smallest: float | None, confidence: float) -> _Found:
    agents, differences, wins = people_from_choices(
        quality, choices, smallest=smallest, confidence=confidence
    )
    return _Found(quality, agents, differences, DISTRIBUTIONS.to_frame(), wins, choices.notes)


def _smallest(given: float | Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    """The smallest difference that matters, of each quality that has one."""
    if given is None:
        return {}
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(names, float(given))
    for quality, value in wanted.items():
        if quality not in names:
            raise DialensError(
                f"--smallest names {quality!r}, and no rating has that quality. Qualities: "
                f"{listed(names)}."
            )
        if not value > 0:
            raise DialensError(
                f"The smallest difference that matters is above 0; seen for {quality}: {value:g}."
            )
    return wanted
