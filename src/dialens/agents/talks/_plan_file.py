"""Plans of conversations in YAML."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from dialens.agents._agent import AgentSpec
from dialens.agents._registry import files_beside, kind_named, parse_agent
from dialens.agents.talks._contexts import read_contexts
from dialens.agents.talks._openings import read_openings
from dialens.agents.talks._plan import (
    CollectionPlan,
    Partners,
    named_apart,
    simulated_users,
    varied,
)
from dialens.agents.users import shipped_packs
from dialens.base import Budget, DialensError, read_yaml, validated

_PATHS = ("script", "replay", "transformers", "gguf", "llama", "seq2seq", "hred", "thred")
"""Kinds whose target is a file or folder."""

_JSON = ("stop", "headers", "extra_body")

_Value = bool | int | float | str
_Values = (
    Annotated[list[_Value], Setting(min_length=1)]
    | Annotated[dict[str, _Value], Setting(min_length=1)]
)


class _Section(BaseModel):
    """A part of the plan: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _as_entry(value: Any) -> Any:
    return {"agent": value} if isinstance(value, str) else value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_word(value: Any) -> Any:
    return value.strip().lower().replace(" ", "_") if isinstance(value, str) else value


def _with_json(value: Any) -> Any:
    """Settings that take JSON may be written as YAML."""
    if not isinstance(value, dict):
        return value
    return {
        name: json.dumps(one, ensure_ascii=False)
        if name in _JSON and isinstance(one, list | dict)
        else one
        for name, one in value.items()
    }


class AgentEntry(_Section):
    """An agent, or several settings of it."""

    agent: str = Setting(min_length=1)
    """As on the command line: `openai:gpt-4o-mini`, `hred`, `script:FILE` …"""
    system: str | None = Setting(default=None, min_length=1, max_length=200)
    """What it is a setting of; the target's name if not given."""
    name: str | None = Setting(default=None, min_length=1, max_length=200)
    """Which setting; made of the settings if not given."""
    set: Annotated[dict[str, _Value], BeforeValidator(_with_json)] = Setting(default_factory=dict)
    """Settings: persona, temperature …; `dialens agents kinds KIND` lists them."""
    vary: dict[str, _Values] = Setting(default_factory=dict)
    """Settings with several values, or with values by name (`persona: {warm: …, curt: …}`); each
    combination makes an agent, named by what differs."""

    @model_validator(mode="after")
    def _is_one(self) -> "AgentEntry":
        try:
            kind_named(self.agent.partition(":")[0].strip())
        except DialensError as error:
            raise ValueError(str(error).removesuffix(".")) from error
        if self.name and self.vary:
            raise ValueError("`name` is of one agent, and `vary` makes several: leave one out")
        both = self.set.keys() & self.vary.keys()
        if both:
            raise ValueError(f"{min(both)} stands under `set` and under `vary`: leave one out")
        return self


_Entries = list[Annotated[AgentEntry, BeforeValidator(_as_entry)]]


class OpeningsFile(_Section):
    """Openings that stand in a file."""

    file: str
    """One opening a line, relative to the plan."""


class CollectionBudget(_Section):
    """The most that all agents together may use, over all runs; asking stops before."""

    cost: float | None = Setting(default=None, ge=0)
    """In the currency of the agents' prices (`price_in`, `price_out`)."""
    tokens: int | None = Setting(default=None, ge=0)
    """Read and written."""
    requests: int | None = Setting(default=None, ge=0)
    """Failed ones included."""


class UsersEntry(_Section):
    """Simulated users, and who plays them."""

    scenarios: Annotated[list[str], BeforeValidator(_as_list), Setting(min_length=1)]
    """Packs that ship (`dialens agents scenarios`) and files, relative to the plan; every agent
    meets the people of each."""
    by: Annotated[AgentEntry, BeforeValidator(_as_entry)]
    """The language model that plays them, as an entry of `agents`."""

    @model_validator(mode="after")
    def _is_played_by_one(self) -> "UsersEntry":
        if self.by.vary or self.by.name or self.by.system:
            raise ValueError("`by` is one agent with its settings under `set`: leave the rest out")
        return self


