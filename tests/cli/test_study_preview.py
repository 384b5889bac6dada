"""`dialens study preview` as a person starts and stops it."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from dialens.base import DialensError
from dialens.studies.templates import write_template
from dialens.web import serve_preview


def test_the_address_is_printed_and_answers_until_it_is_stopped(tmp_path: Path) -> None:
    write_template("pairwise", tmp_path / "s")
    before = sorted(path.name for path in (tmp_path / "s").iterdir())
    command = [
        sys.executable,
        "-m",
        "dialens",
        "study",
        "preview",
        str(tmp_path / "s"),
        "--no-open",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http://127.0.0.1:")
        assert httpx.get(address).status_code == 200
        assert httpx.get(address.partition("?")[0]).status_code == 401
        process.send_signal(signal.SIGINT)
        assert "Error" not in process.stdout.read().decode()
        assert process.wait(30) == 0
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == before


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    write_template("pairwise", tmp_path / "s")
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
        with pytest.raises(DialensError, match=f"Port {port} cannot be used.*--port"):
            serve_preview(tmp_path / "s", port=port, ready=print, open_browser=False)


def test_a_folder_without_a_study_is_said(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="does not exist"):
        serve_preview(tmp_path, port=0, ready=print, open_browser=False)
