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

    Exports and analyses that still lie where they were written lose their rows; those that were
    downloaded or moved are named, with what to look for (`study exports` lists them). PostgreSQL
    keeps the bytes of deleted rows until a vacuum; --vacuum rewrites the tables, while participants
    wait.

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
        erased = True
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
        say_exports(store)
        say_files(store, erased=erased, vacuum=vacuum)


def say_exports(store: "Store") -> None:
    """Take whoever was deleted out of exports, and say where that is to be done by hand."""
    from dialens.studies.export import recall

    for line in recall(store):
        print(f"! {line}" if line.left else line)
    print(
        "Backups from before still hold them, and so does what was made of exports elsewhere: "
        "delete it, or make it again."
    )


def say_files(store: "Store", *, erased: bool, vacuum: bool) -> None:
    """What files of the database still hold of deleted rows, and how that goes away.

    Args:
        store: The database.
        erased: Whether SQLite's hold nothing.
        vacuum: Whether to rewrite the tables of PostgreSQL.
    """
    if store.database.is_sqlite:
        if not erased:
            raise DialensError(
                "The rows are gone, but their bytes are still in the file, since another program "
                "reads the database. End it; the next `dialens study` command overwrites them, or "
                "a running server, when its health is asked (/healthz)."
            )
        return
    if vacuum:
        store.database.vacuum()
        print("The tables were rewritten: their files hold nothing of it.")
    else:
        print(
            "PostgreSQL's files hold the bytes of deleted rows until VACUUM FULL: add --vacuum, "
            "when nobody takes part. It locks each table while it is rewritten, and needs as much "
            "free disk as the largest has."
        )
    print(
        "Its log of changes (pg_wal) holds them until it is recycled, archives and replicas of it "
        "for as long as they are kept: ask who runs the server."
    )
