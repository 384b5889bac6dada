"""`dialens study exclude`: leave somebody out, and let somebody else take their place."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError
from dialens.cli.study._database import DatabaseOption, database_of
from dialens.cli.study._extra import studies_extra


def exclude(
    participant: Annotated[
        str,
        typer.Argument(
            help="The pseudonym, as in the column `rater` of an export, or a completion code."
        ),
    ],
    why: Annotated[str, typer.Option("--why", help="The reason; it stands in the export.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Count the person again.")] = False,
    study: Annotated[
        Path, typer.Option("--study", help="The study file, or the folder that holds it.")
    ] = Path(),
    db: DatabaseOption = None,
) -> None:
    """Leave a person out of the analysis, and open the place for somebody else.

    The data stay, and are exported with the reason; `study analyze` leaves them out. The person is
    not told, and is paid like everybody. To delete data, use `study forget`.

    [bold]Examples[/]

      dialens study exclude pk3x2 --why "Failed both attention checks" --study anchoring
      dialens study exclude pk3x2 --undo --study anchoring
    """
    with studies_extra():
        from dialens.studies.store import OperationStore, Store
    if undo and why:
        raise DialensError("--undo takes no reason.")
    if not undo and not why.strip():
        raise DialensError("An exclusion needs a reason (--why): it stands in the export.")
    with Store.open(database_of(study, db), create=False) as store:
        operating, now = OperationStore(store, "command"), datetime.now(UTC)
        name = operating.pseudonym(participant)
        if undo:
            operating.include(name, now=now)
            print(f"{name} counts again, and takes a place.")
        else:
            operating.exclude(name, why, now=now)
            print(f"{name} is excluded, and the place is open again. Undo it with --undo.")
