"""A server for the preview of a study: on this machine only, one process, no log."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from dialens.base import DialensError
from dialens.web._preview_app import study_preview
from dialens.web._serving import PatientProtocol

_HOST = "127.0.0.1"


def serve_preview(
    study: Path, *, port: int, ready: Callable[[str], None], open_browser: bool
) -> None:
    """Serve the preview of a study until somebody stops it.

    Args:
        study: Its file, or the folder that holds it.
        port: To listen at; 0 for any that is free.
        ready: Called with the address once it can be opened.
        open_browser: Whether the address is opened in the browser.
    """
    preview = study_preview(study)
    try:
        line = socket.create_server((_HOST, port))
    except OSError as error:
        raise DialensError(
            f"Port {port} cannot be used: {error.strerror}. Name another with --port."
        ) from error
    address = f"http://{_HOST}:{line.getsockname()[1]}{preview.address}"
    config = uvicorn.Config(
        preview,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    ready(address)
    if open_browser:
        webbrowser.open(address)
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(uvicorn.Server(config).serve([line]))
    finally:
        preview.close()
        line.close()
