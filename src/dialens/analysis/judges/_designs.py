"""What makes a judge's ratings vary, and which panel of judges is steady enough at which price.

Two generalisability studies (Brennan 2001) of each quality. Of **one judge**: how much of the
variance of its ratings is items, and how much is prompt, temperature, memory, thought, repeat, and
what these do with items. Of **all judges**: items × judges × prompts × repeats, repeats within
judge and prompt, and what the mean of other numbers of each would be worth (`relative`, Eρ², where
only differences between items count; `absolute`, Φ, where their level counts too) and would cost.

Judges, prompts and repeats are taken as drawn from many. Conditions of the study, temperature,
memory and thought were chosen: variances are those within them, on average. A setting that differs
between judges but not within them belongs to the judge.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dialens.statistics.agreement import generalizability

ALL_JUDGES = "all"
"""In the place of a judge's name: the study of all of them."""

JUDGE_VARIANCE = pl.Schema(
    {
        "judge": pl.String,
        "quality": pl.String,
        "effect": pl.String,
        "n_levels": pl.Int64,
        "n_items": pl.Int64,
        "variance": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "share": pl.Float64,
        "reason": pl.String,
    }
)
"""One row an effect of one judge, or of all (`ALL_JUDGES`); `share` of the sum of its variances."""

JUDGE_DESIGNS = pl.Schema(
    {
        "quality": pl.String,
        "judges": pl.Int64,
        "prompts": pl.Int64,
        "repeats": pl.Int64,
        "ratings": pl.Int64,
        "now": pl.Boolean,
        "relative": pl.Float64,
        "relative_low": pl.Float64,
        "relative_high": pl.Float64,
        "absolute": pl.Float64,
        "absolute_low": pl.Float64,
        "absolute_high": pl.Float64,
        "price_item": pl.Float64,
        "price": pl.Float64,
        "n_items": pl.Int64,
        "reason": pl.String,
    }
)
"""One row a design; `ratings` are those an item gets, `price` is for `n_items` items. What was not
varied stands at 1, and its share of the error is not known."""

SETTINGS = ("prompt", "temperature", "memory", "think")
_DRAWN = ("judge", "prompt", "repeat")
_FIXED = ("condition", "attempt", "answer_mode", "temperature", "memory", "think")
_MOST_LEFT_OUT = 0.2
_TRIED = range(1, 9)
_NOT_VARIED = "it was not varied"
_NO_PRICE = "the price is not known: no costs are recorded"


@dataclass(frozen=True)
class JudgeDesigns:
    """What makes judges' ratings vary, and what other designs come to.

    Attributes:
        variance: Columns of `JUDGE_VARIANCE`.
        designs: Columns of `JUDGE_DESIGNS`.
    """

    variance: pl.DataFrame = field(default_factory=JUDGE_VARIANCE.to_frame)
    designs: pl.DataFrame = field(default_factory=JUDGE_DESIGNS.to_frame)


