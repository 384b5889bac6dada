"""What a server writes into its log: lines with a time, and nothing that tells who took part."""

import logging
import re
import threading
import time
from typing import Any

from dialens.base import printable, without_secrets

_A_MINUTE = 60.0
_MOST_KINDS = 1_000
_LINE = "%(asctime)s %(levelname)s %(message)s"
_BREAKS = {ord(char): ascii(char)[1:-1] for char in "\n\u2028\u2029"}
_PERSON = re.compile(
    r"(/api/(?:codes|participants)/+|/researcher/people/+).+?(/(?:replay|excluded|paid))?$"
)
_TIME = "%Y-%m-%d %H:%M:%S%z"


class OneLine(logging.Formatter):
    r"""A line a message: what would begin another line, or steer a terminal, is an escape.

    No key or token of this process stands in it, nor in the traceback that may be added.

    Examples:
        >>> record = logging.LogRecord("x", 30, "", 0, "from %s", ("a\nINFO b",), None)
        >>> print(OneLine("%(message)s").format(record))
        from a\nINFO b
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line, to which a traceback may be added."""
        return printable(super().formatMessage(record)).translate(_BREAKS)

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return without_secrets(super().format(record))


def without_people(path: str) -> str:
    """The path of a request, without the pseudonyms and completion codes that some hold.

    Examples:
        >>> without_people("/api/codes/FCE7E8D98F")
        '/api/codes/…'
        >>> without_people("/tea/researcher/people/quick-otter/replay")
        '/tea/researcher/people/…/replay'
    """
    return _PERSON.sub(r"\1…\2", path)


class WithoutQueries(OneLine):
    """A line a request, without the address it came from and without its query.

    Recruiters put ids of people into the query: `/?PROLIFIC_PID=…`. Nor does it hold pseudonyms
    and completion codes of the path.

    Examples:
        >>> record = logging.LogRecord("x", 20, "", 0, "", None, None)
        >>> record.args = ("10.0.0.1:5000", "GET", "/?PROLIFIC_PID=5f", "1.1", 200)
        >>> WithoutQueries("%(message)s").format(record)
        'GET / 200'
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        _, method, address, _, status = record.args  # type: ignore[misc]
        told = logging.makeLogRecord(record.__dict__)
        path = without_people(str(address).partition("?")[0])
        told.msg, told.args = f"{method} {path} {status}", None
        return super().format(told)


def log_settings(*, requests: bool) -> dict[str, Any]:
    """Settings for the log of a server, as `logging.config.dictConfig` takes them.

    Args:
        requests: Whether every request has a line.
    """
    handler = {"class": "logging.StreamHandler", "stream": "ext://sys.stderr"}
    level = "INFO" if requests else "WARNING"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": f"{__name__}.{OneLine.__name__}", "fmt": _LINE, "datefmt": _TIME},
            "request": {
                "()": f"{__name__}.{WithoutQueries.__name__}",
                "fmt": _LINE,
                "datefmt": _TIME,
            },
        },
        "handlers": {
            "line": {**handler, "formatter": "line"},
            "request": {**handler, "formatter": "request", "stream": "ext://sys.stdout"},
        },
        "loggers": {
            "uvicorn": {"handlers": ["line"], "level": level, "propagate": False},
            "uvicorn.access": {"handlers": ["request"], "level": level, "propagate": False},
            "dialens": {"handlers": ["line"], "level": "INFO", "propagate": False},
        },
    }


class Seldom:
    """Says the same kind of trouble once a minute, with how often it happened; thread-safe.

    Examples:
        >>> seldom = Seldom(logging.getLogger("doctest"), clock=lambda: 0.0)
        >>> seldom.warn("full", "The disk is full."), seldom.warn("full", "The disk is full.")
        (True, False)
    """

    def __init__(self, log: logging.Logger, *, clock: Any = time.monotonic) -> None:
        """Write into `log`; `clock` counts seconds."""
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}
        self._since: dict[str, int] = {}

    def warn(self, kind: str, message: str) -> bool:
        """Write a line, unless the same kind had one within the last minute; says whether."""
        with self._lock:
            now, before = self._clock(), self._said.get(kind)
            if before is not None and now - before < _A_MINUTE:
                self._since[kind] = self._since.get(kind, 0) + 1
                return False
            if len(self._said) >= _MOST_KINDS:
                self._said.clear()
                self._since.clear()
            unsaid = self._since.pop(kind, 0)
            self._said[kind] = now
        more = f" ({unsaid:,} more since the last such line)" if unsaid else ""
        self._log.warning("%s%s", message, more)
        return True
