"""Rated units and their scores in one place: who was rated, how, and what the metrics say of them.

A unit is what was judged: a turn, a dialogue, an agent or a system. Agents and systems are seldom
judged as such; where they were not, their rating is the mean over their units. So is that of a
dialogue of which only turns were judged, where dialogues are asked for. Units that answer the same
context, or stand in the same dialogue, form a cluster.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from dialens.analysis.validation._ceiling import MeanRatings, mean_ratings
from dialens.base import DialensError
from dialens.corpus import LEVELS, Corpus, kind_of_rater
from dialens.metrics import Scores
from dialens.statistics import Floats, Ints

KEYS: Mapping[str, tuple[str, ...]] = {
    "turn": ("dialog", "turn"),
    "dialog": ("dialog",),
    "agent": ("system", "agent"),
    "system": ("system",),
}
"""What tells the units of a level apart."""

_RATING = ("level", "system", "agent", "dialog", "turn", "quality", "rater", "value")
_NOT_SCORED = "not scored"


@dataclass(frozen=True)
class RatedUnits:
    """The units of one level.

    Attributes:
        level: turn, dialog, agent or system.
        frame: One row a unit: its keys.
        clusters: Of each unit; units of one cluster are drawn together.
        clustered_by: What the clusters are, in words.
        agents: Number of the agent of each unit; None where units are agents or systems.
        metrics: Names.
        values: Units × metrics, NaN where a metric has no value.
        reasons: By metric, why values are missing and how often.
        ratings: By quality.
        rated_at: By quality, the level at which it was judged.
    """

    level: str
    frame: pl.DataFrame
    clusters: Ints
    clustered_by: str
    agents: Ints | None
    metrics: tuple[str, ...]
    values: Floats
    reasons: Mapping[str, Mapping[str, int]]
    ratings: Mapping[str, MeanRatings]
    rated_at: Mapping[str, str]

    def means(self) -> Floats:
        """Units × qualities, NaN where a unit was not rated."""
        return np.column_stack([one.mean for one in self.ratings.values()])

    def column(self, metric: str) -> Floats:
        """The values of one metric."""
        return self.values[:, self.metrics.index(metric)]


def human_ratings(
    corpus: Corpus, *, raters: Sequence[str] = ("human",), qualities: Sequence[str] | None = None
) -> pl.DataFrame:
    """The ratings that count, qualities on several scales told apart by their condition.

    Ratings whose rater's kind is not known are taken for human.
    """
    table = corpus.ratings.filter(
        pl.col("value").is_finite(), kind_of_rater().is_in(list(raters))
    ).collect(engine="streaming")
    if not table.height:
        raise DialensError(
            f"The corpus holds no ratings by {' or '.join(raters)} raters: there is nothing to "
            "validate against. Ratings in a table of their own come with --ratings FILE; `dialens "
            "formats` lists the formats that bring ratings."
        )
    table = table.with_columns(quality=_told_apart(table))
    if qualities is None:
        return table.select(_RATING)
    plain = table["quality"].str.replace(r" \[.*\]$", "")
    wanted = {name.casefold() for name in qualities}
    for name in qualities:
        if name.casefold() not in {
            q.casefold() for q in [*plain.unique(), *table["quality"].unique()]
        }:
            known = ", ".join(sorted(table["quality"].unique()))
            raise DialensError(f"Nobody rated {name!r}. Qualities in this corpus: {known}.")
    chosen = plain.str.to_lowercase().is_in(wanted) | table["quality"].str.to_lowercase().is_in(
        wanted
    )
    return table.filter(chosen).select(_RATING)


def _told_apart(table: pl.DataFrame) -> pl.Series:
    """A quality's name, with the condition behind it where one name stands for several scales."""
    scales = pl.col("scale").fill_null("").n_unique().over("level", "quality") > 1
    condition = pl.coalesce(pl.col("condition"), pl.col("scale"), pl.lit("no scale given"))
    named = pl.format("{} [{}]", pl.col("quality"), condition)
    return table.select(pl.when(scales).then(named).otherwise(pl.col("quality")).alias("quality"))[
        "quality"
    ]


def available_levels(ratings: pl.DataFrame) -> list[str]:
    """Levels that can be validated: those judged, and agents and systems if there are several.

    Examples:
        >>> columns = {"level": ["turn"] * 2, "system": ["s"] * 2, "agent": ["a", "b"]}
        >>> available_levels(pl.DataFrame(columns))
        ['turn']
        >>> columns = {"level": ["turn"] * 3, "system": ["s"] * 3, "agent": ["a", "b", "c"]}
        >>> available_levels(pl.DataFrame(columns))
        ['turn', 'agent']
    """
    judged = set(ratings["level"].unique())
    for level in ("agent", "system"):
        if ratings.select(KEYS[level]).n_unique() > 2:
            judged.add(level)
    return [level for level in LEVELS if level in judged]


