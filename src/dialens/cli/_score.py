"""`dialens score`: conversations in, scores and a report out."""

import shutil
import sys
from itertools import accumulate
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Column

from dialens.analysis.profiles import write_trait_profile
from dialens.base import RUN, Recorder, atomic_folder, counted, progress
from dialens.cli._completion import among, metric_names
from dialens.cli._options import (
    AllowPickle,
    Cache,
    Device,
    Force,
    Format,
    MetricOptions,
    Models,
    NoCache,
    OnErrorOption,
    OwnModels,
    Seed,
    Weights,
    level_names,
    make_resources,
    make_scorers,
    names,
    shown,
)
from dialens.cli._tables_and_figures import (
    AGENTS,
    FIGURES,
    Csv,
    FigureFormat,
    Figures,
    print_figures,
    write_asked,
    write_score_tables,
)
from dialens.cli._terminal import plain_console, plain_table
from dialens.corpus import LEVELS, Intake, OnError, read, write_rejects
from dialens.metrics import Resources, Scores, ScoringPlan, forecast, make_plan, score_into
from dialens.models import GET_LARGER, has_larger_models
from dialens.report import Summary, headline_metrics, run_facts, write_report

_NUMBER = 6  # characters of a value
_GAP = 2
_MOST_AGENTS = 12


