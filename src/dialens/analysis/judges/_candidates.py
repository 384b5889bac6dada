"""Which judge stands beside people: each, each prompt of one, or all together; chosen honestly.

The best of several judges, found on the very ratings that it then corrects, looks better than it
is. Where there are several, each part of the dialogues gets the judge that goes best with people on
the other parts.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.base import counted, listed
from dialens.statistics import Floats
from dialens.statistics.judges import cross_fitted

TOGETHER = "all judges together"
_ENOUGH = 0.5


@dataclass(frozen=True)
class Beside:
    """What a judge said, reply by reply, around the agent's mean and in standard deviations.

    Attributes:
        judge: Its name, or how often each was chosen.
        replies: response, agent, dialog, `score`; whether people have `rated` it.
        notes: What is to be known of the choice.
        reason: Why there is no judge to be used.
    """

    judge: str
    replies: pl.DataFrame
    notes: tuple[str, ...] = ()
    reason: str | None = None


def judge_beside(people: pl.DataFrame, machines: pl.DataFrame, *, seed: int = 0) -> Beside:
    """One score a reply, by the judge there is or by the one that fits people best.

    Args:
        people: response, agent, dialog, value of one quality.
        machines: The same with `judge`, and `prompt` where there are several.
        seed: Of the deal of dialogues into parts.
    """
    columns, notes = _columns(machines)
    replies = machines.select("response", "agent", "dialog").unique("response", maintain_order=True)
    for values in columns.values():
        replies = replies.join(values, on="response", how="inner", maintain_order="left")
    rated = people.group_by("response").agg(said=pl.col("value").mean())
    replies = replies.join(rated, on="response", how="left", maintain_order="left")
    replies = replies.with_columns(rated=pl.col("said").is_not_null())
    names, scores = _standard(replies, list(columns))
    if not names:
        judges = machines["judge"].unique(maintain_order=True).to_list()
        why = f"{listed(judges)} gave every reply of an agent the same rating: nothing to learn"
        return Beside(listed(judges), replies.with_columns(score=pl.lit(0.0)), tuple(notes), why)
    if machines["judge"].n_unique() > 1 and len(names) > 1:
        names.append(TOGETHER)
        scores = np.column_stack([scores, scores.mean(axis=1)])
    if len(names) == 1:
        kept = replies.with_columns(score=pl.Series(scores[:, 0]))
        return Beside(names[0], kept, tuple(notes))
    known = replies["rated"].to_numpy()
    own = pl.col("said") - pl.col("said").mean().over("agent")
    part = replies.filter("rated").with_columns(own=own)
    if not part.height:
        return Beside(names[0], replies.with_columns(score=pl.Series(scores[:, 0])), tuple(notes))
    fitted = cross_fitted(
        part["own"].to_numpy(), scores[known], scores[~known],
        clusters=part["dialog"].to_list(), seed=seed,
    )  # fmt: skip
    score = np.empty(len(scores))
    score[known], score[~known] = fitted.judge, fitted.alone
    uses = Counter(names[at] for at in fitted.chosen).most_common()
    label = uses[0][0]
    if len(uses) > 1:
        label = listed([f"{name} ({count} of {len(fitted.chosen)})" for name, count in uses])
    notes.append(f"chosen among {len(names)}, on dialogues other than those it is used on")
    return Beside(label, replies.with_columns(score=pl.Series(score)), tuple(notes))


def _columns(machines: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Every candidate's mean rating of each reply; those that rated much less are left out."""
    found: dict[str, pl.DataFrame] = {}
    for (judge,), part in machines.group_by(["judge"], maintain_order=True):
        pieces = {str(judge): part}
        if "prompt" in part.columns and part["prompt"].n_unique() > 1:
            for (prompt,), piece in part.group_by(["prompt"], maintain_order=True):
                pieces[f"{judge}/{prompt}"] = piece
        for name, piece in pieces.items():
            mean = pl.col("value").mean().alias(name)
            found[name] = piece.group_by("response", maintain_order=True).agg(mean)
    most = max(one.height for one in found.values())
    kept = {name: one for name, one in found.items() if one.height >= _ENOUGH * most}
    out = [name for name in found if name not in kept]
    if not out:
        return kept, []
    told = f"{listed(out)} rated less than half as many replies as another and is left out"
    return kept, [told]


def _standard(replies: pl.DataFrame, names: list[str]) -> tuple[list[str], Floats]:
    """Scores around the mean of the agent, in standard deviations; constant judges are left out."""
    kept, columns = [], []
    for name in names:
        around = replies.select(pl.col(name) - pl.col(name).mean().over("agent"))[name].to_numpy()
        spread = float(np.sqrt(np.mean(np.square(around)))) if len(around) else 0.0
        if spread > 1e-9:
            kept.append(name)
            columns.append(around / spread)
    return kept, np.column_stack(columns) if columns else np.zeros((replies.height, 0))


def few_dialogs(count: int, least: int) -> str | None:
    """A warning where so few dialogues were rated that intervals miss too often."""
    if count >= least:
        return None
    return (
        f"people rated only {counted(count, 'dialogue')}: intervals miss more often than they say"
    )
