"""`dialens engagement ingest`: dumps into shards."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dialens.base import counted, duration, progress
from dialens.cli._options import OnErrorOption, shown
from dialens.cli._terminal import plain_console
from dialens.corpus import OnError
from dialens.engagement.curation import REJECTS_FOLDER, Ingested, IngestPlan, plan_ingest
from dialens.engagement.curation import ingest as ingest_dumps

_UNITS = ("B", "kB", "MB", "GB", "TB")


def ingest(
    dumps: Annotated[
        list[Path],
        typer.Argument(
            metavar="DUMP…", help="Reddit dumps: .zst, .bz2, .gz, .xz or plain, one record a line."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="WORK", help="Folder for the tables.")
    ],
    on_error: OnErrorOption = OnError.STOP,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="Dumps read in parallel; default: by processors and memory."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate rows and time; write nothing.")
    ] = False,
) -> None:
    """Read Reddit dumps into the tables that [bold]label[/] works on.

    Comments and submissions of Pushshift, Arctic Shift and PRAW, and plain threads files;
    comments and submissions are told apart by their keys. To resume an interrupted run, run the
    same command again. Dumps named later are added to the folder. Names of authors are not stored.

    [bold]Examples[/]

      dialens engagement ingest RC_2006-0*.bz2 RS_2006-0*.bz2 -o work
      dialens engagement ingest RC_2015-01.zst -o work --dry-run
      dialens engagement ingest RC_2015-01.zst -o work --on-error skip
    """
    if dry_run:
        planned = plan_ingest(dumps, output, on_error=on_error, workers=workers)
        _show_plan(planned, output, on_error)
        return
    total = sum(path.stat().st_size for path in dumps if path.is_file())
    with progress("Ingesting", total=total, unit="bytes") as advance:
        done = ingest_dumps(dumps, output, on_error=on_error, workers=workers, advance=advance)
    _show_done(done, output)


def _show_plan(planned: IngestPlan, work: Path, on_error: OnError) -> None:
    table = Table("dump", "packing", "size", "holds", "rows (about)", "time (about)", box=None)
    for dump in planned.dumps:
        table.add_row(
            dump.path.name,
            dump.packing,
            _size(dump.size),
            dump.kinds or "?",
            f"{dump.rows:,}",
            "there already" if dump.known else duration(dump.seconds),
        )
    plain_console().print(table)
    rows = sum(dump.rows for dump in planned.dumps if not dump.known)
    print(
        f"About {rows:,} rows into {shown(work)}, {planned.workers} "
        f"{'process' if planned.workers == 1 else 'processes'}, about "
        f"{duration(planned.seconds)}. Nothing was written."
    )
    for dump in planned.dumps:
        if dump.problem and on_error is OnError.STOP:
            print(f"This would stop the run: {dump.problem}")
        elif dump.problem:  # without the remedy, which has been chosen
            print(f"This would be left out: {dump.problem.splitlines()[0]}")


def _show_done(done: Ingested, work: Path) -> None:
    print(
        f"{shown(work)} holds {counted(done.total('comments'), 'comment')} and "
        f"{counted(done.total('submissions'), 'submission')} of "
        f"{counted(len(done.sources), 'dump')} in {counted(done.total('shards'), 'shard')} "
        f"({duration(done.seconds)})."
    )
    for name in done.known:
        print(f"{name}: there already, not read again.")
    if rejects := done.total("rejects"):
        were = "record was" if rejects == 1 else "records were"
        print(f"{rejects:,} {were} left out; see {shown(work / REJECTS_FOLDER)}.")
    for source in done.sources:
        if damaged := source.get("damaged"):
            print(
                f"{source['source']} is damaged and breaks off after line "
                f"{damaged['after_line']:,}: what came then is not in the data. Fetch it again."
            )


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"
