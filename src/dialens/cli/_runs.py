"""Runs on the command line: score folders as they are, conversations scored on the way."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from dialens.analysis.comparison import open_run, require_run, run_names
from dialens.cli._options import make_resources, make_scorers
from dialens.corpus import Intake, OnError, ReadOptions
from dialens.metrics import MetricCard, Scores, default_folder

Lexicons = Annotated[
    list[str] | None,
    typer.Option(
        "--lexicon", help="KIND=FILE: your own lexicon, with KIND emotion, style or stop."
    ),
]
Prompt = Annotated[
    str,
    typer.Option(help="What a turn answers: the whole `context` before it, or the `last` turn."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors; see the exit status.")
]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Write no HTML page, which takes most of a small run.")
]


@dataclass(frozen=True)
class ScoringOptions:
    """How conversations are scored that are named in the place of a score folder."""

    lexicon: list[str] | None = None
    models: str = "default"
    model: list[str] | None = None
    weights: list[str] | None = None
    metric_option: list[str] | None = None
    device: str = "auto"
    allow_pickle: bool = False
    cache: Path | None = None
    no_cache: bool = False
    prompt: str = "context"
    seed: int = 0
    threads: int | None = None
    format: str | None = None
    on_error: OnError = OnError.STOP
    reading: ReadOptions = field(default_factory=ReadOptions)


def open_runs(
    places: Sequence[Path],
    options: ScoringOptions,
    *,
    metrics: Sequence[str | MetricCard] | None = None,
    quiet: bool = False,
) -> dict[str, Scores]:
    """The scores at several places by the names of these; one set of models serves all."""
    for place in places:
        require_run(place)
    scorers = make_scorers(
        models=options.models,
        own_models=options.model,
        weights=options.weights,
        options=options.metric_option,
        device=options.device,
        allow_pickle=options.allow_pickle,
        cache=options.cache,
        no_cache=options.no_cache,
        threads=options.threads,
    )
    resources = make_resources(options.lexicon, options.prompt, options.seed, scorers)

    def say(sentence: str) -> None:
        if not quiet:
            print(sentence, file=sys.stderr, flush=True)

    runs = {}
    for name, place in zip(run_names(places), places, strict=True):
        intake = Intake(options.on_error)
        runs[name] = open_run(
            place,
            metrics=metrics,
            resources=resources,
            threads=options.threads,
            format=options.format,
            options=options.reading,
            intake=intake,
            cache=None if options.no_cache else options.cache or default_folder(),
            say=say,
        )
        for sentence in intake.notes:
            say(sentence)
        if intake.rejected:
            say(f"{place}: left out {intake.left_out} that cannot be read.")
        for sentence in intake.notes:
            say(sentence)
    return runs
