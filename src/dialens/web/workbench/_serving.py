"""A server for the pages of a folder: on this machine only."""

from collections.abc import Callable
from pathlib import Path

from dialens.web._loopback_serving import serve_here
from dialens.web.workbench._app import workbench_app
from dialens.workbench import Workbench


def serve_workbench(
    folder: Path,
    *,
    port: int,
    ready: Callable[[Workbench, str], None],
    open_browser: bool,
    report: Callable[[str], None] | None = None,
) -> None:
    """Serve the pages of a folder until somebody stops it.

    Args:
        folder: What is shown.
        port: To listen at; 0 for any that is free.
        ready: Called with the open folder and the address once that can be opened.
        open_browser: Whether the address is opened in the browser.
        report: Told what is being done before.
    """
    workbench = Workbench.open(folder, report=report)
    try:
        app = workbench_app(workbench)
        serve_here(
            app,
            app.address,
            port=port,
            ready=lambda address: ready(workbench, address),
            open_browser=open_browser,
        )
    finally:
        workbench.close()