def rated_units(ratings: pl.DataFrame, corpus: Corpus, scores: Scores, level: str) -> RatedUnits:
    """Join what people said of the units of a level with what the metrics say.

    Args:
        ratings: What `human_ratings` gives.
        corpus: The conversations.
        scores: Of the same corpus.
        level: turn, dialog, agent or system.
    """
    keys = KEYS[level]
    rated, rated_at = _at_level(ratings, level)
    if not rated.height:
        raise DialensError(
            f"Nothing was rated at the level {level!r}. Levels with ratings: "
            f"{', '.join(available_levels(ratings))}."
        )
    frame = rated.select(keys).unique().sort(keys).with_row_index("unit")
    rated = rated.join(frame, on=keys).with_columns(pl.col("unit").cast(pl.Int64))
    qualities = sorted(rated["quality"].unique())
    means = {
        quality: mean_ratings(rated.filter(pl.col("quality") == quality), frame.height)
        for quality in qualities
    }
    metrics, values, reasons = _values(frame, scores, level)
    clusters, name = _clusters(frame, corpus, scores, level)
    agents = _agents(frame, ratings, level, set(rated_at.values()))
    plain = frame.drop("unit")
    return RatedUnits(
        level, plain, clusters, name, agents, metrics, values, reasons, means, rated_at
    )


def _agents(
    frame: pl.DataFrame, ratings: pl.DataFrame, level: str, rated_at: Collection[str]
) -> Ints | None:
    if level not in ("turn", "dialog"):
        return None
    keys = list(KEYS[level])
    whose = (
        ratings.filter(pl.col("level").is_in(list(rated_at)))
        .group_by(keys)
        .agg(agent=pl.concat_str("system", "agent", separator="/", ignore_nulls=True).first())
    )
    joined = frame.join(whose, on=keys, how="left", maintain_order="left")
    numbers: Ints = joined["agent"].rank("dense").cast(pl.Int64).to_numpy()
    return numbers


