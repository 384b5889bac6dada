"""`dialens open` as a person starts and stops it."""

import contextlib
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from dialens.base import DialensError
from dialens.web.workbench import serve_workbench
from tests.workbench.folders import print_of, write_chats


def test_the_sentence_and_the_address_are_printed_until_it_is_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write_chats(folder / "chats.jsonl")
    (folder / "empty.csv").touch()
    before = print_of(folder)
    command = [sys.executable, "-m", "dialens", "open", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        sentence = process.stdout.readline().decode().strip()
        assert sentence == "16 conversations of 2 agents. Nothing is stale."
        unread = process.stdout.readline().decode().strip()
        assert unread == "1 file found, but not read; the page says why."
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http://127.0.0.1:")
        assert "Ctrl-C" in process.stdout.readline().decode()
        assert sentence in httpx.get(address).text
        assert httpx.get(address.partition("?")[0]).status_code == 401
        foreign = {"host": "example.org"}
        assert httpx.get(address, headers=foreign).status_code == 421
        with contextlib.suppress(httpx.HTTPError):
            assert httpx.get(address, headers={"long": "x" * 200_000}).status_code == 400
        process.send_signal(signal.SIGINT)
        told = process.stderr.read().decode()
        assert "Invalid HTTP request" not in told
        assert process.stdout.read().decode() == "Stopped.\n"
        assert "Error" not in told
        assert "Traceback" not in told
        assert process.wait(30) == 0
    after = {name: seen for name, seen in print_of(folder).items() if "sqlite" not in name}
    assert {name for name in before if before[name] != after.get(name)} <= {"."}


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    write_chats(tmp_path / "chats.jsonl")
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
        with pytest.raises(DialensError, match=f"Port {port} cannot be used.*--port"):
            serve_workbench(tmp_path, port=port, ready=print, open_browser=False)


def test_a_folder_with_nothing_of_ours_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dialens", "open", str(tmp_path), "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    assert "holds nothing of dialens" in told
    assert "dialens demo" in told
    assert "Traceback" not in told
