"""`dialens study analyze`: what raters said, and what biased them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.analysis.bias import Resampling, analyse_study, read_study
from dialens.analysis.people import People, who_took_part
from dialens.base import RUN, DialensError, Recorder, atomic_folder, listed
from dialens.cli._options import (
    Figures,
    Force,
    OnErrorOption,
    Resamples,
    Seed,
    names,
    reads_anything,
    shown,
)
from dialens.cli._rating_options import (
    ColumnOption,
    ParticipantsOption,
    RatingFormat,
    ratings_from,
    scales_given,
)
from dialens.cli._tables_and_figures import FIGURES, print_figures, write_asked
from dialens.cli._terminal import plain_console
from dialens.cli.study._analyze_source import Versions, is_study, open_source
from dialens.cli.study._database import (
    AllVersionsOption,
    DatabaseOption,
    VersionOption,
)
from dialens.cli.study._people_grids import people_grids
from dialens.corpus import OnError
from dialens.report import Finding, Summary
from dialens.report.bias import ANALYSIS, write_study

if TYPE_CHECKING:
    pass

_MOST_SENTENCES = 6
_MOST_OF_A_TOPIC = 2
_ANALYSIS = "analysis"
_STUDY = "study.yaml"
_YAML = (".yaml", ".yml")
_EXPORT = "export"


@reads_anything("source", result=_ANALYSIS)
def analyze(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY | EXPORT",
            help="A study (its folder or file), an export, or any table of ratings with factors "
            "as columns.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for the report, tables and numbers. If not given: `analysis` in the "
            "folder of a study; for an export or a table NAME, `NAME-analysis` beside it.",
        ),
    ] = None,
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
    smallest: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POINTS | QUALITY=POINTS",
            help="The smallest difference between agents that matters, in points (a share for "
            "yes and no, a ratio for magnitudes): tests whether differences are smaller.",
        ),
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUALITY=KIND | [QUALITY=]WORD,…,WORD",
            help="What kind of answer a quality has, where the table does not say it: likert, "
            "slider, magnitude, yes_no, pairwise, best_worst or ranking; or the words that answers "
            "are, the lowest first.",
        ),
    ] = None,
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option(
            "--lower-is-better",
            metavar="QUALITY",
            help="A quality of which less is better, such as insulting: the agent with the lowest "
            "ratings is the best.",
        ),
    ] = None,
    column: ColumnOption = None,
    participants: ParticipantsOption = None,
    preregistration: Annotated[
        Path | None,
        typer.Option(
            help="The preregistration; preregistration.json beside the study file if it exists."
        ),
    ] = None,
    db: DatabaseOption = None,
    version: VersionOption = None,
    all_versions: AllVersionsOption = False,
    with_excluded: Annotated[
        bool,
        typer.Option("--with-excluded", help="Count people who were excluded all the same."),
    ] = False,
    completed_only: Annotated[
        bool,
        typer.Option("--completed-only", help="Count only people who completed the study."),
    ] = False,
    with_partial: Annotated[
        bool,
        typer.Option(
            "--with-partial",
            help="Count ratings of whole conversations that did not come to their end.",
        ),
    ] = False,
    resamples: Resamples = 2_000,
    seed: Seed = 0,
    format: RatingFormat = None,
    on_error: OnErrorOption = OnError.STOP,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Analyse a study: which agent people preferred, and how the questionnaire biased them.

    Means, differences and ranks of agents on every quality, from mixed models with raters and
    items both random and from models of choices; who took part. Effects of anchor, layout and
    deadline with intervals over raters and items and corrected p-values; agreement in each
    condition and its differences, Fleiss' kappa where ratings are labels; position, fatigue, halo,
    round numbers; suspicious raters, and the main effects without them. Analyses whose columns are
    missing are listed with the reason.

    A study is read from study.db beside its file; if nobody has taken it, from simulated.db. The
    report says so where data are simulated, and whether the study is the one that was
    preregistered. Of several versions the newest is analysed, unless others are named; `version`
    is a column then (--factor version=version). Excluded people are left out; answers of people
    who have not finished count, and the report says how many there are. Ratings of whole
    conversations that did not come to their end do not count; those of their replies do.

    [bold]Examples[/]

      dialens study analyze anchoring
      dialens study analyze export -o analysis
      dialens study analyze ratings.csv --scale tone=slider --smallest tone=5
      dialens study analyze ratings.csv --factor layout=setup --where method=likert
      dialens study analyze survey.csv --scale "Disagree,Neutral,Agree" --lower-is-better rude
    """
    factors, kept = _pairs(factor, "--factor"), _pairs(where, "--where")
    matters, (orders, kinds) = _smallest(smallest), scales_given(scale)
    lower = names(lower_is_better) or []
    arguments = {"export": source, "factor": factors, "where": kept, "normalise": normalise}
    arguments |= {"smallest": matters, "scale": scale, "lower_is_better": lower}
    arguments |= {"column": column, "participants": participants, "format": format}
    arguments |= {"version": version, "all_versions": all_versions}
    arguments |= {"with_excluded": with_excluded, "completed_only": completed_only}
    arguments |= {"with_partial": with_partial}
    chosen = Versions(version, all_versions)
    target = output or _beside(source)
    recorder = Recorder("study analyze", arguments | {"resamples": resamples}, seed=seed)
    recorder.read_from(source)
    draws = Resampling(resamples=resamples, seed=seed)
    with atomic_folder(target, inputs=[source], force=force) as scratch:
        with recorder.step("read"):
            opened = open_source(source, scratch, preregistration, db, chosen)
            data = read_study(
                opened.folder,
                factors=factors,
                where=kept,
                normalise=normalise,
                kinds=kinds,
                load=ratings_from(
                    opened.folder,
                    columns=column,
                    orders=orders,
                    format=format,
                    on_error=str(on_error),
                    participants=participants,
                ),
                say=print,
                with_excluded=with_excluded,
                completed_only=completed_only,
                with_partial=with_partial,
            )
        with recorder.step("analyse"):
            analysis = analyse_study(
                data,
                draws=draws,
                smallest=matters,
                scales=kinds,
                lower=lower,
                progress=lambda step: print(f"… {step}", file=sys.stderr, flush=True),
            )
        with recorder.step("report"):
            summary = write_study(
                analysis,
                scratch,
                title=opened.title,
                remarks=opened.remarks,
                put_in=opened.put_in,
                stopping=opened.stopping,
                participants=who_took_part(analysis.data.ratings, opened.folder),
            )
            drawn = write_asked(summary, scratch / FIGURES, figures)
        recorder.finish(scratch / RUN)
    opened.remember(target)
    _print(summary, analysis.people, target)
    print_figures(target / FIGURES, drawn)


