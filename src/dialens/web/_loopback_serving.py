"""A server for pages on one's own machine: one process, no log."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from dialens.base import DialensError
from dialens.web._serving import PatientProtocol

_HOST = "127.0.0.1"


def serve_here(
    app: ASGIApp, path: str, *, port: int, ready: Callable[[str], None], open_browser: bool
) -> None:
    """Serve an application on this machine only until somebody stops it: one process, no log.

    Args:
        app: The application.
        path: Of its first page, with the token.
        port: To listen at; 0 for any that is free.
        ready: Called with the address once it can be opened.
        open_browser: Whether the address is opened in the browser.
    """
    try:
        line = socket.create_server((_HOST, port))
    except OSError as error:
        raise DialensError(
            f"Port {port} cannot be used: {error.strerror}. Name another with --port."
        ) from error
    address = f"http://{_HOST}:{line.getsockname()[1]}{path}"
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="error",  # who sends nonsense is told so, not the terminal
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    try:
        ready(address)
        if open_browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            asyncio.run(uvicorn.Server(config).serve([line]))
    finally:
        line.close()
