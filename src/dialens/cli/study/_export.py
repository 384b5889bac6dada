"""`dialens study export`: what a study collected, as files."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.cli._options import Force, shown
from dialens.cli.study._database import DatabaseOption, StudyPath, recorded_study
from dialens.cli.study._extra import studies_extra


def export(
    study: StudyPath,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, codebook and card.")
    ] = Path("export"),
    db: DatabaseOption = None,
    force: Force = False,
) -> None:
    """Write ratings, questionnaires, answers and events as tables, with codebook and data card.

    People go by pseudonyms; ids of workers stay in the database. The study may still be running.

    [bold]Examples[/]

      dialens study export anchoring -o export
      dialens study export anchoring --db postgresql://study@localhost/ratings -o export
      dialens study analyze export
    """
    with studies_extra():
        from dialens.studies.export import export as write
    with recorded_study(study, db) as (store, record):
        done = write(store, record.hash, output, force=force)
    print(
        f"{done.participants:,} participants, {done.ratings:,} ratings, {done.answers:,} answers, "
        f"{done.events:,} events."
    )
    if done.conversations:
        print(
            f"{done.conversations:,} conversations, {done.failures:,} failures of agents; next: "
            f"dialens score {shown(output / 'conversations')}"
        )
    for reason, count in done.left_out.items():
        print(f"  not among the ratings: {count:,} ({reason.replace('`', '')})")
    print(f"{shown(output)}: start with {shown(output / 'card.md')}")
