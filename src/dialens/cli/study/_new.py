"""`dialens study new`: a study to start from."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError, atomic_folder, counted
from dialens.cli._completion import template_names
from dialens.cli._options import shown
from dialens.cli.study._extra import studies_extra

_FOLDER = Path("study")


def new(
    template: Annotated[
        str,
        typer.Option(
            "--template",
            "-t",
            help="Name of the template; --list shows them.",
            autocompletion=template_names,
        ),
    ] = "likert",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = _FOLDER,
    list_them: Annotated[bool, typer.Option("--list", help="List the templates and stop.")] = False,
) -> None:
    """Write a complete study to start from: the study file, its items, a schema for editors.

    The study is called like its folder, where a study can be called so.

    [bold]Examples[/]

      dialens study new --list
      dialens study new --template anchoring2020 -o anchoring
      dialens study new --template pairwise -o mine && dialens study preview mine
    """
    with studies_extra():
        from dialens.studies import SCHEMA, STUDY, holds
        from dialens.studies.templates import TEMPLATES, write_template
    if list_them:
        width = max(map(len, TEMPLATES))
        print("\n".join(f"{name:<{width}}  {meaning}" for name, meaning in TEMPLATES.items()))
        return
    # A folder with a study file in it is somebody's work, perhaps with answers beside it.
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise DialensError(f"{output} exists and is not an empty folder. Name another with -o.")
    with atomic_folder(output) as scratch:
        study = write_template(template, scratch, called=_called(output))
    print(
        f"{shown(output / STUDY)}: {study.design.title} "
        f"({holds(study)}, {counted(len(study.cells), 'cell', 'cells')})\n"
        f"{shown(output / SCHEMA)} lets an editor complete and check it.\n"
        f"Fill in the contact, put in your {'items' if study.items else 'agents'}, then: "
        f"dialens study preview {shown(output)}"
    )


def _called(folder: Path) -> str:
    """What the folder says of the study's name; nothing if nobody chose it."""
    return "" if folder == _FOLDER else folder.resolve().name
