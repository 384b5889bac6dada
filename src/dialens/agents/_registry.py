"""Every kind of agent by name: ours, and those that other packages bring; loaded when used."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dialens.agents._agent import Agent, AgentSpec
from dialens.agents._settings import Declared, declared, in_file
from dialens.base import DialensError, Registry

_NEURAL = "dialens.agents.neural:open_agent"
_TALKING = "dialens.agents.neural._trained:TalkingSettings"


@dataclass(frozen=True)
class Kind:
    """A kind of agents.

    Attributes:
        name: What stands before the colon.
        opens: Where the function is that makes one from an `AgentSpec`: `module:object`.
        spelling: How one is asked for.
        summary: One line.
        settings: Where its dataclass of settings is, if it has one: `module:object`.
        packages: What must be installed.
        extra: The extra of dialens that brings them.
        missing: Where the function is that says what else is missing, given the kind's name, or
            gives an empty text: `module:object`.
        entry: The entry point that brings it, if another package does.
    """

    name: str
    opens: str
    spelling: str
    summary: str
    settings: str = ""
    packages: tuple[str, ...] = ()
    extra: str = ""
    missing: str = ""
    entry: EntryPoint | None = None

    def why_not(self) -> str:
        """Why none can be made now; empty if one can."""
        absent = [name for name in self.packages if find_spec(name) is None]
        if absent:
            return f"needs {', '.join(absent)}: pip install 'dialens[{self.extra}]'"
        try:
            self._load(self.opens)
        except DialensError as error:
            return str(error)
        return str(self._load(self.missing)(self.name)) if self.missing else ""

    def open(self, spec: AgentSpec) -> Agent:
        """Make the agent; a missing package is an error that says how to get it."""
        absent = [name for name in self.packages if find_spec(name) is None]
        if absent:
            raise DialensError(f"Agents of kind {self.name}: {self.why_not()}.")
        make: Callable[[AgentSpec], Agent] = self._load(self.opens)
        return make(spec)

    @cached_property
    def declared(self) -> list[Declared]:
        """Its settings, where it declares them and what it needs is installed."""
        return declared(self._load(self.settings)) if self.settings else []

    def _load(self, place: str) -> Any:
        module, _, name = place.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            whose = "an installed package" if self.entry else "dialens"
            raise DialensError(
                f"The kind of agents {self.name!r} ({place}) of {whose} cannot be loaded: {error}. "
                f"Update that package, or install what it needs."
            ) from error


_OURS = (
    Kind(
        "seq2seq",
        _NEURAL,
        "seq2seq or seq2seq:FOLDER",
        "Seq2Seq with attention, shipped or trained by `dialens agents train`",
        settings=_TALKING,
        missing="dialens.agents._registry:not_shipped",
    ),
    Kind(
        "hred",
        _NEURAL,
        "hred or hred:FOLDER",
        "Hierarchical encoder–decoder, shipped or trained by `dialens agents train`",
        settings=_TALKING,
        missing="dialens.agents._registry:not_shipped",
    ),
    Kind(
        "thred",
        _NEURAL,
        "thred or thred:FOLDER",
        "HRED that attends to topic words, shipped or trained by `dialens agents train`",
        settings=_TALKING,
        missing="dialens.agents._registry:not_shipped",
    ),
    Kind(
        "openai",
        "dialens.agents.kinds._openai_endpoint:open_agent",
        "openai:MODEL",
        "Any endpoint that speaks OpenAI's chat completions",
        settings="dialens.agents.kinds._openai_settings:EndpointSettings",
        packages=("httpx",),
        extra="agents",
        missing="dialens.agents.kinds._openai_address:what_is_missing",
    ),
    Kind(
        "transformers",
        "dialens.agents.kinds._transformers_folder:open_agent",
        "transformers:FOLDER",
        "A Hugging Face model folder, causal or seq2seq (safetensors)",
        settings="dialens.agents.kinds._generation:GenerationSettings",
        packages=("torch", "transformers"),
        extra="train",
    ),
    Kind(
        "gguf",
        "dialens.agents.kinds._gguf_file:open_agent",
        "gguf:FILE",
        "A language model in one GGUF file",
        settings="dialens.agents.kinds._generation:GenerationSettings",
        packages=("torch", "transformers", "gguf", "accelerate"),
        extra="train",
    ),
    Kind(
        "llama",
        "dialens.agents.kinds._llama_file:open_agent",
        "llama:FILE",
        "A language model in one GGUF file in its own precision, run by llama.cpp",
        settings="dialens.agents.kinds._llama_file:LlamaSettings",
        packages=("xllamacpp", "httpx"),
        extra="llama",
    ),
    Kind(
        "command",
        "dialens.agents.kinds._command:open_agent",
        "command:'PROGRAM ARGUMENTS'",
        "A program that reads the conversation as JSON and writes its answer",
        settings="dialens.agents.kinds._command:CommandSettings",
    ),
    Kind(
        "python",
        "dialens.agents.kinds._python_function:open_agent",
        "python:FILE:NAME",
        "A Python function of a file or module",
        settings="dialens.agents.kinds._python_function:PythonSettings",
    ),
    Kind(
        "langchain",
        "dialens.agents.kinds._langchain:open_agent",
        "langchain:FILE:NAME",
        "A Runnable of LangChain or graph of LangGraph in a file or module",
        settings="dialens.agents.kinds._langchain:RunnableSettings",
        packages=("langchain_core",),
        extra="langchain",
    ),
    Kind(
        "autogen",
        "dialens.agents.kinds._autogen:open_agent",
        "autogen:FILE:NAME",
        "An agent or team of AutoGen in a file or module, or what makes one",
        settings="dialens.agents.kinds._autogen:AutogenSettings",
        packages=("autogen_agentchat",),
        extra="autogen",
    ),
    Kind(
        "script",
        "dialens.agents.kinds._script:open_agent",
        "script:FILE",
        "Says the lines of a file, one a turn",
        settings="dialens.agents.kinds._script:ScriptSettings",
    ),
    Kind(
        "replay",
        "dialens.agents.kinds._replay:open_agent",
        "replay:CORPUS",
        "Says again what someone said in a corpus",
        settings="dialens.agents.kinds._replay:ReplaySettings",
    ),
    Kind(
        "user",
        "dialens.agents.users._user:open_agent",
        "user:PACK or user:FILE",
        "A simulated user: an agent that plays the people of a scenario file; as a partner",
        settings="dialens.agents.users._user:UserSettings",
        packages=("pydantic", "ruamel"),
        extra="agents",
    ),
    Kind(
        "human",
        "dialens.agents.kinds._human:open_agent",
        "human",
        "You, at the terminal; as a partner only",
    ),
)


def not_shipped(kind: str) -> str:
    """Why a trained agent cannot be had without naming its folder; empty if it can."""
    from dialens.agents.neural import SHIPPED

    if (SHIPPED / kind).is_dir():
        return ""
    return f"none ships with this installation; train one, then {kind}:FOLDER"


def _brought(entry: EntryPoint) -> Iterator[Kind]:
    """The kind that an entry point names; nothing is loaded before an agent is made."""
    package = entry.dist.name if entry.dist else entry.value
    yield Kind(
        entry.name,
        entry.value,
        f"{entry.name}:TARGET",
        f"Brought by the package {package}",
        entry=entry,
    )


AGENT_KINDS: Registry[Kind] = Registry(
    "kind of agents",
    "dialens.agents",
    Kind,
    lambda: _OURS,
    read=_brought,
    listed_by="dialens agents kinds",
)
"""All kinds by name; an entry point has the kind's name and makes an agent of an `AgentSpec`."""


