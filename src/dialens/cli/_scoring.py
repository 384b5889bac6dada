"""Scoring as the command line does it: read, score, report, and say what came out."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from dialens.analysis.profiles import write_trait_profile
from dialens.base import RUN, Recorder, atomic_folder, counted, listed, progress
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
    partial_note,
    score_into,
    write_places,
)
from dialens.models import GET_LARGER, has_larger_models
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
    any_language: bool,
    with_report: bool,
    quiet: bool,
    csv: bool,
    figures: FigureFormat | None,
    force: bool,
) -> None:
    """Score as the options say."""
    resources = scoring.resources()
    plan = make_plan(metrics, resources)
    if not quiet:
        print(*(f"{line}\n" for line in selection_lines(metrics)), sep="", end="")
    score_to(
        sources,
        output,
        plan=plan,
        levels=levels,
        judges=judges,
        resources=resources,
        threads=scoring.threads,
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
    resources: Resources,
    threads: int | None = None,
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
        "judges": judges,
        "models": context.models.size,
        "own_models": {task: str(place) for task, place in context.models.own.items()},
        "weights": dict(context.weights),
        "metric_options": {k: dict(v) for k, v in context.options.items()},
        "any_language": any_language,
        "whole_turns": whole_turns,
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
            cut_off = cut_off_turns(corpus.turns)
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
        remarks = _remarks(language, notes, partial_note(scores))
        remarks += _on_cut_off(cut_off, left_out=whole_turns)
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
                    remarks=remarks,
                )
                drawn = write_asked(summary, scratch / FIGURES, figures)
        write_score_tables(scores, scratch, csv=csv)
        recorder.finish(scratch / RUN)
        if intake.rejects:
            write_rejects(intake, scratch / "rejects.jsonl")
        shutil.rmtree(spool, ignore_errors=True)
    if not quiet:
        _print(Scores.open(output), summary, output, intake, asked, remarks)
        print_figures(output / FIGURES, drawn)
        if context.models.size == "default" and not has_larger_models():
            print(f"Models: the small ones. Those that did better on engagement: {GET_LARGER}")


def _remarks(language: OtherLanguage | None, judges: Sequence[str], partial: str) -> list[Remark]:
    made = [Remark("Judges", note) for note in judges]
    made += [Remark("Broken off", partial)] if partial else []
    if language is None:
        return made
    title = "Not in English" if language.agents else "Not all in English"
    return [Remark(title, language.text, warning=True), *made]


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
        sums = scores.states.select("agent").collect()
        names = sums["agent"].unique(maintain_order=True).to_list()
        who = listed(names) if len(names) <= _NAMED else counted(len(names), "agent")
        dialogs, metrics = counted(sums.height, "dialogue"), counted(len(scores.names), "metric")
        print(f"Scored {who} in {dialogs} on {metrics}.")
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
