"""A server for the preview of a study: on this machine only."""

from collections.abc import Callable
from pathlib import Path

from dialens.web._loopback_serving import serve_here
from dialens.web._preview_app import study_preview


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
        serve_here(preview, preview.address, port=port, ready=ready, open_browser=open_browser)
    finally:
        preview.close()
