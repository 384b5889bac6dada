"""`dialens study code`: whose completion code it is."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError
from dialens.cli.study._database import DatabaseOption, database_of
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies.store import CodeHolder, OperationStore


def code(
    codes: Annotated[list[str], typer.Argument(metavar="CODE...", help="Completion codes.")],
    study: Annotated[
        Path, typer.Option("--study", help="The study file, or the folder that holds it.")
    ] = Path(),
    db: DatabaseOption = None,
    paid: Annotated[
        bool, typer.Option("--paid", help="Write down that these people have been paid.")
    ] = False,
    unpaid: Annotated[bool, typer.Option("--unpaid", help="Undo --paid.")] = False,
) -> None:
    """Say whose completion code it is, when they finished, and whether they were paid.

    A code that nobody got was made up, or belongs to another study. Ends with 1 if there is one.
    Case, spaces and dashes do not count.

    [bold]Examples[/]

      dialens study code 3BYX73O5FXZF3GJQ --study anchoring
      dialens study code 3BYX73O5FXZF3GJQ --study anchoring --paid
    """
    with studies_extra():
        from dialens.studies.store import OperationStore, Store
    if paid and unpaid:
        raise DialensError("Give --paid or --unpaid, not both.")
    unknown = []
    with Store.open(database_of(study, db), create=False) as store:
        operating = OperationStore(store, "command")
        whole = "".join(codes)
        if not any(map(operating.code_holders, codes)) and operating.code_holders(whole):
            codes = [whole]  # one code, typed with spaces
        for entry in codes:
            holders = operating.code_holders(entry)
            if paid or unpaid:
                _mark(operating, entry, holders, paid=paid)
                holders = operating.code_holders(entry)
            if not holders:
                unknown.append(entry)
                print(f"{entry}: nobody got this code.")
            for holder in holders:
                print(_told(holder))
    if unknown:
        raise typer.Exit(1)


def _told(holder: "CodeHolder") -> str:
    money = f"paid at {holder.paid_at:%Y-%m-%d %H:%M} UTC" if holder.paid_at else "not paid yet"
    left_out = f", excluded ({holder.excluded_why})" if holder.excluded_why else ""
    return (
        f"{holder.code}: {holder.participant}, {holder.state} at {holder.ended_at:%Y-%m-%d %H:%M} "
        f"UTC, {holder.study} version {holder.version}, cell {holder.cell}, by {holder.recruiter}, "
        f"{f'wave {holder.wave}, ' if holder.wave > 1 else ''}{money}{left_out}"
    )


def _mark(
    operating: "OperationStore", entry: str, holders: Sequence["CodeHolder"], *, paid: bool
) -> None:
    people = {holder.participant for holder in holders}
    if len(people) > 1:
        raise DialensError(
            f"{len(people):,} people have the code {entry!r}: it does not say who is paid."
        )
    for participant in people:
        operating.mark_paid(participant, paid=paid, now=datetime.now(UTC))
