"""What a reader has to know before the first number: who rated, and what was announced."""

from collections.abc import Sequence

import polars as pl

from dialens.analysis.bias import (
    LATE,
    LEFT_OUT,
    LOST,
    OVER_PACE,
    TAKEN_AS_POINTS,
    UNFINISHED,
    StudyData,
)
from dialens.analysis.judges import MODELS
from dialens.base import capitalised, counted
from dialens.corpus import kind_of_rater
from dialens.report._page import Remark

SIMULATED = "simulated"
_HUMAN = "human"
_WORDS = {SIMULATED: "simulated", "llm": "language models"}


def kinds_of(data: StudyData) -> dict[str, int]:
    """How many raters there are of each kind; ratings that do not say count as people's."""
    if "rater_kind" not in data.ratings.columns:
        return {_HUMAN: data.raters.height}
    counts = (
        data.ratings.group_by(kind_of_rater()).agg(pl.col("rater").n_unique()).sort("rater_kind")
    )
    return {str(name): int(count) for name, count in counts.iter_rows()}


def all_simulated(data: StudyData) -> bool:
    """Whether nobody in the data is real."""
    return set(kinds_of(data)) == {SIMULATED}


def all_models(data: StudyData) -> bool:
    """Whether only language models took the study."""
    return set(kinds_of(data)) == set(MODELS)


def rater_word(data: StudyData) -> str:
    """What raters are called where they are counted."""
    if all_models(data):
        return "language model"
    return "simulated rater" if all_simulated(data) else "rater"


def rater_subject(data: StudyData) -> str:
    """Who preferred something, as a sentence about all raters begins."""
    subjects = {_HUMAN: "People", SIMULATED: "Simulated raters", "llm": "Language models"}
    kinds = list(kinds_of(data))
    return subjects.get(kinds[0], "Raters") if len(kinds) == 1 else "Raters"


def how_taken(data: StudyData) -> list[Remark]:
    """Says what was left out, and that ratings were taken as points where no scale is named."""
    titles = {
        TAKEN_AS_POINTS: "Taken as points",
        LEFT_OUT: "Left out",
        UNFINISHED: "Not all finished",
        LATE: "Late answers",
        LOST: "Conversations lost",
        OVER_PACE: "Not all at the same pace",
    }
    of_agents = (LOST, OVER_PACE)  # these begin with a name
    remedy = {UNFINISHED: " (--completed-only leaves out who did not complete it)"}
    return [
        Remark(
            titles[note.part],
            f"{note.reason if note.part in of_agents else capitalised(note.reason)}"
            f"{remedy.get(note.part, '')}.",
            warning=True,
        )
        for note in data.notes
        if note.part in titles
    ]


def who_rated(data: StudyData, put_in: Sequence[str] = ()) -> list[Remark]:
    """A warning where not all raters are people.

    Args:
        data: The study.
        put_in: What is known of how raters were simulated, one line each.
    """
    kinds = kinds_of(data)
    strange = {kind: count for kind, count in kinds.items() if kind != _HUMAN}
    if not strange:
        return []
    if set(kinds) == {SIMULATED}:
        text = (
            f"All {counted(kinds[SIMULATED], 'rater')} are simulated. Nobody was asked: what "
            "follows shows what the analysis finds in answers whose biases are known, and says "
            "nothing about people or about the agents."
        )
        return [Remark("Simulated data", text, list(put_in), warning=True)]
    total = sum(kinds.values())
    parts = [f"{count:,} {_WORDS.get(kind, kind)}" for kind, count in strange.items()]
    if all_models(data):
        text = (
            f"{capitalised(counted(total, 'language model'))} took this study, and no person was "
            "asked. Each counts as one rater: its repeats and prompts are averaged."
        )
        return [Remark("No people", text, list(put_in), warning=True)]
    text = (
        f"Of {counted(total, 'rater')}, {' and '.join(parts)} and {kinds.get(_HUMAN, 0):,} people. "
        "The numbers below take them together."
    )
    return [Remark("Not only people", text, list(put_in), warning=True)]
