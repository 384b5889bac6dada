"""`dialens score`: conversations in, scores and a report out."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dialens.analysis.profiles import write_trait_profile
from dialens.base import RUN, Recorder, atomic_folder, counted, progress
from dialens.cli._agent_tables import print_agents
from dialens.cli._asked import asked_for, refuse_unavailable, selection_lines
from dialens.cli._completion import among, metric_names
from dialens.cli._options import (
    AgentName,
    AllowPickle,
    AnyLanguage,
    Cache,
    ColumnNames,
    Device,
    Force,
    Format,
    MetricOptions,
    Models,
    NoCache,
    OnErrorOption,
    OwnModels,
    RoleNames,
    Seed,
    SystemName,
    Weights,
    level_names,
    make_resources,
    make_scorers,
    names,
    read_options,
    shown,
)
from dialens.cli._runs import NoReport, Quiet
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
from dialens.corpus import (
    LEVELS,
    Intake,
    OnError,
    ReadOptions,
    read,
    remote_address,
    write_rejects,
)
from dialens.metrics import (
    OtherLanguage,
    Resources,
    Scores,
    ScoringPlan,
    fit_to_language,
    forecast,
    make_plan,
    score_into,
    write_places,
)
from dialens.models import GET_LARGER, has_larger_models
from dialens.report import Remark, Summary, run_facts, write_report


def score(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            metavar="CORPUS...",
            help="Files or folders to read; several are several systems, to be compared.",
        ),
    ],
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
    agent: AgentName = None,
    system: SystemName = None,
    column: ColumnNames = None,
    role: RoleNames = None,
    any_language: AnyLanguage = False,
    on_error: OnErrorOption = OnError.STOP,
    no_report: NoReport = False,
    quiet: Quiet = False,
    csv: Csv = False,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Score conversations at every level and write a report.

    Writes scores.parquet (one row a value), agents.csv (one row an agent, for spreadsheets),
    report.html (to look at) and run.json (what was done, with what) into the output folder.

    [bold]Examples[/]

      dialens score chats.jsonl -o out
      dialens score v1.jsonl v2.jsonl -o out
      dialens score logs/ -o out --on-error skip
      dialens score logs/ -o out --agent my-bot
      dialens score chats.csv -o out --column text=Message --column dialog="Conversation ID"
      dialens score corpus -o out --metrics emotion,language_style_matching --levels agent,system
      dialens score corpus -o out --models none --no-report --quiet
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
    if not quiet:
        print(*(f"{line}\n" for line in selection_lines(names(metrics))), sep="", end="")
    score_to(
        corpus,
        output,
        plan=plan,
        levels=kept,
        resources=resources,
        threads=threads,
        format=format,
        options=read_options(agent, system, column, role),
        any_language=any_language,
        on_error=on_error,
        asked=asked_for(names(metrics), plan),
        with_report=not no_report,
        quiet=quiet,
        csv=csv,
        figures=figures,
        force=force,
    )


def score_to(
    sources: Sequence[Path],
    output: Path,
    *,
    plan: ScoringPlan,
    levels: list[str],
    resources: Resources,
    threads: int | None = None,
    format: str | None = None,
    options: ReadOptions | None = None,
    any_language: bool = False,
    on_error: OnError = OnError.STOP,
    asked: Sequence[str] = (),
    with_report: bool = True,
    quiet: bool = False,
    csv: bool = False,
    figures: FigureFormat | None = None,
    force: bool = False,
) -> None:
    """Read, score, report; the output folder appears when all of it is done."""
    intake = Intake(on_error)
    options = options or ReadOptions()
    read_from = [remote_address(source) or str(source) for source in sources]
    context = resources.scorers.context
    arguments = {
        "corpus": read_from[0] if len(read_from) == 1 else read_from,
        "agent": options.agent,
        "system": options.system,
        "columns": dict(options.columns),
        "roles": dict(options.roles),
        "metrics": [metric.name for metric in plan.metrics],
        "levels": levels,
        "models": context.models.size,
        "own_models": {task: str(place) for task, place in context.models.own.items()},
        "weights": dict(context.weights),
        "metric_options": {k: dict(v) for k, v in context.options.items()},
        "any_language": any_language,
        "on_error": on_error,
    }
    recorder = Recorder("score", arguments, seed=resources.seed)
    with atomic_folder(output, inputs=sources, force=force) as scratch:
        spool = scratch / ".spool"
        with recorder.step("read"), progress("Reading") as advance:
            corpus = read(
                *sources,
                format=format,
                options=options,
                intake=intake,
                spool=spool,
                advance=advance,
            )
        turns = int(corpus.manifest["counts"]["turns"])
        with recorder.step("language"):
            plan, language = fit_to_language(plan, corpus, resources, any_language=any_language)
        with recorder.step("load models"):
            expected = forecast(corpus, plan)
        refuse_unavailable(plan)
        if expected is not None and not quiet:
            print(*expected.lines(), sep="\n", file=sys.stderr, flush=True)
        with recorder.step("score"), progress("Scoring", total=turns) as advance:
            scores = score_into(
                corpus, scratch, plan, levels=levels, threads=threads, advance=advance
            )
        with recorder.step("trait profile"):
            write_trait_profile(scores, scratch, seed=resources.seed)
            write_places(scores, scratch)
        reasons = [reject.reason for reject in intake.rejects]
        facts = run_facts(corpus=corpus, scores=scores, resources=resources)
        recorder.observe(**facts, rejected=reasons)
        summary, drawn = None, []
        if with_report:
            with recorder.step("report"), progress("Writing the report", unit="parts"):
                summary = write_report(
                    scores,
                    corpus,
                    scratch / "report.html",
                    run=recorder.record(),
                    resources=resources,
                    seed=resources.seed,
                    remarks=_remarks(language),
                )
                drawn = write_asked(summary, scratch / FIGURES, figures)
        write_score_tables(scores, scratch, csv=csv)
        recorder.finish(scratch / RUN)
        if intake.rejects:
            write_rejects(intake, scratch / "rejects.jsonl")
        shutil.rmtree(spool, ignore_errors=True)
    if not quiet:
        _print(Scores.open(output), summary, output, intake, asked, _remarks(language))
        print_figures(output / FIGURES, drawn)
        if context.models.size == "default" and not has_larger_models():
            print(f"Models: the small ones. Those that did better on engagement: {GET_LARGER}")


def _remarks(language: OtherLanguage | None) -> list[Remark]:
    if language is None:
        return []
    title = "Not in English" if language.agents else "Not all in English"
    return [Remark(title, language.text, warning=True)]


def _print(
    scores: Scores,
    summary: Summary | None,
    output: Path,
    intake: Intake,
    asked: Sequence[str],
    remarks: Sequence[Remark],
) -> None:
    """A few lines on what was scored, what stands out and where to look."""
    for remark in remarks:
        print(f"{remark.title}: {remark.text}")
    if summary is not None:
        print(f"{summary.answer}.\n{summary.scope}.")
    else:
        dialogs = scores.states.select(pl.len()).collect().item()
        print(f"Scored {counted(dialogs, 'dialogue')} on {counted(len(scores.names), 'metric')}.")
    for sentence in intake.notes:
        print(sentence)
    if intake.rejected:
        print(f"Left out {intake.left_out}: see {shown(output / 'rejects.jsonl')}.")
    agents = print_agents(scores, asked)
    if summary is not None and summary.findings:
        heading = "How it comes across" if agents == 1 else "What stands out"
        print(f"\n{heading} (95 % intervals over dialogues):")
        for finding in summary.findings:
            print(f"  {finding.text}")
    print()
    if summary is not None:
        print(f"Report: {shown(output / 'report.html')}   (open it in a browser)")
    print(
        f"Scores: {shown(output / 'scores.parquet')}, {shown(output / AGENTS)}   "
        f"Run record: {shown(output / RUN)}"
    )
    if agents > 1:
        print(f"Next:   dialens compare {shown(output)}")
