"""`dialens study`: rating studies, from the export to the analysis."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.cli.options import Force, Resamples, Seed, shown
from dialens.errors import DialensError
from dialens.report import RUN, Recorder
from dialens.report.bias_page import ANALYSIS, StudySummary, write_study
from dialens.stats.bias import Draws, analyse_study, read_study
from dialens.storage import atomic_folder

app = typer.Typer(no_args_is_help=True, help="Rating studies: analyse what raters gave.")

_MOST_LINES = 14


@app.callback()
def root() -> None:
    """Rating studies: analyse what raters gave."""


@app.command("analyze")
def analyze(
    export: Annotated[
        Path,
        typer.Argument(
            metavar="EXPORT",
            help="A folder with ratings.parquet, or any table of ratings with factors as columns.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the report, tables and numbers.")
    ] = Path("analysis"),
    factor: Annotated[
        list[str] | None,
        typer.Option(help="NAME=COLUMN: a factor by its name in the table, e.g. layout=setup."),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="COLUMN=VALUE: keep only these ratings.")
    ] = None,
    normalise: Annotated[
        str,
        typer.Option(help="For agreement: `log` (magnitudes), `none`, or `auto` by the scale."),
    ] = "auto",
    resamples: Resamples = 2_000,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Measure what pushed the raters of a study, as well as what they said.

    Effects of anchor, layout and deadline with intervals over participants and corrected
    p-values; agreement in each condition and its differences; position, fatigue, halo, round
    numbers; raters to look at twice, and the main effects without them. Parts whose columns are
    missing are named with the reason, the rest is computed.

    [bold]Examples[/]

      dialens study analyze export -o analysis
      dialens study analyze ratings.csv --normalise none -o analysis
      dialens study analyze ratings.csv --factor layout=setup --where method=likert
    """
    factors, kept = _pairs(factor, "--factor"), _pairs(where, "--where")
    arguments = {"export": export, "factor": factors, "where": kept, "normalise": normalise}
    recorder = Recorder("study analyze", arguments | {"resamples": resamples}, seed=seed)
    with recorder.step("read"):
        data = read_study(export, factors=factors, where=kept, normalise=normalise)
    draws = Draws(resamples=resamples, seed=seed)
    with recorder.step("analyse"):
        analysis = analyse_study(data, draws=draws, progress=lambda step: print(f"… {step}"))
    with atomic_folder(output, marker=ANALYSIS, force=force) as scratch:
        with recorder.step("report"):
            summary = write_study(analysis, scratch, title=f"Study: {export.stem}")
        recorder.finish(scratch / RUN)
    _print(summary, output)


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dictionary.

    Examples:
        >>> _pairs(["layout=setup"], "--factor")
        {'layout': 'setup'}
    """
    made = {}
    for entry in given or []:
        name, equals, value = entry.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise DialensError(f"{option} takes NAME=VALUE; seen: {entry!r}.")
        made[name.strip()] = value.strip()
    return made


def _print(summary: StudySummary, output: Path) -> None:
    lines = summary.lines()
    print("\n" + "\n".join(lines[: _MOST_LINES + 1]))
    if len(lines) > _MOST_LINES + 1:
        print(f"  … and {len(lines) - _MOST_LINES - 1} more in the report.")
    print(
        f"\n{shown(output / 'report.html')} (to look at), {shown(output / 'tables')} (CSV and "
        f"LaTeX), {shown(output / ANALYSIS)} (to compute with)"
    )
