"""How far an agent's turns differ within its dialogues, and how far the dialogues themselves.

The model is `value of a turn = agent + dialogue + turn`, dialogues drawn at random, agent by agent;
components are those of the nested analysis of variance (Searle, Casella & McCulloch 1992, ch. 3).
Several measures may be taken together, as the shares of eight emotions are: their variances add.

Everything comes from sums over dialogues, so dialogues can be drawn anew without their turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.metrics import Scores
from dialens.statistics import Floats, Resampled, coarsened, left_out_sums, resampled_sums

_COUNTS = 3
_COLUMNS = 3


def turn_values(
    scores: Scores, metrics: Sequence[str], dialogs: pl.Series | None = None
) -> pl.DataFrame:
    """How many turns of each dialogue have a value, their mean, and their squares about it.

    Args:
        scores: What `dialens.score` or `Scores.open` gives; without turns the table is empty.
        metrics: Names of metrics that turns have.
        dialogs: Which dialogues; all if not given.

    Examples:
        >>> from dialens import Corpus, score
        >>> from dialens.corpus import Dialogue, Turn
        >>> said = [Turn("B", "agent", text) for text in ("Yes.", "No no no.")]
        >>> scores = score(Corpus.of([Dialogue("s", "b", "d", said)]), metrics=["length"])
        >>> turn_values(scores, ["length"]).rows()
        [('s', 'b', 'd', 'length', 2, 2.0, 2.0)]
    """
    wanted = (
        (pl.col("level") == "turn")
        & pl.col("metric").is_in(list(metrics))
        & pl.col("value").is_not_null()
    )
    if dialogs is not None:
        wanted &= pl.col("dialog").is_in(dialogs.implode())
    turns = (
        scores.table.filter(wanted)
        .select("system", "agent", "dialog", "metric", "turn", "value")
        .collect(engine="streaming")
    )
    # Sorted, so that sums do not depend on the order in which threads have read the turns.
    return (
        turns.sort("system", "agent", "dialog", "metric", "turn")
        .group_by("system", "agent", "dialog", "metric", maintain_order=True)
        .agg(
            n=pl.len(),
            mean=pl.col("value").mean(),
            squares=((pl.col("value") - pl.col("value").mean()) ** 2).sum(),
        )
        .cast({"n": pl.Int64})
    )


@dataclass(frozen=True)
class TurnLayers:
    """The turns of one agent, dialogue by dialogue, as sums that may be added.

    Attributes:
        rows: One row a dialogue: 1, n and n², then n·mean², the squares about it and n·mean of
            each measure.
    """

    rows: Floats

    @classmethod
    def of(cls, sizes: Floats, means: Floats, squares: Floats) -> "TurnLayers":
        """From the number of turns of each dialogue, and means and squares (dialogues × measures).

        Examples:
            >>> one = TurnLayers.of(np.array([2.0]), np.array([[3.0]]), np.array([[8.0]]))
            >>> one.rows.tolist()
            [[1.0, 2.0, 4.0, 18.0, 8.0, 6.0]]
        """
        n = sizes[:, None]
        of_measures = np.stack([n * means**2, squares, n * means], axis=2)
        counts = np.column_stack([np.ones_like(sizes), sizes, sizes**2])
        return cls(np.hstack([counts, of_measures.reshape(len(sizes), _COLUMNS * means.shape[1])]))

    @property
    def dialogs(self) -> int:
        """How many dialogues there are."""
        return len(self.rows)

    @property
    def turns(self) -> int:
        """How many turns they have together."""
        return int(self.rows[:, 1].sum())

    def parts(self, measures: Sequence[int]) -> Floats:
        """Squares and degrees of freedom, one row; those of several agents may be added."""
        return _parts(self.rows.sum(axis=0, keepdims=True), measures)

    def drawn(
        self, choices: Sequence[Sequence[int]], resamples: int, rng: np.random.Generator
    ) -> list[Floats]:
        """The same for dialogues drawn anew, one array a choice of measures."""
        blocks = coarsened(np.arange(self.dialogs), rng)
        sums = np.zeros((int(blocks.max()) + 1, self.rows.shape[1]))
        np.add.at(sums, blocks, self.rows)
        drawn = resampled_sums(sums, resamples, rng)
        # Drawn means lie around the mean of the draw, not around that of all: one part in D.
        shrunk = self.dialogs / max(self.dialogs - 1, 1)
        made = [_parts(drawn, measures) for measures in choices]
        for parts in made:
            parts[:, 0] *= shrunk
        return made

    def left_out(self, measures: Sequence[int]) -> Floats:
        """The same with each dialogue left out in turn."""
        return _parts(left_out_sums(self.rows), measures)


def _parts(sums: Floats, measures: Sequence[int]) -> Floats:
    """Squares between dialogues and their freedom, those within and theirs, n0's numerator."""
    dialogs, turns, squared = sums[:, 0], sums[:, 1], sums[:, 2]
    around = np.zeros(len(sums))
    within = np.zeros(len(sums))
    filled = np.maximum(turns, 1.0)
    for measure in measures:
        first = _COUNTS + _COLUMNS * measure
        around += sums[:, first] - sums[:, first + 2] ** 2 / filled
        within += sums[:, first + 1]
    return np.column_stack(
        [
            np.maximum(around, 0.0),
            np.maximum(dialogs - 1, 0),
            within,
            turns - dialogs,
            turns - squared / filled,
        ]
    )


