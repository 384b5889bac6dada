"""`dialens study retain`: delete what was kept for as long as the study says."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from dialens.base import DialensError, counted, listed
from dialens.cli.study._database import DatabaseOption, StudyPath, recorded_study
from dialens.cli.study._extra import studies_extra
from dialens.cli.study._forget import say_exports, say_files


def retain(
    study: StudyPath,
    db: DatabaseOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say whose data would go, and delete nothing.")
    ] = False,
    vacuum: Annotated[
        bool,
        typer.Option(
            "--vacuum", help="In PostgreSQL, rewrite the tables, so that their files hold nothing."
        ),
    ] = False,
) -> None:
    """Delete what was kept for long enough, as `retention` in the study file says.

    `retention: {worker_ids: 90 days, answers: 2027-12-31}`: so many days after somebody was there
    last, or until the end of a day (UTC), but for who is under way then: a day after they were
    there last. `worker_ids` are ids at the recruiter, completion codes
    and payments; `answers` is everything about a person. A server that runs does the same at its
    start and every day. How much was deleted is logged, not whose.

    [bold]Examples[/]

      dialens study retain anchoring --dry-run
      dialens study retain anchoring
      dialens study operate anchoring --set "retention.worker_ids=90 days"
    """
    with studies_extra():
        from dialens.studies.store import RetentionStore
    with recorded_study(study, db) as (store, record):
        retaining, now = RetentionStore(store, "command"), datetime.now(UTC)
        says = retaining.says(record.name)
        if says.worker_ids is None and says.answers is None:
            raise DialensError(
                f"{record.name} does not say how long data are kept. Say it in the study file "
                "(retention: {worker_ids: 90 days}), or with `dialens study operate`."
            )
        terms = (("worker ids", says.worker_ids), ("answers", says.answers))
        print(f"Kept: {listed([f'{what} for {term}' for what, term in terms if term])}.")
        work = retaining.due if dry_run else retaining.keep
        due = work(record.name, now=now)
        would = "would be" if dry_run else "are"
        for what, people in (("Worker ids", due.worker_ids), ("All data", due.answers)):
            if people:
                whose = f" ({listed(people)})" if dry_run else ""
                print(
                    f"{what} of {counted(len(people), 'person', 'people')} {would} deleted{whose}."
                )
        if due.spared_until is not None:
            whose = f" ({listed(due.spared)})" if dry_run else ""
            count = counted(len(due.spared), "person is", "people are")
            print(
                f"{count} under way and spared until a day after they were there last{whose}: "
                f"nobody after {due.spared_until:%Y-%m-%d %H:%M} UTC, unless they go on."
            )
        elif not due:
            print("Nobody's data have been kept for that long.")
        if due.answers and dry_run:
            print(
                "Their places become free: people may take part again unless the study has ended."
            )
        if due and not dry_run:
            say_exports(store)
            say_files(store, erased=due.erased, vacuum=vacuum)
