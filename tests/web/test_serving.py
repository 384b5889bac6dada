"""The real server: killed in the middle, and kept waiting by slow clients."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._serve import serve as command
from dialens.web import Site, study_app
from dialens.web._serving import PatientProtocol
from tests.web.conftest import Serve, Visit, kept, running, tea
from tests.web.people import Page
from tests.web.servers import write_study


class Hasty(PatientProtocol):
    """Waits half a second for headers."""

    header_seconds = 0.5


@pytest.fixture
def port(site: Site) -> Iterator[int]:
    """A server in this process that is patient for half a second."""
    with running(study_app(site, body_seconds=0.5), Hasty) as number:
        yield number


def _answer(line: socket.socket) -> bytes:
    """Everything until the other side hangs up; a minute is an error."""
    line.settimeout(60)
    seen = b""
    try:
        while part := line.recv(65_536):
            seen += part
    except ConnectionResetError:
        return seen
    return seen


def test_whoever_sends_no_headers_is_hung_up_on(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as line:
        assert _answer(line) == b""
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert _answer(line) == b""


def test_whoever_trickles_after_a_good_request_is_too(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        line.settimeout(60)
        with http.client.HTTPResponse(line) as good:
            good.begin()
            assert (good.status, good.read()[:1]) == (200, b"{")
        line.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        assert _answer(line) == b""


def test_a_body_that_does_not_come_is_not_waited_for(port: int) -> None:
    head = (
        b"POST /begin HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\nticket="
    )
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(head)
        assert b" 408 " in _answer(line).splitlines()[0]


def test_others_are_served_meanwhile(port: int) -> None:
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    for line in slow:
        line.sendall(b"POST /begin HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
    assert httpx.get(f"http://127.0.0.1:{port}/healthz").json()["status"] == "ok"
    for line in slow:
        line.close()


@pytest.mark.slow
def test_a_killed_server_loses_nothing(serve: Serve) -> None:
    server = serve(tea(factors={}, presentation={"anchor": "none"}))
    with httpx.Client(base_url=server.url, follow_redirects=True) as client:
        welcome = Page(client.get("/").text)
        page = Page(client.post("/begin", data=welcome.hidden).text)
        page = Page(client.post("/study", data=page.hidden | {"a:consent": "yes"}).text)
        server.kill()
        server.start()
        again = Page(client.get("/study").text)
        assert again.hidden["screen"] == page.hidden["screen"] == "instructions"
        while "the-code" not in page.html:
            form = page.hidden | dict.fromkeys(page.inputs, "60")
            page = Page(client.post("/study", data=form).text)
    with kept(server) as store:
        (record,) = store.studies()
        assert store.progress(record.hash)[0].completed == 1
        assert store.answers_frame(record.hash).height == 1 + 2 * 3 * 2


def test_a_wrong_study_is_told_before_anything_starts() -> None:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, ["no-such-study"])
    assert isinstance(result.exception, DialensError)
    assert "no-such-study" in str(result.exception)


def test_the_health_of_the_server(site: Site, visit: Visit) -> None:
    assert visit(site).client.get("/healthz").json()["status"] == "ok"


def test_addresses_are_said_only_once_it_listens(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "tea", tea())
    app = typer.Typer()
    app.command()(command)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        told = CliRunner().invoke(app, [str(folder), "--port", str(number)])
    assert isinstance(told.exception, DialensError)
    assert f"port {number}" in str(told.exception)
    assert "--port" in str(told.exception)
    assert "researchers" not in told.output
