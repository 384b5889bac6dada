"""Runs on the command line: score folders as they are, conversations scored on the way."""

import sys
from collections.abc import Sequence
from pathlib import Path

from dialens.analysis.comparison import open_run, require_run, run_names
from dialens.cli._scoring_options import ScoringOptions
from dialens.corpus import Intake
from dialens.metrics import MetricCard, Scores


def open_runs(
    places: Sequence[Path],
    scoring: ScoringOptions,
    *,
    metrics: Sequence[str | MetricCard] | None = None,
    quiet: bool = False,
) -> dict[str, Scores]:
    """The scores at several places by the names of these; one set of models serves all."""
    for place in places:
        require_run(place)
    resources = scoring.resources()

    def say(sentence: str) -> None:
        if not quiet:
            print(sentence, file=sys.stderr, flush=True)

    runs = {}
    for name, place in zip(run_names(places), places, strict=True):
        intake = Intake(scoring.on_error)
        runs[name] = open_run(
            place,
            metrics=metrics,
            resources=resources,
            threads=scoring.threads,
            format=scoring.format,
            options=scoring.reading,
            whole_turns=scoring.whole_turns,
            intake=intake,
            cache=scoring.kept_in(),
            memory=scoring.memory_bytes,
            say=say,
        )
        for sentence in intake.notes:
            say(sentence)
        if intake.rejected:
            say(f"{place}: left out {intake.left_out} that cannot be read.")
    return runs
