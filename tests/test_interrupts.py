"""Ctrl-C while a command waits: it is heard, and nothing is left half written.

Importing Polars lets the system take up waits again after a signal; a command that waits for a
thread, a process or a server then never hears of it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.cli._app import app
from dialens.studies import study_mark
from tests.loopback import LoopbackServer, QuietHandler

SOON_S = 20
"""About two seconds are meant; a machine with much to do gets more, a hang would have no end."""
PATIENCE_S = 90


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that hears Ctrl-C as one in a terminal does."""
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupted(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> tuple[str, str]:
    """What a program printed that is interrupted once it is ready."""
    latest = time.monotonic() + PATIENCE_S
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < latest, "it never came so far"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, error = process.communicate(timeout=SOON_S)
    assert process.returncode == 130, error
    assert b"Traceback" not in error, error
    return said.decode(), error.decode()


WAITING = """
import queue
from pathlib import Path

import polars  # as whatever reads a corpus does

from dialens.cli import _app, _lazy

def wait():
    Path("waits").touch()
    queue.SimpleQueue().get()

if __name__ == "__main__":
    import sys
    sys.modules["waiting"] = sys.modules["__main__"]
    _app.app = _lazy.lazy_app("All.", {"wait": ("waiting:wait", "Wait."), "no": ("math:fsum", "")})
    sys.argv = ["dialens", "wait"]
    _app.main()
"""


def test_any_command_hears_ctrl_c_while_it_waits(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    with started(["waiting.py"], tmp_path) as process:
        _, error = interrupted(process, (tmp_path / "waits").exists)
    assert "Interrupted. Nothing was left half written." in error


SCORING = """
import os
import time
from pathlib import Path

import polars as pl

from dialens.cli import _app, _lazy
from dialens.engagement.curation._shard_scoring import cut, score_shards

class Waits:
    signature = "waits"

    def __call__(self, texts):
        Path(f"{os.getpid()}.busy").touch()
        time.sleep(600)

def score():
    texts = pl.DataFrame({"text_key": ["00", "10"], "text": ["a", "b"]})
    score_shards(cut([texts], 1), Waits(), Path("scores"), processes=2, advance=lambda _: None)

if __name__ == "__main__":
    import sys
    sys.modules["scoring"] = sys.modules["__main__"]
    _app.app = _lazy.lazy_app("All.", {"go": ("scoring:score", "Go."), "no": ("math:fsum", "")})
    sys.argv = ["dialens", "go"]
    _app.main()
"""


@pytest.mark.slow
def test_labelling_ends_the_processes_that_score(tmp_path: Path) -> None:
    (tmp_path / "scoring.py").write_text(SCORING)

    def busy() -> bool:
        return len(list(tmp_path.glob("*.busy"))) == 2

    with started(["scoring.py"], tmp_path) as process:
        interrupted(process, busy)
    for name in tmp_path.glob("*.busy"):
        assert not Path(f"/proc/{name.stem}").exists(), "a process was left behind"
    assert not list((tmp_path / "scores").iterdir())


@pytest.mark.slow
def test_an_ingest_ends_although_a_dump_does_not_go_on(tmp_path: Path) -> None:
    """Two dumps in processes of their own; one is a pipe through which nothing more comes."""
    rows = "".join(
        json.dumps(
            {
                "id": f"c{n}", "parent_id": "t3_a", "link_id": "t3_a", "body": "Well said.",
                "author": "x", "created_utc": 1_500_000_000 + n, "score": 1, "subreddit": "s",
            }
        ) + "\n"
        for n in range(100)
    )  # fmt: skip
    (tmp_path / "RC_2018-01.jsonl").write_text(rows)
    os.mkfifo(tmp_path / "RC_2018-02.jsonl")
    command = ["-m", "dialens", "engagement", "ingest", "RC_2018-01.jsonl", "RC_2018-02.jsonl"]
    done = threading.Event()

    def feed() -> None:
        while not done.is_set():
            try:
                pipe = os.open(tmp_path / "RC_2018-02.jsonl", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.05)
                continue
            os.write(pipe, rows.encode())
            done.wait()
            os.close(pipe)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        with started([*command, "-o", "work", "--workers", "2"], tmp_path) as process:
            interrupted(process, lambda: any((tmp_path / "work").rglob("*.parquet")))
    finally:
        done.set()
        feeder.join()


class _Stalls(QuietHandler):
    """Says which study it serves, and nothing after that."""

    asked: threading.Event
    over: threading.Event

    def do_GET(self) -> None:
        if self.path == "/healthz":
            body = json.dumps({"study": study_mark("anchoring")}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.asked.set()
        self.over.wait()


@pytest.mark.slow
def test_a_simulation_over_http_ends_although_the_server_does_not_answer(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["study", "new", "-o", str(tmp_path / "anchoring")])
    assert made.exit_code == 0, made.output
    asked, over = threading.Event(), threading.Event()
    handler = type("Handler", (_Stalls,), {"asked": asked, "over": over})
    server = LoopbackServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    command = ["-m", "dialens", "study", "simulate", "anchoring", "-n", "4", "--http", url]
    try:
        with started(command, tmp_path) as process:
            interrupted(process, asked.is_set)
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_training_says_that_it_can_be_taken_up(tmp_path: Path) -> None:
    talks = [
        {"id": f"d{n}", "messages": [
            {"role": "user", "content": f"What is number {n} about?"},
            {"role": "assistant", "content": f"It is about {n * 7} apples and {n} pears."},
        ]}
        for n in range(200)
    ]  # fmt: skip
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    sizes = ["--vocabulary", "200", "--embedding", "8", "--hidden", "8", "--batch", "8"]
    command = ["-m", "dialens", "agents", "train", "seq2seq", "talks.jsonl", "-o", "bot", *sizes]
    command += ["--epochs", "100000", "--checkpoint-every", "5"]
    with started(command, tmp_path) as process:
        said, _ = interrupted(process, lambda: any((tmp_path / "bot.training").glob("*.pt")))
    assert "Stopped. What was learned up to the last checkpoint is kept in bot.training" in said
    assert not (tmp_path / "bot").exists()
    assert not list(tmp_path.glob(".bot.*"))
