"""One quality in one group at a time: which ratings it has, and what stands in the way."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.statistics._ratings import LABEL, named_columns, rated_items
from dialens.statistics.agreement._magnitudes import log_normalised, not_positive
from dialens.statistics.agreement._matrix import RatingMatrix

_OURS = ("dialog", "value", "rater", "quality")
EVERYTHING = "all"
"""Name of the group where ratings are not divided."""


@dataclass(frozen=True)
class Group:
    """The ratings of one quality under one combination of factor levels.

    Attributes:
        quality: Which quality.
        name: `factor=level, …`, or `all`.
        table: The ratings; None where they cannot be used at all.
        words: What ratings say where they are words; their codes are in the table.
        refused: Why the ratings cannot be used.
        notes: What a reader should know: what was left out, merged, or mixed.
        logs: Whether values are normalised logarithms of the ratings.
    """

    quality: str
    name: str
    table: RatingMatrix | None
    words: tuple[str, ...] = ()
    refused: str | None = None
    notes: tuple[str, ...] = ()
    logs: bool = False


def divided(
    ratings: pl.DataFrame,
    by: Sequence[str],
    *,
    qualities: Sequence[str] | None = None,
    normalise: str | None = None,
    modulus: float | None = None,
) -> tuple[list[Group], list[str]]:
    """Ratings by quality and group, and notes about the table as a whole."""
    ratings = _in_our_columns(ratings)
    if normalise not in (None, "log"):
        raise DialensError(f"Ratings can be normalised by `log`, not {normalise!r}.")
    missing = [name for name in by if name not in ratings.columns]
    if missing:
        raise DialensError(
            f"There is no column {missing[0]!r} to group by. There are: "
            f"{', '.join(ratings.columns)}."
        )
    ratings, notes = _named(ratings, qualities)
    notes += _not_given(ratings)
    notes += [note for name in by if (note := _one_level(ratings, name))]
    if normalise == "log":
        ratings = log_normalised(ratings, modulus=modulus)
    labels = [_level(ratings[name]).alias(f"_{name}") for name in by]
    ratings = ratings.with_columns(rated_items(ratings), *labels)
    keys = ["quality", *(f"_{name}" for name in by)]
    groups = []
    for key, part in sorted(
        ((key, part) for key, part in ratings.group_by(keys)), key=lambda pair: pair[0]
    ):
        name = ", ".join(f"{n}={level}" for n, level in zip(by, key[1:], strict=True))
        groups.append(_group(str(key[0]), name or EVERYTHING, part, by, normalise=normalise))
    return groups, notes


def analysed_ratings(
    ratings: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    qualities: Sequence[str] | None = None,
    normalise: str | None = None,
    modulus: float | None = None,
) -> pl.DataFrame:
    """The ratings as agreement is measured on them: one row an item and rater of each group.

    Columns are quality, group, item, rater and value, and label where ratings are words. Raters
    that are not known are numbered within their item.

    Examples:
        >>> rows = {"dialog": ["a", "b"], "rater": ["r", "r"], "quality": ["q", "q"]}
        >>> table = pl.DataFrame({**rows, "value": [1.0, 2.0]})
        >>> analysed_ratings(table.with_columns(scale=pl.lit(None))).rows()
        [('q', 'all', 'a', 'r', 1.0), ('q', 'all', 'b', 'r', 2.0)]
    """
    groups, _ = divided(ratings, by, qualities=qualities, normalise=normalise, modulus=modulus)
    parts = []
    for group in groups:
        table = group.table
        if table is None:
            continue
        part = pl.DataFrame(
            {
                "quality": group.quality,
                "group": group.name,
                "item": pl.Series(table.items, dtype=pl.String).gather(table.item),
                "value": table.value,
            }
        )
        if table.rater is None:
            numbered = pl.int_range(1, pl.len() + 1).over("item").cast(pl.String)
            part = part.with_columns(rater=numbered)
        else:
            raters = pl.Series(table.raters, dtype=pl.String).gather(table.rater)
            part = part.with_columns(rater=raters)
        words = {float(code): word for code, word in enumerate(group.words)}
        said = pl.col("value").replace_strict(words, default=None, return_dtype=pl.String)
        parts.append(part.with_columns(label=said if words else pl.lit(None, pl.String)))
    columns = ["quality", "group", "item", "rater", "value", "label"]
    schema = dict.fromkeys(columns, pl.String) | {"value": pl.Float64}
    whole = pl.concat([pl.DataFrame(schema=schema), *(part.select(columns) for part in parts)])
    return whole if whole["label"].is_not_null().any() else whole.drop("label")


def _named(
    ratings: pl.DataFrame, qualities: Sequence[str] | None
) -> tuple[pl.DataFrame, list[str]]:
    """Ratings that say which quality they are of; all, or those asked for."""
    nameless = int(ratings["quality"].is_null().sum())
    notes = []
    if nameless:
        notes.append(
            f"{nameless:,} of {ratings.height:,} ratings do not say which quality they are of, "
            "and are left out."
        )
        ratings = ratings.drop_nulls("quality")
    known = ratings["quality"].unique().sort().to_list()
    for name in qualities or ():
        if name not in known:
            raise DialensError(f"No ratings of {name!r}. Qualities: {', '.join(known)}.")
    if qualities:
        ratings = ratings.filter(pl.col("quality").is_in(list(qualities)))
    if not ratings.height:
        raise DialensError("No rating says which quality it is of: fill the column `quality`.")
    return ratings, notes


def _in_our_columns(ratings: pl.DataFrame) -> pl.DataFrame:
    """A frame of one's own under our names, null where it says nothing."""
    names = named_columns(ratings.columns)
    given = set(names.values())
    if not {"dialog", "value"} <= given:
        missing = [n for n in ("item (or dialog)", "value") if n.split(" ")[0] not in given]
        missing = [n for n in missing if not (n.startswith("item") and "dialog" in given)]
        raise DialensError(
            f"A table of ratings needs the columns item (or dialog), value, and for most questions "
            f"rater and quality; {listed(missing)} {'is' if len(missing) == 1 else 'are'} not "
            f"there. Columns: {listed(ratings.columns)}. Rename them: "
            'frame.rename({"their_name": "value"}).'
        )
    if not ratings[next(c for c, n in names.items() if n == "value")].dtype.is_numeric():
        raise DialensError(
            "The column `value` of these ratings holds text, not numbers: cast it, or read the "
            "file with dialens.load_ratings."
        )
    renamed = ratings.rename({c: n for c, n in names.items() if n in _OURS and c != n})
    empty = [n for n in ("rater", "quality", "scale") if n not in renamed.columns]
    renamed = renamed.with_columns(
        pl.lit("rating" if name == "quality" else None, pl.String).alias(name) for name in empty
    )
    return renamed.with_columns(pl.col("dialog", "rater", "quality").cast(pl.String))