def score(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="File or folder to read.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path("out"),
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "-m",
            autocompletion=metric_names,
            help="Metrics or families, with commas; `automatic` for those of the field, `all` for "
            "everything; all but the automatic ones by default.",
        ),
    ] = None,
    levels: Annotated[
        list[str] | None,
        typer.Option(
            "--levels",
            help="Among turn, dialog, agent, system; default: all.",
            autocompletion=among(*LEVELS),
        ),
    ] = None,
    lexicon: Annotated[
        list[str] | None,
        typer.Option(
            "--lexicon", help="KIND=FILE: your own lexicon, with KIND emotion, style or stop."
        ),
    ] = None,
    models: Models = "default",
    model: OwnModels = None,
    weights: Weights = None,
    metric_option: MetricOptions = None,
    device: Device = "auto",
    allow_pickle: AllowPickle = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    prompt: Annotated[
        str,
        typer.Option(
            help="What a turn answers: the whole `context` before it, or the `last` turn."
        ),
    ] = "context",
    seed: Seed = 0,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Batches worked on at once; one a core by default.")
    ] = None,
    format: Format = None,
    on_error: OnErrorOption = OnError.STOP,
    csv: Csv = False,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Score conversations at every level and write a report.

    Writes scores.parquet (one row a value), agents.csv (one row an agent, for spreadsheets),
    report.html (to look at) and run.json (what was done, with what) into the output folder.

    [bold]Examples[/]

      dialens score chats.jsonl -o out
      dialens score logs/ -o out --on-error skip
      dialens score corpus -o out --metrics emotion,language_style_matching --levels agent,system
      dialens score corpus -o out --models none
      dialens score corpus -o out --lexicon emotion=NRC-Hashtag-Emotion-Lexicon-v0.2.txt
      dialens score corpus -o out --model toxicity=my-classifier/
      dialens score corpus -o out --metrics all --weights bert_score=roberta-large/
      dialens score corpus -o out --metrics bert_score --metric-option bert_score.layer=9
    """
    kept = level_names(levels)
    resources = make_resources(
        lexicon,
        prompt,
        seed,
        make_scorers(
            models=models,
            own_models=model,
            weights=weights,
            options=metric_option,
            device=device,
            allow_pickle=allow_pickle,
            cache=cache,
            no_cache=no_cache,
            threads=threads,
        ),
    )
    plan = make_plan(names(metrics), resources)
    score_to(
        corpus,
        output,
        plan=plan,
        levels=kept,
        resources=resources,
        threads=threads,
        format=format,
        on_error=on_error,
        csv=csv,
        figures=figures,
        force=force,
    )


def score_to(
    source: Path,
    output: Path,
    *,
    plan: ScoringPlan,
    levels: list[str],
    resources: Resources,
    threads: int | None = None,
    format: str | None = None,
    on_error: OnError = OnError.STOP,
    csv: bool = False,
    figures: FigureFormat | None = None,
    force: bool = False,
) -> None:
    """Read, score, report; the output folder appears when all of it is done."""
    intake = Intake(on_error)
    context = resources.scorers.context
    arguments = {
        "corpus": source,
        "metrics": [metric.name for metric in plan.metrics],
        "levels": levels,
        "models": context.models.size,
        "own_models": {task: str(place) for task, place in context.models.own.items()},
        "weights": dict(context.weights),
        "metric_options": {k: dict(v) for k, v in context.options.items()},
        "on_error": on_error,
    }
    recorder = Recorder("score", arguments, seed=resources.seed)
    with atomic_folder(output, inputs=[source], force=force) as scratch:
        spool = scratch / ".spool"
        with recorder.step("read"), progress("Reading") as advance:
            corpus = read(source, format=format, intake=intake, spool=spool, advance=advance)
        turns = int(corpus.manifest["counts"]["turns"])
        with recorder.step("load models"):
            expected = forecast(corpus, plan)
        if expected is not None:
            print(*expected.lines(), sep="\n", file=sys.stderr, flush=True)
        with recorder.step("score"), progress("Scoring", total=turns) as advance:
            scores = score_into(
                corpus, scratch, plan, levels=levels, threads=threads, advance=advance
            )
        with recorder.step("trait profile"):
            write_trait_profile(scores, scratch, seed=resources.seed)
        reasons = [reject.reason for reject in intake.rejects]
        facts = run_facts(corpus=corpus, scores=scores, resources=resources)
        recorder.observe(**facts, rejected=reasons)
        with recorder.step("report"), progress("Writing the report", unit="parts"):
            summary = write_report(
                scores,
                corpus,
                scratch / "report.html",
                run=recorder.record(),
                resources=resources,
                seed=resources.seed,
            )
            drawn = write_asked(summary, scratch / FIGURES, figures)
        write_score_tables(scores, scratch, csv=csv)
        recorder.finish(scratch / RUN)
        if intake.rejects:
            write_rejects(intake, scratch / "rejects.jsonl")
        shutil.rmtree(spool, ignore_errors=True)
    _print(Scores.open(output), summary, output, intake)
    print_figures(output / FIGURES, drawn)
    if context.models.size == "default" and not has_larger_models():
        print(f"Models: the small ones. Those that did better on engagement: {GET_LARGER}")


def _print(scores: Scores, summary: Summary, output: Path, intake: Intake) -> None:
    """A few lines on what was scored, what stands out and where to look."""
    print(f"{summary.answer}.\n{summary.scope}.")
    if intake.rejected:
        print(
            f"Left out {counted(intake.rejected, 'record')}: see {shown(output / 'rejects.jsonl')}."
        )
    agents = _print_agents(scores)
    if summary.findings:
        print("\nWhat stands out (95 % intervals over dialogues):")
        for finding in summary.findings:
            print(f"  {finding.text}")
    print(f"\nReport: {shown(output / 'report.html')}   (open it in a browser)")
    print(
        f"Scores: {shown(output / 'scores.parquet')}, {shown(output / AGENTS)}   "
        f"Run record: {shown(output / RUN)}"
    )
    if agents > 1:
        print(f"Next:   dialens compare {shown(output)}")


def _print_agents(scores: Scores) -> int:
    """A table of agents and headline metrics; how many agents there are."""
    rows = scores.table.filter(pl.col("level") == "agent").collect()
    if not rows.height:
        return 0
    if not (rows["n"] + rows["n_missing"]).sum():
        print(
            "No turn in this corpus is an agent's, so every value is missing. Name the roles "
            "(assistant, bot, agent) in the data, or choose the format with --format."
        )
    console = plain_console()
    present = rows.filter(pl.col("value").is_not_null())["metric"].unique()
    present = present if len(present) else rows["metric"].unique()
    shown_metrics = headline_metrics({name: scores.cards[name] for name in sorted(present)})
    wide = scores.wide("agent")
    names_take = max(map(len, wide["agent"].head(_MOST_AGENTS).to_list()), default=0)
    shown_metrics = _fitting(shown_metrics, console.width - max(names_take, len("agent")))
    labels = [name.replace("_", " ") for name in shown_metrics]
    table = plain_table(Column("agent", overflow="fold"))
    for text in labels:
        table.add_column(text, min_width=max(map(len, text.split())))
    for row in wide.head(_MOST_AGENTS).iter_rows(named=True):
        values = [row[name] for name in shown_metrics]
        table.add_row(row["agent"], *("–" if v is None else f"{v:.3f}" for v in values))
    console.print("", table)
    if wide.height > _MOST_AGENTS:
        print(f"… and {wide.height - _MOST_AGENTS:,} more agents")
    return wide.height


def _fitting(metrics: list[str], room: int) -> list[str]:
    """As many metrics from the first on as have room beside each other, one at least.

    Examples:
        >>> _fitting(["emotional_entropy", "question", "length"], 22)
        ['emotional_entropy', 'question']
    """
    widths = [max(_NUMBER, *map(len, name.split("_"))) + _GAP for name in metrics]
    kept = [name for name, end in zip(metrics, accumulate(widths), strict=True) if end <= room]
    return kept or metrics[:1]
