"""A folder whose differences and ratings are known by hand.

`long` and a hostile name answered the same twelve openings, `other` eight of its own; replies are
so many words, so that the metric `length` is what is written here.
"""

from __future__ import annotations

from pathlib import Path

from dialens.corpus import Dialogue, Rating, Turn, batches, write_corpus
from tests.workbench.folders import QUICK, dialens

CURT = """<img src=x onerror=alert(1)> "&amp;/.."""
LONG_WORDS = (1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
CURT_WORDS = (3, *[1] * 11)
OTHER_WORDS = (*[4] * 7, 12)


def opening(case: int) -> str:
    """What is answered; the last tries to be a script."""
    return f"Story {case}: <script>alert({case})</script>, what do you say?"


def rating(case: int) -> float:
    """What everybody says of a reply to a case."""
    return 1.0 + case % 5


def _talk(agent: str, case: int, said: str, words: int, ratings: list[Rating]) -> Dialogue:
    turns = [Turn("partner", "partner", said), Turn(agent, "agent", " ".join(["well"] * words))]
    return Dialogue("s", agent, f"{agent}-{case}", turns, ratings)


def _said(case: int, raters: int) -> list[Rating]:
    people = [
        Rating(quality="warmth", value=rating(case), turn=1, rater=f"r{rater}")
        for rater in range(raters)
    ]
    judged = rating(case) + (1.0 if case % 2 else 0.5)
    judge = Rating(quality="warmth", value=judged, turn=1, rater="j1", rater_kind="llm")
    return [*people, judge]


def conversations() -> list[Dialogue]:
    """Thirty-two dialogues of three agents; those of two of them are rated."""
    made = []
    for case, (long, curt) in enumerate(zip(LONG_WORDS, CURT_WORDS, strict=True)):
        made.append(_talk("long", case, opening(case), long, _said(case, 2)))
        made.append(_talk(CURT, case, opening(case), curt, _said(case, 1)))
    for case, words in enumerate(OTHER_WORDS):
        made.append(_talk("other", case, f"Something else, {case}", words, []))
    return made


def make_rated(folder: Path) -> None:
    """The corpus, its scores and their comparison, made by the commands."""
    folder.mkdir(parents=True)
    source = {"name": "by hand", "format": "openai"}
    write_corpus(batches(conversations()), folder / "talks", source=source)
    dialens(folder, "score", "talks", "-o", "scores", *QUICK)
    dialens(folder, "compare", "scores", "-o", "compared")
