"""`dialens compare`: agents and systems side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Column

from dialens.analysis.comparison import (
    RESAMPLES,
    by_size,
    cards_as_compared,
    families_tested,
    note_on_tests,
)
from dialens.analysis.comparison import compare as compare_scores
from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_file,
    atomic_folder,
    interval,
    list_files,
    number,
    p_value,
)
from dialens.cli._completion import among, metric_names
from dialens.cli._options import Force, Resamples, Seed, names, shown
from dialens.cli._tables_and_figures import (
    Csv,
    FigureFormat,
    Figures,
    make_room,
    print_figures,
    write_asked,
)
from dialens.cli._terminal import plain_console, plain_table
from dialens.metrics import MetricCard, Scores
from dialens.report import Summary, run_facts, write_comparison

_SHOWN = 10
_FINE = 0.1
_TABLE = "comparison.parquet"
_PAGE = "comparison.html"
_CSV = "comparison.csv"
_FIGURES = "comparison_figures"


def compare(
    scores: Annotated[Path, typer.Argument(metavar="DIR", help="What `dialens score` wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Folder to write, with a run record; DIR if none."
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option(
            help="Compare each `agent` or each `system`.", autocompletion=among("agent", "system")
        ),
    ] = "agent",
    baseline: Annotated[
        str | None, typer.Option(help="Compare all with this one; every pair if not given.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics", "-m", help="Only these metrics or families.", autocompletion=metric_names
        ),
    ] = None,
    resamples: Resamples = RESAMPLES,
    seed: Seed = 0,
    csv: Csv = False,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Compare agents or systems: difference, interval over dialogs, corrected p-value.

    Where two agents answered the same contexts the comparison is paired. All rows go to
    comparison.parquet and comparison.html, in DIR or in the folder named with -o; the terminal
    shows the largest differences, by the standard deviation of dialogs.

    [bold]Examples[/]

      dialens compare out
      dialens compare out --baseline gpt-small --metrics emotion,style
      dialens compare out --level system -o systems
    """
    if level not in ("agent", "system"):
        raise DialensError(f"--level is `agent` or `system`, not {level!r}.")
    arguments = {
        "scores": scores,
        "level": level,
        "baseline": baseline,
        "metrics": names(metrics),
        "resamples": resamples,
    }
    recorder = Recorder("compare", arguments, seed=seed)
    opened = Scores.open(scores)
    with recorder.step("compare"):
        table = compare_scores(
            opened,
            level=level,
            baseline=baseline,
            metrics=names(metrics),
            resamples=resamples,
            seed=seed,
        )
    title = f"Comparison: {scores.name}"
    if output is None:
        make_room(scores, _CSV, _FIGURES)
        summary, files = _write(table, scores, opened.cards, title, csv=csv, figures=figures)
        list_files(scores, files)
    else:
        with atomic_folder(output, inputs=[scores], force=force) as scratch:
            recorder.observe(**run_facts(scores=opened))
            with recorder.step("report"):
                summary, files = _write(
                    table, scratch, opened.cards, title, csv=csv, figures=figures
                )
            recorder.finish(scratch / RUN)
    print(f"{summary.answer}.\n{summary.scope}.\n")
    _print(table, cards_as_compared(table, opened.cards))
    folder = output or scores
    print(
        f"\nAll {table.height:,} rows: {shown(folder / _PAGE)} (to look at), "
        f"{shown(folder / _TABLE)} (to compute with)"
    )
    print_figures(folder / _FIGURES, [name for name in files if name.startswith(_FIGURES)])
    if output is not None:
        print(f"Run record: {shown(output / RUN)}")


def _write(
    table: pl.DataFrame,
    folder: Path,
    cards: Mapping[str, MetricCard],
    title: str,
    *,
    csv: bool,
    figures: FigureFormat | None,
) -> tuple[Summary, list[str]]:
    """What the page says, and the files that were written."""
    with atomic_file(folder / _TABLE) as scratch:
        table.write_parquet(scratch)
    if csv:
        with atomic_file(folder / _CSV) as scratch:
            table.write_csv(scratch)
    summary = write_comparison(table, folder / _PAGE, cards=cards, title=title)
    drawn = write_asked(summary, folder / _FIGURES, figures)
    return summary, [_TABLE, _PAGE, *([_CSV] if csv else []), *drawn]


def _print(table: pl.DataFrame, cards: Mapping[str, MetricCard]) -> None:
    """The largest differences as a table in which names are folded, never cut."""
    tested = by_size(table.drop_nulls("p"))
    if not tested.height:
        print(note_on_tests(table))
        return
    heads = [Column(head, overflow="fold") for head in ("metric", "a", "b")]
    grid = plain_table(*heads, numbers=["a − b", "95 % interval", "size", "p adj."])
    for column in grid.columns[3:]:
        column.no_wrap = True
    for row in tested.head(_SHOWN).iter_rows(named=True):
        card = cards[row["metric"]]
        fine = row["low"] is not None and row["high"] - row["low"] < _FINE
        digits = 1 if card.percent else 3 if fine else 2
        grid.add_row(
            card.long_label,
            row["a"],
            row["b"],
            number(row["difference"], digits, percent=card.percent),
            interval(row["low"], row["high"], digits, percent=card.percent),
            number(row["effect_size"], 2),
            p_value(row["p_adjusted"]),
        )
    plain_console().print(grid)
    rest = tested.height - _SHOWN
    more = f"… and {rest:,} more, in the report. " if rest > 0 else ""
    paired = table.filter("paired").height
    print(
        f"\n{more}size: by the standard deviation of dialogs (Hedges' g); – where they hardly "
        f"vary. p adj.: corrected over {families_tested(table)}, family by family "
        "(Benjamini–Hochberg). "
        f"{paired:,} of {table.height:,} rows compare answers to the same contexts."
    )
    print(note_on_tests(table))
