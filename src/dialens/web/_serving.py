"""A server for the application: one process or several, with a time limit for request headers."""

import asyncio
import json
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from dialens.base import DialensError
from dialens.studies import load_study, study_file
from dialens.studies.store import LoginTries, Store
from dialens.web._limits import AT_ONCE, ON_THE_WAY, allowed_connections
from dialens.web._logging import log_settings
from dialens.web._password import Password, check_passwords
from dialens.web._site import Site
from dialens.web._studies_app import Index, ServedStudy, studies_app
from dialens.web._study_app import study_app

PASSWORD_VARIABLE = "DIALENS_STUDY_PASSWORD"
VIEWER_VARIABLE = "DIALENS_VIEWER_PASSWORD"
_STUDIES, _ROOT = "DIALENS_SERVED_STUDIES", "DIALENS_SERVED_BELOW"
_SUPERVISOR, _PER_ADDRESS = "DIALENS_SUPERVISOR", "DIALENS_PER_ADDRESS"
_HEADER_SECONDS = 10.0
_START_FAILED = 3  # uvicorn's exit status
_KEEP_ALIVE_SECONDS = 20
_START_SECONDS = 60  # a process that is still importing on a busy machine is not dead


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for the headers of a request.

    A connection that trickles in byte by byte would otherwise be kept for ever.
    """

    header_seconds = _HEADER_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of a new connection; hang up where nobody could be told anything."""
        super().connection_made(transport)
        most = self.limit_concurrency
        if most is not None and len(self.connections) > most + ON_THE_WAY:
            transport.abort()
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Stop the time limit when the headers are complete, or start it for the next request."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.header_seconds, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


def password_from(environment: Mapping[str, str]) -> tuple[str, bool]:
    """The researcher's password, and whether it was generated just now.

    Examples:
        >>> password_from({"DIALENS_STUDY_PASSWORD": "green or black"})
        ('green or black', False)
    """
    chosen = environment.get(PASSWORD_VARIABLE, "").strip()
    return (chosen, False) if chosen else (secrets.token_urlsafe(15), True)


def app_from_environment() -> Starlette:
    """The application in one of several server processes, configured by environment variables."""
    supervisor = os.environ.get(_SUPERVISOR)
    if supervisor is not None:
        threading.Thread(target=_end_with, args=(int(supervisor),), daemon=True).start()
    served: list[tuple[str, str]] = json.loads(os.environ[_STUDIES])
    stores = {database: Store.open(database) for _, database in served}
    password, root = os.environ[PASSWORD_VARIABLE], os.environ[_ROOT]
    per_address = int(os.environ[_PER_ADDRESS])
    studies = [
        ServedStudy(load_study(place), stores[database], study_file(place).parent)
        for place, database in served
    ]
    viewer = _viewer_password()
    if len(studies) > 1:
        index = Index.of(studies, password=password, viewer_password=viewer, root=root)
        sites = tuple(replace(site, per_address=per_address) for site in index.sites)
        return studies_app(replace(index, sites=sites))
    (one,) = studies
    tries = LoginTries(one.store.database, one.store.secrets, lambda: datetime.now(UTC))
    doors = Password(password, tries, viewer=viewer)
    site = Site.of(one.study, one.store, password=doors, folder=one.folder, root=root)
    return study_app(replace(site, per_address=per_address))


def serve(
    studies: Sequence[tuple[Path, str]],
    *,
    password: str,
    host: str,
    port: int,
    workers: int = 1,
    root: str = "",
    proxies: str | None = None,
    per_address: int = 0,
    quiet: bool = True,
    on_listening: Callable[[int, int], None] | None = None,
) -> None:
    """Serve one study, or several below their names, until somebody stops it.

    Args:
        studies: The file of each, or the folder that holds it, and the URL of its database.
        password: For the researcher's pages.
        host: Address to listen at.
        port: To listen at.
        workers: Processes.
        root: The path that all addresses begin with.
        proxies: Addresses of proxies whose word on scheme and client is taken; nobody's if none.
        per_address: How many may begin from one address within ten minutes; any number if 0.
        quiet: Whether requests are not logged.
        on_listening: Told the port once it is bound, before anybody is served, and how many
            connections each process takes.

    Raises:
        DialensError: Nobody can listen there, for example since another server does.
    """
    if workers < 1:
        raise DialensError(f"--workers takes a number from 1; seen: {workers}.")
    check_passwords(password, _viewer_password())
    served = [(str(study), database) for study, database in studies]
    os.environ |= {
        _STUDIES: json.dumps(served),
        _ROOT: root,
        _PER_ADDRESS: str(per_address),
        PASSWORD_VARIABLE: password,
    }
    line = _listen(host, port)
    port = line.getsockname()[1]
    most = allowed_connections()
    if on_listening is not None:
        on_listening(port, most)
    config = uvicorn.Config(
        "dialens.web._serving:app_from_environment",
        factory=True,
        host=host,
        port=port,
        http=PatientProtocol,
        ws="none",
        access_log=not quiet,
        log_config=log_settings(requests=not quiet),
        server_header=False,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
        timeout_worker_healthcheck=_START_SECONDS,
        limit_concurrency=most,
        backlog=AT_ONCE,
        workers=workers,
    )
    if workers > 1:
        os.environ[_SUPERVISOR] = str(os.getpid())
        Multiprocess(config, sockets=[line]).run()
        return
    server = uvicorn.Server(config)
    # What ended the server is raised once more when it has closed: being asked to stop is no fault.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt):
        server.run(sockets=[line])
    if not server.started:
        sys.exit(_START_FAILED)


def _viewer_password() -> str:
    return os.environ.get(VIEWER_VARIABLE, "").strip()


def _end_with(supervisor: int) -> None:
    """End this process when the one that started it is gone, however that died.

    Otherwise it would hold the port, with the password of then.
    """
    while os.getppid() == supervisor:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket; nothing is accepted until a server runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    line = socket.socket(family)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        line.bind((host, port))
    except OSError as error:
        line.close()
        raise DialensError(
            f"The study cannot be served at {host}, port {port}: {error.strerror or error}. "
            "Choose another with --port (0 takes any that is free), or stop what listens there."
        ) from error
    line.set_inheritable(True)
    return line