def _beside(source: Path) -> Path:
    """Where results go if nobody says so: into the study, else beside what is read.

    Examples:
        >>> _beside(Path("data/ratings.csv.gz")).as_posix()
        'data/ratings-analysis'
    """
    if is_study(source):
        return (source if source.is_dir() else source.parent) / _ANALYSIS
    whole = source.resolve()
    name = whole.name if whole.is_dir() else whole.name.partition(".")[0]
    return source.parent / f"{name}-{_ANALYSIS}"


def _smallest(entries: list[str] | None) -> float | dict[str, float] | None:
    """`--smallest` as one number for all qualities, or one for some of them.

    Examples:
        >>> _smallest(["0.3"]), _smallest(["tone=5", "style=4"]), _smallest(None)
        (0.3, {'tone': 5.0, 'style': 4.0}, None)
    """
    found: dict[str, float] = {}
    for entry in entries or []:
        name, equals, text = entry.rpartition("=")
        try:
            found[name.strip() if equals else ""] = float(text)
        except ValueError as error:
            raise DialensError(
                f"--smallest takes a number such as 0.3, or QUALITY=0.3; seen: {entry!r}."
            ) from error
    if "" in found and len(found) > 1:
        raise DialensError(
            "--smallest is one number for all qualities, or QUALITY=NUMBER for each."
        )
    return found.get("", found) or None


def _pairs(entries: list[str] | None, option: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dictionary.

    Examples:
        >>> _pairs(["layout=setup"], "--factor")
        {'layout': 'setup'}
    """
    pairs = {}
    for entry in entries or []:
        name, equals, value = entry.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise DialensError(f"{option} takes NAME=VALUE; seen: {entry!r}.")
        pairs[name.strip()] = value.strip()
    return pairs


def _print(summary: Summary, people: People, output: Path) -> None:
    """The answer, agents by quality, clear differences, then the rest: at most a screen."""
    for remark in summary.remarks:
        print("\n".join(remark.lines()))
    print(f"\n{summary.answer}.\n{summary.scope}.")
    for table in people_grids(people):
        plain_console().print("", table)
    for note, qualities in _by_note(people).items():
        each = ", each" if len(qualities) > 1 else ""
        print(f"Note ({listed(qualities)}{each}): {note}.")
    rest = [finding for finding in summary.findings if finding.topic != "people"]
    if rest:
        print("")
    for finding in _most_telling(rest):
        print(f"  {finding.text}")
    if len(rest) > _MOST_SENTENCES:
        print(f"  … and {len(rest) - _MOST_SENTENCES} more in the report.")
    print(
        f"\n{shown(output / 'report.html')} (to look at), {shown(output / 'tables')} (CSV and "
        f"LaTeX), {shown(output / ANALYSIS)} (to compute with), text.md (for a paper), "
        "analysis.R and ratings.sps (for R and SPSS)"
    )


def _most_telling(found: Sequence[Finding]) -> list[Finding]:
    """At most six, in their order: the first two of each topic before more of one."""
    places: dict[str, int] = {}
    rank = []
    for at, finding in enumerate(found):
        place = places[finding.topic] = places.get(finding.topic, -1) + 1
        rank.append((place >= _MOST_OF_A_TOPIC, at))
    return [found[at] for at in sorted(at for _, at in sorted(rank)[:_MOST_SENTENCES])]


def _by_note(people: People) -> dict[str, list[str]]:
    """What is to be known of the numbers, each once, and the qualities it is about."""
    found: dict[str, list[str]] = {}
    for quality, note in people.notes:
        found.setdefault(note, []).append(quality)
    return found