def _not_given(ratings: pl.DataFrame) -> list[str]:
    """Says how many ratings are neither a number nor a word."""
    given = [name for name in ("value", LABEL) if name in ratings.columns]
    missing = ratings.filter(pl.all_horizontal(pl.col(given).is_null())).height
    if not missing:
        return []
    total = counted(ratings.height, "rating")
    return [f"Left out: {missing:,} of {total} without a value (empty or NA)."]


def _one_level(ratings: pl.DataFrame, factor: str) -> str | None:
    levels = _level(ratings[factor]).unique()
    if len(levels) > 1:
        return None
    return f"The factor {factor} has one level ({levels[0]}): there are no groups to set apart."


def _level(column: pl.Series) -> pl.Series:
    """The levels of a factor as a person would say them."""
    texts = column.cast(pl.String)
    known = {text: _plain(text) for text in texts.drop_nulls().unique()}
    return texts.replace_strict(known, default="none", return_dtype=pl.String)


def _plain(text: str) -> str:
    """A JSON string without its quotes.

    Examples:
        >>> _plain('"magnitude"'), _plain("[1,6]"), _plain("3.0")
        ('magnitude', '[1,6]', '3')
    """
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text.removesuffix(".0")


def _group(
    quality: str, name: str, part: pl.DataFrame, by: Sequence[str], *, normalise: str | None
) -> Group:
    where = f"{quality}, {name}" if name != EVERYTHING else quality
    notes = list(_mixed_scales(part, where, by))
    words: tuple[str, ...] = ()
    if LABEL in part.columns and part[LABEL].is_not_null().any():
        part, words, remarks = _wordings(part, where)
        notes += remarks
    column = "value" if normalise is None else "normalised"
    if normalise == "log":
        refused = "ratings are words, which have no logarithm" if words else not_positive(part)
        usable = part[column].is_not_null().any()
        if refused is None and not usable and part["value"].is_not_null().any():
            refused = "no modulus was shown and raters are not known: no scale to put logs on"
        if refused:
            remedy = "Take such ratings out, or leave --normalise away."
            notes.append(f"{where}: {refused}. {remedy}")
            return Group(quality, name, None, words, refused, tuple(notes))
    present = part.drop_nulls(column)
    if not present.height:
        return Group(quality, name, None, words, "there are no ratings", tuple(notes))
    table, remarks = _matrix(present, column, where)
    logs = normalise == "log"
    return Group(quality, name, table, words, None, (*notes, *remarks), logs)


def _matrix(present: pl.DataFrame, column: str, where: str) -> tuple[RatingMatrix, list[str]]:
    unknown = int(present["rater"].is_null().sum())
    notes = []
    if 0 < unknown < present.height:
        notes.append(
            f"{where}: {unknown:,} of {present.height:,} ratings do not say who rated; raters are "
            "treated as not known."
        )
    raters = None if unknown else present["rater"].to_list()
    table = RatingMatrix.of(present["item"].to_list(), raters, present[column].to_numpy())
    if table.averaged:
        notes.append(
            f"{where}: raters judged items more than once; {table.averaged:,} further ratings are "
            "averaged with the first."
        )
    return table, notes


def _wordings(part: pl.DataFrame, where: str) -> tuple[pl.DataFrame, tuple[str, ...], list[str]]:
    """Codes for ratings that are words; among numbers, words are left out."""
    spoken = part[LABEL].is_not_null()
    if part["value"].is_not_null().any():
        first = part.filter(spoken).sort("item", "rater").row(0, named=True)
        note = (
            f"{where}: {int(spoken.sum()):,} of {part.height:,} ratings are not numbers and are "
            f"left out (first: {first[LABEL]!r} for item {first['item']})."
        )
        return part, (), [note]
    words = tuple(part[LABEL].drop_nulls().unique().sort())
    codes = {word: float(number) for number, word in enumerate(words)}
    coded = part[LABEL].replace_strict(codes, default=None, return_dtype=pl.Float64)
    note = (
        f"{where}: ratings are words ({', '.join(words[:5])}{' …' if len(words) > 5 else ''}); "
        "only statistics of categories are computed."
    )
    return part.with_columns(coded.alias("value")), words, [note]


def _mixed_scales(part: pl.DataFrame, where: str, by: Sequence[str]) -> Iterator[str]:
    if "scale" in by:
        return
    scales = _level(part["scale"]).unique().sort().to_list()
    if len(scales) > 1:
        shown = "; ".join(scales[:3]) + ("; …" if len(scales) > 3 else "")
        yield (
            f"{where}: was rated on {len(scales)} scales ({shown}). Numbers of different scales "
            "are mixed here: set them apart with --by scale."
        )
