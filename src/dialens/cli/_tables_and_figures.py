"""What is handed on: tables for spreadsheets and R, figures for papers."""

from pathlib import Path

import polars as pl

from dialens.base import counted, for_spreadsheet, listed_files, set_aside
from dialens.cli._options import FigureFormat, shown
from dialens.metrics import Scores, headline_metrics
from dialens.report import Summary, write_figures

AGENTS = "agents.csv"
FIGURES = "figures"


def agents_table(scores: Scores) -> pl.DataFrame:
    """One row an agent: how many dialogues, then a column a headline metric."""
    wide = scores.wide("agent")
    present = [name for name in scores.names if name in wide.columns]
    names = headline_metrics({name: scores.cards[name] for name in present})
    return wide.join(
        scores.agents(), on=["system", "agent"], how="left", maintain_order="left", nulls_equal=True
    ).select("system", "agent", "dialogs", *names)


def write_score_tables(scores: Scores, folder: Path, *, csv: bool) -> None:
    """agents.csv, and with `csv` scores.csv: what programs without Parquet read."""
    for_spreadsheet(agents_table(scores)).write_csv(folder / AGENTS)
    if csv:
        for_spreadsheet(scores.table).sink_csv(folder / "scores.csv")


def write_asked(summary: Summary, folder: Path, figures: FigureFormat | None) -> list[str]:
    """The figures that were asked for; their names from the folder above on."""
    if figures is None:
        return []
    written = write_figures(summary, folder, figures)
    return [f"{folder.name}/{path.name}" for path in written]


def make_room(folder: Path, table: str, figures: str) -> None:
    """Take away the table and figures of an earlier run; rename what somebody else put there."""
    for name in listed_files(folder) or ():
        if name == table or name.startswith(f"{figures}/"):
            (folder / name).unlink(missing_ok=True)
    if (folder / figures).is_dir() and not any((folder / figures).iterdir()):
        (folder / figures).rmdir()
    set_aside(folder, [table, figures])


def print_figures(folder: Path, files: list[str]) -> None:
    """Say how many figures there are and where."""
    if files:
        charts = [name for name in files if not name.endswith(".md")]
        print(f"Figures: {counted(len(charts), 'file')} in {shown(folder)}, captions beside them")