@dataclass(frozen=True)
class Components:
    """Variances within and between dialogues, one or many at once; NaN where there is none."""

    within: Floats
    between: Floats

    @classmethod
    def of(cls, parts: Floats) -> "Components":
        """From parts, or from sums of parts over agents.

        Examples:
            >>> sizes, means = np.array([2.0, 2.0]), np.array([[2.0], [8.0]])
            >>> table = TurnLayers.of(sizes, means, np.array([[2.0], [2.0]]))
            >>> found = Components.of(table.parts([0]))  # turns 1, 3 and 7, 9
            >>> found.within.tolist(), found.between.tolist()
            ([2.0], [17.0])
        """
        around, between_df, squares, within_df, spread = parts.T
        with np.errstate(divide="ignore", invalid="ignore"):
            within = np.where(within_df > 0, squares / within_df, np.nan)
            n0 = spread / between_df
            between = np.where(between_df > 0, (around / between_df - within) / n0, np.nan)
        return cls(within, between)

    @property
    def share_within(self) -> Floats:
        """The share of the variance of turns that lies within dialogues, from 0 to 1.

        Dialogues that lie closer together than their own turns would put them have no variance.
        """
        total = self.within + np.maximum(self.between, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(total > 1e-18, self.within / total, np.nan)


def resampled_layers(
    agents: Sequence[TurnLayers],
    choices: Sequence[Sequence[int]],
    resamples: int,
    rng: np.random.Generator,
) -> list[tuple[Resampled, Resampled]]:
    """Standard deviation within dialogues and share within, agents pooled, by choice of measures.

    Each agent's dialogues are drawn by themselves; every agent has some.
    """
    drawn = [agent.drawn(choices, resamples, rng) for agent in agents]
    made = []
    for place, measures in enumerate(choices):
        whole = [agent.parts(measures) for agent in agents]
        total = np.sum(whole, axis=0)
        point = Components.of(total)
        draws = Components.of(np.sum([one[place] for one in drawn], axis=0))
        rest = np.vstack(
            [
                total - own + agent.left_out(measures)
                for agent, own in zip(agents, whole, strict=True)
            ]
        )
        left = Components.of(rest)
        made.append(
            (
                _resampled(np.sqrt(point.within), np.sqrt(draws.within), np.sqrt(left.within)),
                _resampled(point.share_within, draws.share_within, left.share_within),
            )
        )
    return made


def _resampled(point: Floats, draws: Floats, left: Floats) -> Resampled:
    there = left[~np.isnan(left)]
    pulls = there.mean() - there if len(there) else np.zeros(1)
    return Resampled(float(point[0]), draws, pulls)
