"""A PostgreSQL server of the tests' own, on a free port of the loopback interface."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import psycopg

from tests.other_servers import free_port


def programs() -> Path | None:
    """Where Debian, or the path, keeps initdb and pg_ctl."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    for folder in reversed(debian):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None


class Cluster:
    """A server whose data live in a folder; it can be killed and started again."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self._binaries = binaries
        self._data = folder / "data"
        self._log = folder / "log"
        self.port = free_port()
        # PostgreSQL refuses to run as root.
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", str(self._data), "-U", "study", "-A", "trust", "-E", "UTF8")
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        control = ("-D", str(self._data), "-l", str(self._log), "-o", options, "-w")
        self._run("pg_ctl", *control, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def postmaster(self) -> int:
        """The process id of the server."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def kill(self) -> None:
        """End the server and all its children at once, as a power cut would."""
        parent = self.postmaster()
        os.kill(parent, signal.SIGSTOP)  # so that no child is born between looking and killing
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False
        )
        everybody = [parent, *map(int, listed.stdout.split())]
        for process in everybody:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        while not all(map(_gone, everybody)):
            time.sleep(0.005)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def backends(self, url: str) -> list[int]:
        """The server's processes that serve a database, other than the one that asks."""
        query = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
        with self._connected() as connection:
            return [row[0] for row in connection.execute(query, [url.rpartition("/")[2]])]

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"t{uuid.uuid4().hex}"
        with self._connected() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def schema(self) -> str:
        """The URL of a new, empty schema: a database of its own in all but cost."""
        name = f"t{uuid.uuid4().hex}"
        with self._connected() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.url("postgres"), autocommit=True)

    def url(self, name: str) -> str:
        return f"postgresql://study@127.0.0.1:{self.port}/{name}"

    def dump(self, url: str) -> bytes:
        """Everything in a schema, as text."""
        schema = url.rpartition("%3D")[2]
        made = subprocess.run(
            [str(self._binaries / "pg_dump"), "--inserts", f"--schema={schema}", url],
            capture_output=True,
            check=True,
        )
        return made.stdout

    def _run(self, program: str, *arguments: str) -> None:
        # A server inherits the pipes it is given, and reading them would wait for its end.
        done = subprocess.run(
            [*self._as, str(self._binaries / program), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            check=False,
        )
        if done.returncode:
            told = self._log.read_text() if self._log.exists() else ""
            raise RuntimeError(f"{program} ended with {done.returncode}. {told[-2000:]}")


def _gone(process: int) -> bool:
    """Whether a process has ended, even if nobody has asked for its status yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"
