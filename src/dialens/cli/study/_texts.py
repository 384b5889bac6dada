"""`dialens study texts`: what participants read beside a study's own words, to translate."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError, atomic_file
from dialens.cli.study._extra import studies_extra


def texts(
    language: Annotated[
        str,
        typer.Option("--language", help="As in HTML: de, pt-BR; English if it is not shipped."),
    ] = "en",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; printed if not given.")
    ] = None,
) -> None:
    """Write the buttons, helps and messages of participants' pages, by key, as YAML.

    A study says other words with `texts:`, all of them or some, and can so be run in a language
    that is not shipped.

    [bold]Examples[/]

      dialens study texts --language de
      dialens study texts -o mystudy/fi.yaml     then translate it, and say `texts: fi.yaml`
    """
    with studies_extra():
        from dialens.studies.texts import catalogue_text
    text = catalogue_text(language)
    if output is None:
        print(text, end="")
        return
    if output.exists():
        raise DialensError(f"{output} is there already. Name another file, or delete it first.")
    with atomic_file(output) as scratch:
        scratch.write_text(text, "utf-8")
    print(
        f"Wrote {output}. Translate it, keep only what you change, and say `texts: {output.name}`."
    )