class PlanFile(_Section):
    """A plan of conversations."""

    plan: str = Setting(default="", max_length=200)
    """Its name; that of the file if not given."""
    agents: Annotated[_Entries, Setting(min_length=1)]
    """Those that are studied."""
    partners: (
        Annotated[Literal["each_other", "themselves"], BeforeValidator(_as_word)]
        | Annotated[_Entries, Setting(min_length=1)]
    ) = "each_other"
    """Those they talk with: `each other`, `themselves`, or agents; `human` is you."""
    users: UsersEntry | None = None
    """In place of partners, people of scenario files that a language model plays."""
    openings: list[str] | OpeningsFile | Literal["none"] | None = None
    """What is said first: sentences, a file of them, or `none`; those that ship if not given."""
    turns: int = Setting(default=8, ge=2, le=10_000)
    """Turns of a conversation, the opening included."""
    contexts: str | None = Setting(default=None, min_length=1)
    """A file of conversations, relative to the plan: every agent answers each of them once, up to
    the last words of the partner, and there are no partners."""
    dialogues: int = Setting(default=20, ge=1, le=1_000_000)
    """Conversations of each agent with each partner."""
    seed: int = Setting(default=0, ge=0)
    """Random seed; the same seed gives the same conversations, where agents repeat."""
    first: Literal["partner", "agent"] = "partner"
    """Who begins."""
    budget: CollectionBudget = CollectionBudget()
    """The most that may be used."""

    @model_validator(mode="after")
    def _is_one_way(self) -> "PlanFile":
        talking = {"partners", "openings", "turns", "dialogues", "first"} & self.model_fields_set
        if self.contexts and talking:
            raise ValueError(
                f"`contexts` are answered once each, so that there is no `{min(talking)}`: "
                "leave one out"
            )
        brought = {"partners", "openings", "first", "contexts"} & self.model_fields_set
        if self.users and brought:
            raise ValueError(
                f"simulated users are the partners and begin, so that there is no "
                f"`{min(brought)}` beside `users`: leave one out"
            )
        return self


def read_plan(path: Path) -> CollectionPlan:
    r"""A plan from a YAML file; errors name the line, the key and the remedy.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "plan.yaml"
        >>> _ = path.write_text("agents: [hred, thred]\nturns: 6\n")
        >>> read_plan(path).turns
        6
        >>> _ = path.write_text("agents: [hred]\ntunrs: 6\n")
        >>> read_plan(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        ...
        dialens.base._yaml_models.InvalidFile: ...plan.yaml:2: tunrs: there is no such key. ...
    """
    data, lines = read_yaml(path)
    read = validated(PlanFile, data, lines, path)
    folder = path.parent
    return CollectionPlan(
        agents=named_apart(_specs(read.agents, folder)),
        partners=_users(read.users, folder) if read.users else _partners(read.partners, folder),
        openings=_openings(read.openings, folder),
        turns=read.turns,
        dialogues=read.dialogues,
        seed=read.seed,
        first=read.first,
        name=read.plan or path.stem,
        contexts=read_contexts(folder / read.contexts) if read.contexts else (),
        budget=Budget(**read.budget.model_dump()),
    )


def _openings(
    given: list[str] | OpeningsFile | Literal["none"] | None, folder: Path
) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, OpeningsFile):
        return read_openings(folder / given.file)
    return () if given == "none" else tuple(given)


def _partners(
    given: Literal["each_other", "themselves"] | list[AgentEntry], folder: Path
) -> Partners:
    return given if isinstance(given, str) else _specs(given, folder)


def _users(given: UsersEntry, folder: Path) -> tuple[AgentSpec, ...]:
    by = parse_agent(given.by.agent, dict(given.by.set))
    by = replace(by, target=_beside(by, folder))
    places = [
        place if place in shipped_packs() else str(folder / place) for place in given.scenarios
    ]
    return simulated_users(places, by)


def _specs(entries: Sequence[AgentEntry], folder: Path) -> tuple[AgentSpec, ...]:
    specs: list[AgentSpec] = []
    for entry in entries:
        spec = parse_agent(entry.agent, dict(entry.set), system=entry.system, name=entry.name)
        spec = replace(spec, target=_beside(spec, folder))
        specs += [files_beside(one, folder) for one in varied(spec, entry.vary)]
    return tuple(specs)


def _beside(spec: AgentSpec, folder: Path) -> str:
    """A target that is a path, seen from the plan's folder."""
    if not spec.target:
        return ""
    if spec.kind in _PATHS:
        return str(folder / spec.target)
    if spec.kind == "command":
        try:
            program, *rest = shlex.split(spec.target)
        except ValueError:
            return spec.target  # said when the agent is opened
        if "/" in program:
            return shlex.join([str((folder / program).absolute()), *rest])
    return spec.target
