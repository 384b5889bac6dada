"""Pipes and remote paths as sources."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dialens import DialensError
from dialens.corpus import Intake, OnError, read, remote_address
from tests.loopback import LoopbackServer, QuietHandler

CHATS = (
    '{"id": "a", "messages": [{"role": "user", "content": "Hi"}, '
    '{"role": "assistant", "content": "Hello"}]}\n'
)
SHEET = pl.DataFrame(
    {"session_id": ["s", "s"], "role": ["user", "assistant"], "content": ["Hi", "Hello"]}
)


def files() -> dict[str, bytes]:
    parquet = io.BytesIO()
    SHEET.write_parquet(parquet)
    return {
        "/logs/my%20chats.jsonl": CHATS.encode(),
        "/v1.parquet": parquet.getvalue(),
        "/v2.csv": SHEET.write_csv().encode(),
        "/talk": b"User: Hi\nBot: Hello\n",
        "/broken.jsonl": CHATS.encode() + b"{oh\n",
    }


@pytest.fixture
def address() -> Iterator[str]:
    content = files()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            body = content.get(self.path.partition("?")[0])
            otherwise = 403 if self.path.startswith("/private/") else 404
            self.send_response(200 if body is not None else otherwise)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        do_HEAD = do_GET

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("place", "agent"),
    [
        ("/logs/my%20chats.jsonl", "my chats"),
        ("/v1.parquet", "v1"),
        ("/v2.csv?download=true", "v2"),
        ("/talk", "Bot"),
    ],
)
def test_addresses_are_read_as_files(address: str, place: str, agent: str) -> None:
    for path in (address + place, Path(address + place)):  # a Path joins the slashes
        turns = read(path).turns.collect()
        assert turns["text"].to_list() == ["Hi", "Hello"]
        assert turns["agent"].unique().to_list() == [agent]


def test_errors_name_the_address(address: str) -> None:
    with pytest.raises(DialensError, match=rf"^{address}/none.jsonl cannot be read: .* 404"):
        read(f"{address}/none.jsonl")
    with pytest.raises(DialensError, match=rf"^{address}/broken.jsonl, line 2: "):
        read(f"{address}/broken.jsonl")
    intake = Intake(OnError.SKIP)
    read(f"{address}/broken.jsonl", intake=intake)
    assert [reject.file for reject in intake.rejects] == [f"{address}/broken.jsonl"]


@pytest.fixture
def closed() -> str:
    """Host and port where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


@pytest.fixture(params=["httpx", "Polars"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are fetched by httpx, and by Polars where that is not installed."""
    if request.param == "Polars":
        monkeypatch.setitem(sys.modules, "httpx", None)


DOWNLOAD = "Check the address, or download the file and name it."


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("place", ["x.parquet", "x.csv"])
def test_what_a_server_does_not_give_comes_with_a_remedy(address: str, place: str) -> None:
    with pytest.raises(DialensError) as missing:
        read(f"{address}/{place}")
    said = f"{address}/{place} cannot be read: the server answered 404 Not Found. {DOWNLOAD}"
    assert str(missing.value) == said
    with pytest.raises(DialensError) as forbidden:
        read(f"{address}/private/{place}")
    assert str(forbidden.value) == (
        f"{address}/private/{place} cannot be read: the server refused it (403 Forbidden). "
        "Download the file where you are logged in, and name it."
    )


@pytest.mark.usefixtures("either_way")
def test_where_nobody_answers_is_said_with_a_remedy(closed: str) -> None:
    place = f"http://{closed}/x.parquet"
    with pytest.raises(DialensError) as error:
        read(place)
    said = f"{place} cannot be read: nobody answers there (Connection refused). {DOWNLOAD}"
    assert str(error.value) == said


@pytest.mark.usefixtures("either_way")
def test_a_server_without_encryption_is_not_nobody(address: str) -> None:
    place = f"{address.replace('http', 'https')}/v1.parquet"
    with pytest.raises(DialensError) as error:
        read(place)
    assert str(error.value).startswith(f"{place} cannot be read: ")
    assert "nobody" not in str(error.value)
    assert str(error.value).endswith(DOWNLOAD)


def test_convert_says_it_in_a_sentence(closed: str, tmp_path: Path) -> None:
    place = f"https://{closed}/x.parquet"
    command = [sys.executable, "-m", "dialens", "convert", place, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    words = " ".join(done.stderr.split())
    assert words == (
        f"Error: {place} cannot be read: nobody answers there (Connection refused). {DOWNLOAD}"
    )
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_read_from_afar_is_said_in_a_sentence() -> None:
    with pytest.raises(DialensError, match=r"s3://bucket/logs cannot be read from there: only"):
        read("s3://bucket/logs")
    assert remote_address(Path("hf://datasets/a/b.parquet")) == "hf://datasets/a/b.parquet"
    assert remote_address("C:/chats.csv") is None
    assert remote_address("s3a://logs/chats.csv") == "s3://logs/chats.csv"


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_text, args=(CHATS,))
    thread.start()
    turns = read(pipe).turns.collect()
    thread.join()
    assert turns["text"].to_list() == ["Hi", "Hello"]
    assert turns["agent"].unique().to_list() == ["assistant"]


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "<(cat)"])
def test_standard_input_to_commands(tmp_path: Path, name: str) -> None:
    shell = f"{sys.executable} -m dialens convert {name} {tmp_path / 'out.csv'}"
    done = subprocess.run(
        ["bash", "-c", shell], input=CHATS.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert pl.read_csv(tmp_path / "out.csv")["text"].to_list() == ["Hi", "Hello"]
    done = subprocess.run(["bash", "-c", f"{shell} --force"], input=b"{oh", capture_output=True)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert b"dialens-" not in done.stderr


def test_ratings_through_a_pipe(tmp_path: Path) -> None:
    rows = "".join(f"i{i},r{r},{i % 5 + r % 2}\n" for i in range(6) for r in range(3))
    shell = f"{sys.executable} -m dialens agreement - -o {tmp_path / 'out'}"
    table = f"item,rater,value\n{rows}".encode()
    done = subprocess.run(["bash", "-c", shell], input=table, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"18 ratings" in done.stdout
