"""`dialens study backup` and `restore`: copies of a study's database."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError
from dialens.cli._options import shown
from dialens.cli.study._database import DATABASE, DatabaseOption, StudyPath, database_of
from dialens.cli.study._extra import studies_extra


def backup(
    study: StudyPath,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The copy; a file that does not exist.")
    ],
    db: DatabaseOption = None,
) -> None:
    """Copy the database of a study while people take part.

    A plain copy of a live SQLite file misses what is still in its log; this does not. PostgreSQL is
    copied by pg_dump, for pg_restore. The key that decrypts worker ids is not in the copy: keep
    study.db.key (or DIALENS_STUDY_KEY) in another place.

    [bold]Examples[/]

      dialens study backup anchoring -o backups/monday.db
      dialens study backup anchoring --db postgresql://study@localhost/ratings -o monday.dump
    """
    with studies_extra():
        from dialens.studies.store import KEY_VARIABLE, back_up
    made = back_up(database_of(study, db), output)
    print(f"{shown(made.file)}: {made.size:,} bytes, as the database was a moment ago.")
    key = KEY_VARIABLE if made.key is None else shown(made.key)
    print(f"Its key is not in it: keep {key} too, in another place.")
    print("Who is forgotten from now on is still in this copy: delete it in time.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `study backup` wrote.")],
    study: StudyPath,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The key file of the database it was made from; not needed where "
            "DIALENS_STUDY_KEY is set."
        ),
    ] = None,
) -> None:
    """Put a backup of SQLite where the study is served from; nothing is overwritten.

    It holds what people gave. The study's folder (study.yaml and its files) has to be there, as it
    was when it was served: data of another study are refused.

    A backup of PostgreSQL is restored by pg_restore --no-owner --dbname=DATABASE FILE, into a
    database that is empty.

    [bold]Examples[/]

      dialens study restore backups/monday.db anchoring --key study.db.key
    """
    with studies_extra():
        from dialens.studies import load_study, study_file
        from dialens.studies.store import Store, check_belongs
        from dialens.studies.store import restore as put_back
    if not (study.is_file() or (study / "study.yaml").is_file()):
        raise DialensError(
            f"{study} holds no study file, and a backup holds only what people gave. Copy the "
            "study's folder (study.yaml and its files) there first."
        )
    target = study_file(study).parent / DATABASE
    if key is not None and not key.is_file():
        raise DialensError(f"{key} does not exist.")
    check_belongs(file, load_study(study), study_file(study))
    put_back(file, target, key=key)
    print(f"{shown(file)} is restored; go on with: dialens study serve {shown(study)}")
    with Store.open(f"sqlite:///{target}", create=False) as store:
        for record in store.studies():
            done = sum(cell.completed for cell in store.progress(record.hash))
            print(f"{record.name}, version {record.version}: {done:,} completed")
