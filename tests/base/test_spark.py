"""Why Spark does not start, said in one sentence."""

import importlib.util
import os
from pathlib import Path

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


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of pyspark's own pipe
def test_a_machine_whose_name_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java's own words, by a program in its place."""
    (tmp_path / "said").write_text(NO_ADDRESS)
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = -version ]; then echo \'openjdk version "17.0.15"\' >&2; exit 0; fi\n'
        f"cat {tmp_path / 'said'} >&2; exit 1\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
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
