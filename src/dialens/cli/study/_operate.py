"""`dialens study operate`: how a study is run, and changes of it."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from dialens.base import DialensError, counted
from dialens.cli._terminal import plain_console, plain_table
from dialens.cli.study._database import DatabaseOption, StudyPath, recorded_study
from dialens.cli.study._extra import studies_extra


def operate(
    study: StudyPath,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting and its new value; may be given several times. `targets=30` is for all "
            "cells, `targets.CELL=30` for one.",
        ),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Show or change how a study is run: targets, payment, limits, closing words.

    These may change while people take part; a running server follows at once, and each change is
    logged and exported. What participants see before their last answer is the definition, and
    needs a new version. A study file that is changed is followed at the next `study serve`.

    [bold]Examples[/]

      dialens study operate anchoring
      dialens study operate anchoring --set targets=30 --set recruiter.reward=2.50
      dialens study operate anchoring --set "completion.message=Thank you, and good-bye."
    """
    with studies_extra():
        from dialens.studies import NOTES, named, operation_values, settings_from
        from dialens.studies.store import IS_CHANGE, OperationStore, change_text
    with recorded_study(study, db) as (store, record):
        operating = OperationStore(store, "command")
        if set:
            settings = settings_from(_entries(set))
            changes = operating.operate(record.hash, settings, now=datetime.now(UTC))
            if not changes:
                print(f"Nothing has changed: {record.name} is run like this already.")
                return
            print(f"{record.name} is run like this from now on, {counted(len(changes), 'change')}:")
            for change in changes:
                print(f"  {change}")
            return
        print(f"{record.name}, version {record.version}, is run like this:")
        values = operation_values(record.study.design)
        log = operating.changes_frame(record.hash)
    table = plain_table("setting", "value")
    for place, value in values.items():
        if place[0] not in NOTES:
            table.add_row(named(place), json.dumps(value, ensure_ascii=False))
    plain_console().print(table)
    changed = log.filter(IS_CHANGE).height
    print(f"{counted(changed, 'change')} so far." if changed else "Nothing was changed so far.")
    for row in log.iter_rows(named=True):
        by = f"{row['who']} ({row['by']})" if row["who"] else row["by"]
        text = change_text(
            row["what"], row["before"], row["after"], whom=row["rater"], why=row["why"]
        )
        print(f"  {row['at']:%Y-%m-%d %H:%M} UTC, {by}: {text}")


def _entries(entries: list[str]) -> dict[str, Any]:
    """`NAME=VALUE` options, with numbers, truth values and lists as JSON writes them.

    Examples:
        >>> _entries(["targets=30", "completion.message=Bye."])
        {'targets': 30, 'completion.message': 'Bye.'}
    """
    found = {}
    for entry in entries:
        name, value = _parted(entry)
        found[name] = _value(value)
    return found


def _parted(entry: str) -> tuple[str, str]:
    """The name and the value; a cell's name has equals signs of its own."""
    if entry.startswith("targets."):
        name, equals, value = entry.rpartition("=")
    else:
        name, equals, value = entry.partition("=")
    if not equals or not name.strip():
        raise DialensError(f"--set takes NAME=VALUE, e.g. targets=30; seen: {entry!r}.")
    return name.strip(), value.strip()


def _value(text: str) -> Any:
    """A number, yes or no, a list in JSON; any other text is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
