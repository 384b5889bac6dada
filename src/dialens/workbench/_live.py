"""Columns that change while a page is open: what people and judges said, flags and notes."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from dialens.base import DialensError, first_line
from dialens.corpus import kind_of_rater
from dialens.workbench._columns import FLAG, JUDGE, PEOPLE, Column
from dialens.workbench._corrected import Corrected
from dialens.workbench._notebook import WHOLE, Code
from dialens.workbench._queries import escaped, quoted

KEYS = ("source", "agent", "dialog", "turn")
_MARKS = ("flags", "coder", "note")
_KINDS = {"human": PEOPLE, "llm": JUDGE, "simulated": "simulated"}
_WORDS = {PEOPLE: "people", JUDGE: "judge", "simulated": "simulated raters"}
_GROUPS = {PEOPLE: "What people said", JUDGE: "What judges said", "simulated": "Simulated raters"}


@dataclass(frozen=True)
class Live:
    """Tables to join to turns and dialogues, and the columns that they hold.

    Attributes:
        turn: A row a turn that has any of it, by `source`, `agent`, `dialog`, `turn`; a null in
            `source` or `agent` fits any.
        dialog: A row a dialogue, likewise.
        agent: A row an agent, by `source` and `agent`.
        columns: By level.
    """

    turn: pl.DataFrame
    dialog: pl.DataFrame
    agent: pl.DataFrame
    columns: dict[str, tuple[Column, ...]]


def live_of(
    ratings: Sequence[pl.DataFrame],
    flags: pl.DataFrame,
    notes: pl.DataFrame,
    codes: Iterable[Code],
    corrected: Corrected | None = None,
) -> Live:
    """What was said and written until now.

    Args:
        ratings: Tables with the columns of `RATINGS`; `source` names the collection, if known.
        flags: As the notebook gives them.
        notes: As the notebook gives them.
        codes: The code book.
        corrected: What analyses of studies say of agents.
    """
    means, columns = _rated(ratings)
    tables: dict[str, pl.DataFrame] = {}
    of_level: dict[str, tuple[Column, ...]] = {}
    for level in ("turn", "dialog"):
        own = [column for column in columns if column.name in means[level].columns]
        tables[level] = _joined(_renamed(means[level], own), _marks(flags, notes, level))
        of_level[level] = (*own, *_flag_columns(codes))
    agents = _renamed(means["agent"], columns)
    analysed = corrected or Corrected.none()
    of_level["agent"] = (*columns, *analysed.columns)
    tables["agent"] = pl.concat([agents, analysed.agents], how="diagonal")
    return Live(tables["turn"], tables["dialog"], tables["agent"], of_level)


def load_live(
    database: duckdb.DuckDBPyConnection, level: str, table: pl.DataFrame, folder: Path
) -> None:
    """Make the table `live_turn`, `live_dialog` or `live_agent` anew: what is known, by number.

    Args:
        database: With the tables `dialogs` and `agents`.
        level: `turn`, `dialog` or `agent`.
        table: As `Live` has it.
        folder: For a file that is deleted again.

    Raises:
        DialensError: There is no room for it.
    """
    own = [name for name in table.columns if name not in KEYS]
    names = dict.fromkeys([*_MARKS, *own])
    cursor, target = database.cursor(), f"create or replace table live_{level}"
    if not table.height:
        kinds = ", ".join(f"{quoted(n)} {'varchar' if n in _MARKS else 'double'}" for n in names)
        cursor.execute(f"{target} (id bigint, {kinds})")
        return
    number = {"turn": "d.first + l.turn", "dialog": "d.talk", "agent": "d.row"}[level]
    units = "agents d on" if level == "agent" else "dialogs d on l.dialog = d.dialog and"
    inside = " l.turn between 0 and d.turns - 1 and" if level == "turn" else ""
    known = ", ".join(f"first({n}) filter ({n} is not null) {n}" for n in map(quoted, own))
    path = folder / f"live-{level}-{secrets.token_hex(8)}.parquet"
    try:
        table.write_parquet(path)
        cursor.execute(
            f"{target} as select {number} as id, {known} "
            f"from read_parquet('{escaped(str(path))}') l join {units}{inside} "
            "(l.source is null or l.source = d.source) "
            "and (l.agent is null or l.agent = d.agent) group by 1 order by 1"
        )
    except (OSError, pl.exceptions.PolarsError, duckdb.Error) as error:
        raise DialensError(
            f"Flags and ratings are stored, but cannot be shown: {folder} cannot be written "
            f"({first_line(error)}). Make room, and load the page again."
        ) from error
    finally:
        path.unlink(missing_ok=True)


def _flag_columns(codes: Iterable[Code]) -> tuple[Column, ...]:
    named = "; ".join(f"{code.number} {code.name}" for code in codes)
    return (
        Column("flags", "Flags", FLAG, "Flags", "flags", numeric=False, live=True, about=named),
        Column("note", "Note", FLAG, "Flags", "note", numeric=False, live=True),
    )


def _rated(tables: Sequence[pl.DataFrame]) -> tuple[dict[str, pl.DataFrame], list[Column]]:
    """Means over raters, a column each kind of rater, quality and, where several, study."""
    empty = pl.DataFrame(schema={**dict.fromkeys(KEYS[:3], pl.String), "turn": pl.Int32})
    used = [table for table in tables if table.height]
    if not used:
        return {"turn": empty, "dialog": empty, "agent": empty.select(KEYS[:2])}, []
    every = pl.concat(
        [
            table.with_columns(
                source=pl.col("source") if "source" in table.columns else pl.lit(None, pl.String)
            ).select(
                *KEYS,
                "level",
                "quality",
                "value",
                "rater",
                study=pl.col("study").fill_null(""),
                kind=kind_of_rater().replace_strict(_KINDS, default=PEOPLE),
            )
            for table in used
        ]
    ).filter(pl.col("value").is_not_null() & pl.col("quality").is_not_null())
    who = pl.when(pl.col("kind") == JUDGE).then(pl.col("rater").fill_null("")).otherwise(pl.lit(""))
    every = every.with_columns(who=who)
    several = every.group_by("kind", "who", "quality").agg(studies=pl.col("study").n_unique())
    every = every.join(several, on=["kind", "who", "quality"]).with_columns(
        name=pl.concat_str(
            "kind",
            pl.lit(":"),
            pl.when(pl.col("who") != "").then(pl.col("who") + ":").otherwise(pl.lit("")),
            "quality",
            pl.when(pl.col("studies") > 1).then("@" + pl.col("study")).otherwise(pl.lit("")),
        )
    )
    names = every.select("name", "kind", "who", "quality").unique("name").sort("name")
    columns = [
        Column(
            name=name,
            label=_label(name, kind, who, quality),
            kind=kind,
            group=_GROUPS[kind],
            sql=f"l{place}",
            live=True,
            about=f"Mean of what {who or _WORDS[kind]} said of {quality}",
        )
        for place, (name, kind, who, quality) in enumerate(names.rows())
    ]
    means = {}
    for level, length in (("turn", 4), ("dialog", 3), ("agent", 2)):
        own = every.filter(level=level) if level != "agent" else every
        keys = list(KEYS[:length])
        means[level] = _means(own, keys) if own.height else empty.select(keys)
    return means, columns


def _label(name: str, kind: str, who: str, quality: str) -> str:
    """A quality in words, who said it and, where several studies asked for it, in which."""
    study = name.rpartition("@")[2] if "@" in name else ""
    return f"{quality.replace('_', ' ')} ({who or _WORDS[kind]}{', ' if study else ''}{study})"


def _renamed(means: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """Means and numbers of ratings under the names that they have in the database."""
    names = {column.name: column.sql for column in columns}
    numbers = {f"n:{column.name}": f"n{column.sql[1:]}" for column in columns}
    return means.rename(names | numbers)


def _means(ratings: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """A row a unit: the mean of each column's ratings by its name, and their number as `n:NAME`."""
    every = ratings.group_by(*keys, "name").agg(pl.col("value").mean(), n=pl.len().cast(pl.Float64))
    both = pl.concat(
        [
            every.select(*keys, "name", "value"),
            every.select(*keys, pl.concat_str(pl.lit("n:"), "name").alias("name"), value="n"),
        ]
    )
    return both.pivot("name", index=keys, values="value").sort(keys, nulls_last=True)


def _marks(flags: pl.DataFrame, notes: pl.DataFrame, level: str) -> pl.DataFrame:
    """Flags and notes of turns; of dialogues both their own and those of their turns."""
    keys = ["source", "dialog", "turn"] if level == "turn" else ["source", "dialog"]
    chosen = pl.col("turn") != WHOLE if level == "turn" else pl.lit(value=True)
    codes = pl.col("code").unique().sort().cast(pl.String).str.join(",")
    flagged = flags.filter(chosen).group_by(keys).agg(flags=codes, coder=_coders())
    noted = notes.filter(chosen).group_by(keys).agg(note=pl.col("note").str.join("\n"))
    made = flagged.join(noted, on=keys, how="full", coalesce=True)
    if level == "turn":
        made = made.with_columns(pl.col("turn").cast(pl.Int32))
    return made.with_columns(agent=pl.lit(None, pl.String))


def _coders() -> pl.Expr:
    return pl.col("coder").unique().sort().str.join(",")


def _joined(ratings: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """One below the other: the index adds them up by unit."""
    return pl.concat([ratings, marks], how="diagonal")
