"""`dialens study preview`: a study while it is written."""

from typing import Annotated

import typer

from dialens.cli._keys import Allow, allow
from dialens.cli.study._database import StudyPath
from dialens.cli.study._extra import studies_extra


def preview(
    study: StudyPath,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen at; 0 for any that is free.")
    ] = 0,
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    allowed: Allow = None,
) -> None:
    """Show a study in the browser while it is written: every screen, as participants see it.

    The page follows the study file and the files it names, says what is wrong with them, and can
    edit the study in a form. Taking the study there stores nothing. Only this machine reaches it.

    [bold]Examples[/]

      dialens study preview anchoring
      dialens study preview anchoring/study.yaml --port 8001 --no-open
    """
    with studies_extra():
        from dialens.web import serve_preview
    allow(allowed)
    serve_preview(study, port=port, ready=_ready, open_browser=open_it)


def _ready(address: str) -> None:
    print(f"{address}\nThe page follows the study file. Stop with Ctrl-C.", flush=True)
