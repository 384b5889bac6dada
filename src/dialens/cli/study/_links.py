"""`dialens study links`: a personal link for each person on a list."""

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TextIO

import typer

from dialens.base import DialensError, atomic_file, counted
from dialens.cli._options import shown
from dialens.cli.study._database import DatabaseOption, StudyPath, database_of
from dialens.cli.study._extra import studies_extra


def links(
    study: StudyPath,
    url: Annotated[
        str, typer.Option("--url", help="Where the study is served: https://study.example.org/")
    ],
    count: Annotated[
        int | None, typer.Option("-n", min=1, max=100_000, help="So many links, numbered.")
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE.csv", help="People with a column id; others are kept."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file for the links; printed if not given."),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Make a personal link for each person on a list, for a study that lets in nobody else.

    The study file says so: `recruiter: {kind: personal}`. A link holds the id, encrypted with the
    key of the study's database. The same person always gets the same link. Who opens it again, on
    whatever device, goes on, begins anew or is not let in, as `resume` in the study file says.

    [bold]Examples[/]

      dialens study links anchoring -n 50 --url https://study.example.org/ -o links.csv
      dialens study links anchoring --ids people.csv --url https://study.example.org/ -o links.csv
    """
    with studies_extra():
        from dialens.studies import load_study
        from dialens.studies.recruiters import numbered_people, personal_links, read_people
        from dialens.studies.store import Store
    if (count is None) == (ids is None):
        raise DialensError("Give -n for numbered links, or --ids for a list of people.")
    people = numbered_people(count or 0) if ids is None else read_people(ids)
    loaded = load_study(study)
    if output is not None and output.exists():
        raise DialensError(f"{output} exists. Name a new file.")
    with Store.open(database_of(study, db)) as store:
        made = personal_links(loaded, store.secrets, url, people)
    if output is None:
        _write(made, sys.stdout)
        return
    with atomic_file(output) as scratch:
        scratch.chmod(0o600)
        with scratch.open("w", encoding="utf-8", newline="") as file:
            _write(made, file)
    print(f"{shown(output)}: {counted(len(made), 'link', 'links')} to {loaded.design.title}.")
    print("Whoever has a link takes part as that person: send each to its owner alone.")


def _write(people: Sequence[Mapping[str, str]], file: TextIO) -> None:
    table = csv.DictWriter(file, list(people[0]) if people else ["id", "link"], lineterminator="\n")
    table.writeheader()
    table.writerows(people)