def agent_kinds() -> Mapping[str, Kind]:
    """All kinds by name, ours first; two of one name are refused.

    Examples:
        >>> agent_kinds()["script"].spelling
        'script:FILE'
    """
    return AGENT_KINDS


def kind_named(name: str) -> Kind:
    """The kind of that name.

    Examples:
        >>> kind_named("opnai")
        Traceback (most recent call last):
        ...
        dialens.DialensError: There is no kind of agents 'opnai'. Did you mean openai? ...
    """
    return AGENT_KINDS[name]


def parse_agent(
    text: str,
    parameters: dict[str, str | float | int | bool] | None = None,
    *,
    system: str | None = None,
    name: str | None = None,
) -> AgentSpec:
    """An agent as it is written on the command line: `KIND:TARGET`, or `KIND` alone.

    Examples:
        >>> parse_agent("openai:gpt-4o-mini", {"temperature": 0.7}).target
        'gpt-4o-mini'
        >>> parse_agent("hred")
        AgentSpec(kind='hred', target='', system=None, name=None, parameters={})
    """
    kind, _, target = text.strip().partition(":")
    return AgentSpec(
        kind_named(kind.strip()).name, target.strip(), system, name, dict(parameters or {})
    )


def make_agent(spec: AgentSpec | str) -> Agent:
    """The agent that a spec asks for.

    Examples:
        >>> make_agent("script:no-such-file")
        Traceback (most recent call last):
        ...
        dialens.DialensError: no-such-file cannot be read: No such file or directory.
    """
    wanted = parse_agent(spec) if isinstance(spec, str) else spec
    return kind_named(wanted.kind).open(wanted)


_NOT_PATHS = ("openai", "human")


def seen_from(spec: AgentSpec, folder: Path) -> AgentSpec:
    """A spec whose target, where it is a path, is looked for in a folder.

    Examples:
        >>> seen_from(parse_agent("openai:gpt-4o-mini"), Path("study")).target
        'gpt-4o-mini'
    """
    spec = files_beside(spec, folder)
    if spec.target and spec.kind not in _NOT_PATHS and (folder / spec.target).exists():
        return replace(spec, target=str((folder / spec.target).absolute()))
    file, colon, name = spec.target.rpartition(":")
    if colon and file.endswith(".py") and (folder / file).is_file():
        return replace(spec, target=f"{(folder / file).absolute()}:{name}")
    return spec


def files_beside(spec: AgentSpec, folder: Path) -> AgentSpec:
    """A spec whose settings, where they are files, are looked for in a folder."""
    if not spec.parameters:
        return spec
    files = {one.name for one in kind_named(spec.kind).declared if one.file}
    found = {
        name: str((folder / str(value)).absolute())
        for name, value in spec.parameters.items()
        if name in files and in_file(value) and (folder / str(value)).is_file()
    }
    return replace(spec, parameters={**spec.parameters, **found}) if found else spec
