"""Whether states vary within dialogues: how far emotions move from turn to turn."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.profiles import (
    ALIKE,
    ALL_EMOTIONS,
    ALL_EMOTIONS_CLASSIFIER,
    NO_TURN,
    ONE_TURN,
    AgentProfile,
    Movement,
    movement_verdict,
)
from dialens.base import counted
from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report._interval_chart import Mark
from dialens.report.profile._charts import Words, yardstick_chart
from dialens.report.profile._words import (
    Answer,
    alone,
    names_of,
    percent,
    reason,
    unknown,
    with_interval,
    worded,
)

STATES = "profile-states"
_LABELS = {
    ALL_EMOTIONS: "All eight emotions",
    ALL_EMOTIONS_CLASSIFIER: "27 emotions, by classifier",
}


def states_answer(digest: Digest, profile: AgentProfile) -> Answer:
    """Do states vary within dialogues?"""
    question = "Do states vary within dialogues?"
    table = profile.states
    verdict = movement_verdict(table)
    if verdict.kind is Movement.UNSCORED:
        return unknown(STATES, question, reason(verdict.kind, ""))
    if verdict.kind is Movement.UNKNOWN:
        return unknown(STATES, question, _why_not(verdict.why))
    pooled, whole, one = verdict.pooled, verdict.whole, alone(digest)
    sentences = [
        _share(pooled[whole], one=one),
        _most(digest, pooled, whole),
        "" if one else _ends(digest, table, whole),
        _second(pooled[verdict.second]) if verdict.second else "",
    ]
    shown = [name for name in pooled if pooled[name]["sd_within"] is not None]
    return Answer(
        STATES,
        question,
        *worded(verdict.kind, one=one),
        [sentence for sentence in sentences if sentence],
        "Emotions by lexicon jump from turn to turn where turns hold few emotion words, whatever "
        "the agent feels like."
        if whole == ALL_EMOTIONS
        else "",
        _charts(digest, table, shown),
        [] if one else [(name, _label(digest, name)) for name in shown],
        "State",
    )


def _is_part(digest: Digest, state: str) -> bool:
    """Whether it is one of the eight emotions."""
    return state in digest.cards and digest.cards[state].part_of == ALL_EMOTIONS


def _label(digest: Digest, name: str) -> str:
    return _LABELS.get(name) or digest.label(name)


def _why_not(reason: str) -> str:
    return {
        NO_TURN: "No single turn of an agent carries an emotion word in these scores.",
        ONE_TURN: "Every dialogue holds one turn of the agent that carries emotion words, so "
        "nothing can move within it.",
    }.get(reason, f"Not from these turns: {reason}.")


def _share(row: Mapping[str, Any], *, one: bool) -> str:
    counts = (
        f"{counted(row['n_dialogs'], 'dialogue')}, {counted(row['n_turns'], 'turn')} with a value"
    )
    if row["reason"] == ALIKE:
        return f"Every turn carries the same emotions ({counts})."
    if row["share"] is None:
        return (
            "Whether they move more within dialogues than between them cannot be told, as no agent "
            f"has two dialogues to compare ({counts})."
        )
    whose = "the agent’s" if one else "an agent’s"
    return (
        f"How {whose} emotions change: turns within a dialogue account for "
        f"{percent(row['share'], row['share_low'], row['share_high'])} of the changes, one "
        f"dialogue unlike another for the rest ({counts})."
    )


def _most(digest: Digest, pooled: Mapping[str, Mapping[str, Any]], whole: str) -> str:
    """The emotion that moves most, in points of its share."""
    parts = [
        row
        for name, row in pooled.items()
        if _is_part(digest, name) and row["sd_within"] is not None
    ]
    if whole != ALL_EMOTIONS or not parts or pooled[whole]["reason"] == ALIKE:
        return ""
    row = max(parts, key=lambda one: one["sd_within"])
    low, high = (None if row[end] is None else 100 * row[end] for end in ("low", "high"))
    return (
        f"{digest.label(row['state'])} moves most: its share by "
        f"{with_interval(100 * row['sd_within'], low, high, 0)} percentage points around "
        "the mean of the dialogue (standard deviation)."
    )


def _ends(digest: Digest, table: pl.DataFrame, whole: str) -> str:
    """The agents that move most and least, where their intervals lie apart."""
    names = names_of(digest)
    rows = table.filter(
        pl.col("agent").is_not_null(), pl.col("state") == whole, pl.col("low").is_not_null()
    ).to_dicts()
    if len(rows) < 2:
        return ""
    top, bottom = (pick(rows, key=lambda row: row["sd_within"]) for pick in (max, min))
    if top["low"] <= bottom["high"]:
        return "No agent moves clearly more than another."
    most, least = (
        f"{names[row['system'], row['agent']]} "
        f"{{}}, by {with_interval(row['sd_within'], row['low'], row['high'], 2)}"
        for row in (top, bottom)
    )
    return f"All emotions together, {most.format('moves most')}, and {least.format('least')}."


def _second(row: Mapping[str, Any]) -> str:
    if row["share"] is None:
        return ""
    share = percent(row["share"], row["share_low"], row["share_high"])
    return f"By a classifier that reads whole turns, those within a dialogue account for {share}."


def _charts(digest: Digest, table: pl.DataFrame, shown: Sequence[str]) -> dict[str, Chart]:
    rows = table.filter(pl.col("agent").is_not_null(), pl.col("sd_within").is_not_null()).to_dicts()
    if alone(digest):
        parts = [row for row in rows if _is_part(digest, row["state"])] or rows
        return {
            "": _chart(
                digest, [(digest.label(row["state"]), row) for row in parts], "Emotion", "emotions"
            )
        }
    names = names_of(digest)
    made = {}
    for state in shown:
        chosen = [(names[r["system"], r["agent"]], r) for r in rows if r["state"] == state]
        if chosen:
            made[state] = _chart(digest, chosen, "Agent", _label(digest, state).lower())
    return made


def _chart(
    digest: Digest, named: Sequence[tuple[str, Mapping[str, Any]]], head: str, what: str
) -> Chart:
    is_share = all(_is_part(digest, row["state"]) for _, row in named)
    marks = [
        Mark(name, row["sd_within"], row["low"], row["high"], tick=row["sd_between"])
        for name, row in named
    ]
    note = "The dot is how far turns differ within a dialogue, with its 95 % interval"
    if any(mark.tick is not None for mark in marks):
        note += (
            "; the tick is how far dialogues differ from each other. States lie right of it, "
            "traits would lie left"
        )
    words = Words(
        "Movement within a dialogue, standard deviation",
        "within dialogues",
        "between dialogues",
        f"How far {what} move within dialogues, with 95 % intervals, and how far dialogues differ.",
        f"{note}.",
    )
    rows = [
        (
            name,
            with_interval(row["sd_within"], row["low"], row["high"], 3),
            "–" if row["sd_between"] is None else f"{row['sd_between']:.3f}",
            percent(row["share"], row["share_low"], row["share_high"]),
            row["n_dialogs"],
            row["n_turns"],
        )
        for name, row in named
    ]
    heads = (head, "Within dialogues (95 % interval)", "Between dialogues", "Share within",
             "Dialogues", "Turns")  # fmt: skip
    return yardstick_chart(marks, words, heads, rows, from_zero=True, percent=is_share)
