"""What has to be known of a study's conversations before its ratings are read.

Conversations that did not come to their end, which agent loses more of them, and which was slower
than the pace that was to hide its speed.
"""

from pathlib import Path

import polars as pl

from dialens.analysis.bias._scales import LEFT_OUT, LOST, OVER_PACE, Note
from dialens.base import counted
from dialens.studies.store import EXCHANGES, pace_sentences, partial_sentences

_EXCHANGES = "exchanges.parquet"


def without_partial(ratings: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Ratings without those of whole conversations that did not come to their end.

    Replies in them were judged as they are, and count.

    Examples:
        >>> table = pl.DataFrame({"level": ["turn", "dialog"], "partial": [True, True]})
        >>> kept, notes = without_partial(table)
        >>> kept["level"].to_list(), notes[0].reason
        (['turn'], '1 rating of whole conversations that are partial (--with-partial counts them)')
    """
    if not {"partial", "level"} <= set(ratings.columns):
        return ratings, []
    marked = pl.col("partial").cast(pl.String).str.to_lowercase() == "true"
    gone = (marked & (pl.col("level") == "dialog")).fill_null(value=False)
    kept = ratings.filter(~gone)
    if kept.height == ratings.height:
        return ratings, []
    many = counted(ratings.height - kept.height, "rating")
    reason = f"{many} of whole conversations that are partial (--with-partial counts them)"
    return kept, [Note(LEFT_OUT, reason)]


def talk_notes(source: Path) -> list[Note]:
    """Which agent loses conversations, and which was slower than the pace; of an export alone."""
    file = source / _EXCHANGES
    if not file.is_file():
        return []
    said = pl.read_parquet(file)
    if not set(EXCHANGES.names()) <= set(said.columns):
        return []
    lost, slow = partial_sentences(said), pace_sentences(said)
    notes = [Note(LOST, " ".join(lost).removesuffix("."))] if lost else []
    return [*notes, *([Note(OVER_PACE, " ".join(slow).removesuffix("."))] if slow else [])]
