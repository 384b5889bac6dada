"""Scoring as the command line does it: read, score, report, and say what came out."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from dialens.analysis.profiles import write_trait_profile
from dialens.base import (
    MEMORY,
    RUN,
    Advance,
    DialensError,
    Recorder,
    atomic_folder,
    counted,
    listed,
    progress,
)
from dialens.cli._agent_tables import print_agents
from dialens.cli._asked import asked_for, refuse_unavailable, selection_lines
from dialens.cli._judged import with_judges
from dialens.cli._options import FigureFormat, shown
from dialens.cli._scoring_options import ScoringOptions
from dialens.cli._tables_and_figures import (
    AGENTS,
    FIGURES,
    print_figures,
    write_asked,
    write_score_tables,
)
from dialens.corpus import (
    CutOff,
    Intake,
    OnError,
    ReadOptions,
    cut_off_turns,
    errors_naming,
    read,
    remote_address,
    usual_threads,
    write_rejects,
)
from dialens.metrics import (
    BatchSource,
    OtherLanguage,
    Resources,
    Scores,
    ScoringPlan,
    fit_to_language,
    forecast,
    make_plan,
    partial_note,
    score_into,
    write_places,
)
from dialens.metrics.cluster import (
    SparkCluster,
    cluster_corpus,
    local_path,
    open_cluster,
    remove_staging,
    spark_address,
)
from dialens.models import GET_LARGER, arithmetic_in, has_larger_models
from dialens.report import Remark, Summary, run_facts, write_report

_NAMED = 4
_MANY_CUT_OFF = 0.05


def score_asked(
    sources: Sequence[Path],
    output: Path,
    scoring: ScoringOptions,
    *,
    metrics: list[str] | None,
    levels: list[str],
    judges: Path | None,
    master: str | None = None,
    any_language: bool,
    with_report: bool,
    quiet: bool,
    csv: bool,
    figures: FigureFormat | None,
    force: bool,
) -> None:
    """Score as the options say."""
    resources = scoring.resources(master=master)
    plan = make_plan(metrics, resources)
    if not quiet:
        print(*(f"{line}\n" for line in selection_lines(metrics)), sep="", end="")
    score_to(
        sources,
        output,
        plan=plan,
        levels=levels,
        judges=judges,
        master=master,
        resources=resources,
        threads=scoring.threads,
        memory=scoring.memory_bytes,
        format=scoring.format,
        options=scoring.reading,
        any_language=any_language,
        whole_turns=scoring.whole_turns,
        on_error=scoring.on_error,
        asked=asked_for(metrics, plan),
        with_report=with_report,
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
    judges: Path | None = None,
    master: str | None = None,
    resources: Resources,
    threads: int | None = None,
    memory: int = MEMORY,
    format: str | None = None,
    options: ReadOptions | None = None,
    any_language: bool = False,
    whole_turns: bool = False,
    on_error: OnError = OnError.STOP,
    asked: Sequence[str] = (),
    with_report: bool = True,
    quiet: bool = False,
    csv: bool = False,
    figures: FigureFormat | None = None,
    force: bool = False,
) -> None:
    """Read, score, report; the output folder appears when all of it is done.

    With a `master`, Spark reads and scores; everything else is the same.
    """
    intake = Intake(on_error)
    options = options or ReadOptions()
    bar = _no_progress if quiet else progress
    place_of = remote_address if master is None else spark_address
    read_from = [place_of(source) or str(source) for source in sources]
    address = None if master is None else _one_address(sources)
    context = resources.scorers.context
    arguments = {
        "corpus": read_from[0] if len(read_from) == 1 else read_from,
        "agent": options.agent,
        "system": options.system,
        "columns": dict(options.columns),
        "roles": dict(options.roles),
        "metrics": [metric.name for metric in plan.metrics],
        "levels": levels,
        "judges": judges,
        "models": context.models.size,
        "device": context.device,
        "precision": context.precision,
        "own_models": {task: str(place) for task, place in context.models.own.items()},
        "weights": dict(context.weights),
        "metric_options": {k: dict(v) for k, v in context.options.items()},
        "any_language": any_language,
        "whole_turns": whole_turns,
        "on_error": on_error,
        "engine": "local" if master is None else "spark",
        "master": master,
        "memory": memory,
    }
    recorder = Recorder("score", arguments, seed=resources.seed)
    cluster: SparkCluster | None = None
    elsewhere: BatchSource | None = None
    with atomic_folder(output, inputs=sources, force=force) as scratch, ExitStack() as stack:
        spool = scratch / ".spool"

        def connect(master: str) -> SparkCluster:
            with recorder.step("start Spark"):
                opened = open_cluster(master, memory=memory, scratch=scratch / ".spark")
                cluster = stack.enter_context(opened)
            recorder.observe(packages=cluster.versions())
            return cluster

        here = sources if master is None else [local_path(source) for source in sources]
        if master is not None and address is not None:
            cluster = connect(master)
            folder = scratch / ".fetched" / Path(address).name
            with recorder.step("fetch"), bar("Fetching", unit="bytes") as advance:
                fetched = cluster.fetch(address, folder, advance)
            here, address = [fetched.path], address if fetched.by_spark else None
        naming = errors_naming(read_from[0], here[0])
        with recorder.step("read"), bar("Reading") as advance, naming:
            corpus = read(
                *here,
                format=format,
                options=options,
                intake=intake,
                spool=spool,
                threads=usual_threads(here) or 1,
                advance=advance,
            )
            is_spooled = spool.exists()
            cut_off = cut_off_turns(corpus.turns)
        if master is not None:
            cluster = cluster or connect(master)
            source = cluster_corpus(
                corpus, spool if is_spooled else here[0], None if is_spooled else address
            )
            elsewhere = partial(
                cluster.scored,
                source=source,
                output=output,
                whole_turns=whole_turns,
                say=_say_nothing if quiet else partial(print, file=sys.stderr, flush=True),
            )
        if whole_turns:
            corpus = corpus.whole_turns()
        notes: tuple[str, ...] = ()
        if judges is not None:
            with recorder.step("judges"):
                plan, notes = with_judges(plan, judges, corpus, resources, on_error)
            given = [metric.name for metric in plan.metrics if metric.card.given is not None]
            asked = [*asked, *given] if asked else asked
        turns = int(corpus.manifest["counts"]["turns"])
        with recorder.step("language"):
            plan, language = fit_to_language(plan, corpus, resources, any_language=any_language)
        with recorder.step("load models"):
            expected = forecast(corpus, plan, measured=cluster is None)
        refuse_unavailable(plan)
        if expected is not None and not quiet:
            print(*expected.lines(), sep="\n", file=sys.stderr, flush=True)
        slow = cluster is not None  # its workers have to start first
        with (
            recorder.step("score"),
            bar("Scoring", total=turns, starts_slowly=slow) as advance,
        ):
            scores = score_into(
                corpus,
                scratch,
                plan,
                levels=levels,
                threads=threads,
                memory=memory,
                scored_elsewhere=elsewhere,
                advance=advance,
            )
        stack.close()  # Spark is not needed any more
        with recorder.step("trait profile"), bar("Placing the agents", unit="parts"):
            profile = write_trait_profile(scores, scratch, seed=resources.seed)
            write_places(scores, scratch)
        remarks = _remarks(language, notes, partial_note(scores))
        remarks += _on_arithmetic(scores)
        remarks += _on_cut_off(cut_off, left_out=whole_turns)
        reasons = [reject.reason for reject in intake.rejects]
        facts = run_facts(corpus=corpus, scores=scores, resources=resources)
        recorder.observe(**facts, rejected=reasons)
        summary, drawn = None, []
        if with_report:
            with recorder.step("report"), bar("Writing the report", unit="parts"):
                summary = write_report(
                    scores,
                    corpus,
                    scratch / "report.html",
                    run=recorder.record(),
                    resources=resources,
                    seed=resources.seed,
                    remarks=remarks,
                    profile=profile,
                    memory=memory,
                )
                drawn = write_asked(summary, scratch / FIGURES, figures)
        write_score_tables(scores, scratch, csv=csv)
        recorder.finish(scratch / RUN)
        if intake.rejects:
            write_rejects(intake, scratch / "rejects.jsonl")
        for folder in (spool, scratch / ".fetched"):
            shutil.rmtree(folder, ignore_errors=True)
    remove_staging(output)
    if not quiet:
        _print(Scores.open(output), scores.reference(), summary, output, intake, asked, remarks)
        print_figures(output / FIGURES, drawn)
        if context.models.size == "default" and not has_larger_models():
            print(f"Models: the small ones. Those that did better on engagement: {GET_LARGER}")


def _say_nothing(sentence: str) -> None:
    """In place of `print`, likewise."""


@contextmanager
def _no_progress(
    label: str, *, total: int | None = None, unit: str = "", starts_slowly: bool = False
) -> Iterator[Advance]:
    """In place of a bar, for those who want to see nothing."""
    yield lambda _: None


def _one_address(sources: Sequence[Path]) -> str | None:
    """The address of Spark's that is to be scored, if it is not on this machine.

    Raises:
        DialensError: There are several sources, some of them elsewhere.
    """
    addresses = [spark_address(source) for source in sources]
    if len(addresses) > 1 and any(addresses):
        raise DialensError(
            f"--engine spark reads one address at a time; seen: {len(addresses)} sources. Convert "
            "each and score the corpora one by one, or bring them together in one folder."
        )
    return addresses[0]


def _remarks(language: OtherLanguage | None, judges: Sequence[str], partial: str) -> list[Remark]:
    made = [Remark("Judges", note) for note in judges]
    made += [Remark("Broken off", partial)] if partial else []
    if language is None:
        return made
    title = "Not in English" if language.agents else "Not all in English"
    return [Remark(title, language.text, warning=True), *made]


def _on_arithmetic(scores: Scores) -> list[Remark]:
    """That people's values, which agents are held against, were computed in int8."""
    computed = {arithmetic_in(metric.signature) for metric in scores.metrics} - {None, "int8"}
    if not computed:
        return []
    return [
        Remark(
            "Precision",
            "Models computed in floats here, and in int8 for the people and systems that agents "
            "are held against; in the demo corpus agents' values differ by 0.02 at most between "
            "the two.",
        )
    ]


