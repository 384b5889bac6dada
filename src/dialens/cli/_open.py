"""`dialens open`: everything of a folder, in the browser."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import counted
from dialens.cli._options import extra

if TYPE_CHECKING:
    from dialens.workbench import Workbench


def open_folder(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder that holds your data.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen at; 0 for any that is free.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Show everything of a folder in the browser: conversations, scores, comparisons, studies.

    Says how things hang together and what is stale: made from data that have changed since. Only
    this machine reaches the pages, by the address that is printed. Nothing in the folder is
    changed but `workbench.sqlite`, which keeps flags, notes and views.

    [bold]Examples[/]

      dialens open demo
      dialens open . --port 8001 --no-browser
    """
    with extra("The pages of a folder", "studies"):
        from dialens.web.workbench import serve_workbench
    serve_workbench(folder, port=port, ready=_ready, open_browser=not no_browser, report=_report)
    print("Stopped.", flush=True)


def _report(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _ready(workbench: "Workbench", address: str) -> None:
    from dialens.workbench import sentence

    lines = [sentence(workbench.catalogue)]
    unread = len(workbench.catalogue.unread)
    if unread:
        lines.append(f"{counted(unread, 'file')} found, but not read; the page says why.")
    print(*lines, address, "Stop with Ctrl-C.", sep="\n", flush=True)
