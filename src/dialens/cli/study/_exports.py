"""`dialens study exports`: what left the database, and who has still to be taken out of it."""

from typing import Annotated

import typer

from dialens.base import counted, listed
from dialens.cli._terminal import plain_table, print_whole
from dialens.cli.study._database import DatabaseOption, StudyPath, recorded_study
from dialens.cli.study._extra import studies_extra


def exports(
    study: StudyPath,
    db: DatabaseOption = None,
    dealt_with: Annotated[
        list[int] | None,
        typer.Option(
            "--dealt-with",
            metavar="N",
            help="Number of an export that you deleted, or took people out of; may be given "
            "several times.",
        ),
    ] = None,
) -> None:
    """List exports, analyses and downloads, and those that still hold somebody who was deleted.

    Whoever is forgotten, declines or withdraws is taken out of those that still lie where they were
    written. Others are named here, with the pseudonym to look for, until you say that it is done.

    [bold]Examples[/]

      dialens study exports anchoring
      dialens study exports anchoring --dealt-with 3
    """
    with studies_extra():
        from dialens.studies.export import recall
        from dialens.studies.store import ExportLog
    with recorded_study(study, db) as (store, record):
        log = ExportLog(store.database, "command")
        for number in dealt_with or []:
            people = {who for one in log.all() if one.number == number for who in one.recalled}
            log.settle(number, people)
        done = recall(store)
        known = log.all(record.name)
    if not known:
        print(f"Nothing of {record.name} was exported yet, as far as the database knows.")
        return
    table = plain_table("when", "by", "what", "where", "still holds", numbers=("number", "people"))
    for one in known:
        by = f"{one.who} ({one.by})" if one.who else one.by
        where = "downloaded" if one.place is None else str(one.place)
        when, held = f"{one.at:%Y-%m-%d %H:%M}", ", ".join(one.recalled)
        table.add_row(when, by, one.kind, where, held, str(one.number), f"{one.people:,}")
    print_whole(table)
    for line in done:
        print(f"! {line}" if line.left else line)
    left = [str(one.number) for one in known if one.recalled]
    if left:
        numbers = " ".join(f"--dealt-with {number}" for number in left)
        print(
            f"{counted(len(left), 'export has', 'exports have')} to be dealt with by hand (number "
            f"{listed(left)}); afterwards: dialens study exports {study} {numbers}"
        )
