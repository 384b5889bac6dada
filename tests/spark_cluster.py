"""A Spark cluster for tests: a master and workers, each a process of its own, on loopback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dialens.base import DialensError, check_java
from tests.conftest import component_missing
from tests.other_servers import free_port, wait_for_line

CARD = "7"  # its number, by which CUDA would know it
_SPARK_CLASS = Path(sys.executable).with_name("spark-class")


@dataclass(frozen=True)
class RunningCluster:
    """A master that answers.

    Attributes:
        url: Its address.
        workers: The processes of the workers.
    """

    url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[int]:
        """The ids of the executors' processes: children of the workers."""
        parents = {worker.pid for worker in self.workers}
        return [pid for pid, parent in _parents().items() if parent in parents]


def need_spark() -> None:
    """Skip where there is no Spark or no Java."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    try:
        check_java("--engine local")
    except DialensError as error:
        component_missing("Java", str(error))


@contextmanager
def running_cluster(
    folder: Path, *, workers: int = 2, card: str = CARD
) -> Iterator[RunningCluster]:
    """Start a master and workers of one core each, which leave their logs in a folder.

    Each says that it has a graphics card of that number, for whoever asks Spark for one.
    """
    port = free_port()
    cards = folder / "cards"
    cards.write_text(f'#!/bin/sh\necho \'{{"name": "gpu", "addresses": ["{card}"]}}\'\n')
    cards.chmod(0o755)
    found = f"-Dspark.worker.resource.gpu.discoveryScript={cards}"
    cluster = RunningCluster(f"spark://127.0.0.1:{port}")
    started: list[subprocess.Popen[bytes]] = []
    variables = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_OPTS": f"-Dspark.worker.resource.gpu.amount=1 {found}",
    }

    def start(name: str, kind: str, *arguments: str) -> None:
        log = folder / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [_SPARK_CLASS, f"org.apache.spark.deploy.{kind}", *arguments],
                env=variables,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        started.append(process)

    network = ("--host", "127.0.0.1", "--webui-port", "0")
    try:
        start("master", "master.Master", *network, "--port", str(port))
        log = folder / "master.log"
        wait_for_line(log, "I have been elected leader", started[0])
        for number in range(workers):
            start(
                f"worker{number}",
                "worker.Worker",
                *network,
                *("--cores", "1", "--memory", "700m", "--work-dir", str(folder), cluster.url),
            )
        wait_for_line(log, "Registering worker", started[0], workers)
        cluster.workers.extend(started[1:])
        yield cluster
    finally:
        for process in started:
            process.kill()
            process.wait()


def _parents() -> dict[int, int]:
    parents = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                status = (place / "stat").read_text(errors="replace")
            except OSError:
                continue  # it has just ended
            parents[int(place.name)] = int(status[status.rindex(")") + 2 :].split()[1])
    return parents
