"""Items of studies: the study with its database, judges, exports. Databases are only read."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import DialensError, counted, first_line, listed, read_yaml
from dialens.studies import HUMAN, SIMULATED, STUDY, read_design
from dialens.studies.judges import ANSWERED, JUDGES, LEDGER
from dialens.workbench._drafts import DRAWN_FROM, Draft, Input, changed_at, existing, read_json
from dialens.workbench._drawn import sources_of
from dialens.workbench._walking import Place

_CODEBOOK, _RATINGS = "codebook.json", "ratings.parquet"
_DATABASE = b"SQLite format 3\x00"
_WAIT_S = 2.0


@dataclass(frozen=True)
class StudyData:
    """What a database holds of studies.

    Attributes:
        names: Of the studies.
        people: How many took part, by kind of rater.
        completed: How many of them came to the end.
        last: When something was answered last.
    """

    names: tuple[str, ...] = ()
    people: dict[str, int] = field(default_factory=dict)
    completed: int = 0
    last: datetime | None = None


def study_items(place: Place) -> list[Draft]:
    """The studies, judges and exports of a folder."""
    found = []
    databases = [name for name in place.files if name.endswith((".db", ".sqlite"))]
    if place.has(STUDY):
        found.append(_study(place, [name for name in databases if name != LEDGER]))
    else:
        found += [one for name in databases if (one := _lone_database(place.path / name))]
    if place.has(JUDGES) or place.has(LEDGER):
        found.append(_judges(place))
    if place.has(_CODEBOOK, _RATINGS):
        found.append(_export(place))
    return found


def _study(place: Place, databases: list[str]) -> Draft:
    path = place.path / STUDY
    damage, title, name = "", "A study", ""
    try:
        design = read_design(path)
        title, name = design.title, design.study
    except DialensError as error:
        damage = first_line(error) + "."
    people: dict[str, int] = {}
    answered = []
    for database in databases:
        try:
            data = study_data(place.path / database) or StudyData()
        except (OSError, sqlite3.Error) as error:
            damage = damage or f"{database} cannot be read ({first_line(error)})."
            continue
        answered += [data.last] if data.last else []
        for kind, n in data.people.items():
            people[kind] = people.get(kind, 0) + n
    return Draft(
        "study",
        place.path,
        f"{title}{'' if title.endswith(('?', '!', '.')) else ':'} {_people_words(people)}",
        counts=_people_counts(people),
        made=changed_at(path),
        inputs=tuple(
            Input(source, word=DRAWN_FROM, by_name=True)
            for source in dict.fromkeys(sources_of(place.path)["source"].drop_nulls())
        ),
        damage=damage,
        label=STUDY,
        known_as=name,
        last_change=max(answered, default=None),
    )


def _lone_database(path: Path) -> Draft | None:
    """A database of a study whose file lies elsewhere."""
    try:
        data = study_data(path)
    except (OSError, sqlite3.Error):
        return None
    if data is None or not data.names:
        return None
    return Draft(
        "study",
        path,
        f"{listed(data.names)}: {_people_words(data.people)}",
        counts=_people_counts(data.people),
        made=changed_at(path),
        known_as=data.names[0],
        last_change=data.last,
    )


def _people_counts(people: dict[str, int]) -> dict[str, int]:
    every = {"participants": sum(people.values()), "simulated": people.get(SIMULATED, 0)}
    return {name: n for name, n in every.items() if n}


def _people_words(people: dict[str, int]) -> str:
    if not any(people.values()):
        return "nobody has taken part yet"
    words = {HUMAN: "participant", SIMULATED: "simulated participant"}
    parts = [
        counted(n, words.get(kind, f"participant ({kind})"))
        if kind in words
        else f"{n:,} of kind {kind}"
        for kind, n in sorted(people.items())
        if n
    ]
    return listed(parts)


def _judges(place: Place) -> Draft:
    settings, ledger, damage = place.path / JUDGES, place.path / LEDGER, ""
    names: list[str] = []
    if place.has(JUDGES):
        try:
            content: Any = read_yaml(settings)[0]
            names = [str(one["name"]) for one in content["judges"]]
        except (DialensError, KeyError, TypeError) as error:
            damage = f"{JUDGES} cannot be read ({first_line(error)})."
    answers = 0
    if place.has(LEDGER):
        try:
            with _reading(ledger) as database:
                query = "SELECT count(*) FROM places WHERE state = ?"
                answers = int(database.execute(query, (ANSWERED,)).fetchone()[0])
        except sqlite3.Error as error:
            damage = damage or f"{LEDGER} cannot be read ({first_line(error)})."
    who = f"{counted(len(names), 'judge')} ({listed(names)})" if names else "Judges"
    said = f"{counted(answers, 'screen')} answered" if answers else "nothing asked yet"
    return Draft(
        "judges",
        settings if place.has(JUDGES) else ledger,
        f"{who}: {said}",
        counts={"judges": len(names), "answers": answers},
        made=changed_at(ledger) or changed_at(settings),
        inputs=(Input(str(place.path), word="the study"),) if place.has(STUDY) else (),
        damage=damage,
    )


def _export(place: Place) -> Draft:
    book = read_json(place.path / _CODEBOOK) or {}
    study, damage, n, raters = str(book.get("study") or "a study"), "", 0, 0
    try:
        table = pl.scan_parquet(place.path / _RATINGS)
        row = table.select(n=pl.len(), raters=pl.col("rater").n_unique()).collect().row(0)
        n, raters = int(row[0]), int(row[1])
    except (OSError, pl.exceptions.PolarsError) as error:
        damage = f"{_RATINGS} cannot be read ({first_line(error)})."
    return Draft(
        "export",
        place.path,
        f"{counted(n, 'rating')} by {counted(raters, 'rater')} in {study}",
        counts={"ratings": n, "raters": raters},
        made=changed_at(place.path / _CODEBOOK),
        inputs=(Input(study, word="the study", by_name=True),) if book.get("study") else (),
        report=existing(place.path / "report.html"),
        damage=damage,
    )


def study_data(path: Path) -> StudyData | None:
    """What a database holds of studies; None where it is a database of something else.

    Raises:
        sqlite3.Error: It cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(_DATABASE)) != _DATABASE:
            return None
    with _reading(path) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if not {"studies", "participants", "sessions", "submissions"} <= tables:
            return None
        names = [str(name) for (name,) in database.execute("SELECT DISTINCT name FROM studies")]
        kinds = "SELECT rater_kind, count(*) FROM participants GROUP BY rater_kind"
        people = {str(kind): int(n) for kind, n in database.execute(kinds)}
        ended = "SELECT count(*) FROM sessions WHERE state = 'completed'"
        completed = int(database.execute(ended).fetchone()[0])
        (last,) = database.execute("SELECT max(received_at) FROM submissions").fetchone()
    when = None if last is None else datetime.fromtimestamp(last / 1e6, UTC)
    return StudyData(tuple(sorted(names)), people, completed, when)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A database that is only looked at; one that nobody has open stays as it is to the byte."""
    live = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    asked = "mode=ro" if live else "mode=ro&immutable=1"
    address = f"{path.absolute().as_uri()}?{asked}"
    with closing(sqlite3.connect(address, uri=True, timeout=_WAIT_S)) as database:
        yield database
