"""Where the commands of `dialens study` find a study's data."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies.store import Store, StudyRecord

DATABASE = "study.db"
"""The file beside the study file that holds its data, where no other place is named."""

StudyPath = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study file, or the folder that holds it.")
]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="URL",
        help="sqlite:///path or postgresql://user@host/name; study.db beside the study file if "
        "not given.",
    ),
]

Unfinished = Annotated[
    bool, typer.Option("--unfinished", help="Go on although PLEASE FILL IN stands in the texts.")
]


def database_of(study: Path, url: str | None) -> str:
    """The URL of a study's database.

    Examples:
        >>> database_of(Path("tea"), "postgresql://study@localhost/tea")
        'postgresql://study@localhost/tea'
    """
    if url is not None:
        return url
    from dialens.studies import study_file

    return f"sqlite:///{study_file(study).parent / DATABASE}"


@contextmanager
def recorded_study(study: Path, url: str | None) -> Iterator[tuple["Store", "StudyRecord"]]:
    """A study as people took it, with its database; the file may have been edited since."""
    with studies_extra():
        from dialens.studies import read_design, study_file
        from dialens.studies.store import Store
    design = read_design(study_file(study))
    with Store.open(database_of(study, url), create=False) as store:
        records = store.studies()
        for record in records:
            if (record.name, record.version) == (design.study, str(design.version)):
                yield store, record
                return
        stored = ", ".join(f"{record.name} version {record.version}" for record in records)
        raise DialensError(
            f"The database holds no data of {design.study}, version {design.version}. "
            f"It holds: {stored or 'nothing'}."
        )
