"""Cycles of comments that answer each other, of any length: damage, of which no post is made.

Whatever the order of comments, a cycle has a step that goes backwards in it. In the order of time
such steps are few or none, so that only their threads are looked at.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl


def write_cycles(related: Sequence[Path], folder: Path) -> None:
    """Write the ids of all comments that are part of a cycle.

    Args:
        related: Files of the comments with a reply, `backwards` if the parent does not come first.
        folder: Where the table goes.
    """
    comments = pl.scan_parquet(list(related))
    threads = comments.filter("backwards").select("thread").unique().collect(engine="streaming")
    if threads.is_empty():
        ids = pl.Series(dtype=pl.String)
    else:
        ids = on_cycles(_answers(comments, threads))
    ids.alias("id").to_frame().write_parquet(folder / "part-00000.parquet")


def _answers(comments: pl.LazyFrame, threads: pl.DataFrame) -> pl.DataFrame:
    """Ids and parents in some threads, and in others if a comment there is answered from these."""
    # In a cycle every parent is a comment, and in the data.
    answers = comments.filter(
        ~pl.col("parent_is_submission"), pl.col("parent_replies").is_not_null()
    ).select("id", "parent_id", "thread")
    more = answers.join(threads.lazy(), on="thread", how="semi").collect(engine="streaming")
    reached = more
    while not more.is_empty():
        elsewhere = reached.join(reached, left_on="parent_id", right_on="id", how="anti")
        wanted = elsewhere.lazy().select(id="parent_id")
        more = answers.join(wanted, on="id", how="semi").collect(engine="streaming")
        reached = pl.concat([reached, more])
    return reached


def on_cycles(answers: pl.DataFrame) -> pl.Series:
    """The ids, in order, from which the way up leads back to them.

    Examples:
        >>> answers = pl.DataFrame({"id": ["a", "b", "c", "d"], "parent_id": ["c", "a", "b", "a"]})
        >>> on_cycles(answers).to_list()
        ['a', 'b', 'c']
    """
    top = answers.height
    places = answers.select(parent_id="id").with_row_index("above")
    above = answers.join(places, on="parent_id", how="left", maintain_order="left")["above"]
    reached = np.append(above.fill_null(top).to_numpy(), top)
    # Everyone goes up at once, twice as far each time, until further than there are comments. Who
    # is not at the top by then goes round and round: all places in which somebody is are on cycles.
    for _ in range(top.bit_length()):
        reached = reached[reached]
    places_on_cycles = np.unique(reached)[:-1]
    return answers["id"].gather(places_on_cycles).sort()
