"""`dialens study backup` and `restore`: a study with its database, key and files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import counted
from dialens.cli._options import shown
from dialens.cli.study._database import DatabaseOption, StudyPath, database_of
from dialens.cli.study._extra import studies_extra


def backup(
    study: StudyPath,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The backup; a folder that does not exist.")
    ],
    db: DatabaseOption = None,
    without_key: Annotated[
        bool,
        typer.Option(
            "--without-key",
            help="Leave out the key, so that nobody can read worker ids in the backup; keep it "
            "elsewhere.",
        ),
    ] = False,
) -> None:
    """Copy database, key and files of a study together, while people take part.

    The backup is a folder that only its owner can read, with a hash of every file. A plain copy of
    a live SQLite file misses what is still in its log; this does not. PostgreSQL is copied by
    pg_dump. Files are the study file, translations, items, media, judges' answers.

    [bold]Examples[/]

      dialens study backup anchoring -o backups/monday
      dialens study backup anchoring --without-key -o backups/monday
      dialens study backup anchoring --db postgresql://study@localhost/ratings -o backups/monday
    """
    with studies_extra():
        from dialens.studies.backup import back_up
    made = back_up(
        study, database_of(study, db), output, now=datetime.now(UTC), with_key=not without_key
    )
    print(
        f"{shown(made.folder)}: {counted(made.participants, 'participant')} and "
        f"{counted(made.answers, 'answer')}, as they were a moment ago, with "
        f"{counted(made.files, 'file')} of the study; {made.size:,} bytes."
    )
    if made.with_key:
        print(
            "The key is in it: whoever has this folder can read worker ids. Keep it where nobody "
            "else gets at it, or leave the key out (--without-key) and keep that apart."
        )
    else:
        print("The key is not in it: keep it too, in another place, or worker ids are lost.")
    _say_outside(made.outside)
    print("Who is forgotten from now on is still in this copy: delete it in time.")


def restore(
    folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="What `study backup` wrote.")],
    study: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the study is to be; made if needed.")
    ],
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="URL",
            help="sqlite:///path, study.db in FOLDER if not given; for a backup of PostgreSQL "
            "an empty database: postgresql://user@host/name.",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The key file, where the backup has none; not needed where DIALENS_STUDY_KEY is "
            "set."
        ),
    ] = None,
    without_key: Annotated[
        bool,
        typer.Option("--without-key", help="Go on without the key: worker ids cannot be read."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Rename files that are in the way (study.db to study.db.1), and replace tables "
            "of PostgreSQL.",
        ),
    ] = False,
) -> None:
    """Put a backup in place, so that the study goes on with everybody under way.

    All hashes and the database are checked before anything is written: a damaged backup is refused.
    Nothing is overwritten unless --force says so.

    [bold]Examples[/]

      dialens study restore backups/monday anchoring
      dialens study restore backups/monday elsewhere/anchoring --key study.db.key
      dialens study restore backups/monday anchoring --db postgresql://study@localhost/empty
    """
    with studies_extra():
        from dialens.studies.backup import restore as put_back
        from dialens.studies.store import KEY_VARIABLE
    done = put_back(folder, study, url=db, key=key, without_key=without_key, force=force)
    print(
        f"{shown(folder)} is restored: {counted(done.participants, 'participant')} and "
        f"{counted(done.answers, 'answer')}, {counted(done.files, 'file')}."
    )
    for name in done.aside:
        print(f"! {name} is what was there before, with everybody in it: delete it in time.")
    _say_outside(done.outside)
    if not done.with_key:
        print("! Without the key worker ids cannot be read, and the study cannot be served.")
        return
    postgresql = db is not None and not db.startswith("sqlite")
    if postgresql and done.key is not None:
        print(f"Serve it with its key: export {KEY_VARIABLE}=$(cat {shown(done.key)})")
    where = "" if db is None else " --db …" if postgresql else f" --db {db}"
    print(f"Go on with: dialens study serve {shown(done.study.parent)}{where}")


def _say_outside(files: tuple[str, ...]) -> None:
    for name in files:
        print(
            f"! {name} lies outside of the study's folder, and is not in the backup: copy it too."
        )
