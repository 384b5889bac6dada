"""Progress for people: a bar on a terminal, a plain line now and then in a log."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from dialens.base._display import printable
from dialens.base._wording import duration

_LOG_EVERY_S = 10.0
LOG_EVERY = "DIALENS_LOG_EVERY"
"""Seconds between two lines in a log, for a program that reads them: an environment variable."""

Advance = Callable[[int], None]


@contextmanager
def progress(
    label: str, *, total: int | None = None, unit: str = "turns", starts_slowly: bool = False
) -> Iterator[Advance]:
    """Yield a function to be called with the number of units just done.

    On a terminal a bar is drawn on standard error and disappears at the end; elsewhere a line is
    printed every ten seconds, so that a log of a short run stays empty.

    Args:
        label: What is done.
        total: How many units there are.
        unit: What they are called.
        starts_slowly: Whether what comes before the first units says nothing about the pace, as
            where machines have to start.

    Examples:
        >>> with progress("Scoring", total=2) as advance:
        ...     advance(2)
    """
    label = printable(label)
    # The stream itself, where one is put before it that lets no sequences through.
    console = Console(file=getattr(sys.stderr, "rich_proxied_file", sys.stderr))
    if console.is_terminal:
        columns = [
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn() if total else MofNCompleteColumn(),
            TextColumn(unit, markup=False),
            _Rate(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        ]
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda count: bar.advance(task, count)
        return
    started = last = time.monotonic()
    done, before, every = 0, 0, _log_every()

    def advance(count: int) -> None:
        nonlocal done, before, started, last
        done += count
        now = time.monotonic()
        if starts_slowly and before == 0:
            started, before = now, done
        if now - last < every:
            return
        last = now
        of = f" of {total:,}" if total else ""
        line = f"{label}: {done:,}{of} {unit}"
        if done > before or not before:
            rate = (done - before) / (now - started)
            left = f", {duration((total - done) / rate)} left" if total and 0 < done < total else ""
            line += f", {pace(rate)}{left}"
        print(line, file=sys.stderr, flush=True)

    yield advance


def _log_every() -> float:
    try:
        return max(0.0, float(os.environ.get(LOG_EVERY, _LOG_EVERY_S)))
    except ValueError:
        return _LOG_EVERY_S


def pace(rate: float) -> str:
    """How many a second, or a minute where that says more.

    Examples:
        >>> pace(1234.5), pace(0.25)
        ('1,234 a second', '15 a minute')
    """
    return f"{rate:,.0f} a second" if rate >= 1 else f"{60 * rate:,.0f} a minute"


class _Rate(ProgressColumn):
    """How fast it goes, once that is known."""

    def render(self, task: Task) -> Text:
        return Text(pace(task.speed) if task.speed else "", style="progress.data.speed")
