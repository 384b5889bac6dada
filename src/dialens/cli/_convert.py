"""`dialens convert`: from any format to any other."""

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
from dialens.corpus import Intake, OnError, write_rejects
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
    force: Force = False,
) -> None:
    """Convert conversations between formats.

    [bold]Examples[/]

      dialens convert chats.jsonl corpus             to a corpus folder (Parquet, fast to score)
      dialens convert corpus chats.jsonl             to OpenAI messages
      dialens convert fed_data.json out --to convokit
      dialens convert logs/ corpus --on-error skip   leave broken records out, and list them
    """
    intake = Intake(on_error)
    with progress("Converting") as advance:
        done = convert_corpus(
            source,
            target,
            format=format,
            to=to,
            options=read_options(agent, system, column, role),
            force=force,
            intake=intake,
            advance=advance,
        )
    print(
        f"Wrote {counted(done.dialogs, 'dialogue')} with {counted(done.turns, 'turn')} to "
        f"{shown(target)} ({done.to}), read from {shown(source)} as {done.format}."
    )
    for sentence in intake.notes:
        print(sentence)
    if intake.rejected:
        rejects = target.with_name(f"{target.name}.rejects.jsonl")
        write_rejects(intake, rejects)
        print(f"Left out {intake.left_out}: see {shown(rejects)}.")
    for line in done.left_out:
        print(f"Not in the output: {line}.")
