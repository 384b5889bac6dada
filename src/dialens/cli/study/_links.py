"""`dialens study links`: a personal link for each person on a list."""

import csv
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer

from dialens.base import DialensError, atomic_file, counted, sha256_file
from dialens.cli._options import shown
from dialens.cli.study._database import (
    DatabaseOption,
    StudyPath,
    database_of,
    recorded_versions,
)
from dialens.cli.study._extra import studies_extra


def links(
    study: StudyPath,
    url: Annotated[
        str | None,
        typer.Option("--url", help="Where the study is served: https://study.example.org/"),
    ] = None,
    count: Annotated[
        int | None, typer.Option("-n", min=1, max=100_000, help="So many links, numbered.")
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE.csv", help="People with a column id; others are kept."),
    ] = None,
    wave: Annotated[
        str | None,
        typer.Option("--wave", help="Whom to invite to a later wave: its number or name."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file for the links; printed if not given."),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Make a personal link for each person on a list, or list whom to invite to a later wave.

    The study file says so: `recruiter: {kind: personal}`, or `entry: {invited: true}` with the
    recruiter link; then nobody is let in without one. A link holds the id, encrypted and signed
    with the key of the study's database. The same person always gets the same link. Whether it
    counts in a second browser says `entry.another_browser`, and whether who opens it again goes on
    or begins anew says `resume`.

    With --wave, the list holds everybody who completed the part before, with the time in which the
    wave is open to them and, unless a platform invites them by their ids, a link. That ids were
    read is logged.

    [bold]Examples[/]

      dialens study links anchoring -n 50 --url https://study.example.org/ -o links.csv
      dialens study links anchoring --ids people.csv --url https://study.example.org/ -o links.csv
      dialens study links anchoring --wave 2 --url https://study.example.org/ -o second.csv
    """
    with studies_extra():
        from dialens.studies import load_study
        from dialens.studies.recruiters import numbered_people, personal_links, read_people
        from dialens.studies.store import Store
    if [count, ids, wave].count(None) != 2:
        raise DialensError(
            "Give one of -n for numbered links, --ids for a list of people, and --wave for those "
            "who may come back."
        )
    if output is not None and output.exists():
        raise DialensError(f"{output} exists. Name a new file.")
    if wave is not None:
        _invite(study, db, wave, url, output)
        return
    people = numbered_people(count or 0) if ids is None else read_people(ids)
    if url is None:
        raise DialensError("Give --url, where the study is served: https://study.example.org/")
    loaded = load_study(study)
    with Store.open(database_of(study, db)) as store:
        runs = {one.hash: one.study for one in store.studies() if one.hash == loaded.hash}
        made = personal_links(runs.get(loaded.hash, loaded), store.secrets, url, people)
    _give(made, output)
    if output is not None:
        print(f"{shown(output)}: {counted(len(made), 'link', 'links')} to {loaded.design.title}.")
        print("Whoever has a link takes part as that person: send each to its owner alone.")


def _invite(study: Path, db: str | None, named: str, url: str | None, output: Path | None) -> None:
    """List whom to invite to a later wave."""
    from dialens.studies import wave_number
    from dialens.studies.recruiters import completion_code, wave_invitations
    from dialens.studies.store import IDENTITIES_FILE, ExportLog, OperationStore

    with recorded_versions(study, db, None, every=False) as (store, records):
        record = records[-1]
        running = record.study
        wave = wave_number(running.design, named)
        found = OperationStore(store, "command").returning(record.hash, wave, now=datetime.now(UTC))
        made, unknown = wave_invitations(running, store.secrets, url, found)
        _give(made, output)
        if output is not None:
            ExportLog(store.database, "command").remember(
                record.hash,
                IDENTITIES_FILE,
                output,
                sha256=sha256_file(output),
                people=len(made),
                now=datetime.now(UTC),
            )
    more = "more " if made else ""
    alone = (
        f"{counted(unknown, f'{more}person is', f'{more}people are')} known by the browser alone: "
        "they can come back in it, and cannot be written to."
    )
    if output is None:
        if not made:
            print(f"There is nobody to invite to wave {wave}.", file=sys.stderr)
        if unknown:
            print(alone, file=sys.stderr)  # the list alone goes into a pipe
        return
    print(
        f"{shown(output)}: {counted(len(made), 'person', 'people')} to invite to wave {wave} of "
        f"{running.design.title}."
    )
    code = completion_code(running, wave=wave)
    if code is not None:
        print(f"The completion code of wave {wave} is {code}.")
    if running.design.recruiter.kind == "prolific":
        print("On Prolific, make another study with these ids as its custom allow list.")
    if unknown:
        print(alone)


def _give(made: Sequence[Mapping[str, str]], output: Path | None) -> None:
    """Write the list, or print it."""
    if output is None:
        _write(made, sys.stdout)
        return
    with atomic_file(output) as scratch:
        scratch.chmod(0o600)
        with scratch.open("w", encoding="utf-8", newline="") as file:
            _write(made, file)


def _write(people: Sequence[Mapping[str, str]], file: TextIO) -> None:
    # As they are, without the apostrophe that spreadsheets want before what looks like a formula:
    # the list goes into programs that send mail, and to platforms that know people by these ids.
    table = csv.DictWriter(file, list(people[0]) if people else ["id", "link"], lineterminator="\n")
    table.writeheader()
    table.writerows(people)
