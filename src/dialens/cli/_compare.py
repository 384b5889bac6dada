"""`dialens compare`: agents and systems side by side."""

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dialens.analysis.comparison import RESAMPLES, note_on_tests
from dialens.analysis.comparison import compare as compare_scores
from dialens.base import DialensError, atomic_file, list_files, p_value
from dialens.cli._options import Resamples, Seed, names, shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.metrics import Scores
from dialens.report import write_comparison

_SHOWN = 24


def compare(
    scores: Annotated[Path, typer.Argument(metavar="DIR", help="What `dialens score` wrote.")],
    level: Annotated[str, typer.Option(help="Compare each `agent` or each `system`.")] = "agent",
    baseline: Annotated[
        str | None, typer.Option(help="Compare all with this one; every pair if not given.")
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", "-m", help="Only these metrics or families.")
    ] = None,
    resamples: Resamples = RESAMPLES,
    seed: Seed = 0,
) -> None:
    """Compare agents or systems: difference, interval over dialogs, corrected p-value.

    Where two agents answered the same contexts the comparison is paired. All rows go to
    DIR/comparison.parquet and DIR/comparison.html; the terminal shows the clearest differences.

    [bold]Examples[/]

      dialens compare out
      dialens compare out --baseline gpt-small --metrics emotion,style
      dialens compare out --level system
    """
    if level not in ("agent", "system"):
        raise DialensError(f"--level is `agent` or `system`, not {level!r}.")
    opened = Scores.open(scores)
    table = compare_scores(
        opened,
        level=level,
        baseline=baseline,
        metrics=names(metrics),
        resamples=resamples,
        seed=seed,
    )
    with atomic_file(scores / "comparison.parquet") as scratch:
        table.write_parquet(scratch)
    summary = write_comparison(
        table,
        scores / "comparison.html",
        cards=opened.cards,
        title=f"Comparison: {scores.name}",
    )
    list_files(scores, ["comparison.parquet", "comparison.html"])
    print(f"{summary.answer}.\n{summary.scope}.\n")
    _print(table)
    print(
        f"\nAll {table.height:,} rows: {shown(scores / 'comparison.html')} (to look at), ", end=""
    )
    print(f"{shown(scores / 'comparison.parquet')} (to compute with)")


def _print(table: pl.DataFrame) -> None:
    clear = -pl.col("difference").abs() / (pl.col("high") - pl.col("low"))
    shown_rows = table.drop_nulls("p").sort("p", clear).head(_SHOWN)
    columns = (
        "metric",
        "a",
        "b",
        "a's value",
        "b's value",
        "difference",
        "95 % interval",
        "p adj.",
    )
    grid = plain_table(*columns)
    for row in shown_rows.iter_rows(named=True):
        grid.add_row(
            row["metric"],
            row["a"],
            row["b"],
            f"{row['value_a']:.3f}",
            f"{row['value_b']:.3f}",
            f"{row['difference']:+.3f}",
            f"{row['low']:+.3f} to {row['high']:+.3f}",
            p_value(row["p_adjusted"]),
        )
    plain_console().print(grid)
    tested = table["family"].drop_nulls()
    paired = table.filter("paired").height
    print(
        f"\np adj.: corrected over {tested[0] if len(tested) else 0:,} tests (Benjamini–Hochberg). "
        f"{paired:,} of {table.height:,} rows compare answers to the same contexts."
    )
    if note := note_on_tests(table):
        print(note)
    reasons = table.filter(pl.col("p").is_null())["reason"].value_counts(sort=True)
    for reason, count in reasons.iter_rows():
        print(f"{count:,} not tested: {reason}.")
