"""The tables every conversation becomes: turns, references, ratings."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

_TIME = pl.Datetime("us", "UTC")
_Columns = dict[str, pl.DataType | type[pl.DataType]]

ROLES = ("agent", "partner")
RATER_KINDS = ("human", "llm", "simulated")
LEVELS = ("turn", "dialog", "agent", "system")


def kind_of_rater() -> pl.Expr:
    """Whether a rating is of a person, a model or a simulated rater.

    Ratings that do not say are people's, and a `person` is `human`.

    Examples:
        >>> table = pl.DataFrame({"rater_kind": ["person", None, "llm"]})
        >>> table.select(kind_of_rater())["rater_kind"].to_list()
        ['human', 'human', 'llm']
    """
    return pl.col("rater_kind").cast(pl.String).fill_null("human").replace("person", "human")


_TURNS: _Columns = {
    "system": pl.String,
    "agent": pl.String,
    "dialog": pl.String,
    "turn": pl.Int32,
    "speaker": pl.String,
    "role": pl.String,
    "text": pl.String,
    "created_at": _TIME,
    "reply_to": pl.String,
    "meta": pl.String,
}
TURNS = pl.Schema(_TURNS)
"""One row an utterance; `meta` is a JSON object with whatever else the source knew."""

REFERENCES = pl.Schema({"dialog": pl.String, "turn": pl.Int32, "text": pl.String})
"""One row a reference response for a turn."""

_RATINGS: _Columns = {
    "study": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "level": pl.String,
    "system": pl.String,
    "agent": pl.String,
    "dialog": pl.String,
    "turn": pl.Int32,
    "quality": pl.String,
    "scale": pl.String,
    "value": pl.Float64,
    "normalised": pl.Float64,
    "condition": pl.String,
    "factors": pl.String,
    "position": pl.Int32,
    "order": pl.Int32,
    "anchor": pl.String,
    "shown_at": _TIME,
    "answered_at": _TIME,
    "active_ms": pl.Int64,
}
RATINGS = pl.Schema(_RATINGS)
"""One row a judgement by one rater, with what was on the screen; `scale` and `factors` are JSON."""

SCHEMAS = {"turns": TURNS, "ratings": RATINGS, "references": REFERENCES}


@dataclass(frozen=True)
class Tables:
    """A batch of whole dialogues: every turn of a dialogue is in the same batch, in order."""

    turns: pl.DataFrame
    ratings: pl.DataFrame
    references: pl.DataFrame

    @classmethod
    def of(
        cls,
        turns: pl.DataFrame | None = None,
        ratings: pl.DataFrame | None = None,
        references: pl.DataFrame | None = None,
    ) -> "Tables":
        """Tables of which some may be empty.

        Examples:
            >>> Tables.of().turns.height
            0
        """
        return cls(
            TURNS.to_frame() if turns is None else turns,
            RATINGS.to_frame() if ratings is None else ratings,
            REFERENCES.to_frame() if references is None else references,
        )


def whole_dialogs(chunks: Iterable[pl.DataFrame], *, rows: int) -> Iterator[pl.DataFrame]:
    """Cut a stream of rows anew into tables of about `rows`, no dialogue in two of them.

    Where a table ends depends on the rows alone, not on the chunks in which they come. The rows
    of a dialogue must stand together.

    Examples:
        >>> frame = pl.DataFrame({"dialog": ["x", "x", "y", "y", "y", "z"]})
        >>> [part.height for part in whole_dialogs([frame], rows=3)]
        [2, 3, 1]
        >>> [part.height for part in whole_dialogs(frame.iter_slices(1), rows=3)]
        [2, 3, 1]
    """
    waiting: list[pl.DataFrame] = []
    buffered = 0
    for chunk in chunks:
        if chunk.height == 0:
            continue
        waiting.append(chunk)
        buffered += chunk.height
        if buffered <= rows:
            continue
        table = pl.concat(waiting)
        cuts = batch_ends(dialog_starts(table["dialog"]), table.height, rows=rows)
        for start, end in zip([0, *cuts], cuts, strict=False):
            yield table.slice(start, end - start)
        rest = table.slice(cuts[-1] if cuts else 0)
        waiting, buffered = [rest], rest.height
    if buffered:
        yield pl.concat(waiting)


def dialog_starts(dialog: pl.Series) -> list[int]:
    """The rows on which a dialogue begins that is not the first; those of one stand together.

    Examples:
        >>> dialog_starts(pl.Series(["x", "x", "y", "z"]))
        [2, 3]
    """
    return (dialog != dialog.shift()).arg_true().to_list()


def batch_ends(starts: Iterable[int], height: int, *, rows: int) -> list[int]:
    """Where `whole_dialogs` ends its tables, but for the last one, which ends with the rows.

    A table ends at the last border within `rows` of the one before, or else at the next border.

    Args:
        starts: The rows on which a dialogue begins that is not the first.
        height: How many rows there are.
        rows: Of a table, about.

    Examples:
        >>> batch_ends([2, 5], 6, rows=3)
        [2, 5]
    """
    ends: list[int] = []
    last = place = 0
    for border in itertools.chain(starts, [height]):
        if border - last > rows and place > last:
            ends.append(place)
            last = place
        if border - last > rows and border < height:
            ends.append(border)
            last = border
        place = border
    return ends
