"""Whom an agent matches: its own partner, or anybody."""

from collections.abc import Mapping, Sequence
from typing import Any

from dialens.analysis.profiles import AgentProfile, beyond_chance, matches_its_own, matching_verdict
from dialens.base import counted, listed
from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report._interval_chart import Mark
from dialens.report.profile._charts import Words, yardstick_chart
from dialens.report.profile._words import (
    Answer,
    alone,
    is_known,
    names_of,
    reason,
    unknown,
    with_interval,
    worded,
)

MATCHING = "profile-matching"
_MOST_NAMED = 3


def matching_answer(digest: Digest, profile: AgentProfile) -> Answer:
    """Whom do the agents match?"""
    one = alone(digest)
    question = f"Whom {'does the agent' if one else 'do the agents'} match?"
    verdict = matching_verdict(profile.matching)
    if not is_known(verdict.kind):
        return unknown(MATCHING, question, reason(verdict.kind, verdict.why))
    rows, metrics = verdict.rows, verdict.metrics
    return Answer(
        MATCHING,
        question,
        *worded(verdict.kind, one=one),
        [_sentence(digest, name, [r for r in rows if r["metric"] == name]) for name in metrics],
        "Anybody’s words match anybody’s to some degree, so an agent is also held against the "
        "partners of its other dialogues. Intervals are over dialogues; tests are corrected.",
        _charts(digest, rows, metrics),
        [] if one else [(name, digest.label(name)) for name in metrics],
        "Matching",
    )


def _sentence(digest: Digest, metric: str, rows: Sequence[Mapping[str, Any]]) -> str:
    side = f"In {digest.cards[metric].matches}"
    names = names_of(digest)
    ordered = sorted(rows, key=lambda row: -row["excess"])
    close = [row for row in ordered if matches_its_own(row)]
    if len(rows) == 1:
        (row,) = rows
        who = "it" if alone(digest) else names[row["system"], row["agent"]]
        if row["p"] is None:
            return f"{side}, {who} cannot be judged: {row['reason']}."
        away = beyond_chance(row) and row["excess"] < 0
        how = "more than" if close else "less than" if away else "no more than"
        return (
            f"{side}, {who} matches its own partner {how} the partners of its other dialogues: "
            f"{_by(row)} above them ({counted(row['n_dialogs'], 'dialogue')})."
        )
    total = sum(row["n_dialogs"] for row in rows)
    counts = f"({counted(len(rows), 'agent')}, {counted(total, 'dialogue')})"
    if not close:
        top = ordered[0]
        return (
            f"{side}, no agent matches its own partner more than others’: the most is "
            f"{names[top['system'], top['agent']]} with {_by(top)} {counts}."
        )
    (first, *more) = [(names[r["system"], r["agent"]], _by(r)) for r in close[:_MOST_NAMED]]
    others = "".join(f", {name} by {by}" for name, by in more)
    start = side
    if len(close) > _MOST_NAMED:
        start = f"{side}, {len(close)} of {len(rows)} agents match their own partner; most of all"
    told = f"{start}, {first[0]} matches its own partner by {first[1]} more than others’{others}"
    return f"{told}{_rest(names, rows, close)} {counts}."


def _rest(
    names: Mapping[tuple[str, str], str],
    rows: Sequence[Mapping[str, Any]],
    close: Sequence[Mapping[str, Any]],
) -> str:
    """Who does not, where they are few enough to name."""
    rest = [names[row["system"], row["agent"]] for row in rows if row not in close]
    if not rest or len(close) > _MOST_NAMED:
        return ""
    if len(rest) > 2:
        return f"; the other {len(rest)} do not"
    return f"; {listed(rest)} {'does' if len(rest) == 1 else 'do'} not"


def _by(row: Mapping[str, Any]) -> str:
    return with_interval(row["excess"], row["low"], row["high"], 2)


def _charts(
    digest: Digest, rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]
) -> dict[str, Chart]:
    if alone(digest):
        return {
            "": _chart([(digest.label(row["metric"]), row) for row in rows], "Matching", "matching")
        }
    names = names_of(digest)
    return {
        metric: _chart(
            [(names[r["system"], r["agent"]], r) for r in rows if r["metric"] == metric],
            "Agent",
            digest.label(metric).lower(),
        )
        for metric in metrics
    }


def _chart(named: Sequence[tuple[str, Mapping[str, Any]]], head: str, what: str) -> Chart:
    marks = [
        Mark(
            name,
            row["match"],
            # The interval is that of the excess, so it is seen whether it reaches the tick.
            None if row["low"] is None else row["others"] + row["low"],
            None if row["high"] is None else row["others"] + row["high"],
            tick=row["others"],
        )
        for name, row in named
    ]
    words = Words(
        "Match (1 is the closest)",
        "with its partner",
        "with other partners",
        f"{what.capitalize()} with the agent's own partners, beside that with the partners of its "
        "other dialogues.",
        "The dot is the match with its own partners, the tick that with the partners of its other "
        "dialogues, the line the 95 % interval of their distance: where it leaves out the tick, "
        "the two differ.",
    )
    rows = [
        (
            name,
            f"{row['match']:.3f}".replace("-", "−"),
            f"{row['others']:.3f}".replace("-", "−"),
            with_interval(row["excess"], row["low"], row["high"], 3),
            "–" if row["p_adjusted"] is None else f"{row['p_adjusted']:.3f}",
            row["n_dialogs"],
        )
        for name, row in named
    ]
    heads = (head, "Own partners", "Other partners", "Difference (95 % interval)", "p, corrected",
             "Dialogues")  # fmt: skip
    return yardstick_chart(marks, words, heads, rows, from_zero=False)
