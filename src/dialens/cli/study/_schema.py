"""`dialens study schema`: the JSON Schema of study files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import atomic_file
from dialens.cli.study._extra import studies_extra


def schema(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; printed if not given.")
    ] = None,
) -> None:
    """Print the JSON Schema of study files, for editors and for other programs.

    [bold]Examples[/]

      dialens study schema -o study.schema.json
      dialens study schema | python -m json.tool | less
    """
    with studies_extra():
        from dialens.studies import study_schema, write_schema
    if output is None:
        print(json.dumps(study_schema(), indent=1, ensure_ascii=False))
        return
    with atomic_file(output) as scratch:
        write_schema(scratch)
