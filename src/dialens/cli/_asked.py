"""The metrics that a user asked for: what a name stands for, and why one has no values."""

from collections.abc import Sequence

import polars as pl

from dialens.base import DialensError, listed
from dialens.metrics import Scores, ScoringPlan, select

_MOST = 24


def selection_lines(names: Sequence[str] | None) -> list[str]:
    """What names that stand for several metrics stand for, a line each.

    Examples:
        >>> selection_lines(["engagement", "length"])
        ['engagement: a family of 3 metrics (engagement, engagement_reactions and relevance)']
    """
    lines = []
    for name in names or ():
        members = [card.name for card in select([name])]
        if len(members) > 1 and name != "all":
            some = members if len(members) <= 4 else [*members[:3], f"{len(members) - 3} more"]
            lines.append(f"{name}: a family of {len(members)} metrics ({listed(some)})")
    return lines


def asked_for(names: Sequence[str] | None, plan: ScoringPlan) -> list[str]:
    """The metrics to show because they were asked for: all of them, or of many those named."""
    if not names:
        return []
    every = [metric.name for metric in plan.metrics]
    if len(every) <= _MOST:
        return every
    return [name for name in names if name in every]


def refuse_unavailable(plan: ScoringPlan) -> None:
    """Stop before scoring where none of the metrics can have a value.

    Raises:
        DialensError: With the reasons, which say what to install.
    """
    failures = plan.failures
    if len(failures) < len(plan.metrics):
        return
    reasons: dict[str, list[str]] = {}
    for metric, reason in failures.items():
        reasons.setdefault(reason, []).append(metric)
    told = "; ".join(f"{listed(metrics)}: {reason}" for reason, metrics in reasons.items())
    raise DialensError(f"None of the metrics that were asked for can be computed here: {told}.")


def why_missing(scores: Scores, metrics: Sequence[str]) -> list[str]:
    """For metrics that no agent has a value of, the reason, a line each reason."""
    rows = scores.table.filter(pl.col("level") == "agent", pl.col("metric").is_in(list(metrics)))
    empty = (
        rows.group_by("metric", maintain_order=True)
        .agg(pl.col("value").count().alias("values"), pl.col("reason").drop_nulls().first())
        .filter(pl.col("values") == 0)
        .group_by("reason", maintain_order=True)
        .agg("metric")
        .collect()
    )
    return [f"{listed(names)}: no values ({reason})" for reason, names in empty.iter_rows()]
