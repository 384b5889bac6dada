"""An HDFS of one machine for tests: a name node and a data node, each a process of its own.

Spark brings Hadoop's client and not its servers. `make hadoop` fetches those: they came with Spark
until its version 2.4, as part of the package at the Python index.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import component_missing
from tests.other_servers import free_port, wait_for_line
from tests.spark_cluster import need_spark

_JARS = Path(os.environ.get("DIALENS_TEST_HADOOP") or Path(sys.prefix) / "hadoop")
_OPENED = ("java.lang", "java.util", "java.nio", "sun.nio.ch")  # older than Java's modules
_LOGGING = """\
log4j.rootLogger=INFO,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.SimpleLayout
"""


@dataclass(frozen=True)
class RunningHdfs:
    """A name node with a data node.

    Attributes:
        url: Its address, without a slash at the end.
        folder: Holds its settings.
    """

    url: str
    folder: Path

    def put(self, source: Path, target: str) -> None:
        """Copy a folder or file of this machine to a path."""
        self._shell("-mkdir", "-p", target.rpartition("/")[0] or "/")
        self._shell("-put", str(source), target)

    def _shell(self, *arguments: str) -> None:
        _run(_java(self.folder, "fs.FsShell", *arguments))


@contextmanager
def running_hdfs(folder: Path) -> Iterator[RunningHdfs]:
    """Start it in a folder, and end it with the block."""
    need_spark()
    if not any(_JARS.glob("hadoop-hdfs-*.jar")):
        component_missing("HDFS", f"no servers of Hadoop in {_JARS}: make hadoop")
    url = f"hdfs://127.0.0.1:{free_port()}"
    _write_settings(folder, url)
    hdfs = RunningHdfs(url, folder)
    node = "hdfs.server.{0}node.{1}Node"
    names, data = node.format("name", "Name"), node.format("data", "Data")
    _run(_java(folder, names, "-format", "-nonInteractive"))
    started: list[subprocess.Popen[bytes]] = []
    try:
        for kind, ready in ((names, "RPC up at"), (data, "Successfully sent block report")):
            log = folder / f"{kind}.log"
            with log.open("wb") as file:
                command = _java(folder, kind)
                started.append(subprocess.Popen(command, stdout=file, stderr=file))
            wait_for_line(log, ready, started[-1])
        yield hdfs
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]


def _java(folder: Path, program: str, *arguments: str) -> list[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    classes = f"{folder}:{_JARS}/*"
    return ["java", "-Xmx256m", *opened, "-cp", classes, f"org.apache.hadoop.{program}", *arguments]


def _write_settings(folder: Path, url: str) -> None:
    settings = {
        "fs.defaultFS": url,
        "hadoop.tmp.dir": str(folder / "data"),
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        "dfs.webhdfs.enabled": "false",  # its library is not among the jars
        **{
            f"dfs.{place}": f"127.0.0.1:{free_port()}"
            for place in (
                "namenode.http-address",
                "datanode.address",
                "datanode.http.address",
                "datanode.ipc.address",
            )
        },
    }
    lines = [
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    ]
    for name in ("core-site.xml", "hdfs-site.xml"):
        (folder / name).write_text(f"<configuration>{''.join(lines)}</configuration>\n")
    (folder / "log4j.properties").write_text(_LOGGING)
    for server in ("hdfs", "datanode", "static"):  # pages, which nobody opens
        (folder / "webapps" / server / "WEB-INF").mkdir(parents=True)
        (folder / "webapps" / server / "WEB-INF" / "web.xml").write_text("<web-app/>\n")
