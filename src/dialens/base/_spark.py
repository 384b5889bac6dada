"""Spark, started as a command line wants it: quiet, on this Python, with errors in one sentence."""

import importlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dialens.base._errors import DialensError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEAST_JAVA: Final = 17
_VERSION: Final = re.compile(r'version "(\d+)')
_WORKERS_PYTHON: Final = "PYSPARK_PYTHON"
_STANDALONE: Final = "spark://"
_MASTERS: Final = re.compile(
    r"spark://|k8s://|yarn$|local(\[(\*|[1-9]\d*)(,\d+)?\])?$|local-cluster\["
)
_SETTING: Final = re.compile(r"\s*([^#\s:=]+)[\s:=]+(.*?)\s*$")
_ANSWERS_WITHIN_S: Final = 10.0
_NO_REASON: Final = ("SQLSTATE", "at ", "An error occurred while calling")
_LOG: Final = "spark.log"
_EXITED: Final = "JAVA_GATEWAY_EXITED"
_JAVA_ERROR: Final = re.compile(r"(?:Exception in thread \S+ |Error: )(?:[\w.]+: )?(.+)")
_CAUSE: Final = re.compile(r"Caused by: (?:[\w.$]+: )?(.+)")
_NO_NAME: Final = "UnknownHostException"
_LOGGING: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark: %p %c{1}: %m%n
"""
"""Errors only: what Spark says at its start is not for users of a command line."""


def start_spark(
    name: str,
    *,
    master: str,
    memory: int,
    scratch: Path,
    otherwise: str,
    settings: Mapping[str, str] | None = None,
    java_options: str = "",
    silent: bool = False,
) -> "SparkSession":
    """Connect to a master, or start Spark on this machine.

    Args:
        name: What the application is called.
        master: `local[2]`, `spark://host:7077`, or another that Spark knows.
        memory: Bytes of the driver and of each executor.
        scratch: A folder for what Spark writes beside its results.
        otherwise: What to do without Spark, for messages: `--engine duckdb`.
        settings: Further settings of Spark.
        java_options: Of the driver's Java.
        silent: Let Java write to a file of `scratch` and not to standard error: the caller says
            what matters.

    Raises:
        DialensError: A package or Java is missing, or the master does not answer.
    """
    try:
        with without_pandas_warning():
            import pyarrow  # noqa: F401, Spark hands texts to Python through it
            from pyspark.sql import SparkSession
        if importlib.util.find_spec("pandas") is None:  # Spark asks for it when it is too late
            raise ModuleNotFoundError(name="pandas")
    except ImportError as error:
        raise DialensError(
            f"--engine spark needs packages that are not installed ({error.name}): pip "
            f"install 'dialens[spark]'. Spark runs on Java {_LEAST_JAVA} or later."
        ) from error
    check_java(otherwise)
    check_master(master)
    scratch.mkdir(parents=True, exist_ok=True)
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="utf-8")
    size = f"{max(1, memory // 2**20)}m"
    chosen = {
        "spark.driver.memory": size,
        "spark.executor.memory": size,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={logging.absolute().as_uri()} {java_options}".strip()
        ),
    }
    if master.startswith("local"):  # elsewhere workers spill to disks of their own
        chosen["spark.local.dir"] = str((scratch / "spill").absolute())
        chosen["spark.driver.host"] = chosen["spark.driver.bindAddress"] = "127.0.0.1"
    making = SparkSession.builder.master(master).appName(name)
    for key, value in {**chosen, **(settings or {})}.items():
        making = making.config(key, value)
    try:
        with ExitStack() as stack:
            stack.enter_context(_workers_python())
            stack.enter_context(without_pandas_warning())
            stack.enter_context(_java_ends_if_interrupted())
            if silent:
                stack.enter_context(_standard_error_to(scratch / _LOG))
            return making.getOrCreate()
    except Exception as error:
        reason = _said_by_java(scratch / _LOG) if _EXITED in str(error) else spark_reason(error)
        if master.startswith(_STANDALONE) and "stopped SparkContext" in reason:
            raise _no_answer(master, "it takes connections, and says nothing") from error
        raise DialensError(f"Spark did not start on {master}: {reason}.") from error


def spark_defaults() -> dict[str, str]:
    """The settings of `spark-defaults.conf`, where Spark looks for it."""
    package = importlib.util.find_spec("pyspark")
    installed = str(Path(package.origin or "").parent) if package is not None else ""
    home = Path(os.environ.get("SPARK_HOME") or installed)
    folder = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")
    try:
        lines = (folder / "spark-defaults.conf").read_text("utf-8").splitlines()
    except OSError:
        return {}
    settings = (_SETTING.match(line) for line in lines)
    return {match[1]: match[2] for match in settings if match is not None}


def check_java(otherwise: str) -> None:
    """Make sure that there is a Java that Spark runs on.

    Raises:
        DialensError: There is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    if shutil.which(program) is None:
        seen = f"JAVA_HOME is {home}" if home else "no java on the PATH"
        raise DialensError(
            f"--engine spark needs Java {_LEAST_JAVA} or later; {seen}. Install it (Debian: "
            f"apt-get install openjdk-17-jre-headless), or use {otherwise}."
        )
    printed = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    match = _VERSION.search(printed.stderr + printed.stdout)
    if match is not None and int(match[1]) < _LEAST_JAVA:
        raise DialensError(
            f"--engine spark needs Java {_LEAST_JAVA} or later; {program} is Java {match[1]}. "
            "Install a later one or set JAVA_HOME to it."
        )


