"""A small study being served: in process, by a real server, and in a browser."""

from __future__ import annotations

import asyncio
import copy
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from httpx import Client
from ruamel.yaml import YAML
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from dialens.studies import TEA, Study, load_study, study_of
from dialens.studies.store import Secrets, Store
from dialens.web import Site, study_app
from dialens.web._serving import PatientProtocol
from tests.agents.endpoint import Endpoint
from tests.other_servers import free_port
from tests.web.people import Person
from tests.web.talks import Talker, Visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PASSWORD = "green or black tea"
KEY = Secrets(bytes(range(32)))


def tea(**changes: Any) -> dict[str, Any]:
    """A study of two items in four cells, as a file would hold it, with some things changed."""
    made = copy.deepcopy(TEA)
    made["items"]["inline"] = made["items"]["inline"][:2]
    return made | changes


Make = Callable[..., Site]
Visit = Callable[..., Person]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes the site of a study, each with a database of its own."""
    stores: list[Store] = []

    def made(study: Study | dict[str, Any] | None = None, **options: Any) -> Site:
        path = tmp_path / f"study-{len(stores)}.db"
        stores.append(Store.open(f"sqlite:///{path}", secrets=KEY))
        chosen = study if isinstance(study, Study) else study_of(study or tea())
        return Site.of(chosen, stores[-1], password=PASSWORD, **options)

    yield made
    for store in stores:
        store.close()


@pytest.fixture
def site(make: Make) -> Site:
    return make()


@pytest.fixture
def visit() -> Iterator[Visit]:
    """Lets somebody with a browser of their own visit a site."""
    clients: list[TestClient] = []

    def visiting(site: Site, seed: int = 0, **options: Any) -> Person:
        client = TestClient(study_app(site, **options), raise_server_exceptions=False)
        clients.append(client)
        return Person(site, client, seed)

    yield visiting
    for client in clients:
        client.close()


@pytest.fixture
def researcher(site: Site, visit: Visit) -> TestClient | Client:
    """A browser in which somebody has logged in."""
    return log_in(visit(site))


def log_in(person: Person, who: str = "") -> TestClient | Client:
    """Give the password, and perhaps a name."""
    page = person.come("/researcher/login")
    form = page.hidden | {"password": PASSWORD, "who": who}
    answer = person.client.post(page.action, data=form)
    assert answer.status_code == 200
    assert answer.url.path == "/researcher"
    return person.client


class Server:
    """`dialens study serve` as a process of its own, which can be killed and started again."""

    def __init__(self, folder: Path, port: int, *options: str) -> None:
        self.folder = folder
        self._options = options
        self.url = f"http://127.0.0.1:{port}"
        self._port = port
        self.start()

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder / 'study.db'}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        run = "import typer; from dialens.cli.study._serve import serve; typer.run(serve)"
        arguments = [str(self.folder), "--port", str(self._port), *self._options]
        told = os.environ | {"DIALENS_STUDY_PASSWORD": PASSWORD}
        self.process = subprocess.Popen(
            [sys.executable, "-c", run, *arguments],
            env=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(600):
            if self.process.poll() is not None:
                assert self.process.stdout is not None
                raise AssertionError(self.process.stdout.read().decode())
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """Stop at once, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def _folder(tmp_path: Path, study: dict[str, Any], number: int) -> Path:
    folder = tmp_path / f"served-{number}"
    folder.mkdir()
    with (folder / "study.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(study, file)
    return folder


Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Writes a study file and serves it by the command."""
    servers: list[Server] = []

    def served(study: dict[str, Any], *options: str) -> Server:
        servers.append(Server(_folder(tmp_path, study, len(servers)), free_port(), *options))
        return servers[-1]

    yield served
    for server in servers:
        server.kill()


@dataclass(frozen=True)
class Host:
    """A server in a thread of this process, which starts faster than one of its own."""

    url: str
    database: str


Hosting = Callable[[dict[str, Any]], Host]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Hosting]:
    """Writes a study file and serves it in a thread."""
    with ExitStack() as stack:
        made: list[Host] = []

        def hosted(study: dict[str, Any]) -> Host:
            folder = _folder(tmp_path, study, len(made))
            database = f"sqlite:///{folder / 'study.db'}"
            store = stack.enter_context(Store.open(database))
            site = Site.of(load_study(folder), store, password=PASSWORD)
            port = stack.enter_context(running(study_app(site), PatientProtocol))
            made.append(Host(f"http://127.0.0.1:{port}", database))
            return made[-1]

        yield hosted


@contextmanager
def running(app: ASGIApp, protocol: type[PatientProtocol]) -> Iterator[int]:
    """Serve an application in a thread; gives the port."""
    line = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, http=protocol, ws="none", log_level="error"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([line])))
    thread.start()
    try:
        yield int(line.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        line.close()


Window = Callable[..., "Page"]


@pytest.fixture
def window(chromium: Browser) -> Iterator[Window]:
    """Opens a page in a browser; at the end nothing may have complained or gone elsewhere."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []
    requests: list[str] = []

    def opened(url: str, *, expected: tuple[str, ...] = (), **options: Any) -> Page:
        context = chromium.new_context(**({"viewport": {"width": 1200, "height": 800}} | options))
        contexts.append(context)
        page = context.new_page()

        def note(text: str) -> None:
            if not any(known in text for known in expected):
                complaints.append(text)

        page.on("console", lambda message: note(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: note(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [u for u in requests if not u.startswith(("http://127.0.0.1:", "data:"))] == []


@contextmanager
def kept(server: Server | Host) -> Iterator[Store]:
    """What a server has stored."""
    with Store.open(server.database, create=False) as store:
        yield store


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A stand-in for a model's endpoint."""
    with Endpoint() as made:
        yield made


@pytest.fixture
def talker() -> Iterator[Visiting]:
    """Lets somebody visit a site whose pages they talk on."""
    clients: list[TestClient] = []

    def visiting(site: Site) -> Talker:
        client = TestClient(study_app(site), raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return Talker(client)

    yield visiting
    for client in clients:
        client.__exit__()
