"""Why Spark does not start, said in one sentence."""

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError, start_spark

pytest.importorskip("pyspark", reason="the extra spark is not installed")

NO_ADDRESS = """\
Exception in thread "main" java.lang.ExceptionInInitializerError
\tat org.apache.spark.internal.config.package$.<clinit>(package.scala:1151)
Caused by: java.net.UnknownHostException: laptop: laptop: Name or service not known
\tat java.base/java.net.InetAddress.getLocalHost(InetAddress.java:1776)
"""


def started(scratch: Path) -> None:
    start_spark(
        "test",
        master="local[1]",
        memory=2**30,
        scratch=scratch,
        otherwise="--engine local",
        silent=True,
    )


def java_that(does: str, folder: Path) -> str:
    """A home of a Java that only knows its version, and does what it is told to."""
    java = folder / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = -version ]; then echo \'openjdk version "17.0.15"\' >&2; exit 0; fi\n'
        f"{does}\n"
    )
    java.chmod(0o755)
    return str(folder / "home")


def test_an_interrupt_while_java_starts_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the process is there, and Python has not yet heard that it runs."""
    monkeypatch.setenv("JAVA_HOME", java_that("exec sleep 5", tmp_path))
    begun: list[int] = []
    execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def interrupted(self: Any, command: Any, *arguments: Any) -> None:
        execute(self, command, *arguments)
        if "spark-submit" in command[0]:
            begun.append(self.pid)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "_execute_child", interrupted)
    with pytest.raises(KeyboardInterrupt):
        started(tmp_path / "scratch")
    (process,) = begun
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_machine_whose_name_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java's own words, by a program in its place."""
    (tmp_path / "said").write_text(NO_ADDRESS)
    monkeypatch.setenv("JAVA_HOME", java_that(f"cat {tmp_path / 'said'} >&2; exit 1", tmp_path))
    name = os.uname().nodename
    with pytest.raises(DialensError, match=f"{name}, leads to no address; .* SPARK_LOCAL_IP"):
        started(tmp_path / "scratch")


def test_pandas_is_missed_before_java_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would ask for it when rows are to be scored."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pandas" else find(name)
    )
    with pytest.raises(DialensError, match=r"not installed \(pandas\): pip install 'dialens\[s"):
        started(tmp_path / "scratch")
    assert not (tmp_path / "scratch").exists()
