"""`dialens compare --users`: simulated users beside real ones."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dialens.analysis.comparison import compare_users as compare_said
from dialens.analysis.comparison import is_score_folder, require_run
from dialens.base import RUN, DialensError, Recorder, atomic_folder
from dialens.cli._options import FigureFormat, shown
from dialens.cli._scoring_options import ScoringOptions
from dialens.cli._tables_and_figures import print_figures, write_asked
from dialens.corpus import Corpus, Intake, read
from dialens.report import user_lines, write_user_comparison

TABLE, PAGE, CSV, FIGURES = "users.parquet", "users.html", "users.csv", "users_figures"
FOLDER = Path("users")


@dataclass(frozen=True)
class UserOptions:
    """What was asked for beside the two places."""

    output: Path | None
    metrics: Sequence[str] | None
    resamples: int
    no_report: bool
    quiet: bool
    csv: bool
    figures: FigureFormat | None
    force: bool


def compare_users(places: Sequence[Path], asked: UserOptions, scoring: ScoringOptions) -> None:
    """Compare the users of two places, write table, page and run record, and say what differs."""
    if len(places) != 2:
        raise DialensError(
            "Two places are needed: conversations with simulated users, then with real ones: "
            "dialens compare --users SIMULATED REAL."
        )
    arguments = {
        "simulated": places[0],
        "real": places[1],
        "metrics": asked.metrics,
        "resamples": asked.resamples,
        "columns": dict(scoring.reading.columns),
        "roles": dict(scoring.reading.roles),
    }
    recorder = Recorder("compare --users", arguments, seed=scoring.seed).read_from(*places)
    with recorder.step("open"):
        simulated, real = (_read(place, scoring) for place in places)
    with recorder.step("compare"):
        compared = compare_said(
            simulated,
            real,
            metrics=asked.metrics,
            resources=scoring.resources(),
            threads=scoring.threads,
            resamples=asked.resamples,
        )
    folder = asked.output or FOLDER
    with atomic_folder(folder, inputs=places, force=asked.force) as scratch:
        compared.table.write_parquet(scratch / TABLE)
        if asked.csv:
            compared.table.write_csv(scratch / CSV)
        files: list[str] = []
        if not asked.no_report:
            summary = write_user_comparison(
                compared, scratch / PAGE, title="Are simulated users like people?"
            )
            files = write_asked(summary, scratch / FIGURES, asked.figures)
        recorder.finish(scratch / RUN)
    if asked.quiet:
        return
    print(*user_lines(compared), sep="\n")
    page = "" if asked.no_report else f"{shown(folder / PAGE)} (to look at), "
    print(f"\nAll measures: {page}{shown(folder / TABLE)} (to compute with)")
    print_figures(folder / FIGURES, files)
    print(f"Run record: {shown(folder / RUN)}")


def _read(place: Path, scoring: ScoringOptions) -> Corpus:
    require_run(place)
    if is_score_folder(place):
        raise DialensError(
            f"{shown(place)} holds scores of agents, in which users' turns are not scored. Name "
            "the conversations themselves."
        )
    intake = Intake(scoring.on_error)
    corpus = read(place, format=scoring.format, options=scoring.reading, intake=intake)
    for sentence in intake.notes:
        print(sentence, file=sys.stderr)
    if intake.rejected:
        print(f"{place}: left out {intake.left_out} that cannot be read.", file=sys.stderr)
    return corpus
