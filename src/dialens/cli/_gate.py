"""`dialens gate`: rules that a run has to keep, for builds that stop when an agent gets worse."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.gating import DECISIONS, gate_runs, metrics_of, parse_rule, read_rules
from dialens.base import DialensError
from dialens.cli._options import (
    Quiet,
    Resamples,
    shown,
)
from dialens.cli._runs import open_runs
from dialens.cli._scoring_options import AS_USUAL, ScoringOptions, takes_scoring_options
from dialens.report import write_gate


@takes_scoring_options
def gate(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A score folder (what `dialens score` wrote), or conversations to score on the "
            "way, on the metrics of the rules.",
        ),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", "-b", metavar="RUN", help="The run to hold changes against."),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-r",
            help="What the run may not do: 'METRIC drop > X', 'METRIC rise > X', "
            "'METRIC change > X', 'METRIC < X', 'METRIC > X'; X% of the baseline; METRIC\\[AGENT] "
            "for one agent. May be repeated.",
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="FILE", help="A TOML file with rules.")
    ] = None,
    decide: Annotated[
        str | None,
        typer.Option(
            help="`shown`: fail what is shown to break a rule (default). `excluded`: fail what is "
            "not shown to keep it.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write JSON.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write Markdown for a pull request."),
    ] = None,
    quiet: Quiet = False,
    scoring: ScoringOptions = AS_USUAL,
    resamples: Resamples = RESAMPLES,
) -> None:
    """Stop a build when an agent got worse: rules, decided on intervals.

    Changes are paired by shared prompts where the runs share them. Exit status: 0 passed, 1 failed
    or not to be judged (fewer than 6 dialogues, no values), 2 misuse. A rule whose limit lies
    within its interval is undecided: that passes with --decide shown and fails with
    --decide excluded.

    [bold]Examples[/]

      dialens gate v2 --baseline v1 --rule 'engagement drop > 0.02'
      dialens gate v2.jsonl -b v1.jsonl -r 'question drop > 10%' -r 'toxicity > 0.1'
      dialens gate out --rule 'toxicity > 0.1' --decide excluded
      dialens gate out -b main --rules gate.toml --junit gate.xml --markdown gate.md
    """
    known = [parse_rule(text) for text in rule or []]
    if rules is not None:
        from_file, said = read_rules(rules)
        known += from_file
        decide = decide or said
    decide = decide or DECISIONS[0]
    if decide not in DECISIONS:
        raise DialensError(f"--decide takes {' or '.join(DECISIONS)}; seen: {decide!r}.")
    if not known:
        raise DialensError("Name a rule: --rule 'engagement drop > 0.02', or --rules FILE.")
    changes = [each for each in known if each.needs_baseline]
    if changes and baseline is None:
        raise DialensError(
            f"The rule '{changes[0].text}' speaks of a {changes[0].kind}: name a run to hold it "
            "against with --baseline."
        )
    places = [run] if baseline is None else [run, baseline]
    wanted = metrics_of(known)
    runs = open_runs(places, scoring, metrics=wanted, quiet=quiet)
    result = gate_runs(
        runs,
        known,
        decide=decide,
        resamples=resamples,
        seed=scoring.seed,
        memory=scoring.memory_bytes,
    )
    write_gate(result, junit=junit, json_file=json_file, markdown=markdown)
    if not quiet:
        print(*result.lines(), sep="\n")
        for path in (junit, json_file, markdown):
            if path is not None:
                print(f"Written: {shown(path)}")
    if not result.passed:
        raise typer.Exit(1)
