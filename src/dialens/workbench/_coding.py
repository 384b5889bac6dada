"""What coders flagged, as ratings: counts, agreement, and a table for others.

A flag that is not set says something only where the coder looked. A coder has looked at a
conversation in which they set at least one flag or wrote a note; its turns then have a value, 1 or
0, for every code. Which turns those are depends on the code: the agent's, as long as nobody ever
gave it to another turn, all turns else. Flags on whole conversations are a quality of their own.
Conversations that a coder left without any mark do not count.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.corpus import RATINGS
from dialens.statistics.agreement import measure_agreement
from dialens.workbench._index import Index
from dialens.workbench._notebook import WHOLE, Notebook

STUDY = "workbench"
WHOLE_WORDS = " (whole conversation)"
"""What is added to the name of a code for flags on whole conversations."""

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
        every_turn: Whether all turns count for it, since somebody gave it to one of the partner's.
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
    every_turn: bool = False


def coded_ratings(index: Index, notebook: Notebook) -> pl.DataFrame:
    """A row a coder, code and unit that the coder looked at; columns as `RATINGS`, and `source`.

    `value` is 1 where the flag is set and 0 where it is not. Flags on turns or conversations that
    are gone are kept, too, without an agent.
    """
    rows = _looked_at(index, notebook)
    if not notebook.flags().height:
        return rows
    named = pl.col("code").replace_strict(_names(notebook), return_dtype=pl.String)
    given = _given(notebook).with_columns(named)
    unit = ["source", "dialog", "turn", "rater", "quality"]
    whole = pl.col("turn").is_null()
    given = given.select(
        "source",
        "dialog",
        "turn",
        "value",
        rater="coder",
        quality=pl.when(whole).then(pl.col("code") + WHOLE_WORDS).otherwise("code"),
        level=pl.when(whole).then(pl.lit("dialog")).otherwise(pl.lit("turn")),
    )
    gone = given.join(rows, on=unit, how="anti", nulls_equal=True).with_columns(
        study=pl.lit(STUDY), rater_kind=pl.lit("human")
    )
    both = pl.concat([rows, _as_ratings(gone)])
    return both.sort("rater", "source", "dialog", "turn", "quality", nulls_last=True)


def _names(notebook: Notebook) -> dict[int, str]:
    """What each code is called that is in the book or was given."""
    codes = {code.number: code.name for code in notebook.codes()}
    return {n: codes.get(n, f"flag {n}") for n in (*codes, *notebook.flags()["code"].to_list())}


def _given(notebook: Notebook) -> pl.DataFrame:
    """The flags; the turn of one on a whole conversation is null."""
    turn = pl.when(pl.col("turn") != WHOLE).then("turn").cast(pl.Int32)
    return notebook.flags().select("source", "dialog", turn, "code", "coder", value=pl.lit(1.0))


def _looked_at(index: Index, notebook: Notebook) -> pl.DataFrame:
    """A row a coder, code and unit of the conversations that the coder looked at."""
    names = _names(notebook)
    looked = pl.concat(
        [one.select("source", "dialog", "coder") for one in (notebook.flags(), notebook.notes())]
    ).unique()
    if not looked.height or not names:
        return pl.DataFrame(schema=[*RATINGS.items(), ("source", pl.String())])
    given, turns = _given(notebook), _turns(index, looked)
    of_turns = given.join(turns, on=["source", "dialog", "turn"])
    everywhere = _codes_beyond_the_agent(of_turns)
    whole = given.filter(pl.col("turn").is_null())["code"].unique()
    book = pl.DataFrame(
        {"code": list(names), "quality": list(names.values())},
        schema={"code": pl.Int64, "quality": pl.String},
    )
    units = turns.join(book, how="cross").filter(
        (pl.col("role") == "agent") | pl.col("code").is_in(sorted(everywhere))
    )
    talks = turns.select("source", "system", "agent", "dialog").unique()
    talks = talks.join(
        book.filter(pl.col("code").is_in(whole.implode())), how="cross"
    ).with_columns(
        pl.col("quality") + WHOLE_WORDS, turn=pl.lit(None, pl.Int32), level=pl.lit("dialog")
    )
    units = pl.concat(
        [units.drop("role").with_columns(level=pl.lit("turn")), talks], how="diagonal"
    )
    rows = (
        units.join(looked, on=["source", "dialog"])
        .join(
            given,
            on=["source", "dialog", "turn", "code", "coder"],
            how="left",
            nulls_equal=True,
        )
        .with_columns(
            pl.col("value").fill_null(0.0),
            study=pl.lit(STUDY),
            rater="coder",
            rater_kind=pl.lit("human"),
        )
    )
    return _as_ratings(rows)


def _as_ratings(rows: pl.DataFrame) -> pl.DataFrame:
    rest = [
        pl.lit(None, kind).alias(name) for name, kind in RATINGS.items() if name not in rows.columns
    ]
    return rows.with_columns(rest).select(*RATINGS.names(), "source")


def _codes_beyond_the_agent(of_turns: pl.DataFrame) -> set[int]:
    """Codes that anybody gave to a turn that is not the agent's."""
    return set(of_turns.filter(pl.col("role") != "agent")["code"].to_list())


def _turns(index: Index, looked: pl.DataFrame) -> pl.DataFrame:
    """The turns of some conversations."""
    pairs = looked.select("source", "dialog").unique()
    marks = ",".join(["(?, ?)"] * pairs.height)
    values = [part for pair in pairs.rows() for part in pair]
    found = index.sql(
        "select source, system, agent, dialog, turn, role from turns "
        f"where (source, dialog) in ({marks})",
        values,
    )
    names = ("source", "system", "agent", "dialog")
    schema = {**dict.fromkeys(names, pl.String), "turn": pl.Int32, "role": pl.String}
    return pl.DataFrame(found, schema=schema, orient="row")


def code_counts(index: Index, notebook: Notebook) -> list[CodeCount]:
    """The code book with how often each code was given, and how far coders agree."""
    flags = notebook.flags()
    book = {code.number: code for code in notebook.codes()}
    agreed = _agreement(_looked_at(index, notebook))
    given = _given(notebook)
    beyond = set()
    if given.height:
        turns = _turns(index, given)
        beyond = _codes_beyond_the_agent(given.join(turns, on=["source", "dialog", "turn"]))
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
                every_turn=number in beyond,
            )
        )
    return made


def _agreement(ratings: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Alpha by code, over the turns that two coders or more looked at."""
    unit = ["source", "dialog", "turn", "quality"]
    ratings = ratings.filter(pl.col("level") == "turn")
    shared = ratings.filter(pl.col("rater").n_unique().over(unit) > 1)
    if not shared.height:
        return {}
    joined = pl.concat_str("source", "dialog", separator="\0")
    found = measure_agreement(shared.with_columns(dialog=joined).drop("source"))
    rows = found.rows.filter(pl.col("statistic") == _ALPHA)
    return {row["quality"]: row for row in rows.iter_rows(named=True)}
