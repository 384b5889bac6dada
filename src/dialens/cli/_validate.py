"""`dialens validate`: metrics against what people said."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.validation import (
    Validation,
    human_ratings,
    joined,
    own_scores,
    with_ratings,
)
from dialens.analysis.validation import validate as validate_scores
from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_folder,
    counted,
    for_spreadsheet,
    interval,
    number,
    progress,
)
from dialens.cli._completion import among, metric_names
from dialens.cli._options import (
    Device,
    Figures,
    Force,
    Format,
    Memory,
    Metrics,
    OnErrorOption,
    PrecisionName,
    Resamples,
    Seed,
    memory_bytes,
    names,
    shown,
)
from dialens.cli._rating_options import (
    ColumnOption,
    OtherRatings,
    OtherRatingsFormat,
    RatersOption,
    ScaleOption,
    kinds_given,
    ratings_from,
    scales_given,
)
from dialens.cli._runs import open_runs
from dialens.cli._scoring_options import ScoringOptions
from dialens.cli._tables_and_figures import FIGURES, print_figures, write_asked
from dialens.cli._terminal import plain_console, plain_table
from dialens.corpus import LEVELS, Corpus, Intake, OnError, read
from dialens.metrics import Scores
from dialens.report import Summary, correlation_apa, paper_text, run_facts
from dialens.report.validation import (
    accuracies_latex,
    best_latex,
    ceiling_text,
    corrected_p,
    correlations_latex,
    increments_latex,
    judged,
    parting_text,
    write_validation,
)
from dialens.statistics import FOLDS

VALIDATION = "validation.json"
PAPER = "text.md"
_SHOWN = 12
_MOST_NOTES = 3


def validate(
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="Conversations with ratings, or without if --ratings brings them: file or folder.",
        ),
    ],
    scores: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCORES]",
            help="What `dialens score` wrote for that corpus; without it, and without --scores, "
            "the conversations are scored on the way.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path(
        "validation"
    ),
    quality: Annotated[
        list[str] | None,
        typer.Option("--quality", "-q", help="Only these qualities, with commas or repeated."),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            "--level",
            help="Among turn, dialog, agent, system; default: all that were rated.",
            autocompletion=among(*LEVELS),
        ),
    ] = None,
    metrics: Metrics = None,
    psychological: Annotated[
        list[str] | None,
        typer.Option(
            "--psychological",
            autocompletion=metric_names,
            help="Metrics or families of the group P; the five of Giorgi et al. (2023) by default.",
        ),
    ] = None,
    automatic: Annotated[
        list[str] | None,
        typer.Option(
            "--automatic",
            autocompletion=metric_names,
            help="Metrics or families of the group A; the automatic metrics of the field that were "
            "scored by default, or else everything not psychological.",
        ),
    ] = None,
    own: Annotated[
        list[Path] | None,
        typer.Option(
            "--scores",
            metavar="FILE",
            help="Scores of your own: a table with dialog, turn (or none, for dialogues) and a "
            "column for each metric.",
        ),
    ] = None,
    ratings: OtherRatings = None,
    column: ColumnOption = None,
    scale: ScaleOption = None,
    ratings_format: OtherRatingsFormat = None,
    raters: RatersOption = None,
    references: Annotated[
        bool,
        typer.Option(
            "--references",
            help="Keep agents whose words people wrote: human, reference, gold, ground truth, "
            "original, and planted attention checks.",
        ),
    ] = False,
    resamples: Resamples = RESAMPLES,
    folds: Annotated[
        int,
        typer.Option(
            "--folds", min=2, help="Folds of the cross-validation; a context stays in one fold."
        ),
    ] = FOLDS,
    seed: Seed = 0,
    device: Device = "auto",
    precision: PrecisionName = "int8",
    memory: Memory = "4GB",
    format: Format = None,
    on_error: OnErrorOption = OnError.STOP,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Hold every metric against every human judgement, at every level that was rated.

    Correlations within agents, pooled and between them, with intervals that respect contexts and
    dialogues, pairwise accuracies, the human ceiling, metric against metric, and what psychological
    metrics add to automatic ones (P, A, P+A). Writes validation.json, CSV and LaTeX tables, and
    report.html into the output folder.

    [bold]Examples[/]

      dialens validate rated.jsonl scores -o validation
      dialens validate rated.jsonl scores --quality engaging --level turn
      dialens validate corpus scores --psychological emotion,style --automatic surface
      dialens validate corpus scores --automatic automatic,engagement
      dialens validate corpus scores --references
      dialens validate rated.jsonl --scores mine.csv
      dialens validate rated.jsonl scores --scores mine.csv
      dialens validate chats.jsonl --ratings ratings.csv
      dialens validate chats.jsonl scores --ratings ratings.csv --column value=Score
    """
    kinds = kinds_given(raters) or ["human"]
    if ratings is None and (column or scale or ratings_format):
        raise DialensError(
            "--column, --scale and --ratings-format say how to read --ratings FILE, which is "
            "missing."
        )
    if scores is not None and scores.is_file() and not own:
        raise DialensError(
            f"{scores} is a file, not a folder that `dialens score` wrote. For a table of scores "
            f"of your own: dialens validate {corpus} --scores {scores}"
        )
    ours = None if scores is None else Scores.open(scores)
    arguments = {
        "corpus": corpus,
        "scores": scores,
        "own_scores": own,
        "ratings": ratings,
        "columns": column,
        "scale": scale,
        "quality": names(quality),
        "level": names(level),
        "metrics": names(metrics),
        "psychological": names(psychological),
        "automatic": names(automatic),
        "raters": kinds,
        "references": references,
        "resamples": resamples,
        "folds": folds,
        "device": device,
        "precision": precision,
        "memory": memory_bytes(memory),
    }
    recorder = Recorder("validate", arguments, seed=seed)
    recorder.read_from(corpus, scores, ratings, *(own or []))
    inputs = [corpus, *(place for place in (scores, ratings) if place is not None), *(own or [])]
    with atomic_folder(output, inputs=inputs, force=force) as scratch:
        with recorder.step("read"), progress("Reading") as advance:
            conversations = read(corpus, format=format, intake=Intake(on_error), advance=advance)
            if ratings is not None:
                conversations = _rated(
                    conversations, ratings, column, scale, ratings_format, on_error
                )
            skip = on_error == OnError.SKIP
            theirs = [own_scores(file, conversations, skip=skip) for file in own or []]
        if ours is None and not theirs:
            human_ratings(conversations, raters=kinds, qualities=names(quality))
            with recorder.step("score"):
                on_the_way = ScoringOptions(
                    seed=seed,
                    device=device,
                    precision=precision,
                    memory=memory,
                    format=format,
                    on_error=on_error,
                )
                ours = next(iter(open_runs([corpus], on_the_way, metrics=names(metrics)).values()))
        opened = joined(ours, theirs)
        for sentence in (note for one in theirs for note in one.notes):
            print(sentence)
        with recorder.step("validate"), progress("Validating", unit="parts") as advance:
            result = validate_scores(
                conversations,
                opened,
                qualities=names(quality),
                levels=names(level),
                metrics=names(metrics),
                psychological=names(psychological),
                automatic=names(automatic),
                raters=kinds,
                references=references,
                resamples=resamples,
                folds=folds,
                seed=seed,
                advance=advance,
            )
        recorder.observe(**run_facts(corpus=conversations, scores=opened))
        with recorder.step("report"):
            summary = _write(result, scratch, resamples, folds)
            drawn = write_asked(summary, scratch / FIGURES, figures)
        recorder.finish(scratch / RUN)
    _print(result, summary, output)
    print_figures(output / FIGURES, drawn)


