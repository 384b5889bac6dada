"""A folder of conversations to read: known texts, people's and judges' ratings, evil names."""

from __future__ import annotations

from pathlib import Path

from dialens.corpus import Dialogue, Rating, Turn, batches, write_corpus
from tests.workbench.folders import dialens

EXAM = "I failed my exam."
CAT = "My cat died."
EVIL = "<script>alert(1)</script>"
EVIL_NAME = "x\"'><img src=y onerror=alert(2)>/../?a=b&c#d"
LONG = 450
METRICS = "length,question,emotional_entropy,language_style_matching,joy_share"


def turns(*texts: str) -> list[Turn]:
    """What a partner and an agent say in turn."""
    sides = (("Ann", "partner"), ("bot", "agent"))
    return [Turn(*sides[n % 2], text) for n, text in enumerate(texts)]


def talks() -> list[Dialogue]:
    """Three agents; two of them share two openings, one was given another, one begins itself."""
    rated = [
        Rating(rater="r1", quality="warmth", value=4.0, turn=1),
        Rating(rater="r2", quality="warmth", value=5.0, turn=1),
        Rating(rater=EVIL, rater_kind="llm", quality="warmth", value=2.0, turn=1),
        Rating(rater="r1", quality="quality", value=3.0, level="dialog"),
    ]
    sorry = "I am so sorry, that is sad. What happened?"
    return [
        Dialogue("s", "calm", "exam-calm", turns(EXAM, sorry, "Maths.", "Good luck!"), rated),
        Dialogue("s", "calm", "exam-again", turns(EXAM, "Oh no.", "Yes.", "Happy joy love.")),
        Dialogue("s", "calm", "cat-calm", turns(CAT, "How old was she?", "12.", "A long life.")),
        Dialogue("s", "curt", "exam-curt", turns(EXAM, "Bad luck.")),
        Dialogue("s", "curt", "cat-curt", turns(CAT, "Qwxj. Vbnk. Zzkq.", "Oh.", "Cats die.")),
        Dialogue("s", EVIL_NAME, EVIL_NAME, turns(EVIL, f"{EVIL} I am happy. {EVIL_NAME}")),
        Dialogue("s", "lone", "begins", [Turn("bot", "agent", "Hello there."), *turns("Hi.")]),
        Dialogue("s", "lone", "long", turns(*(f"Turn {n}, happy." for n in range(LONG)))),
    ]


def make_spoken(folder: Path) -> None:
    """The conversations as a corpus, and their scores."""
    folder.mkdir()
    source = {"name": "by hand", "format": "python"}
    write_corpus(batches(talks()), folder / "talks", source=source)
    dialens(
        folder, "score", "talks", "-o", "out", "--models", "none", "--no-cache",
        "--metrics", METRICS,
    )  # fmt: skip
