"""Servers that other people wrote, as processes: a free port, and when one has begun."""

import socket
import subprocess
import time
from pathlib import Path

PATIENCE_S = 300  # a busy machine takes minutes to start three Javas


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])


def wait_for_line(log: Path, line: str, process: "subprocess.Popen[bytes]", times: int = 1) -> None:
    """Until a process has written a line into its log so many times."""
    deadline = time.monotonic() + PATIENCE_S
    while (said := log.read_text(errors="replace")).count(line) < times:
        assert process.poll() is None, said[-2_000:]
        assert time.monotonic() < deadline, said[-2_000:]
        time.sleep(0.1)
