"""`dialens convert`: from any format to any other."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import counted, progress
from dialens.cli._completion import written_format_names
from dialens.cli._options import (
    AgentName,
    ColumnNames,
    Force,
    Format,
    OnErrorOption,
    RoleNames,
    SystemName,
    read_options,
    shown,
)
from dialens.corpus import Intake, OnError, usual_threads
from dialens.corpus import convert as convert_corpus


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File or folder to read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File or folder to write.")],
    format: Format = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format to write; from the ending of OUT if not given.",
            autocompletion=written_format_names,
        ),
    ] = None,
    agent: AgentName = None,
    system: SystemName = None,
    column: ColumnNames = None,
    role: RoleNames = None,
    on_error: OnErrorOption = OnError.STOP,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            min=1,
            help="Files of a folder read at once; one a core by default, if the folder is large.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Convert conversations between formats.

    [bold]Examples[/]

      dialens convert chats.jsonl corpus             to a corpus folder (Parquet, fast to score)
      dialens convert corpus chats.jsonl             to OpenAI messages
      dialens convert fed_data.json out --to convokit
      dialens convert logs/ corpus --on-error skip   leave broken records out, and list them

    The files of a large folder are read side by side. If that is interrupted, the same command
    reads only the rest.
    """
    intake = Intake(on_error)
    done = convert_corpus(
        source,
        target,
        format=format,
        to=to,
        options=read_options(agent, system, column, role),
        force=force,
        threads=threads or usual_threads([source]),
        intake=intake,
        show=progress,
        say=partial(print, file=sys.stderr, flush=True),
    )
    print(
        f"Wrote {counted(done.dialogs, 'dialogue')} with {counted(done.turns, 'turn')} to "
        f"{shown(target)} ({done.to}), read from {shown(source)} as {done.format}."
    )
    for sentence in intake.notes:
        print(sentence)
    if done.rejects is not None:
        print(f"Left out {intake.left_out}: see {shown(done.rejects)}.")
    for line in done.left_out:
        print(f"Not in the output: {line}.")
