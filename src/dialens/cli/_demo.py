"""`dialens demo`: the whole tour on a bundled corpus."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from dialens.cli._options import shown
from dialens.cli._scoring import score_to
from dialens.corpus import LEVELS, demo_path
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, make_plan


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path("demo"),
) -> None:
    """Score the bundled conversations and write a report to look at.

    Three variants of one invented companion, each in the same situations, scored with the small
    models, which take seconds. Nothing is fetched.

    [bold]Example[/]

      dialens demo -o demo
    """
    print(
        "Scoring the bundled corpus: invented conversations with three variants of one companion.",
        file=sys.stderr,
        flush=True,
    )
    scorers = ScorerSet(ScorerContext(models=ModelChoice("small")))
    resources = Resources(scorers=scorers)
    score_to(
        [demo_path()],
        output,
        plan=make_plan(None, resources),
        levels=list(LEVELS),
        resources=resources,
    )
    page = shown(output / "report.html")
    print(f"\nLook at {page}: agents side by side, their emotions and character, ", end="")
    print("and, further down, every dialogue with the words that drove its scores.")
    print(f"To look around in it: {_opening(output)}")


def _opening(output: Path) -> str:
    """The command that opens the folder, and what it needs where that is not installed."""
    command = shlex.join(["dialens", "open", shown(output)])
    installed = find_spec("fastapi") is not None
    return command if installed else f"{command} (after pip install 'dialens[studies]')"
