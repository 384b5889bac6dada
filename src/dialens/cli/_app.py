"""`dialens`: the commands put together, and errors a person can read."""

import errno
import os
import signal
import sys
import warnings
from types import FrameType
from typing import NoReturn, TextIO

import typer
from rich.console import Console
from rich.text import Text

import dialens
from dialens.base import (
    DialensError,
    DialensWarning,
    keep_freed_memory,
    not_written,
    printable,
)
from dialens.cli._lazy import lazy_app
from dialens.cli._terminal import guard_streams

_SUMMARY = "Conversational agents through a human lens."

# In the order in which `dialens --help` shows them.
app = lazy_app(
    _SUMMARY,
    {
        "demo": (
            "dialens.cli._demo:demo",
            "Score the bundled conversations and write a report to look at.",
        ),
        "open": (
            "dialens.cli._open:open_folder",
            "Show everything of a folder in the browser: conversations, scores, studies.",
        ),
        "score": (
            "dialens.cli._score:score",
            "Score conversations at every level and write a report.",
        ),
        "compare": (
            "dialens.cli._compare:compare",
            "Compare agents, systems or runs: differences, intervals, corrected p-values.",
        ),
        "gate": (
            "dialens.cli._gate:gate",
            "Stop a build when an agent got worse: rules, decided on intervals.",
        ),
        "validate": (
            "dialens.cli._validate:validate",
            "Hold every metric against every human judgement, at every level that was rated.",
        ),
        "agreement": (
            "dialens.cli._agreement:agreement",
            "Measure how far raters agree: ICC, alpha, kappa and W, each with an interval.",
        ),
        "power": (
            "dialens.cli._power:power",
            "Plan a rating study: power and interval widths over numbers of raters and items.",
        ),
        "study": (
            "dialens.cli.study._group:app",
            "Rating studies: design, try, run and analyse them.",
        ),
        "engagement": (
            "dialens.cli.engagement._group:app",
            "Engagement learned from how people react: dumps, labels, models.",
        ),
        "agents": (
            "dialens.cli.agents._group:app",
            "Agents: train or connect them, talk with them, collect conversations.",
        ),
        "traits": (
            "dialens.cli._traits:app",
            "Trait models from your own labelled text.",
        ),
        "convert": (
            "dialens.cli._convert:convert",
            "Convert conversations between formats.",
        ),
        "metrics": (
            "dialens.cli._catalogues:metrics",
            "List the metrics and whether they are ready here, or show the card of one.",
        ),
        "formats": (
            "dialens.cli._catalogues:formats",
            "List the formats that can be read and written, or show an example of one.",
        ),
        "models": (
            "dialens.cli._models:models",
            "List the models with their figures, verify their files, or show the card of one.",
        ),
    },
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with [bold]dialens demo[/], or "
    "[bold]dialens score chats.jsonl -o out[/] and open out/report.html. Exit status: 0 done, "
    "1 a gate or a verification failed, 2 something to mend, which is said.",
)


@app.callback(invoke_without_command=True, help=_SUMMARY)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """What can be asked without a command."""
    if version:
        print(f"dialens {dialens.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; what the user can mend is printed without a traceback."""
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _terminated)  # a closed terminal, unless under nohup
    guard_streams()
    keep_freed_memory(os.environ)
    warnings.showwarning = _note
    try:
        app()
    except DialensError as error:
        _refuse(str(error))
    except OSError as error:
        if error.errno not in errno.errorcode:
            raise  # not the system's: a fault of ours
        _refuse(not_written(error))
    except SystemExit as end:
        if _because_of(end, BrokenPipeError):
            _stop_reading()
        if _because_of(end, KeyboardInterrupt):
            print("Interrupted. Nothing was left half written.", file=sys.stderr)
        _flush()
        raise


def _refuse(message: str) -> NoReturn:
    Console(stderr=True).print(Text.assemble(("Error: ", "bold red"), printable(message)))
    sys.exit(2)


def _because_of(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception came of another: Typer turns these into exit statuses of its own."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _flush() -> None:
    """Write out what is left, while a closed pipe can still be told from other ends."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _stop_reading()


def _stop_reading() -> NoReturn:
    """End since nobody reads on; what is left to print goes nowhere, without a complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show our own warnings as a person would say them, and others as Python does."""
    if issubclass(category, DialensWarning):
        print(f"Note: {message}", file=sys.stderr)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