def _rated(
    corpus: Corpus,
    ratings: Path,
    columns: list[str] | None,
    scale: list[str] | None,
    format: str | None,
    on_error: OnError,
) -> Corpus:
    """The conversations with the ratings of a table; what was joined is said."""
    orders, _ = scales_given(scale, kinds=())
    load = ratings_from(
        ratings,
        columns=columns,
        orders=orders,
        format=format,
        on_error=str(on_error),
        participants=None,
    )
    rated = with_ratings(corpus, load(), ratings.name)
    for sentence in rated.notes:
        print(sentence)
    return rated.corpus


def _write(result: Validation, folder: Path, resamples: int, folds: int) -> Summary:
    text = json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / VALIDATION).write_text(text + "\n", encoding="utf-8")
    for_spreadsheet(result.best).write_csv(folder / "best.csv")
    for_spreadsheet(result.correlations).write_csv(folder / "correlations.csv")
    for_spreadsheet(result.accuracies).write_csv(folder / "accuracies.csv")
    for_spreadsheet(result.differences).write_csv(folder / "differences.csv")
    for_spreadsheet(result.increments).write_csv(folder / "incremental.csv")
    rows = result.correlations.filter("headline").drop_nulls("pearson").to_dicts()
    parts: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: -abs(row["pearson"])):
        said = correlation_apa(row, result.labels[row["metric"]])
        parts.setdefault(f"{row['quality']} ({row['level']})", []).append(said)
    text = paper_text(f"Validation: {result.dataset}", parts, list(result.notes))
    (folder / PAPER).write_text(text, encoding="utf-8")
    for name, latex in (
        ("best", best_latex),
        ("correlations", correlations_latex),
        ("accuracies", accuracies_latex),
        ("incremental", increments_latex),
    ):
        (folder / f"{name}.tex").write_text(latex(result), encoding="utf-8")
    return write_validation(
        result,
        folder / "report.html",
        title=f"Validation: {result.dataset}",
        resamples=resamples,
        folds=folds,
    )


