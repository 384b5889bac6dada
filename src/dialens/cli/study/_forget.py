"""`dialens study forget`: remove a person from a study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError, counted, listed
from dialens.cli.study._database import DatabaseOption, database_of
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies.store import Store


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
    vacuum: Annotated[
        bool,
        typer.Option(
            "--vacuum", help="In PostgreSQL, rewrite the tables, so that their files hold nothing."
        ),
    ] = False,
) -> None:
    """Delete all data of a person: answers, events, sessions, the encrypted id.

    Exports made earlier still hold their answers: make them again. PostgreSQL keeps the bytes of
    deleted rows until a vacuum; --vacuum rewrites the tables, while participants wait.

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
        sqlite, erased = store.database.is_sqlite, True
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
            erased = gone.erased
        if not sqlite:
            _say_of_postgresql(store, vacuum=vacuum)
    print("Exports made earlier still hold their answers: make them again.")
    if sqlite and not erased:
        raise DialensError(
            "The rows are gone, but their bytes are still in the file, since another program reads "
            "the database. End it; the next `dialens study` command overwrites them, or a running "
            "server, when its health is asked (/healthz)."
        )


def _say_of_postgresql(store: "Store", *, vacuum: bool) -> None:
    """What the server's files still hold, and how that goes away."""
    if vacuum:
        store.database.vacuum()
        print("The tables were rewritten: their files hold nothing of it.")
    else:
        print(
            "PostgreSQL's files hold the bytes of deleted rows until VACUUM FULL: add --vacuum, "
            "when nobody takes part."
        )
    print(
        "Its log of changes (pg_wal), archives of it and backups hold them until they are "
        "recycled: ask who runs the server how long that is."
    )
