"""Ratings that stand in a table of their own, joined with the conversations they are about."""

from dataclasses import dataclass, replace

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.corpus import RATINGS, Corpus

_MOST_NAMED = 3
_LOOKED_AT = 10_000


@dataclass(frozen=True)
class RatedCorpus:
    """Conversations with ratings from a table.

    Attributes:
        corpus: The conversations; what they held of ratings is replaced.
        notes: How many ratings were joined and which were not, in sentences.
    """

    corpus: Corpus
    notes: tuple[str, ...]


def with_ratings(corpus: Corpus, ratings: pl.DataFrame, name: str) -> RatedCorpus:
    """Put ratings to the dialogues they name, and to their turns where they name turns.

    Who was rated the conversations say. Ratings of what is not there are left out and counted.

    Args:
        corpus: The conversations.
        ratings: As `load_ratings` gives them: a row without `turn` is about the whole dialogue.
        name: What the table is called in sentences.

    Raises:
        DialensError: No rating is about any of these conversations.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> talk = [Turn("U", "partner", "Hi"), Turn("B", "agent", "Hello!")]
        >>> corpus = Corpus.of([Dialogue("s", "bot", "d1", talk)])
        >>> rows = {"dialog": ["d1", "d9"], "turn": [1, None], "quality": "q", "value": [4.0, 2.0]}
        >>> result = with_ratings(corpus, pl.DataFrame(rows), "r.csv")
        >>> result.corpus.ratings.select("agent", "level", "turn", "value").collect().rows()
        [('bot', 'turn', 1, 4.0)]
        >>> result.notes[0]
        'r.csv: 1 rating of 1 dialogue joined with the conversations.'
    """
    shaped = _shaped(ratings)
    rated = pl.col("dialog").is_in(shaped["dialog"].unique().implode())
    every = corpus.turns.select("system", "agent", "dialog", "turn")
    turns = every.filter(rated).collect(engine="streaming")
    some = every.select("dialog").head(_LOOKED_AT).collect()["dialog"]
    notes: list[str] = []
    table, unknown = _of_dialogues(shaped, turns, some, name)
    notes += unknown
    table, unknown = _of_turns(table, turns, name)
    notes += unknown
    notes += _called_otherwise(table, name)
    old = corpus.ratings.select(pl.len()).collect().item()
    if old:
        notes.append(
            f"The conversations bring {counted(old, 'rating')} of their own; those of {name} are "
            "used instead."
        )
    about = table["dialog"].n_unique()
    rest = _dialogs(corpus) - about
    without = f"; {counted(rest, 'dialogue')} without ratings" if rest else ""
    joined = f"{name}: {counted(table.height, 'rating')} of {counted(about, 'dialogue')} joined"
    new = table.with_columns(system="_system", agent="_agent").select(RATINGS.names())
    return RatedCorpus(
        replace(corpus, ratings=new.lazy(), manifest=_recounted(corpus, new.height)),
        (f"{joined} with the conversations{without}.", *notes),
    )


def _dialogs(corpus: Corpus) -> int:
    """How many dialogues there are, from the manifest where it says it."""
    known = corpus.manifest.get("counts", {}).get("dialogs")
    if known is None:
        count = corpus.turns.select(pl.col("dialog").n_unique())
        known = count.collect(engine="streaming").item()
    return int(known)


def _recounted(corpus: Corpus, ratings: int) -> dict[str, object]:
    counts = corpus.manifest.get("counts")
    return {**corpus.manifest, **({"counts": {**counts, "ratings": ratings}} if counts else {})}


def _shaped(ratings: pl.DataFrame) -> pl.DataFrame:
    """Our columns, and the level that the turn tells."""
    columns = [
        pl.col(name).cast(dtype)
        if name in ratings.columns
        else pl.lit(None, pl.String).cast(dtype).alias(name)
        for name, dtype in RATINGS.items()
    ]
    level = pl.when(pl.col("turn").is_null()).then(pl.lit("dialog")).otherwise(pl.lit("turn"))
    return ratings.select(columns).with_columns(pl.col("dialog").str.strip_chars(), level=level)


def _of_dialogues(
    table: pl.DataFrame, turns: pl.DataFrame, some: pl.Series, name: str
) -> tuple[pl.DataFrame, list[str]]:
    """Ratings of dialogues that are there, with whose they are."""
    whose = turns.unique("dialog", keep="first", maintain_order=True).select(
        "dialog", _system="system", _agent="agent"
    )
    joined = table.join(whose, on="dialog", how="left", maintain_order="left")
    lost = joined.filter(pl.col("_agent").is_null())
    if not lost.height:
        return joined, []
    unknown = lost["dialog"].unique(maintain_order=True)
    there = f"The conversations are called {_some(some)}"
    if lost.height == joined.height:
        raise DialensError(
            f"No rating of {name} is about these conversations: it names {_some(unknown)}. {there}."
            " Use the same ids, or name the column that holds them: --column item=COLUMN."
        )
    note = (
        f"{counted(lost.height, 'rating')} of {name} left out: "
        f"{counted(len(unknown), 'dialogue')} not among the conversations ({_some(unknown)}). "
        f"{there}."
    )
    return joined.filter(pl.col("_agent").is_not_null()), [note]


def _of_turns(
    table: pl.DataFrame, turns: pl.DataFrame, name: str
) -> tuple[pl.DataFrame, list[str]]:
    """Ratings of whole dialogues, and of turns that are there."""
    known = turns.select("dialog", "turn", _known=pl.lit(value=True))
    joined = table.join(known, on=["dialog", "turn"], how="left", maintain_order="left")
    lost = joined.filter(pl.col("turn").is_not_null() & pl.col("_known").is_null())
    if not lost.height:
        return joined, []
    first = lost.row(0, named=True)
    last = max(turns.filter(pl.col("dialog") == first["dialog"])["turn"].to_list())
    seen = (
        f"dialogue {first['dialog']} has no turn {first['turn']} (turns are counted from 0, the "
        f"last is {last})"
    )
    if lost.height == joined.height:
        raise DialensError(f"No rating of {name} is about a turn that is there: {seen}.")
    kept = joined.filter(pl.col("turn").is_null() | pl.col("_known").is_not_null())
    return kept, [f"{counted(lost.height, 'rating')} of {name} left out: {seen}."]


def _called_otherwise(table: pl.DataFrame, name: str) -> list[str]:
    other = table.filter(pl.col("agent") != pl.col("_agent"))
    if not other.height:
        return []
    first = other.row(0, named=True)
    return [
        f"{counted(other.height, 'rating')} of {name} call the agent otherwise than the "
        f"conversations ({first['agent']!r} for {first['_agent']!r}); the conversations count."
    ]


def _some(names: pl.Series) -> str:
    distinct = names.unique(maintain_order=True)
    more = " …" if len(distinct) > _MOST_NAMED else ""
    return f"{listed(distinct[:_MOST_NAMED].to_list())}{more}"
