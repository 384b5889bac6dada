"""`dialens study forget`: remove a person from a study."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError, counted, listed
from dialens.cli.study._database import DatabaseOption, database_of
from dialens.cli.study._extra import studies_extra


def forget(
    participant: Annotated[
        str,
        typer.Argument(
            help="The pseudonym, as in the column `rater` of an export, or a completion code."
        ),
    ],
    study: Annotated[
        Path, typer.Option("--study", help="The study file, or the folder that holds it.")
    ] = Path(),
    db: DatabaseOption = None,
    recruiter: Annotated[
        str | None,
        typer.Option(
            "--worker",
            metavar="RECRUITER",
            help="PARTICIPANT is somebody's id at this recruiter (prolific, mturk).",
        ),
    ] = None,
) -> None:
    """Delete all data of a person: answers, events, sessions, the encrypted id.

    Exports made earlier still hold their answers: make them again.

    [bold]Examples[/]

      dialens study forget pk3x2 --study anchoring
      dialens study forget 3BYX73O5FXZF3GJQ --study anchoring
      dialens study forget 5f2a91 --worker prolific --db postgresql://study@localhost/ratings
    """
    with studies_extra():
        from dialens.studies.store import OperationStore, Store
    with Store.open(database_of(study, db), create=False) as store:
        names = [OperationStore(store, "command").pseudonym(participant)]
        if recruiter is not None:
            names = list(store.participants_of(recruiter, participant).values())
            if not names:
                raise DialensError(f"Nobody with this id came through {recruiter!r}.")
        for name in names:
            gone = store.forget(name)
            parts = [
                counted(gone.sessions, "session", "sessions"),
                counted(gone.screens, "screen", "screens"),
                counted(gone.answers, "answer", "answers"),
                counted(gone.events, "event", "events"),
                counted(gone.messages, "message", "messages"),
            ]
            print(f"{name} is deleted: {listed(parts)}.")
    print("Exports made earlier still hold their answers: make them again.")