def _print(result: Validation, summary: Summary, output: Path) -> None:
    """Three sentences, one table, and where the rest is."""
    print(f"{summary.answer}.\n{ceiling_text(result)}.\n{parting_text(result)}.")
    columns = ("quality", "best metric", "within", "pooled", "between", "95 % interval", "p adj.")
    grid = plain_table(*columns)
    best = judged(result)
    for row in best.head(_SHOWN).iter_rows(named=True):
        grid.add_row(row["quality"], *_cells(row, result))
    plain_console().print("", grid)
    if best.height > _SHOWN:
        print(f"… and {counted(best.height - _SHOWN, 'quality', 'qualities')} in the report")
    print(f"\n{_footnote(best)}")
    for note in result.notes[:_MOST_NOTES]:
        print(f"Note: {note}")
    if len(result.notes) > _MOST_NOTES:
        more = counted(len(result.notes) - _MOST_NOTES, "more note")
        print(f"… and {more} in the report")
    print(f"\nReport: {shown(output / 'report.html')}   (open it in a browser)")
    tables = f"{shown(output / VALIDATION)}, *.csv, *.tex, {PAPER}"
    print(f"Tables: {tables}   Run record: {shown(output / RUN)}")


def _cells(row: Mapping[str, Any], result: Validation) -> list[str]:
    if row["metric"] is None:
        return [f"none: {row['reason']}", *["–"] * 5]
    return [
        result.labels[row["metric"]],
        *(number(row[scope], 2) for scope in ("within", "pooled", "between")),
        interval(row["low"], row["high"], 2),
        corrected_p(row).removeprefix("= "),
    ]


def _footnote(best: pl.DataFrame) -> str:
    """What interval and p belong to, and what choosing the best of many does to it."""
    known = best.filter(pl.col("metric").is_not_null())
    if not known.height:
        return "Nothing could be tested."
    leads = "r within agents" if "within" in set(known["scope"]) else "the pooled r"
    elsewhere = known.filter(pl.col("r_elsewhere").is_not_null())
    first = elsewhere.sort(-pl.col("r").abs()).head(1).to_dicts()
    families = known["family"].drop_nulls()
    tests = int(families[0]) if len(families) else 0
    text = (
        f"Interval and p are of {leads}, p corrected over {counted(tests, 'test')}. "
        f"The best of {counted(int(known['n_metrics'][0]), 'metric')} looks stronger than it is"
    )
    if not first:
        return f"{text}."
    row = first[0]
    return (
        f"{text}: the best for {row['quality']}, chosen on one half of the data, reaches "
        f"{number(row['r_elsewhere'], 2)} in the same direction on the other."
    )
