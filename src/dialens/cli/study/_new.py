"""`dialens study new`: a study to start from."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError, atomic_folder, counted
from dialens.cli._completion import template_names
from dialens.cli._options import shown
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies import Study

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
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            metavar="CHATS",
            help="Conversations that are judged in the place of the template's items: a file or "
            "folder in any format that `dialens formats` lists.",
        ),
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the templates and stop.")] = False,
) -> None:
    """Write a complete study to start from: the study file, its items, a schema for editors.

    The study is called like its folder, where a study can be called so.

    [bold]Examples[/]

      dialens study new --list
      dialens study new --template anchoring2020 -o anchoring
      dialens study new --template pairwise -o mine && dialens study preview mine
      dialens study new --template dialogue-level --corpus chats.jsonl -o judged
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
        if corpus is not None:
            study = _of_corpus(scratch / STUDY, corpus, output)
    put_in = "" if corpus else f", put in your {'items' if study.items else 'agents'}"
    print(
        f"{shown(output / STUDY)}: {study.design.title} "
        f"({holds(study)}, {counted(len(study.cells), 'cell', 'cells')})\n"
        f"{shown(output / SCHEMA)} lets an editor complete and check it.\n"
        f"Fill in the contact{put_in}, then: dialens study preview {shown(output)}"
    )
    if corpus is not None:
        print(f"Or let a language model judge it: dialens study judge {shown(output)} --new")


def _of_corpus(file: Path, corpus: Path, output: Path) -> "Study":
    """Let a study that was just written judge the conversations of a corpus."""
    from dialens.studies import Change, edited, load_study, read_design

    if not corpus.exists():
        raise DialensError(f"--corpus {corpus} does not exist.")
    items = read_design(file).items
    changes = [
        Change(("items", name), remove=True)
        for name in ("inline", "file")
        if getattr(items, name) is not None
    ]
    text = file.read_text("utf-8")
    # Paths in a study file start where it will lie; it is checked where it lies now.
    for start in (file.parent, output):
        place = Path(os.path.relpath(corpus.resolve(), start.resolve())).as_posix()
        written = edited(text, [Change(("items", "corpus"), place), *changes])
        file.write_text(written, "utf-8")
        if start == file.parent:
            study = load_study(file)
    return study


def _called(folder: Path) -> str:
    """What the folder says of the study's name; nothing if nobody chose it."""
    return "" if folder == _FOLDER else folder.resolve().name
