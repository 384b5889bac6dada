"""Conversations that did not come to their end: which, why, and whether one agent loses more.

A conversation is whole if it ended as the study lets it end: all messages written, ended by the
participant who may, by the time, or by an agent that has nothing more to say.
"""

import numpy as np
import polars as pl

from dialens.base import counted, listed, number, p_value
from dialens.studies._exchange import (
    AGENT_FAILED,
    FAILED,
    GIVEN_UP,
    LEFT,
    LEFT_AFTER_FAILURE,
    PARTIAL,
)
from dialens.studies.store._tables import COMPLETED, LIVE, RESTARTED

_LOST = (LEFT, LEFT_AFTER_FAILURE, AGENT_FAILED)
_TALK = ("rater", "attempt", "talk")
_CLEAR = 0.05


def with_partial(said: pl.DataFrame) -> pl.DataFrame:
    """Exchanges with `partial`, and `partial_reason` where that is true.

    Args:
        said: With state, reason and session of each exchange, and how its conversation `ended`.
    """
    broken = (pl.col("state") == GIVEN_UP) & pl.col("reason").ne_missing("ended")
    whole = pl.col("talk").str.extract(r"^([^-]+-[^-]+)")
    failed = broken.any().over(_TALK)
    beside = broken.any().over("rater", "attempt", whole)
    last = pl.col("state").sort_by("number").last().over(_TALK)
    session = pl.col("session_state")
    reason = (
        pl.when((session == RESTARTED) & pl.col("ended").is_null())
        .then(pl.lit("begun_anew"))
        .when(failed)
        .then(pl.lit(AGENT_FAILED))
        .when(beside)
        .then(pl.lit("other_agent_failed"))
        .when(pl.col("ended").is_not_null() | (session == COMPLETED))
        .then(pl.lit(None, pl.String))
        .when(session == LIVE)
        .then(pl.lit("under_way"))
        .when(last == FAILED)
        .then(pl.lit(LEFT_AFTER_FAILURE))
        .otherwise(pl.lit(LEFT))
    )
    return said.with_columns(partial_reason=reason).with_columns(
        partial=pl.col("partial_reason").is_not_null()
    )


def lost_by_agent(said: pl.DataFrame) -> pl.DataFrame:
    """For each agent how many conversations were begun and lost, and p against the other agents.

    What is still under way, begun anew, or ended by the failure of the agent beside it says
    nothing of an agent, and does not count. P is Fisher's exact test, corrected for the agents.

    Args:
        said: In the columns of `EXCHANGES`.
    """
    counts = pl.col("partial_reason").is_null() | pl.col("partial_reason").is_in(_LOST)
    talks = said.filter(counts).unique(_TALK, maintain_order=True)
    agents = (
        talks.group_by("agent")
        .agg(
            begun=pl.len(),
            lost=pl.col("partial").sum(),
            **{why: (pl.col("partial_reason") == why).sum() for why in _LOST},
        )
        .sort("agent")
    )
    if agents.height < 2 or not agents["lost"].sum():
        return agents.with_columns(p=pl.lit(None, pl.Float64))
    from scipy import stats

    from dialens.statistics import corrected

    lost, begun = agents["lost"].sum(), agents["begun"].sum()
    p = []
    for one, n in agents.select("lost", "begun").iter_rows():
        against = np.array([[one, n - one], [lost - one, begun - n - lost + one]])
        p.append(float(stats.fisher_exact(against).pvalue))
    tested = corrected(agents.with_columns(p=pl.Series(p)), family=None)
    return tested.drop("p").rename({"p_adjusted": "p"})


def partial_sentences(said: pl.DataFrame) -> list[str]:
    """How many conversations of each agent are partial, and which agent loses more than the rest.

    Args:
        said: In the columns of `EXCHANGES`.
    """
    agents = lost_by_agent(said)
    lines = []
    for row in agents.filter(pl.col("lost") > 0).iter_rows(named=True):
        why = [f"{row[name]:,} × {PARTIAL[name]}" for name in _LOST if row[name]]
        lines.append(
            f"{row['agent']}: {row['lost']:,} of {counted(row['begun'], 'conversation')} "
            f"{'is' if row['lost'] == 1 else 'are'} partial ({listed(why)})."
        )
    lost, begun = agents["lost"].sum(), agents["begun"].sum()
    for row in agents.iter_rows(named=True):
        rest = (lost - row["lost"]) / (begun - row["begun"]) if begun > row["begun"] else 1.0
        share = row["lost"] / row["begun"]
        if row["p"] is None or row["p"] >= _CLEAR or share <= rest:
            continue
        lines.append(
            f"{row['agent']} loses more conversations than the others, "
            f"{number(share, percent=True)} against {number(rest, percent=True)} "
            f"(p {p_value(row['p'], equals=True)}): those who stayed are a selection, and ratings "
            "of it may look better than it is."
        )
    return lines
