"""`dialens compare`: agents, systems or runs side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dialens.analysis.comparison import RESAMPLES, JoinedRuns, is_score_folder, join_runs
from dialens.analysis.comparison import compare as compare_scores
from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_file,
    atomic_folder,
    counted,
    for_spreadsheet,
    list_files,
    listed,
    progress,
)
from dialens.cli._compare_users import UserOptions, compare_users
from dialens.cli._completion import among
from dialens.cli._options import (
    Csv,
    FigureFormat,
    Figures,
    Force,
    Metrics,
    NoReport,
    Quiet,
    Resamples,
    names,
    shown,
)
from dialens.cli._runs import open_runs
from dialens.cli._scoring_options import AS_USUAL, ScoringOptions, takes_scoring_options
from dialens.cli._tables_and_figures import (
    make_room,
    print_figures,
    write_asked,
)
from dialens.metrics import MetricCard, Scores, partial_note
from dialens.report import comparison_lines, run_facts, write_comparison

_TABLE = "comparison.parquet"
_PAGE = "comparison.html"
_SEVERAL = Path("comparison")
_NAMED = 4
_CSV = "comparison.csv"
_FIGURES = "comparison_figures"


@takes_scoring_options
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…",
            help="Score folders (what `dialens score` wrote), or conversations to score on the "
            "way; the agents of one, or two and more from run to run, oldest first.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Folder to write, with a run record. For one score folder that folder by "
            "default, else `comparison`.",
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option(
            help="Compare each `agent` or each `system`.", autocompletion=among("agent", "system")
        ),
    ] = "agent",
    baseline: Annotated[
        str | None,
        typer.Option(help="Compare all with this agent or run; every pair if not given."),
    ] = None,
    metrics: Metrics = None,
    users: Annotated[
        bool,
        typer.Option(
            "--users",
            help="Compare users, not agents: simulated ones with real ones (two places of "
            "conversations, in this order).",
        ),
    ] = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
    scoring: ScoringOptions = AS_USUAL,
    resamples: Resamples = RESAMPLES,
    csv: Csv = False,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Compare agents, systems or runs: differences, intervals, corrected p-values.

    Where two agents answered the same prompts the comparison is paired. All rows go to
    comparison.parquet and comparison.html; the terminal says what differs, the largest differences
    first, by the standard deviation of dialogs. Options on models, columns and
    names apply to conversations that are scored on the way.

    [bold]Examples[/]

      dialens compare out
      dialens compare v1 v2
      dialens compare v1.jsonl v2.jsonl --models small -m engagement,question
      dialens compare v1 v2 v3 --baseline v1 -o versions
      dialens compare out --baseline gpt-small --metrics emotion,style
      dialens compare out --level system -o systems
      dialens compare --users simulated people.jsonl -o gap
    """
    if users:
        if level != "agent" or baseline is not None:
            raise DialensError("Users are one side each: leave --level and --baseline out.")
        asked = UserOptions(
            output, names(metrics), resamples, no_report, quiet, csv, figures, force
        )
        compare_users(runs, asked, scoring)
        return
    if level not in ("agent", "system"):
        raise DialensError(f"--level is `agent` or `system`, not {level!r}.")
    chosen = names(metrics)
    arguments = {
        "runs": runs,
        "level": level,
        "baseline": baseline,
        "metrics": chosen,
        "resamples": resamples,
        "agent": scoring.agent,
        "system": scoring.system,
        "columns": dict(scoring.reading.columns),
        "roles": dict(scoring.reading.roles),
        "whole_turns": scoring.whole_turns,
        "memory": scoring.memory_bytes,
    }
    recorder = Recorder("compare", arguments, seed=scoring.seed).read_from(*runs)
    with recorder.step("open"):
        opened = open_runs(runs, scoring, metrics=chosen, quiet=quiet)
    joined = join_runs(opened) if len(opened) > 1 else None
    (name, first), *_ = opened.items()
    if joined is None:
        _refuse_one(first, runs[0], level)
    with recorder.step("compare"), progress("Comparing", unit="parts"):
        table = compare_scores(
            opened if joined else first,
            level=level,
            baseline=baseline,
            metrics=chosen,
            resamples=resamples,
            seed=scoring.seed,
            memory=scoring.memory_bytes,
        )
    cards = joined.cards if joined else first.cards
    title = f"Comparison: {listed(list(opened))}" if joined else f"Comparison: {name}"
    inside = output is None and joined is None and is_score_folder(runs[0])
    folder = runs[0] if inside else output or _SEVERAL
    shown_cards = None if no_report else cards
    if inside:
        make_room(folder, _CSV, _FIGURES)
        files = _write(table, folder, shown_cards, title, csv=csv, figures=figures)
        list_files(folder, files)
    else:
        with atomic_folder(folder, inputs=runs, force=force) as scratch:
            recorder.observe(**run_facts(scores=joined.scores if joined else first))
            with recorder.step("report"):
                files = _write(table, scratch, shown_cards, title, csv=csv, figures=figures)
            recorder.finish(scratch / RUN)
    if quiet:
        return
    print(*comparison_lines(table, cards), sep="\n")
    if broken_off := partial_note(joined.scores if joined else first):
        print(broken_off)
    if joined:
        for note in _notes(joined, level):
            print(note)
    page = "" if no_report else f"{shown(folder / _PAGE)} (to look at), "
    print(f"\nAll {table.height:,} rows: {page}{shown(folder / _TABLE)} (to compute with)")
    print_figures(folder / _FIGURES, [name for name in files if name.startswith(_FIGURES)])
    if not inside:
        print(f"Run record: {shown(folder / RUN)}")