def judge_designs(
    ratings: pl.DataFrame,
    *,
    logs: Collection[str] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> JudgeDesigns:
    """Where the variance of judges' ratings lies, and how reliable other designs would be.

    Args:
        ratings: Of judges alone: `item`, `quality`, `judge` (or `rater`), `value`; perhaps
            `prompt`, `temperature`, `memory`, `think`, `repeat`, `condition`, `attempt`, and for
            prices `ask` and `cost`, as `judge_ratings` gives them.
        logs: Qualities that are magnitudes: their logarithms are taken.
        confidence: Of the intervals.
        seed: Random seed of the intervals.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.normal(size=200)
        >>> rows = [
        ...     (f"i{n}", judge, str(k), truth[n] + rng.normal(scale=0.5), 0.01)
        ...     for n in range(200)
        ...     for judge in "abc"
        ...     for k in range(2)
        ... ]
        >>> names = ["item", "judge", "repeat", "value", "cost"]
        >>> table = pl.DataFrame(rows, names, orient="row").with_columns(quality=pl.lit("q"))
        >>> found = judge_designs(table)
        >>> found.designs.filter("now").select("judges", "repeats", "ratings", "price").row(0)
        (3, 2, 6, 12.0)
        >>> one = found.designs.filter(judges=1, repeats=1)["relative"].item()
        >>> round(one, 1)  # 1 / (1 + 0.25)
        0.8
    """
    table = _prepared(ratings, logs)
    variance, designs = [JUDGE_VARIANCE.to_frame()], [JUDGE_DESIGNS.to_frame()]
    for (quality,), part in table.group_by(["quality"], maintain_order=True):
        own = [
            _of_one(str(judge), each, confidence, seed)
            for (judge,), each in part.group_by(["judge"], maintain_order=True)
        ]
        together, options = _of_all(part, confidence, seed)
        variance += [rows.with_columns(quality=pl.lit(quality)) for rows in (*own, together)]
        designs.append(options.with_columns(quality=pl.lit(quality)))
    return JudgeDesigns(
        pl.concat([rows.select(JUDGE_VARIANCE.names()) for rows in variance]),
        pl.concat([rows.select(JUDGE_DESIGNS.names()) for rows in designs]),
    )


def _prepared(ratings: pl.DataFrame, logs: Collection[str]) -> pl.DataFrame:
    """Every column there is, as text; what is missing everywhere has one level."""
    named = pl.col("judge" if "judge" in ratings.columns else "rater").cast(pl.String)
    if "rater" in ratings.columns:
        named = named.fill_null(pl.col("rater"))
    levels = [
        (pl.col(name).cast(pl.String) if name in ratings.columns else pl.lit(None, pl.String))
        .fill_null("usual")
        .alias(name)
        for name in dict.fromkeys((*SETTINGS, "repeat", *_FIXED))
    ]
    magnitude = pl.col("quality").is_in(list(logs))
    table = ratings.filter(pl.col("value").is_not_null() & (~magnitude | (pl.col("value") > 0)))
    value = pl.when(magnitude).then(pl.col("value").log10()).otherwise("value")
    cost = pl.col("cost").cast(pl.Float64, strict=False)  # text in tables that are text
    paid = [pl.col("ask")] if "ask" in ratings.columns else []
    if "cost" in ratings.columns:
        paid.append(pl.when(cost.is_finite()).then(cost).alias("cost"))
    return table.select(
        pl.col("item").cast(pl.String),
        pl.col("item").cast(pl.String).alias("dialog"),
        "quality",
        named.alias("judge"),
        *levels,
        value.alias("value"),
        *paid,
    ).sort("quality", "judge", maintain_order=True)


def _varied(table: pl.DataFrame, names: Sequence[str]) -> list[str]:
    return [name for name in names if table[name].n_unique() > 1]


def _strata(table: pl.DataFrame, fixed: Sequence[str], facets: Sequence[str]) -> list[str]:
    """The chosen settings that vary; orders of the screens only where items come in several."""
    found = _varied(table, [name for name in fixed if name not in facets])
    if "attempt" in found:
        cell = ["item", *facets, *(name for name in found if name != "attempt")]
        if not table.select(cell).is_duplicated().any():
            found.remove("attempt")
    return found


def _whole(table: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, str | None]:
    """Items with an answer in every cell, where that is most of them, and how many are not."""
    cells = table.group_by("item").agg(n=pl.struct(columns).n_unique())
    full = cells.filter(pl.col("n") == pl.col("n").max())
    missing = cells.height - full.height
    if not missing or missing > _MOST_LEFT_OUT * cells.height:
        return table, None
    told = f"{missing:,} of {cells.height:,} items are left out: an answer is missing"
    return table.join(full.select("item"), on="item", how="semi", maintain_order="left"), told


def _of_one(judge: str, table: pl.DataFrame, confidence: float, seed: int) -> pl.DataFrame:
    """The variances of one judge's ratings, and which facets did not vary."""
    settings = _varied(table, SETTINGS)
    facets = [*settings, *_varied(table, ["repeat"])]
    still = [name for name in (*SETTINGS, "repeat") if name not in facets]
    rows: list[dict[str, Any]] = [{"effect": name, "reason": _NOT_VARIED} for name in still]
    lacking = _rows(rows, JUDGE_VARIANCE).with_columns(judge=pl.lit(judge))
    if not facets:
        why = "everything was asked once, in one way: nothing varies but items"
        found = _rows([{"effect": "item", "reason": why}], JUDGE_VARIANCE)
        return pl.concat([found.with_columns(judge=pl.lit(judge)), lacking])
    strata = _strata(table, _FIXED, facets)
    table, told = _whole(table, [*facets, *strata])
    nested = [":".join(["repeat", *settings])] if "repeat" in facets else []
    study = generalizability(
        table, [*settings, *nested], within=strata, pooled=True, confidence=confidence, seed=seed
    )
    return pl.concat([_components(study.components, judge, table, told), lacking])


def _of_all(table: pl.DataFrame, confidence: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Variances with judges as a facet, and designs."""
    within = [
        name
        for name in _FIXED[2:]
        if table.group_by("judge").agg(pl.col(name).n_unique())[name].max() != 1
    ]
    facets = _varied(table, _DRAWN)
    strata = _strata(table, ["condition", "attempt", *within], facets)
    judges = table["judge"].n_unique()
    if strata:
        shared = pl.col("judge").n_unique().over(strata) == judges
        table = table.filter(shared)
    why = None
    if not table.height:
        why = "judges were asked in different ways: no setting or condition is shared by all"
    elif not facets:
        why = "one judge, one prompt, asked once: there is nothing to generalise over"
    if why:
        none = _rows([{"effect": "item", "judge": ALL_JUDGES, "reason": why}], JUDGE_VARIANCE)
        return none, _rows([{"reason": why}], JUDGE_DESIGNS)
    table, told = _whole(table, [*facets, *strata])
    around = [name for name in facets if name != "repeat"]
    nested = [":".join(["repeat", *around])] if "repeat" in facets else []
    study = generalizability(
        table,
        [*around, *nested],
        within=strata,
        sizes=_TRIED,
        confidence=confidence,
        seed=seed,
    )
    return _components(study.components, ALL_JUDGES, table, told), _priced(
        study.decisions, table, told
    )


def _components(
    found: pl.DataFrame, judge: str, table: pl.DataFrame, told: str | None
) -> pl.DataFrame:
    return found.with_columns(
        judge=pl.lit(judge),
        n_items=pl.lit(table["item"].n_unique(), pl.Int64),
        reason=_with(told),
    ).select(JUDGE_VARIANCE.names())


def _with(*more: str | None) -> pl.Expr:
    """The reason, and what else is to be known."""
    told = [pl.lit(text) for text in more if text]
    joined = pl.concat_str([pl.col("reason"), *told], separator="; ", ignore_nulls=True)
    return pl.when(joined != "").then(joined)  # none where there is nothing to say


def _priced(decisions: pl.DataFrame, table: pl.DataFrame, told: str | None) -> pl.DataFrame:
    """Designs in numbers, with what they would cost."""
    rating = _price(table)
    items = table["item"].n_unique()
    rows = []
    for row in decisions.iter_rows(named=True):
        sizes = _sizes(row["design"])
        each = None if rating is None or row["ratings"] is None else rating * row["ratings"]
        rows.append(
            {name: row[name] for name in decisions.columns if name in JUDGE_DESIGNS}
            | {f"{name}s": sizes.get(name, 1) for name in _DRAWN if row["design"]}
            | {"price_item": each, "price": None if each is None else each * items}
            | {"n_items": items}
        )
    done = _rows(rows, JUDGE_DESIGNS)
    return done.with_columns(reason=_with(told, _NO_PRICE if rating is None else None))


def _sizes(design: str | None) -> Mapping[str, int]:
    """`3 judge × 2 prompt` as numbers by name."""
    parts = [part.split(" ", 1) for part in design.split(" × ")] if design else []
    return {name: int(many) for many, name in parts}


def _price(table: pl.DataFrame) -> float | None:
    """What one rating of one item costs: the mean over judges and prompts of their means.

    An ask that stands in several cells was paid once; one that shows several items is shared.
    """
    if "cost" not in table.columns or table["cost"].null_count():
        return None
    asks = table
    if "ask" in table.columns:
        asks = table.unique(["judge", "ask", "item"], maintain_order=True).with_columns(
            pl.col("cost") / pl.len().over("judge", "ask")
        )
    means = asks.group_by("judge", "prompt").agg(pl.col("cost").mean())
    mean = means["cost"].mean()
    assert isinstance(mean, float)
    return mean


def _rows(rows: Sequence[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema)
