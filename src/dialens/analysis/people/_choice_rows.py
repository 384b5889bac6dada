"""Which rows are sides of choices, and which of them belong together: said here and only here."""

import json

import polars as pl

from dialens.analysis.people._ratings import agent_names
from dialens.analysis.people._scales import CHOSEN, PAIRWISE
from dialens.statistics import parsed_scale

ARENA = ("condition", "side", "against")
"""The columns that the battles of an Arena corpus have."""

_LEAST_PAIRS = 6  # unlabelled 1s and 0s are taken for choices if so many pairs all sum to 1
_FEW_BROKEN = 0.1
_NAMED = json.dumps({"kind": PAIRWISE})


def name_choices(ratings: pl.DataFrame) -> pl.DataFrame:
    """The ratings, with `scale` naming the choices that only their values show.

    Battles in a plain table are rows of 1 and 0, or two halves, of two agents by the same rater
    about the same item. A quality is taken for that only if all its pairs are such and there are
    six of them at least: yes and no about two agents sum to one in some pairs by chance.

    Args:
        ratings: What `load_ratings` gives, or any table with agent, quality and value.

    Examples:
        >>> rows = [
        ...     ("r1", f"d{i}", agent, "better", float((agent == "a") == (i != 2)))
        ...     for i in range(6)
        ...     for agent in "ab"
        ... ]
        >>> names = ["rater", "dialog", "agent", "quality", "value"]
        >>> name_choices(pl.DataFrame(rows, schema=names, orient="row"))["scale"][0]
        '{"kind": "pairwise"}'
    """
    if not {"agent", "quality", "value"} <= set(ratings.columns):
        return ratings
    usable = pl.col("value").is_not_null() & pl.col("quality").is_not_null()
    table = ratings.with_columns(agent_names(ratings), _kind=choice_kinds(ratings, others=True))
    plain = table.filter(usable & pl.col("_kind").is_null())
    battles = [
        quality
        for (quality,), part in plain.group_by("quality", maintain_order=True)
        if _pairs_sum_to_one(part)
    ]
    if not battles:
        return ratings
    before = ratings["scale"].cast(pl.String) if "scale" in ratings.columns else pl.lit(None)
    named = table["_kind"].is_null() & table["quality"].is_in(battles)
    return ratings.with_columns(scale=pl.when(named).then(pl.lit(_NAMED)).otherwise(before))


def broken_battles(ratings: pl.DataFrame) -> list[tuple[str, int, int, int]]:
    """Qualities whose rows are battles but for a few pairs that are not whole.

    One row that is missing or written wrongly makes a table of battles look like yes and no; who
    reads it should hear of that.

    Returns:
        For each such quality its name, how many pairs are whole, how many are not, and the row of
        the table (from 0) with the first that is not.

    Examples:
        >>> rows = [
        ...     (f"d{i}", agent, "better", float(agent == "a")) for i in range(9) for agent in "ab"
        ... ]
        >>> table = pl.DataFrame(rows, schema=["dialog", "agent", "quality", "value"], orient="row")
        >>> broken_battles(table.head(17))
        [('better', 8, 1, 16)]
    """
    if not {"agent", "quality", "value"} <= set(ratings.columns):
        return []
    table = ratings.with_columns(
        agent_names(ratings), _kind=choice_kinds(ratings, others=True)
    ).with_row_index("_row")
    plain = table.drop_nulls(["value", "quality"]).filter(pl.col("_kind").is_null())
    found = []
    for (quality,), part in plain.group_by("quality", maintain_order=True):
        groups = _pairs(part)
        whole = groups.filter(pl.col("fits")).height
        broken = groups.filter(~pl.col("fits"))
        if whole >= _LEAST_PAIRS and 0 < broken.height <= max(1, _FEW_BROKEN * groups.height):
            found.append((str(quality), whole, broken.height, int(broken["row"].min())))  # type: ignore[arg-type]
    return found


def choice_kinds(ratings: pl.DataFrame, *, others: bool = False) -> pl.Series:
    """The kind of choice that `scale` names for each row; null for what is no choice.

    Args:
        ratings: A table of ratings.
        others: Give the kinds of answers that are no choices too.

    Examples:
        >>> choice_kinds(pl.DataFrame({"scale": ['{"kind": "pairwise"}', "likert"]})).to_list()
        ['pairwise', None]
    """
    if "scale" not in ratings.columns:
        return pl.Series("_kind", [None], dtype=pl.String).new_from_index(0, ratings.height)
    texts = ratings["scale"].cast(pl.String)
    kinds = {text: parsed_scale(text).get("kind") for text in texts.drop_nulls().unique()}
    kept = {text: kind for text, kind in kinds.items() if others or kind in CHOSEN}
    return texts.replace_strict(kept, default=None, return_dtype=pl.String).alias("_kind")


def _pairs_sum_to_one(rows: pl.DataFrame) -> bool:
    if not rows["value"].is_in([0.0, 0.5, 1.0]).all():
        return False
    groups = _pairs(rows.with_row_index("_row"))
    battles = set(ARENA) <= set(rows.columns)
    return (battles or groups.height >= _LEAST_PAIRS) and bool(groups["fits"].all())


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of one rater and item together: whether they are a battle, and where they begin."""
    groups = rows.group_by(rows_key(rows.drop("_row"))).agg(
        pl.len().alias("n"),
        pl.col("agent").n_unique().alias("agents"),
        pl.col("value").sum(),
        pl.col("value").is_in([0.0, 0.5, 1.0]).all().alias("of_battles"),
        pl.col("_row").min().alias("row"),
    )
    fits = (pl.col("n") == 2) & (pl.col("agents") == 2) & (pl.col("value") == 1)
    return groups.with_columns(fits=fits & pl.col("of_battles"))


def rows_key(rows: pl.DataFrame) -> list[str]:
    """The columns that rows of one choice have in common."""
    there = present(rows)
    if "choice" in there:
        wanted: tuple[str, ...] = ("choice", "rater")
    elif set(ARENA) <= set(there):
        wanted = ("condition", "rater")
    elif "screen" in there:
        wanted = ("study", "rater", "screen", "attempt")
    else:
        wanted = ("study", "rater", *item_columns(rows), "condition", "order")
    return [name for name in wanted if name in there] or ["quality"]


def item_columns(rows: pl.DataFrame) -> list[str]:
    """The columns that say what a choice is about, whoever the candidates are.

    A column `item` beside `dialog` may name the response, and so the agent: it does not count.
    """
    there = present(rows)
    about = "dialog" if "dialog" in there else "item"
    return [name for name in (about, "turn") if name in there]


def present(rows: pl.DataFrame) -> list[str]:
    """The columns that hold anything."""
    return [name for name in rows.columns if rows[name].null_count() < rows.height]
