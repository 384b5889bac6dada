"""Servers of a study as processes of their own, to be loaded and killed."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dialens.studies.store import Secrets
from dialens.web import serve
from tests.other_servers import free_port

PASSWORD = "green or black tea"
KEY = Secrets(bytes(range(32)))
PATIENCE_S = 120.0

# It has imported everything and forks: a server that was killed is back in a fraction of a second.
START = multiprocessing.get_context("forkserver")
START.set_forkserver_preload(["tests.web.servers"])


def write_study(folder: Path, study: Mapping[str, Any]) -> Path:
    """A study file in a folder of its own."""
    folder.mkdir()
    with (folder / "study.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(dict(study), file)
    return folder


def wait_for(port: int, alive: Any) -> None:
    """Until somebody listens."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert alive(), "the server ended by itself"
        time.sleep(0.01)
    raise AssertionError("the server does not answer")


class Command:
    """`dialens study serve`, as somebody would type it."""

    def __init__(self, study: Path, database: str, *, workers: int = 1) -> None:
        self.port = free_port()
        command = ["study", "serve", str(study), "--db", database, "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dialens", *command, "--workers", str(workers)],
            env=os.environ
            | {"DIALENS_STUDY_PASSWORD": PASSWORD, "DIALENS_STUDY_KEY": KEY.to_text()},
            stdout=subprocess.DEVNULL,
        )
        wait_for(self.port, lambda: self.process.poll() is None)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Mortal:
    """The same server, which starts fast enough to be killed often."""

    def __init__(self, study: Path, database: str) -> None:
        self.port = free_port()
        self._arguments = (study, database, self.port)
        self.start()

    def start(self) -> None:
        self._process = START.Process(target=_serve, args=self._arguments)
        self._process.start()
        wait_for(self.port, self._process.is_alive)

    def kill(self) -> int | None:
        """SIGKILL: no handler runs, nothing is flushed."""
        self._process.kill()
        self._process.join()
        return self._process.exitcode


def _serve(study: Path, database: str, port: int) -> None:
    os.environ["DIALENS_STUDY_KEY"] = KEY.to_text()
    serve([(study, database)], password=PASSWORD, host="127.0.0.1", port=port)
