"""Where the commands of `dialens study` find a study's data."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError, counted
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies.store import Store, StudyRecord

DATABASE = "study.db"
"""The file beside the study file that holds its data, where no other place is named."""

StudyPath = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study file, or the folder that holds it.")
]
VersionOption = Annotated[
    list[int] | None,
    typer.Option(
        "--version",
        metavar="N",
        min=1,
        help="Version of the study; may be given several times. The newest if not given.",
    ),
]
AllVersionsOption = Annotated[
    bool, typer.Option("--all-versions", help="All versions of the study together.")
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
    """The newest version of a study as people took it; the file may have been edited since."""
    with recorded_versions(study, url, say=lambda _: None) as (store, records):
        yield store, records[-1]


@contextmanager
def recorded_versions(
    study: Path,
    url: str | None,
    versions: Sequence[int] | None = None,
    *,
    every: bool = False,
    say: Callable[[str], None] = print,
) -> Iterator[tuple["Store", list["StudyRecord"]]]:
    """Versions of a study as people took them, the newest last.

    Args:
        study: The study file, or its folder.
        url: Of its database.
        versions: Which; the newest if none is named.
        every: Whether all of them.
        say: Called with which version is meant, where there are several and none is named.
    """
    with studies_extra():
        from dialens.studies import read_design, study_file
        from dialens.studies.store import Store
    if versions and every:
        raise DialensError("Give --version or --all-versions, not both.")
    name = read_design(study_file(study)).study
    with _database(study, url) as place, Store.open(place, create=False, needs_key=False) as store:
        if store.secrets.is_lost:
            say(
                "The key of the database is not there, or not the one it was made with: ids of "
                "people at the recruiter cannot be read, nobody can be paid by them, and the study "
                "cannot be served. All answers can be read."
            )
        there = sorted(
            (record for record in store.studies() if record.name == name),
            key=lambda record: int(record.version),
        )
        if not there:
            stored = ", ".join(sorted({record.name for record in store.studies()}))
            raise DialensError(
                f"The database holds no data of {name}. It holds: {stored or 'nothing'}."
            )
        if every:
            yield store, there
            return
        if versions:
            yield store, [_version(there, version) for version in sorted(set(versions))]
            return
        for line in _others(store, there):
            say(line)
        yield store, there[-1:]


def judged_ledger(study: Path) -> Path:
    """Where the answers of judges are, if any were asked."""
    from dialens.studies import study_file
    from dialens.studies.judges import LEDGER

    return study_file(study).parent / LEDGER


def only_judged(study: Path) -> bool:
    """Whether language models have taken a study, and nobody else."""
    own = judged_ledger(study).with_name(DATABASE)
    return judged_ledger(study).exists() and not own.exists()


@contextmanager
def _database(study: Path, url: str | None) -> Iterator[str]:
    """The URL of a study's database; an empty one where only judges have taken it."""
    if url is not None or not only_judged(study):
        yield database_of(study, url)
        return
    from dialens.studies import load_study
    from dialens.studies.store import Store

    with TemporaryDirectory() as folder:
        place = f"sqlite:///{Path(folder) / DATABASE}"
        with Store.open(place) as store:
            store.register(load_study(study), now=datetime.now(UTC))
        yield place


def _version(there: Sequence["StudyRecord"], version: int) -> "StudyRecord":
    for record in there:
        if record.version == str(version):
            return record
    known = ", ".join(record.version for record in there)
    raise DialensError(f"--version {version}: nobody was ever served it. Versions: {known}.")


def _others(store: "Store", there: Sequence["StudyRecord"]) -> Iterator[str]:
    """Which version is meant, and who took part in the others."""
    from dialens.studies import attendance

    if len(there) == 1:
        return
    earlier = ", ".join(
        f"version {record.version} ({counted(people, 'person', 'people')})"
        for record in there[:-1]
        for people in [sum(attendance(store, record.hash).values())]
    )
    yield (
        f"This is version {there[-1].version}, the newest. There is also {earlier}: "
        "--version N, or --all-versions."
    )
