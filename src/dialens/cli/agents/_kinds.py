"""`dialens agents kinds`: which kinds of agents there are, which are ready, and their settings."""

from typing import Annotated

import typer
from rich.markup import escape

from dialens.agents import Kind, agent_kinds, kind_named
from dialens.cli._terminal import marked_console, plain_table


def kinds(
    name: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="Show the settings of this kind.")
    ] = None,
) -> None:
    """List the kinds of agents and say which are ready, or show the settings of one.

    [bold]Examples[/]

      dialens agents kinds
      dialens agents kinds openai
    """
    if name is not None:
        _show(kind_named(name))
        return
    table = plain_table()
    for head in ("kind", "written", "what it is", "ready"):
        table.add_column(head, no_wrap=head == "kind", overflow="fold")
    for kind in agent_kinds().values():
        missing = kind.why_not()
        ready = f"[yellow]{escape(missing)}[/]" if missing else "yes"
        table.add_row(escape(kind.name), escape(kind.spelling), escape(kind.summary), ready)
    marked_console().print(table)


def _show(kind: Kind) -> None:
    console = marked_console()
    console.print(f"[bold]{escape(kind.name)}[/]: {escape(kind.summary)}")
    console.print(f"Written: {escape(kind.spelling)}")
    if missing := kind.why_not():
        console.print(f"Not ready: {escape(missing)}")
    if not kind.declared:
        return
    table = plain_table()
    for head in ("setting", "if not given", "meaning"):
        table.add_column(head, no_wrap=head == "setting", overflow="fold")
    for connection in (False, True):
        for setting in (setting for setting in kind.declared if setting.connection == connection):
            table.add_row(
                escape(setting.name), escape(_usual(setting.default)), escape(setting.meaning)
            )
        if not connection:
            table.add_section()
    console.print("", table)


def _usual(value: str | float | int | bool | None) -> str:
    """What a setting is if it is not given.

    Examples:
        >>> _usual(None), _usual(True), _usual(20000), _usual("auto")
        ('–', 'yes', '20,000', 'auto')
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,}"
