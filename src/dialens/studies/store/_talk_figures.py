"""How agents do that participants talk with: replies, failures, who was slower than the pace."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.base import counted, number
from dialens.studies._exchange import ANSWERED, GIVEN_UP, WAITING
from dialens.studies.store._tables import COMPLETED

_NOTICED_S = 0.25
"""Seconds over the pace that nobody notices, and that a busy server may take."""

_FAILED = {"agent": pl.String, "reason": pl.String}


def replies_by_agent(said: pl.DataFrame, failed: pl.DataFrame) -> list[dict[str, Any]]:
    """For each agent: conversations, replies, median seconds, and failures by reason.

    Also how many replies had a pace, how many were noticeably over it, and by how much.

    Args:
        said: In the columns of `EXCHANGES`.
        failed: In the columns of `FAILURES`.
    """
    answered, over = pl.col("state") == ANSWERED, pl.col("over_pace") > _NOTICED_S
    whole = (
        said.group_by("agent", maintain_order=True)
        .agg(
            talks=pl.struct("rater", "attempt", "talk").n_unique(),
            replies=answered.sum(),
            waiting=(pl.col("state") == WAITING).sum(),
            given_up=(pl.col("state") == GIVEN_UP).sum(),
            median_seconds=pl.col("seconds").filter(answered).median(),
            paced=pl.col("over_pace").is_not_null().sum(),
            over_pace=over.sum(),
            median_over=pl.col("over_pace").filter(over).median(),
            cost=pl.col("cost").sum(),
        )
        .sort("agent")
    )
    counts = failed.group_by("agent", "reason").len().sort("agent", "len", descending=[False, True])
    reasons: dict[str, dict[str, int]] = {}
    for agent, reason, n in counts.iter_rows():
        reasons.setdefault(agent, {})[reason] = n
    return [row | {"failures": reasons.get(row["agent"], {})} for row in whole.to_dicts()]


def pace_sentences(said: pl.DataFrame) -> list[str]:
    """Which agents were slower than the pace of the study, how often and by how much.

    Args:
        said: In the columns of `EXCHANGES`.
    """
    lines = []
    for one in replies_by_agent(said, pl.DataFrame(schema=_FAILED)):
        if one["over_pace"]:
            share = number(one["over_pace"] / one["paced"], percent=True)
            lines.append(
                f"{one['agent']} was over the pace in {share} of "
                f"{counted(one['paced'], 'reply', 'replies')}, by {number(one['median_over'], 1)} "
                "s at the median: a longer conversations.pace would hide it."
            )
    return lines


def without_replies(
    said: pl.DataFrame, failed: pl.DataFrame, words: Mapping[str, str]
) -> list[str]:
    """Where people completed a study of conversations and no agent ever answered, a sentence each.

    Args:
        said: In the columns of `EXCHANGES`.
        failed: In the columns of `FAILURES`.
        words: Of each reason for which an agent fails.
    """
    done = said.filter(pl.col("session_state") == COMPLETED)
    people = done.group_by("cell", "rater", maintain_order=True).agg(
        heard=(pl.col("state") == ANSWERED).any()
    )
    lines = []
    for (cell,), own in people.group_by("cell", maintain_order=True):
        silent = own.filter(~pl.col("heard"))["rater"].to_list()
        if not silent:
            continue
        theirs = failed.filter(pl.col("cell") == cell, pl.col("rater").is_in(silent))
        counts = theirs.group_by("agent", "reason").len().sort("len", "agent", descending=True)
        why = "; ".join(
            f"{agent} {words.get(reason, reason)}, {n:,} ×"
            for agent, reason, n in counts.iter_rows()
        )
        lines.append(
            f"{len(silent):,} of {own.height:,} completed in {cell} without a single reply: "
            f"{why or 'no reason is known'}."
        )
    return lines


def last_failures(failed: pl.DataFrame, most: int = 5) -> Sequence[dict[str, Any]]:
    """The newest failures, for the researcher to read."""
    return failed.sort("failed_at", descending=True).head(most).to_dicts()
