"""What coders flagged, as ratings: counts, agreement, and a table for others.

A flag that is not set says something only where the coder looked. A coder has looked at a
conversation in which they set at least one flag or wrote a note; all of its agent's turns then have
a value for every code, 1 or 0. Conversations that a coder left without any mark do not count.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.corpus import RATINGS
from dialens.statistics.agreement import measure_agreement
from dialens.workbench._index import Index
from dialens.workbench._notebook import WHOLE, Notebook

STUDY = "workbench"
_ALPHA = "alpha_nominal"


@dataclass(frozen=True)
class CodeCount:
    """How often a code was given.

    Attributes:
        number: The key.
        name: Of the code book; the number where it has none.
        meaning: Of the code book.
        turns: Turns with the flag, by whomever.
        dialogs: Conversations with the flag on them as a whole.
        by_coder: Units with the flag, by coder.
        alpha: Krippendorff's alpha of the coders (nominal); None where it cannot be computed.
        low: Lower end of its 95 % interval.
        high: Upper end.
        turns_compared: Turns that at least two coders looked at.
        reason: Why there is no alpha, or no interval.
    """

    number: int
    name: str
    meaning: str
    turns: int
    dialogs: int
    by_coder: dict[str, int]
    alpha: float | None
    low: float | None
    high: float | None
    turns_compared: int
    reason: str


def coded_ratings(index: Index, notebook: Notebook) -> pl.DataFrame:
    """A row a coder, code and turn that the coder looked at; columns as `RATINGS`, and `source`.

    `value` is 1 where the flag is set and 0 where it is not.
    """
    flags, notes = notebook.flags(), notebook.notes()
    names = {code.number: code.name for code in notebook.codes()}
    codes = sorted({*flags["code"].to_list(), *names})
    looked = pl.concat(
        [flags.select("source", "dialog", "coder"), notes.select("source", "dialog", "coder")]
    ).unique()
    if not looked.height or not codes:
        return pl.DataFrame(schema=[*RATINGS.items(), ("source", pl.String())])
    turns = _turns(index, looked)
    book = pl.DataFrame(
        {"code": codes, "quality": [names.get(code, f"flag {code}") for code in codes]},
        schema={"code": pl.Int64, "quality": pl.String},
    )
    given = flags.filter(pl.col("turn") != WHOLE).select(
        "source", "dialog", pl.col("turn").cast(pl.Int32), "code", "coder", value=pl.lit(1.0)
    )
    rows = (
        turns.join(looked, on=["source", "dialog"])
        .join(book, how="cross")
        .join(given, on=["source", "dialog", "turn", "code", "coder"], how="left")
        .with_columns(
            pl.col("value").fill_null(0.0),
            study=pl.lit(STUDY),
            rater="coder",
            rater_kind=pl.lit("human"),
            level=pl.lit("turn"),
        )
        .sort("coder", "source", "dialog", "turn", "code")
    )
    rest = [
        pl.lit(None, kind).alias(name) for name, kind in RATINGS.items() if name not in rows.columns
    ]
    return rows.with_columns(rest).select(*RATINGS.names(), "source")


def _turns(index: Index, looked: pl.DataFrame) -> pl.DataFrame:
    """The agent's turns of some conversations."""
    pairs = looked.select("source", "dialog").unique()
    marks = ",".join(["(?, ?)"] * pairs.height)
    values = [part for pair in pairs.rows() for part in pair]
    found = index.sql(
        "select source, system, agent, dialog, turn from turns "
        f"where role = 'agent' and (source, dialog) in ({marks})",
        values,
    )
    names = ("source", "system", "agent", "dialog")
    schema = {**dict.fromkeys(names, pl.String), "turn": pl.Int32}
    return pl.DataFrame(found, schema=schema, orient="row")


def code_counts(index: Index, notebook: Notebook) -> list[CodeCount]:
    """The code book with how often each code was given, and how far coders agree."""
    flags = notebook.flags()
    book = {code.number: code for code in notebook.codes()}
    ratings = coded_ratings(index, notebook)
    agreed = _agreement(ratings)
    made = []
    for number in sorted({*book, *flags["code"].to_list()}):
        own = flags.filter(pl.col("code") == number)
        code = book.get(number)
        name = code.name if code else f"flag {number}"
        of_turns = own.filter(pl.col("turn") != WHOLE)
        coders = own.group_by("coder").len().sort("coder")
        found = agreed.get(name, {"reason": "fewer than two coders looked at the same turns"})
        made.append(
            CodeCount(
                number=number,
                name=name,
                meaning=code.meaning if code else "",
                turns=of_turns.select("source", "dialog", "turn").n_unique(),
                dialogs=own.filter(pl.col("turn") == WHOLE).select("source", "dialog").n_unique(),
                by_coder=dict(coders.rows()),
                alpha=found.get("value"),
                low=found.get("low"),
                high=found.get("high"),
                turns_compared=found.get("n_items") or 0,
                reason=found.get("reason") or "",
            )
        )
    return made


def _agreement(ratings: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Alpha by code, over the turns that two coders or more looked at."""
    unit = ["source", "dialog", "turn", "quality"]
    shared = ratings.filter(pl.col("rater").n_unique().over(unit) > 1)
    if not shared.height:
        return {}
    joined = pl.concat_str("source", "dialog", separator="\0")
    found = measure_agreement(shared.with_columns(dialog=joined).drop("source"))
    rows = found.rows.filter(pl.col("statistic") == _ALPHA)
    return {row["quality"]: row for row in rows.iter_rows(named=True)}
