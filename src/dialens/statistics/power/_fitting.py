"""Variances for the planning of a study, fitted to ratings of an earlier one."""

from dataclasses import dataclass

import polars as pl

from dialens.base import DialensError
from dialens.statistics.mixed import RESIDUAL, fit_mixed
from dialens.statistics.power._design import VarianceParts

_MOST_ROWS = 200_000


@dataclass(frozen=True)
class FittedParts:
    """Variances found in ratings.

    Attributes:
        parts: As standard deviations.
        mean: Of all ratings.
        quality: What was rated.
        n: Ratings.
        notes: What could not be told apart, and what that means.
        method: One sentence for a paper.
    """

    parts: VarianceParts
    mean: float
    quality: str
    n: int
    notes: tuple[str, ...]
    method: str


def fitted_parts(
    ratings: pl.DataFrame,
    *,
    quality: str | None = None,
    condition: str | None = None,
    context: str | None = "dialog_id",
) -> FittedParts:
    """Share out the variance of ratings between raters, items, dialogues and the rest.

    Args:
        ratings: What `dialens.statistics._ratings.load_ratings` gives.
        quality: Which one, if there are several.
        condition: Which one, if the quality was rated on several scales.
        context: Column that names the item which several dialogues answer, if there is one.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> dialog, rater = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
        >>> value = rng.normal(0, 2, 60)[dialog] + rng.normal(0, 1, 300)
        >>> table = pl.DataFrame(
        ...     {
        ...         "dialog": dialog.astype(str),
        ...         "rater": rater.astype(str),
        ...         "value": value,
        ...         "quality": "q",
        ...         "agent": "a",
        ...     }
        ... )
        >>> found = fitted_parts(table).parts
        >>> round(found.dialog), round(found.residual), found.item
        (2, 1, 0.0)
    """
    table = _on_one_scale(_chosen(ratings, quality), condition)
    name = str(table["quality"][0])
    keys = [key for key in ("dialog", "turn") if key in table.columns]
    unit = pl.concat_str([pl.col(key) for key in keys], separator="/", ignore_nulls=True)
    table = table.with_columns(unit=unit).filter(pl.col("value").is_finite())
    if table.height > _MOST_ROWS:
        table = table.head(_MOST_ROWS)
    notes: list[str] = []
    random = []
    units, contexts = table["unit"].n_unique(), 0
    if context and context in table.columns and not table[context].null_count():
        contexts = table[context].n_unique()
    if 1 < contexts < units:
        table = table.with_columns(item=pl.col(context or "").cast(pl.String))
        random.append("item")
    else:
        notes.append(
            "No item is answered by several dialogues: what items and dialogues contribute cannot "
            "be told apart, and all of it counts as dialogues."
        )
    if units < table.height:
        random.append("unit")
    else:
        notes.append("One rating a dialogue: dialogues and chance cannot be told apart.")
    known = not table["rater"].null_count() and 1 < table["rater"].n_unique() < table.height
    if known:
        random.append("rater")
    else:
        notes.append("Raters are not known, or never return: their differences count as chance.")
    several = "agent" in table.columns and table["agent"].n_unique() > 1
    if not random:
        spread = float(table["value"].std())  # type: ignore[arg-type]
        if not spread > 0:
            raise DialensError(f"All ratings of {name!r} are the same: there is nothing to plan.")
        parts = VarianceParts(residual=spread)
        method = "The standard deviation of the ratings."
        return FittedParts(parts, _mean(table), name, table.height, tuple(notes), method)
    fit = fit_mixed(table, "value", ["agent"] if several else [], random, degrees="wald")
    found = {part.term: part.sd for part in fit.components}
    notes += [f"{term}: {why}" for term, why in fit.dropped.items()]
    parts = VarianceParts(
        rater=found.get("rater", 0.0),
        item=found.get("item", 0.0),
        dialog=found.get("unit", 0.0),
        residual=found[RESIDUAL],
    )
    return FittedParts(parts, _mean(table), name, table.height, tuple(notes), fit.method)


def _mean(table: pl.DataFrame) -> float:
    return float(table["value"].to_numpy().mean())


def _chosen(ratings: pl.DataFrame, quality: str | None) -> pl.DataFrame:
    known = ratings["quality"].unique().sort().to_list()
    if quality is None and len(known) == 1:
        quality = known[0]
    named = {str(name).casefold(): name for name in known}
    if quality is None or quality.casefold() not in named:
        seen = "" if quality is None else f" There is no {quality!r}."
        raise DialensError(f"Choose one --quality of: {', '.join(map(str, known))}.{seen}")
    return ratings.filter(pl.col("quality") == named[quality.casefold()])


def _on_one_scale(table: pl.DataFrame, condition: str | None) -> pl.DataFrame:
    """Ratings that may be put together: points and magnitudes have no common variance."""
    if condition is not None:
        known = table["condition"].drop_nulls().unique().sort().to_list()
        if condition not in known:
            named = ", ".join(known) or "none"
            raise DialensError(f"There is no condition {condition!r}. Conditions: {named}.")
        table = table.filter(pl.col("condition") == condition)
    if "scale" in table.columns and table["scale"].n_unique() > 1:
        known = table["condition"].drop_nulls().unique().sort().to_list()
        remedy = f"Choose one --condition of: {', '.join(known)}." if known else "Split the file."
        raise DialensError(
            f"{table['quality'][0]!r} was rated on {table['scale'].n_unique()} scales, whose "
            f"variances cannot be put together. {remedy}"
        )
    return table
