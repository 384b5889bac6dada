"""What of judges' rows counts as an observation: an answer once, a judge as one rater.

A request that reads the same in several cells, orders or prompts was asked once, and its rows have
the same `ask`. Repeats and prompts of a model are not several raters either.
"""

from collections.abc import Sequence

import polars as pl

from dialens.analysis.people import choice_kinds

MODELS = ("llm",)
"""Kinds of raters that are language models."""

_CATEGORIES = r'"kind": "(yes_no|choice)"'
_SAME = ("ask", "item", "quality", "position")


def with_judge(ratings: pl.DataFrame) -> pl.DataFrame:
    """The same with the column `judge`, which is the rater where none is named."""
    if "judge" not in ratings.columns:
        return ratings.with_columns(judge=pl.col("rater"))
    return ratings.with_columns(pl.col("judge").fill_null(pl.col("rater")))


def distinct_answers(ratings: pl.DataFrame, apart: Sequence[str] = ()) -> pl.DataFrame:
    """Each answer of a judge once, however many rows it stands in.

    Args:
        ratings: Perhaps with `ask`; rows without one are kept, as are people's.
        apart: Columns between which the same answer is to stand all the same (conditions that are
            to be compared).

    Examples:
        >>> rows = {"ask": ["k", "k", None], "item": ["i"] * 3, "cell": ["a", "b", "a"]}
        >>> table = pl.DataFrame(rows)
        >>> distinct_answers(table).height, distinct_answers(table, ["cell"]).height
        (2, 3)
    """
    if "ask" not in ratings.columns:
        return ratings
    keys = [name for name in dict.fromkeys((*_SAME, *apart)) if name in ratings.columns]
    first = pl.struct(keys).is_first_distinct() | pl.col("ask").is_null()
    return ratings.filter(first)


def one_side(ratings: pl.DataFrame) -> pl.DataFrame:
    """Of choices between two, the rows of one of them: what one won, the other lost.

    Args:
        ratings: Perhaps with `dialog` and `agent`; ratings that are no choices are kept as they
            are, and so are choices between more than two.

    Examples:
        >>> rows = {"dialog": ["d", "d"], "agent": ["a", "b"], "value": [1.0, 0.0]}
        >>> scale = pl.lit('{"kind": "pairwise"}')
        >>> one_side(pl.DataFrame(rows).with_columns(quality=pl.lit("q"), scale=scale)).height
        1
    """
    if not {"dialog", "agent", "quality"} <= set(ratings.columns):
        return ratings
    chosen = choice_kinds(ratings).is_not_null()
    over = ("quality", "dialog")
    two = pl.col("agent").n_unique().over(over) == 2
    other = pl.col("agent") != pl.col("agent").min().over(over)
    return ratings.filter(~(pl.lit(chosen) & two & other).fill_null(value=False))


def asked_together(ratings: pl.DataFrame) -> pl.DataFrame:
    """Which items were judged in one request: `item` and the number of its `cluster`.

    Examples:
        >>> rows = {"item": ["a", "b", "b", "c"], "ask": ["k", "k", "l", "m"]}
        >>> asked_together(pl.DataFrame(rows))["cluster"].to_list()
        [0, 0, 1]
    """
    items = ratings["item"].unique(maintain_order=True).to_list()
    parent = {item: item for item in items}

    def root(item: str) -> str:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    if "ask" in ratings.columns:
        asks = ratings.drop_nulls("ask").group_by("ask", maintain_order=True)
        for names in asks.agg(pl.col("item").unique(maintain_order=True))["item"]:
            for other in names[1:]:
                parent[root(other)] = root(names[0])
    roots = {name: at for at, name in enumerate(dict.fromkeys(root(item) for item in items))}
    return pl.DataFrame(
        {"item": items, "cluster": [roots[root(item)] for item in items]},
        schema={"item": pl.String, "cluster": pl.Int64},
    )


def one_rater_a_judge(ratings: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """Judges' rows with the judge as the rater: repeats and prompts averaged.

    Args:
        ratings: Of language models alone, with `item`.
        chosen: For each row whether it is one side of a choice. Of choices, the one that was made
            most often counts; none where several were made equally often. Of categories (yes or
            no) the most frequent counts, the earlier of two that are equally so.
    """
    table = with_judge(ratings).with_columns(chosen=chosen)
    keys = [n for n in ("judge", "condition", "attempt", "screen", "item", "quality", "position",
                        "order") if n in table.columns]  # fmt: skip
    facets = ("rater", "repeat", "prompt", "temperature", "memory", "think", "answer_mode", "ask")
    rest = [n for n in table.columns if n not in (*keys, *facets, "value", "normalised", "chosen")]
    means = [pl.col(n).mean() for n in ("value", "normalised") if n in table.columns]
    if "scale" in table.columns:
        often = pl.col("value").filter(pl.col("value").is_in(pl.col("value").mode().implode()))
        label = pl.col("scale").cast(pl.String).str.contains(_CATEGORIES).fill_null(value=False)
        means[0] = pl.when(label.first()).then(often.first()).otherwise(means[0])
    ask = [pl.col("ask").first()] if "ask" in table.columns else []
    rated = (
        table.filter(~pl.col("chosen"))
        .group_by(keys, maintain_order=True)
        .agg(*means, *ask, *(pl.col(name).first() for name in rest))
    )
    sides = _most_often(table.filter("chosen"), keys)
    made = pl.concat(
        [rated, sides.select(rated.columns)] if sides.height else [rated], how="vertical_relaxed"
    )
    made = made.with_columns(rater=pl.col("judge"))
    order = [name for name in ratings.columns if name in made.columns]
    return made.select(*order, *([] if "judge" in order else ["judge"]))


def _most_often(sides: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Of each screen the rows of one rater whose choice most of the judge's raters made."""
    if not sides.height:
        return sides
    screen = [name for name in keys if name not in ("item", "position", "order")]
    by_rater = [*screen, "rater"]
    picked = (
        sides.sort("item")
        .group_by(by_rater, maintain_order=True)
        .agg(
            verdict=pl.concat_str("item", pl.col("value").cast(pl.String), separator="=").str.join(
                "|"
            )
        )
    )
    counts = picked.group_by([*screen, "verdict"], maintain_order=True).agg(
        n=pl.len(), rater=pl.col("rater").first()
    )
    most = pl.col("n").max().over(screen)
    alone = (pl.col("n") == most).sum().over(screen) == 1
    kept = counts.filter(pl.col("n") == most, alone)
    return sides.join(kept.select(by_rater), on=by_rater, how="semi", nulls_equal=True,
                      maintain_order="left")  # fmt: skip
