"""A model's scores of replies, and the replies that people have rated.

Correlations with intervals come from `statistics`, by `dialens engagement evaluate`; here is what
both that command and training need: pairs of context and reply from any corpus, and one number a
pair from any model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from dialens.base import DialensError, progress
from dialens.corpus import Corpus, backgrounds
from dialens.models import (
    CONTEXT_TURNS,
    TASK,
    EngagementScorer,
    Model,
    background_pairs,
    load,
    read_card,
)
from dialens.statistics import pearson, spearman

CONTEXT_TURNS_FACT = "context_turns"
"""Where a card says how many turns before the reply its model was trained to read."""


@dataclass(frozen=True)
class RatedReplies:
    """Replies of one corpus with the mean human rating of one quality.

    Attributes:
        name: Of the corpus and the quality.
        inputs: Pairs of context and reply.
        mean: Rating of each, finite.
    """

    name: str
    inputs: list[tuple[str, str]]
    mean: np.ndarray

    def correlations(self, scores: np.ndarray) -> dict[str, float]:
        """Return Pearson's and Spearman's coefficient of scores with the ratings.

        Examples:
            >>> rated = RatedReplies("x", [("a", "b")] * 3, np.array([1.0, 2.0, 3.0]))
            >>> rated.correlations(np.array([1.0, 4.0, 9.0]))["spearman"]
            1.0
        """
        return {"pearson": pearson(scores, self.mean), "spearman": spearman(scores, self.mean)}


def reply_pairs(corpus: Corpus, units: pl.DataFrame, turns: int) -> list[tuple[str, str]]:
    r"""Return context and reply of some turns of a corpus.

    Args:
        corpus: The conversations.
        units: Columns dialog and turn; one pair a row, in its order.
        turns: How many turns before the reply make the context, joined by line breaks.

    Raises:
        DialensError: If a turn is not in the corpus.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> said = [Turn("U", "partner", "hi"), Turn("B", "agent", "hey")]
        >>> said.append(Turn("U", "partner", "?"))
        >>> corpus = Corpus.of([Dialogue("s", "bot", "d1", said)])
        >>> reply_pairs(corpus, pl.DataFrame({"dialog": ["d1"], "turn": [2]}), 2)
        [('hi\nhey', '?')]
    """
    table = (
        corpus.turns.filter(pl.col("dialog").is_in(units["dialog"].unique().implode()))
        .select("dialog", "turn", "text")
        .sort("dialog", "turn")
        .collect(engine="streaming")
    )
    texts: dict[str, list[str]] = {}
    place: dict[tuple[str, int], int] = {}
    for dialog, turn, text in table.iter_rows():
        said = texts.setdefault(dialog, [])
        place[dialog, turn] = len(said)
        said.append(text or "")
    pairs = []
    for dialog, turn in units.select("dialog", "turn").iter_rows():
        if (dialog, turn) not in place:
            raise DialensError(
                f"Turn {turn} of dialogue {dialog!r} was rated but is not in the corpus. Mend the "
                "ratings, or the turns."
            )
        here = place[dialog, turn]
        said = texts[dialog]
        pairs.append(("\n".join(said[max(0, here - turns) : here]), said[here]))
    return pairs


def reply_backgrounds(corpus: Corpus, units: pl.DataFrame) -> list[str | None]:
    """Return what some turns of a corpus were spoken from, where that is known.

    Args:
        corpus: The conversations.
        units: Columns dialog and turn; one answer a row, in its order.
    """
    wanted = units.select("dialog", "turn").with_row_index("row").lazy()
    metadata = corpus.turns.select("dialog", "turn", "meta").join(wanted, on=["dialog", "turn"])
    return backgrounds(metadata.sort("row").collect(engine="streaming"))


def open_scorer(name: str | Path) -> EngagementScorer:
    """Load a model for engagement by name or folder.

    In a folder with several tasks the one named `engagement` is taken.

    Raises:
        DialensError: If there is no such model.
    """
    path = Path(name)
    if path.is_dir() and (path / "card.json").exists():
        task = TASK if TASK in read_card(path).tasks else None
        return EngagementScorer(load(path, task))
    return EngagementScorer(load(name))


def turns_read(scorer: EngagementScorer) -> int:
    """Return how many turns before the reply a model was made to read, as its card says."""
    if isinstance(scorer.model, Model):
        return int(scorer.model.card.facts.get(CONTEXT_TURNS_FACT, CONTEXT_TURNS))
    return CONTEXT_TURNS


def engagement_scores(
    scorer: EngagementScorer,
    pairs: Sequence[tuple[str, str]],
    *,
    label: str,
    backgrounds: Sequence[str | None] | None = None,
) -> np.ndarray:
    """Return one score a pair, from 0 to 1, with a progress bar of that label."""
    known = backgrounds or [None] * len(pairs)
    again, _ = background_pairs([reply for _, reply in pairs], known)
    with progress(label, total=len(pairs) + len(again), unit="replies") as advance:
        return scorer.score(pairs, backgrounds=known, advance=advance)
