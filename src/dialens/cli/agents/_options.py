"""Options that the commands of `dialens agents` share, and how their values are read."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dialens.agents import AgentSpec, Value, read_value
from dialens.agents.talks import varied
from dialens.base import DialensError
from dialens.cli._options import extra

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[AGENT.]NAME=VALUE",
        help="A setting: temperature=0.7, or gpt-4o-mini.temperature=0.7 for one agent of several.",
    ),
]


def agents_extra() -> AbstractContextManager[None]:
    """Turn a missing package of the extra `agents` into an error that says how to get it."""
    return extra("Plans", "agents")


def with_settings(specs: Sequence[AgentSpec], entries: Sequence[str]) -> list[AgentSpec]:
    """Agents with what `--set` says; one that is given several values makes several agents.

    What is typed is the user's own word, also on where a key is to go.

    Examples:
        >>> from dialens.agents import parse_agent
        >>> made = with_settings([parse_agent("openai:m")], ["temperature=0", "temperature=1"])
        >>> [one.parameters for one in made]
        [{'temperature': 0}, {'temperature': 1}]
    """
    specs = [replace(spec, typed=True) for spec in specs]
    values: list[dict[str, list[Value]]] = [{} for _ in specs]
    for entry in entries:
        left, equals, text = entry.partition("=")
        who, dot, name = left.strip().rpartition(".")
        if not equals or not name:
            raise DialensError("--set takes NAME=VALUE or AGENT.NAME=VALUE; an = is missing.")
        meant = [place for place, spec in enumerate(specs) if not dot or who in _called(spec)]
        if not meant:
            listed = ", ".join(str(spec) for spec in specs)
            raise DialensError(f"--set names {who!r}, and no agent is called so. Agents: {listed}.")
        for place in meant:
            values[place].setdefault(name, []).append(read_value(text))
    return [
        variant
        for spec, own in zip(specs, values, strict=True)
        for variant in (varied(spec, own) if own else [replace(spec)])
    ]


def _called(spec: AgentSpec) -> set[str]:
    """Everything a person may call it."""
    return {spec.kind, spec.target, str(spec), Path(spec.target).name, Path(spec.target).stem}
