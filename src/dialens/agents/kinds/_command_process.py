"""A program that runs beside us: lines in, lines out, a time limit, and its complaints."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence

from dialens.agents._agent import AgentError
from dialens.base import DialensError

_CHUNK = 65_536
_COMPLAINT_LINES = 6
_COMPLAINT_CHARACTERS = 400


class CommandProcess:
    """A started program. Its output is read by threads of their own, so that it never blocks.

    Args:
        words: The program and its arguments; no shell is between.
        longest_line: Bytes of the longest line that is accepted.

    Examples:
        >>> with_cat = CommandProcess(["cat"], longest_line=1000)
        >>> with_cat.write(b"hello")
        >>> next(with_cat.lines(seconds=10))
        b'hello'
        >>> with_cat.stop()
    """

    def __init__(self, words: Sequence[str], *, longest_line: int) -> None:
        self.words = list(words)
        self._longest = longest_line
        try:
            self._process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise DialensError(
                f"The program {self.words[0]!r} cannot be run: {error.strerror}. Check that it is "
                "there and executable (chmod +x)."
            ) from error
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._complaints: deque[str] = deque(maxlen=_COMPLAINT_LINES)
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        # Also when the interpreter ends: a program of ours must not outlive us.
        self._end = weakref.finalize(self, _kill, self._process)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def write(self, line: bytes, *, last: bool = False) -> None:
        """Send a line, from a thread of its own: the program may not be reading yet."""
        threading.Thread(target=self._send, args=(line + b"\n", last), daemon=True).start()

    def lines(self, *, seconds: float) -> Iterator[bytes]:
        """Lines as they come, until the program closes its output or the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.001))
            except queue.Empty:
                self.stop()
                raise AgentError(
                    f"{self.words[0]} gave no answer within {seconds:g} s (timeout)"
                    f"{self.complaint()}.",
                    "timeout",
                ) from None
            if line is None:
                self._lines.put(None)
                return
            if len(line) > self._longest:
                self.stop()
                raise AgentError(
                    f"{self.words[0]} wrote a line of more than {self._longest:,} bytes. Let it "
                    "answer in fewer words, or raise longest_reply.",
                    "too_long",
                )
            yield line.rstrip(b"\r\n")

    def ended(self) -> int:
        """The exit status, waited for once its output is closed."""
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.stop()
            status = self._process.wait()
        self._threads[1].join(timeout=1)
        return status

    def complaint(self) -> str:
        """The end of what it wrote to standard error, ready to be put into a sentence."""
        said = " / ".join(self._complaints)[-_COMPLAINT_CHARACTERS:].strip().rstrip(".")
        return f"; it says: {said}" if said else ""

    def stop(self) -> None:
        """End it and whatever it has started."""
        self._end()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError), self._process.stdout as output:
            while line := output.readline(self._longest + 1):
                self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError), self._process.stderr as errors:
            while line := errors.readline(_CHUNK):
                self._complaints.append(" ".join(line.decode(errors="replace").split()))

    def _send(self, line: bytes, last: bool) -> None:  # noqa: FBT001
        assert self._process.stdin is not None
        # A program that has ended or does not read is seen in what it answers.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
            if last:
                self._process.stdin.close()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.returncode is None:  # not waited for yet, so that the number is still its own
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