def _write(
    table: pl.DataFrame,
    folder: Path,
    cards: Mapping[str, MetricCard] | None,
    title: str,
    *,
    csv: bool,
    figures: FigureFormat | None,
) -> list[str]:
    """Write the table and, with cards, the page and its figures; the files that were written."""
    with atomic_file(folder / _TABLE) as scratch:
        table.write_parquet(scratch)
    files = [_TABLE]
    if csv:
        with atomic_file(folder / _CSV) as scratch:
            for_spreadsheet(table).write_csv(scratch)
        files.append(_CSV)
    if cards is not None:
        summary = write_comparison(table, folder / _PAGE, cards=cards, title=title)
        files += [_PAGE, *write_asked(summary, folder / _FIGURES, figures)]
    return files


def _refuse_one(scores: Scores, place: Path, level: str) -> None:
    """With one agent there is nothing to compare; say what there is to do."""
    keys = ["system"] if level == "system" else ["system", "agent"]
    units = scores.agents().select(keys).unique()
    if units.height > 1:
        return
    name = units[keys[-1]][0]
    report = place / "report.html"
    look = f"\n  its values by themselves:   {shown(report)}" if report.exists() else ""
    raise DialensError(
        f"{shown(place)} holds one {level} only ({name}), so there is nothing to compare within "
        "it. What you can do next:\n"
        f"  hold it against another run: dialens compare {shown(place)} OTHER\n"
        "      (OTHER is a score folder, or a file or folder of conversations)\n"
        f"  fail a build when it drops:  dialens gate {shown(place)} --baseline OTHER "
        f"--rule 'engagement drop > 0.02'{look}"
    )


def _notes(joined: JoinedRuns, level: str) -> list[str]:
    """What was left out of a comparison of runs, and the remedy."""
    notes = []
    if joined.different:
        notes.append(
            f"Not compared: {counted(len(joined.different), 'metric')} scored in different ways, "
            "or without values in a run. Score the runs again with the same options and the same "
            "version of dialens."
        )
    for having in dict.fromkeys(joined.not_everywhere.values()):
        single = [name for name, runs in joined.not_everywhere.items() if runs == having]
        more = [f"{len(single) - _NAMED:,} more"] if len(single) > _NAMED else []
        notes.append(
            f"Scored in {listed(having)} only, so not compared: "
            f"{listed([*single[:_NAMED], *more])}."
        )
    if level == "agent" and (lone := joined.unmatched()):
        notes.append(f"In one run only, so compared with nobody: {listed(lone)}.")
    return notes
