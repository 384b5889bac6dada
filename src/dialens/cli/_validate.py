"""`dialens validate`: metrics against what people said."""

import json
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.validation import Validation
from dialens.analysis.validation import validate as validate_scores
from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_folder,
    interval,
    number,
    p_value,
    progress,
)
from dialens.cli._options import Force, Format, OnErrorOption, Resamples, Seed, names, shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.corpus import RATER_KINDS, Intake, OnError, read
from dialens.metrics import Scores
from dialens.report import Summary, run_facts
from dialens.report.validation import correlations_latex, increments_latex, write_validation
from dialens.statistics import FOLDS

VALIDATION = "validation.json"
_SHOWN = 16
_MOST_SENTENCES = 10


def validate(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="Conversations with ratings: file or folder.")
    ],
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES", help="What `dialens score` wrote for that corpus.")
    ],
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
            "--level", help="Among turn, dialog, agent, system; default: all that were rated."
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", "-m", help="Only these metrics or families.")
    ] = None,
    psychological: Annotated[
        list[str] | None,
        typer.Option(
            "--psychological",
            help="Metrics or families of the group P; the five of Giorgi et al. (2023) by default.",
        ),
    ] = None,
    automatic: Annotated[
        list[str] | None,
        typer.Option(
            "--automatic",
            help="Metrics or families of the group A; the automatic metrics of the field that were "
            "scored by default, or else everything not psychological.",
        ),
    ] = None,
    raters: Annotated[
        list[str] | None,
        typer.Option("--raters", help="Kinds of raters to use: human, llm, simulated."),
    ] = None,
    resamples: Resamples = RESAMPLES,
    folds: Annotated[
        int,
        typer.Option(
            "--folds", min=2, help="Folds of the cross-validation; a context stays in one fold."
        ),
    ] = FOLDS,
    seed: Seed = 0,
    format: Format = None,
    on_error: OnErrorOption = OnError.STOP,
    force: Force = False,
) -> None:
    """Hold every metric against every human judgement, at every level that was rated.

    Correlations with intervals that respect contexts and dialogues, the human ceiling, metric
    against metric, and what psychological metrics add to automatic ones (P, A, P+A). Writes
    validation.json, CSV and LaTeX tables, and report.html into the output folder.

    [bold]Examples[/]

      dialens validate rated.jsonl scores -o validation
      dialens validate rated.jsonl scores --quality engaging --level turn
      dialens validate corpus scores --psychological emotion,style --automatic surface
      dialens validate corpus scores --automatic automatic,engagement
    """
    kinds = names(raters) or ["human"]
    for kind in kinds:
        if kind not in RATER_KINDS:
            raise DialensError(f"--raters takes {', '.join(RATER_KINDS)}; seen: {kind!r}.")
    opened = Scores.open(scores)
    arguments = {
        "corpus": corpus,
        "scores": scores,
        "quality": names(quality),
        "level": names(level),
        "metrics": names(metrics),
        "psychological": names(psychological),
        "automatic": names(automatic),
        "raters": kinds,
        "resamples": resamples,
        "folds": folds,
    }
    recorder = Recorder("validate", arguments, seed=seed)
    with atomic_folder(output, inputs=[corpus, scores], force=force) as scratch:
        with recorder.step("read"), progress("Reading") as advance:
            conversations = read(corpus, format=format, intake=Intake(on_error), advance=advance)
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
                resamples=resamples,
                folds=folds,
                seed=seed,
                advance=advance,
            )
        recorder.observe(**run_facts(corpus=conversations, scores=opened))
        with recorder.step("report"):
            summary = _write(result, scratch, resamples, folds)
        recorder.finish(scratch / RUN)
    _print(result, summary, output)


def _write(result: Validation, folder: Path, resamples: int, folds: int) -> Summary:
    text = json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / VALIDATION).write_text(text + "\n", encoding="utf-8")
    result.correlations.write_csv(folder / "correlations.csv")
    result.differences.write_csv(folder / "differences.csv")
    result.increments.write_csv(folder / "incremental.csv")
    (folder / "correlations.tex").write_text(correlations_latex(result), encoding="utf-8")
    (folder / "incremental.tex").write_text(increments_latex(result), encoding="utf-8")
    return write_validation(
        result,
        folder / "report.html",
        title=f"Validation: {result.dataset}",
        resamples=resamples,
        folds=folds,
    )


def _print(result: Validation, summary: Summary, output: Path) -> None:
    print(f"{summary.answer}.\n{summary.scope}.")
    columns = ("metric", "judgement", "level", "n", "r", "95 % interval", "rho", "tau", "p adj.")
    grid = plain_table(*columns)
    defined = result.correlations.filter(pl.col("pearson").is_not_null())
    few = pl.col("level").is_in(["agent", "system"])  # large by chance, so not the first to see
    for row in defined.sort(few, -pl.col("pearson").abs()).head(_SHOWN).iter_rows(named=True):
        grid.add_row(
            result.labels[row["metric"]],
            row["quality"],
            row["level"],
            f"{row['n']:,}",
            number(row["pearson"], 3),
            interval(row["pearson_low"], row["pearson_high"], 3),
            number(row["spearman"], 3),
            number(row["kendall"], 3),
            p_value(row["pearson_p_adjusted"]),
        )
    plain_console().print("", grid)
    if defined.height > _SHOWN:
        print(f"… and {defined.height - _SHOWN:,} more, in the report")
    tested = defined["family"].drop_nulls()
    print(
        f"\np adj.: corrected over {tested[0] if len(tested) else 0:,} tests "
        "(Benjamini–Hochberg).\n"
    )
    for finding in summary.findings[:_MOST_SENTENCES]:
        print(f"• {finding.text}")
    if len(summary.findings) > _MOST_SENTENCES:
        print(f"… and {len(summary.findings) - _MOST_SENTENCES:,} more, in the report")
    unknown = result.correlations.filter(pl.col("pearson").is_null())["reason"]
    for reason, count in unknown.value_counts(sort=True).iter_rows():
        print(f"{count:,} not computed: {reason}.")
    for note in result.notes:
        print(f"Note: {note}")
    print(f"\nReport: {shown(output / 'report.html')}   (open it in a browser)")
    print(f"Tables: {shown(output / VALIDATION)}, *.csv, *.tex   Run record: {shown(output / RUN)}")