def _at_level(ratings: pl.DataFrame, level: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Ratings of the units of a level, or else, but for turns, means over what they consist of."""
    direct = ratings.filter(pl.col("level") == level)
    at = dict.fromkeys(direct["quality"].unique(), level)
    if level == "turn" or (level == "dialog" and direct.height):
        return direct.select(*KEYS[level], "quality", "rater", "value"), at
    if level == "dialog":
        turns = ratings.filter(pl.col("level") == "turn")
        by_rater = turns.group_by("dialog", "quality", "rater", maintain_order=True)
        means = by_rater.agg(pl.col("value").mean())
        return means, dict.fromkeys(means["quality"].unique(), "turn")
    parts = [direct.select(*KEYS[level], "quality", "rater", "value")]
    for below in ("dialog", "turn"):
        rest = ratings.filter(pl.col("level") == below, ~pl.col("quality").is_in(list(at)))
        at |= dict.fromkeys(rest["quality"].unique(), below)
        units = [*KEYS[level], *(key for key in KEYS[below] if key not in KEYS[level])]
        means = rest.group_by(*units, "quality", maintain_order=True).agg(pl.col("value").mean())
        parts.append(
            means.select(
                *KEYS[level], "quality", pl.lit(None, pl.String).alias("rater"), pl.col("value")
            )
        )
    return pl.concat(parts), at


def _values(
    frame: pl.DataFrame, scores: Scores, level: str
) -> tuple[tuple[str, ...], Floats, dict[str, dict[str, int]]]:
    keys = KEYS[level]
    table = (
        scores.table.filter(pl.col("level") == level)
        .join(frame.lazy(), on=list(keys), how="inner")
        .select("unit", "metric", "value", "reason")
        .collect(engine="streaming")
    )
    if not table["value"].is_not_null().any():
        elsewhere = scores.table.filter(pl.col("level") == "dialog").limit(1).collect().height
        of_dialogues = (
            " A table of your own scores needs a column turn; scores of dialogues can be held "
            "against the mean ratings of their turns with --level dialog."
        )
        raise DialensError(
            f"No rated {level} has a score: these scores are not of this corpus, or were made "
            f"without the level {level}. Make them with: dialens score CORPUS -o SCORES."
            f"{of_dialogues if level == 'turn' and elsewhere else ''}"
        )
    known = set(table["metric"].unique())
    names = tuple(name for name in scores.signatures if name in known)
    values = np.full((frame.height, len(names)), np.nan)
    place = {name: number for number, name in enumerate(names)}
    rows = table["unit"].to_numpy()
    columns = table["metric"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
    values[rows, columns] = table["value"].fill_null(np.nan).to_numpy()
    missing = table.filter(pl.col("value").is_null() | pl.col("value").is_nan())
    reasons: dict[str, dict[str, int]] = {name: {} for name in names}
    counts = missing.group_by("metric", pl.col("reason").fill_null("no reason given")).len()
    for name, reason, count in counts.sort("metric", "len", descending=True).iter_rows():
        reasons[name][reason] = count
    for number, name in enumerate(names):
        unscored = int(np.isnan(values[:, number]).sum()) - sum(reasons[name].values())
        if unscored:
            reasons[name][_NOT_SCORED] = unscored
    return names, values, reasons


def _clusters(frame: pl.DataFrame, corpus: Corpus, scores: Scores, level: str) -> tuple[Ints, str]:
    if level not in ("turn", "dialog"):
        return np.arange(frame.height), f"{level}s"
    links = _sources(corpus, frame["dialog"])
    contexts = _contexts(scores, frame["dialog"])
    names = [
        word
        for word, table in (("source dialogues", links), ("contexts", contexts))
        if table is not None
    ]
    dialogs = frame.select(pl.col("dialog").unique(maintain_order=True)).with_row_index("node")
    components = np.arange(dialogs.height)
    known = [
        table.join(dialogs, on="dialog").select("node", "key")
        for table in (links, contexts)
        if table is not None
    ]
    if known:
        components = _connected(dialogs.height, known)
    numbers = dialogs.with_columns(cluster=pl.Series(components, dtype=pl.Int64))
    joined = frame.select("dialog").join(numbers, on="dialog", how="left", maintain_order="left")
    return joined["cluster"].to_numpy(), " and ".join(names) or "dialogues"


def _sources(corpus: Corpus, dialogs: pl.Series) -> pl.DataFrame | None:
    """The source's own dialogue of each unit, where the reader kept it with the last turn."""
    sources = (
        corpus.turns.filter(pl.col("dialog").is_in(dialogs.unique().implode()))
        .group_by("dialog")
        .agg(pl.col("meta").last())
        .select("dialog", key=pl.col("meta").str.json_path_match("$.dialog_id"))
        .drop_nulls()
        .collect(engine="streaming")
    )
    return sources if sources.height else None


def _contexts(scores: Scores, dialogs: pl.Series) -> pl.DataFrame | None:
    """What each agent was first given to answer, if it tells the dialogues of an agent apart.

    Chats that all begin with "hi" share an opening but not a context: keys count only if an agent
    has at least half as many of them as dialogues.
    """
    states = scores.states
    if "context" not in states.collect_schema().names():
        return None
    table = (
        states.select("system", "agent", "dialog", key="context")
        .filter(pl.col("dialog").is_in(dialogs.unique().implode()))
        .collect(engine="streaming")
    )
    if not table.height or table["key"].null_count():
        return None
    agents = table.group_by("system", "agent").agg(keys=pl.col("key").n_unique(), n=pl.len())
    if not (agents["keys"] * 2 >= agents["n"]).all():
        return None
    shared = table["key"].n_unique() < table.height
    return table.select("dialog", pl.col("key").cast(pl.String)) if shared else None


def _connected(nodes: int, links: Sequence[pl.DataFrame]) -> Ints:
    """Components of dialogues that share a key of any kind.

    Examples:
        >>> one = pl.DataFrame({"node": [0, 1], "key": ["x", "x"]})
        >>> other = pl.DataFrame({"node": [1, 2, 3], "key": ["y", "y", "z"]})
        >>> _connected(5, [one, other]).tolist()
        [0, 0, 0, 1, 2]
    """
    ends: list[Ints] = []
    starts: list[Ints] = []
    offset = nodes
    for table in links:
        codes = table["key"].rank("dense").cast(pl.Int64).to_numpy() - 1
        starts.append(table["node"].to_numpy().astype(np.int64))
        ends.append(codes + offset)
        offset += int(codes.max()) + 1 if len(codes) else 0
    start, end = np.concatenate(starts), np.concatenate(ends)
    graph = sparse.coo_array((np.ones(len(start)), (start, end)), shape=(offset, offset))
    _, labels = sparse.csgraph.connected_components(graph.tocsr(), directed=False)
    _, numbered = np.unique(labels[:nodes], return_inverse=True)
    return numbered.astype(np.int64)