def _on_cut_off(agents: Sequence[CutOff], *, left_out: bool) -> list[Remark]:
    """Whose replies were cut off: all that is left out, or what is too much to say nothing of."""
    told = [one for one in agents if left_out or one.share >= _MANY_CUT_OFF]
    if not told:
        return []
    more = len(told) - _NAMED
    who = [f"{one.cut_off:,} of {one.turns:,} turns of {one.agent}" for one in told[:_NAMED]]
    these = listed([*who, *([f"some of {more:,} more agents"] if more > 0 else [])])
    text = f"{these} were cut off at the most tokens or by a filter"
    if left_out:
        return [Remark("Turns left out", f"{text} and are left out; they remain context.")]
    return [Remark("Cut off", f"{text}. --whole-turns leaves them out.", warning=True)]


def _print(
    scores: Scores,
    places: pl.DataFrame,
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
        counts = scores.agents()
        names = counts["agent"].to_list()  # systems may call theirs the same
        few = len(names) <= _NAMED and len(set(names)) == len(names)
        who = listed(names) if few else counted(len(names), "agent")
        dialogs = counted(int(counts["dialogs"].sum()), "dialogue")
        metrics = counted(len(scores.names), "metric")
        print(f"Scored {who} in {dialogs} on {metrics}.")
    for sentence in intake.notes:
        print(sentence)
    if intake.rejected:
        print(f"Left out {intake.left_out}: see {shown(output / 'rejects.jsonl')}.")
    agents = print_agents(scores, asked, places)
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
