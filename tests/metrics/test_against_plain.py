"""Every level of every lexicon metric against plain loops over the same conversations."""

import pytest
from hypothesis import given, settings

from dialens.corpus import Corpus, Dialogue
from dialens.metrics import Scores, score
from tests.metrics import plain
from tests.metrics.strategies import corpora

LEXICAL = ["emotion", "style", "surface"]


def values(scores: Scores, level: str) -> dict[tuple[str | int, ...], dict[str, float | None]]:
    rows = scores.wide(level).iter_rows(named=True)
    units = ("system", "agent", "dialog", "turn")
    return {tuple(row[u] for u in units if row[u] is not None): row for row in rows}


def same(got: float | None, wanted: float | None) -> None:
    assert got == (None if wanted is None else pytest.approx(wanted, abs=1e-5))


def check(row: dict[str, float | None], own: list[str], other: list[str]) -> None:
    same(row["emotional_entropy"], plain.entropy(own))
    same(row["language_style_matching"], plain.style_matching(own, other))
    same(row["distinct_1"], plain.distinct(own, 1))
    same(row["distinct_2"], plain.distinct(own, 2))
    vector = plain.emotion_vector(own)
    share = vector[4] / sum(vector) if sum(vector) else None
    same(row["joy_share"], share)


@settings(max_examples=30, deadline=None)
@given(corpora())
def test_every_level(talks: list[Dialogue]) -> None:
    scores = score(Corpus.of(talks), metrics=LEXICAL)
    at = {level: values(scores, level) for level in ("turn", "dialog", "agent", "system")}
    for talk in talks:
        for number, turn in enumerate(talk.turns):
            if turn.role == "agent":
                row = at["turn"][talk.system, talk.agent, talk.dialog, number]
                before = [earlier.text for earlier in talk.turns[:number]]
                check(row, [turn.text], before)
                says = bool(turn.text.strip())
                same(row["specificity"], plain.specificity(turn.text) if says else None)
                same(row["question"], float("?" in turn.text) if says else None)
    groups: dict[tuple[str | int, ...], list[Dialogue]] = {}
    for talk in talks:
        groups.setdefault((talk.system, talk.agent, talk.dialog), []).append(talk)
        groups.setdefault((talk.system, talk.agent), []).append(talk)
        groups.setdefault((talk.system,), []).append(talk)
    levels = {3: "dialog", 2: "agent", 1: "system"}
    for key, members in groups.items():
        row = at[levels[len(key)]][key]
        check(row, plain.said(members, "agent"), plain.said(members, "partner"))


@settings(max_examples=30, deadline=None)
@given(corpora())
def test_emotion_matching_of_dialogues(talks: list[Dialogue]) -> None:
    got = values(score(Corpus.of(talks), metrics=LEXICAL), "dialog")
    for talk in talks:
        wanted = plain.matching(plain.said([talk], "agent"), plain.said([talk], "partner"))
        same(got[talk.system, talk.agent, talk.dialog]["emotion_matching"], wanted)
