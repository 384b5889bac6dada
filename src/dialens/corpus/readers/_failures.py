"""Calls of a model that failed: an error, a timeout, or no reply. Nobody said anything in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialens.base import DialensError, counted
from dialens.corpus._intake import Intake, shorten

_WORDS = ("message", "type", "code", "name")


@dataclass(frozen=True)
class FailedCall:
    """A call to which no reply came.

    Attributes:
        reason: What the log says of it; empty where it says nothing.
        trace: Of the exchange that the call was a step of; records of one trace are one failure.
    """

    reason: str = ""
    trace: str | None = None


def error_in(*values: object) -> str:
    """What the first of some errors says, as text; empty if none is one.

    Examples:
        >>> error_in(None, {"error": {"message": "slow down"}})
        'slow down'
        >>> error_in("timeout"), error_in(None, {})
        ('timeout', '')
    """
    for value in values:
        if isinstance(value, Mapping):
            inner = value.get("error")
            texts = [str(value[key]) for key in _WORDS if isinstance(value.get(key), str | int)]
            found = error_in(inner) if inner else next(iter(texts), str(dict(value) or ""))
        else:
            found = str(value) if value else ""
        if found:
            return found
    return ""


@dataclass
class Failures:
    """Counts what failed in a source, and says so at its end.

    Attributes:
        path: Of the source.
        noun: What failed: a call, a sample.
    """

    path: Path
    noun: str = "call"
    _failed: dict[object, str] = field(default_factory=dict)

    def add(self, failed: FailedCall) -> None:
        """Count a failure, unless one of the same trace was counted."""
        key: object = failed.trace if failed.trace is not None else len(self._failed)
        if not self._failed.get(key):
            self._failed[key] = failed.reason

    def holds(self, trace: str | None) -> bool:
        """Whether a call of this trace failed."""
        return trace is not None and trace in self._failed

    def finish(self, intake: Intake, *, anything_said: bool) -> None:
        """Note what was left out; if nothing else is there, say that the run failed."""
        if not self._failed:
            return
        if not anything_said:
            raise DialensError(
                f"{self.path}: the run failed. {self._all()} in it ended without a reply, so there "
                f"is nothing to score.{self._said()}\n"
                "Run it again; in a folder, --on-error skip reads the other files."
            )
        for sentence in self._sentences():
            intake.note(f"{self.path.name}: left out {sentence}.")

    def _all(self) -> str:
        count = len(self._failed)
        return f"The only {self.noun}" if count == 1 else f"All {count:,} {self.noun}s"

    def _said(self) -> str:
        first = next(filter(None, self._failed.values()), "")
        return f" The first error: {shorten(first)}" if first else ""

    def _sentences(self) -> Iterator[str]:
        errors = [reason for reason in self._failed.values() if reason]
        if errors:
            several = "the first: " if len(errors) > 1 else ""
            yield f"{counted(len(errors), f'failed {self.noun}')} ({several}{shorten(errors[0])})"
        silent = len(self._failed) - len(errors)
        if silent:
            yield f"{counted(silent, self.noun)} without a reply"


def ended_in_error(status: Any) -> bool:
    """Whether a status is that of a failure, in the words of HTTP, OpenTelemetry or a log.

    Examples:
        >>> [ended_in_error(status) for status in (429, "ERROR", {"code": 2}, 200, "ok", None)]
        [True, True, True, False, False, False]
    """
    if isinstance(status, Mapping):
        status = status.get("code", status.get("status_code"))
        if status == 2:
            return True
    if isinstance(status, int) and not isinstance(status, bool):
        return status >= 400
    words = ("error", "status_code_error", "statuscode.error", "failure", "failed", "errored")
    return isinstance(status, str) and status.lower() in words
