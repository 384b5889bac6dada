"""What `dialens agreement` prints beside its main statistics: facets, and groups that differ."""

from typing import Any

import polars as pl
from rich.table import Column, Table

from dialens.base import capitalised, counted, interval, number, p_value
from dialens.cli._terminal import plain_console, plain_table
from dialens.statistics.agreement import Agreement, GeneralizabilityStudy

_MOST_DIFFERENCES = 4


def folding_grid(*heads: str) -> Table:
    """A table whose numbers stay whole on a narrow terminal; names fold instead."""
    folding = ("statistic", "effect", "from", "test")
    columns = (Column(h, no_wrap=h not in folding, overflow="fold") for h in heads)
    return plain_table(*columns)


def print_study(study: GeneralizabilityStudy) -> None:
    """Variances by facet and the coefficients of the design as it is."""
    for (quality, group), part in study.components.group_by(
        "quality", "group", maintain_order=True
    ):
        print(f"\nVariance of {quality}{'' if group == 'all' else f', {group}'}:")
        grid = folding_grid("effect", "variance", "share", "95 % interval")
        for row in part.filter(pl.col("variance").is_not_null()).iter_rows(named=True):
            grid.add_row(
                row["effect"],
                number(row["variance"], 3),
                number(row["share"], percent=True),
                interval(row["low"], row["high"], 3),
            )
        if grid.row_count:
            plain_console().print(grid)
        here = (pl.col("quality") == quality) & (pl.col("group") == group)
        for row in study.decisions.filter(here & pl.col("now")).iter_rows(named=True):
            relative = interval(row["relative_low"], row["relative_high"], 2)
            absolute = interval(row["absolute_low"], row["absolute_high"], 2)
            print(
                f"{row['design']}: Eρ² {number(row['relative'], 2)} ({relative}), "
                f"Φ {number(row['absolute'], 2)} ({absolute}); other designs: decisions.json"
            )
        for reason in part["reason"].drop_nulls().unique(maintain_order=True):
            print(f"{capitalised(reason)}.")


def print_differences(result: Agreement) -> None:
    """Which groups agree further than which, where that is clear."""
    tested = result.differences.drop_nulls("p_adjusted")
    clear = tested.filter(pl.col("p_adjusted") < 0.05)
    for row in clear.head(_MOST_DIFFERENCES).iter_rows(named=True):
        more = "further" if row["difference"] > 0 else "less far"
        print(
            f"Raters agree {more} on {row['quality']} with {row['group']} than with {row['than']}: "
            f"{row['statistic']} {number(row['value'], 2)} and {number(row['other'], 2)}, "
            f"difference {number(row['difference'], 2)} ({ends(row)}), "
            f"corrected p {p_value(row['p_adjusted'])}."
        )
    if tested.height and not clear.height:
        what = counted(tested.height, "difference")
        print(f"No group agrees clearly further than another ({what} of kappa and alpha tested).")


def ends(row: dict[str, Any]) -> str:
    """The interval of a statistic, or that there is none."""
    return "no interval" if row["low"] is None else interval(row["low"], row["high"], 2)
