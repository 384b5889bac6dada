"""What judges did not answer, where their ratings are analysed."""

from pathlib import Path

import polars as pl

from dialens.base import listed
from dialens.report import Remark

_FILE = "judges.parquet"
_ANSWERED = "answered"
_MOST_CONDITIONS = 8


def judges_missing(folder: Path) -> list[Remark]:
    """A warning for every judge that left screens unanswered, by condition where these differ.

    Args:
        folder: An export; one without judges, or a plain table of ratings, has nothing to say.

    Examples:
        >>> judges_missing(Path("nowhere"))
        []
    """
    path = folder / _FILE
    if not path.is_file():
        return []
    rows = pl.read_parquet(path, columns=["judge", "condition", "state"])
    return [
        Remark(f"Judge {judge}", f"{text}.", warning=True)
        for (judge,), part in rows.group_by("judge", maintain_order=True)
        if (text := _told(part)) is not None
    ]


def _told(rows: pl.DataFrame) -> str | None:
    lost = rows.filter(pl.col("state") != _ANSWERED)
    if not lost.height:
        return None
    states = lost.group_by("state", maintain_order=True).len().iter_rows()
    why = listed([f"{count:,} {state.replace('_', ' ')}" for state, count in states])
    told = f"{lost.height:,} of {rows.height:,} screens have no answer ({why})"
    if lost.height == rows.height:
        return f"{told}: nothing is known of this judge"
    conditions = rows.group_by("condition", maintain_order=True).agg(
        lost=(pl.col("state") != _ANSWERED).sum(), n=pl.len()
    )
    shares = (conditions["lost"] / conditions["n"]).round(3)
    if shares.n_unique() < 2:
        return f"{told}, as many in every condition" if conditions.height > 1 else told
    worst = conditions.filter(pl.col("lost") > 0).head(_MOST_CONDITIONS)
    where = [f"{name} {missing:,} of {n:,}" for name, missing, n in worst.iter_rows()]
    return f"{told}, not evenly: {listed(where)}. Conditions differ in what was judged at all"
