"""Commands started from a page: one at a time, in a process of its own, into a new folder."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dialens.base import LOG_EVERY, DialensError
from dialens.workbench._command_lines import shown_path

COMMANDS = ("score", "compare", "validate")
"""What can be started."""

_PROGRESS = re.compile(r"^(?P<what>[^:]{1,60}): (?P<done>[\d,]+)(?: of (?P<total>[\d,]+))? ")
_NAME = re.compile(r"[^/\\\0]{1,100}")
_KEPT_LINES = 200
_STOP_SECONDS = 5.0
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass
class StartedRun:
    """A command that was started here.

    Attributes:
        number: From 1 on.
        arguments: What follows `dialens`.
        output: The folder it writes.
        shown: The command line that does the same, to be typed in the current folder.
        state: `running`, `done`, `failed` or `stopped`.
        lines: What it printed, the last lines.
        what: The step that it is at.
        share: How much of that step is done, from 0 to 1; None where that is not known.
        seconds: How long it took so far.
    """

    number: int
    arguments: tuple[str, ...]
    output: Path
    shown: str
    state: str = RUNNING
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    what: str = ""
    share: float | None = None
    _begun: float = field(default_factory=time.monotonic)
    _ended: float | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock time."""
        return (self._ended or time.monotonic()) - self._begun

    def hear(self, line: str) -> None:
        """Take in a line that the command printed."""
        found = _PROGRESS.match(line)
        if found is None:
            self.lines.append(line)
            return
        self.what = found["what"]
        total = int(found["total"].replace(",", "")) if found["total"] else 0
        self.share = int(found["done"].replace(",", "")) / total if total else None

    def end(self, code: int) -> None:
        """Note how it ended."""
        self._ended = time.monotonic()
        if self.state == RUNNING:
            self.state = DONE if code == 0 else FAILED
        self.what, self.share = "", None


class Runs:
    """The commands that were started from the pages of one folder."""

    def __init__(self, folder: Path, ended: Callable[[], object]) -> None:
        """Commands write below a folder; `ended` is called after each."""
        self._folder = folder
        self._ended = ended
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self.all: list[StartedRun] = []

    @property
    def running(self) -> StartedRun | None:
        """The command that is running, if one is."""
        return next((run for run in self.all if run.state == RUNNING), None)

    def target(self, name: str) -> Path:
        """The folder of a name, which must not be there yet.

        Raises:
            DialensError: It is no name of a folder, or is taken.
        """
        name = name.strip()
        if not _NAME.fullmatch(name) or name.startswith((".", "-")):
            raise DialensError(
                f"{name!r} is not a name for a new folder. Give one without slashes, such as "
                "scores-2; it is made in the open folder."
            )
        target = self._folder / name
        if os.path.lexists(target):
            raise DialensError(f"{name} exists already. Choose another name; nothing is replaced.")
        return target

    def start(
        self, command: str, inputs: Sequence[Path], options: Sequence[str], name: str
    ) -> StartedRun:
        """Start a command.

        Args:
            command: One of :data:`COMMANDS`.
            inputs: What it reads.
            options: Further words of the command line.
            name: The folder to write, made in the open one.

        Raises:
            DialensError: Another is running, or the name will not do.
        """
        if command not in COMMANDS:
            raise DialensError(f"{command} cannot be started here. Use the command line.")
        with self._lock:
            if self.running is not None:
                raise DialensError(
                    f"{self.running.shown} is still running. Wait for its end, or stop it first."
                )
            target = self.target(name)
            read = [str(path) for path in inputs]
            words = (command, *read, *options, "-o", str(target))
            typed = [command, *map(shown_path, inputs), *options, "-o", shown_path(target)]
            run = StartedRun(len(self.all) + 1, words, target, shlex.join(["dialens", *typed]))
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "dialens", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    env={**os.environ, LOG_EVERY: "0.5", "NO_COLOR": "1", "COLUMNS": "100"},
                    start_new_session=True,  # Ctrl-C of the server is not for it
                )
            except OSError as error:
                raise DialensError(f"dialens could not be started: {error.strerror}.") from error
            self.all.append(run)
            follower = threading.Thread(target=self._follow, args=(run, self._process), daemon=True)
            follower.start()
            return run

    def _follow(self, run: StartedRun, process: "subprocess.Popen[str]") -> None:
        with process:  # closes its pipe, and waits
            for line in process.stdout or ():
                run.hear(line.rstrip())
        run.end(process.returncode)
        self._ended()

    def stop(self, number: int) -> None:
        """Stop a command; what it had begun to write is not left behind."""
        with self._lock:
            run = next((run for run in self.all if run.number == number), None)
            if run is None or run.state != RUNNING or self._process is None:
                return
            run.state = STOPPED
            self._terminate(self._process)

    @staticmethod
    def _terminate(process: "subprocess.Popen[str]") -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def close(self) -> None:
        """Stop what is running: nobody would see it end."""
        if self.running is not None:
            self.stop(self.running.number)