def check_master(master: str) -> None:
    """Make sure that it is a master, and that somebody listens where a standalone one should be.

    Spark itself would try for a minute, and then say it in many lines.

    Raises:
        DialensError: Nobody answers, the address has no port, or there is no such kind.

    Examples:
        >>> check_master("local[2]")
        >>> check_master("spark://somewhere")
        Traceback (most recent call last):
        dialens.DialensError: --master spark://somewhere has no port; ...
    """
    if not _MASTERS.match(master):
        raise DialensError(
            f"--master {master} is none that Spark knows; give spark://HOST:PORT, local[4] for "
            "four cores of this machine, local[*] for all, yarn, or k8s://…"
        )
    if not master.startswith(_STANDALONE):
        return
    reasons = []
    places = [place.rpartition(":") for place in master.removeprefix(_STANDALONE).split(",")]
    for host, _, port in places:
        if not host or not port.isdigit():
            raise DialensError(
                f"--master {master} has no port; give spark://HOST:PORT, 7077 by Spark's default."
            )
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_WITHIN_S):
                return
        except (OSError, OverflowError) as error:
            reasons.append(getattr(error, "strerror", None) or str(error))
    raise _no_answer(master, ", ".join(reasons))


def _no_answer(master: str, reason: str) -> DialensError:
    return DialensError(
        f"The Spark master {master} does not answer ({reason}). Is it running, and is the address "
        "the one that its page shows?"
    )


def is_spark_error(error: BaseException) -> bool:
    """Whether an error is one of Spark, or of Python's bridge to it.

    Examples:
        >>> is_spark_error(ValueError("x"))
        False
    """
    return type(error).__module__.partition(".")[0] in ("py4j", "pyspark")


def spark_reason(error: BaseException) -> str:
    r"""The line that says it: the last one of a worker's traceback, or else the first.

    Examples:
        >>> spark_reason(ValueError("Job aborted.\nTraceback (most recent call last):\nOops."))
        'Oops'
        >>> spark_reason(ValueError("An error occurred while calling o1.x.\n: java.X: No disk."))
        'java.X: No disk'
        >>> spark_reason(ValueError("Failed.\n\tat x\nCaused by: java.net.Y: Connection refused"))
        'Failed: Connection refused'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line.removeprefix(": ") for line in lines if not line.startswith(_NO_REASON)]
    if not lines:
        return type(error).__name__
    if any(line.startswith("Traceback") or "Traceback (" in line for line in lines):
        return lines[-1].rstrip(".")
    first, causes = lines[0].rstrip("."), _CAUSE.findall("\n".join(lines))
    return f"{first}: {causes[-1].rstrip('.')}" if causes else first


def _said_by_java(log: Path) -> str:
    """Why Java ended before it began, by what it wrote."""
    said = log.read_text("utf-8", errors="replace") if log.exists() else ""
    if _NO_NAME in said:
        return (
            f"the name of this machine, {socket.gethostname()}, leads to no address; give it one "
            "in /etc/hosts, or set SPARK_LOCAL_IP to one"
        )
    found = _JAVA_ERROR.search(said)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    reason = found[1] if found is not None else lines[-1] if lines else "it wrote nothing"
    return f"its Java ended at once ({reason.rstrip('.')})"


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Spark warns of pandas 3, which nothing here goes through."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
        yield


@contextmanager
def _java_ends_if_interrupted() -> Iterator[None]:
    """End the Java that was started in the block, if the block is interrupted.

    Java ends when Python does, once they know of each other; before that it would wait for ever,
    since Spark takes away the file by which it would be found. Errors leave it, to tell their
    reasons.
    """
    java_gateway: Any = importlib.import_module("pyspark.java_gateway")
    started: list[subprocess.Popen[bytes]] = []

    class Java(subprocess.Popen[bytes]):
        """Known before it is there: it is waited for until it runs, and that may be interrupted."""

        def __init__(self, *command: Any, **options: Any) -> None:
            started.append(self)
            super().__init__(*command, **options)

    before = java_gateway.Popen
    java_gateway.Popen = Java
    try:
        yield
    except Exception:
        for java in started:
            if java.poll() is not None and java.stdin is not None:
                java.stdin.close()
        raise
    except BaseException:
        for java in started:
            if getattr(java, "pid", None) is not None:
                java.kill()
                java.wait()
        raise
    finally:
        java_gateway.Popen = before


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Let processes that are started in the block write their standard error to a file."""
    kept = os.dup(2)
    try:
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _workers_python() -> Iterator[None]:
    """Let Spark's workers run this Python, unless the user has named another."""
    named = os.environ.get(_WORKERS_PYTHON)
    os.environ[_WORKERS_PYTHON] = named or sys.executable
    try:
        yield
    finally:
        if named is None:
            del os.environ[_WORKERS_PYTHON]
