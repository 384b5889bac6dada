"""`dialens study export`: what a study collected, as files."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import (
    DialensError,
    atomic_file,
    counted,
    for_spreadsheet,
    listed,
    sha256_file,
)
from dialens.cli._options import Force, shown
from dialens.cli.study._database import (
    DatabaseOption,
    StudyPath,
    judged_ledger,
    recorded_versions,
)
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies.store import Store, StudyRecord


def export(
    study: StudyPath,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, codebook and card.")
    ] = Path("export"),
    db: DatabaseOption = None,
    version: Annotated[
        list[int] | None,
        typer.Option(
            "--version",
            metavar="N",
            min=1,
            help="Version of the study; may be given several times. All of them if not given.",
        ),
    ] = None,
    worker_ids: Annotated[
        Path | None,
        typer.Option(
            "--worker-ids",
            metavar="FILE.csv",
            help="Also write pseudonyms beside ids at the recruiter and completion codes, for the "
            "data controller alone; that it was done is logged.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write ratings, questionnaires, answers and events as tables, with codebook and data card.

    Parquet, and the same as CSV with scripts for R and SPSS. People go by pseudonyms; ids of
    workers stay in the database. The study may still be running. Several versions are written
    together; every table has a column `version`. Ratings of language models (`study judge`) stand
    among the others, with the rater kind `llm`.

    [bold]Examples[/]

      dialens study export anchoring -o export
      dialens study export anchoring --version 2 -o export
      dialens study export anchoring --worker-ids private/ids.csv
      dialens study export anchoring --db postgresql://study@localhost/ratings -o export
      dialens study analyze export
    """
    with studies_extra():
        from dialens.studies.export import export as write
        from dialens.studies.export import remember_folder
        from dialens.studies.store import TABLES, ExportLog
    from dialens.analysis.bias import rater_flags
    from dialens.report import write_export_handover

    if worker_ids is not None:
        _check_place(worker_ids, output)
    with recorded_versions(study, db, version, every=not version) as (store, records):
        done = write(
            store,
            [record.hash for record in records],
            output,
            force=force,
            flags=rater_flags,
            hand_over=write_export_handover,
            judges=judged_ledger(study),
        )
        log, newest = ExportLog(store.database, "command"), records[-1].hash
        now = datetime.now(UTC)
        remember_folder(log, newest, TABLES, output, people=done.participants, now=now)
        ids = "" if worker_ids is None else _write_ids(store, records, worker_ids)
    numbers = [record.version for record in records]
    of = f" of versions {listed(numbers)}" if len(numbers) > 1 else ""
    print(
        f"Exported {counted(done.ratings, 'rating')} by "
        f"{counted(done.participants, 'participant')}{of} to {shown(output)}, with "
        f"{counted(done.answers, 'answer')} and {counted(done.events, 'event')} in all."
    )
    if done.excluded:
        people = counted(done.excluded, "person is", "people are")
        print(f"{people} excluded: their rows say so, and `study analyze` leaves them out.")
    if done.judges:
        print(
            f"{done.judged:,} of the ratings are of language models (rater_kind llm); "
            f"{shown(output / 'judges.parquet')} says what they were asked and answered."
        )
    if done.conversations:
        print(
            f"{counted(done.conversations, 'conversation')}, "
            f"{counted(done.failures, 'failure', 'failures')} of agents; next: "
            f"dialens score {shown(output / 'conversations')}"
        )
    for sentence in done.conversations_said:
        print(f"  {sentence}")
    for reason, count in done.left_out.items():
        print(f"  not among the ratings: {count:,} ({reason.replace('`', '')})")
    print(f"{shown(output)}: start with {shown(output / 'card.md')}")
    if ids:
        print(ids)


def _check_place(file: Path, output: Path) -> None:
    if file.exists():
        raise DialensError(f"{file} exists. Name a new file, and keep as few of them as possible.")
    if output.resolve() in file.resolve().parents:
        raise DialensError(
            f"{file} lies in {output}, which is made to be passed on. Write ids elsewhere."
        )


def _write_ids(store: "Store", records: Sequence["StudyRecord"], file: Path) -> str:
    """Write who is who, readable for the owner alone; says so."""
    import polars as pl

    from dialens.studies.store import IDENTITIES_FILE, ExportLog, OperationStore

    operating, now = OperationStore(store, "command"), datetime.now(UTC)
    table = pl.concat([operating.identities(record.hash, now=now) for record in records])
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(file) as scratch:
        scratch.chmod(0o600)
        # Anybody may write an id into the address of a study; no platform's begins like a formula.
        for_spreadsheet(table).write_csv(scratch)
    ExportLog(store.database, "command").remember(
        records[-1].hash,
        IDENTITIES_FILE,
        file,
        sha256=sha256_file(file),
        people=table["rater"].n_unique(),
        now=now,
    )
    return f"{shown(file)}: {table.height:,} ids. Keep it apart from the export; this is logged."
