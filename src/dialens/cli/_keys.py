"""Keys that commands send to endpoints: what the user allows, and the line that says where to."""

import os
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from dialens.agents import Agent, allow_keys, where_keys_go

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="NAME@HOST",
        help="Let the environment variable NAME be sent to HOST as a key; repeatable.",
    ),
]


def allow(given: Sequence[str] | None) -> None:
    """Note what the user allows, for this process and those that it starts."""
    allow_keys(given or (), os.environ)


def say_keys(agents: Iterable[Agent]) -> None:
    """Say in one line to which host each key goes, if any does."""
    line = where_keys_go(agents)
    if line:
        print(line)
