"""Tools that a model may call: declared in a file, answered by a stub or by a program."""

import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from dialens.agents._agent import AgentError
from dialens.agents.kinds._command_process import CommandProcess
from dialens.base import DialensError, read_yaml, validated

_LONGEST_RESULT = 100_000
_SEEN = 80


class _Section(BaseModel):
    """A part of the file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Match(_Section):
    """An answer to some arguments."""

    when: dict[str, Any] = Setting(min_length=1)
    """Arguments with their values; others may stand beside them."""
    answer: Any
    """What the tool says then."""


def _as_stub(value: Any) -> Any:
    return value if isinstance(value, dict) else {"answer": value}


class Stub(_Section):
    """Answers that are written down: one, several in order, or by arguments."""

    answer: Any = None
    """What the tool always says, or where nothing matches."""
    answers: list[Any] | None = Setting(default=None, min_length=1)
    """What it says to the first call of a conversation, the second …; the last stays."""
    matching: list[Match] = []
    """What it says to which arguments; the first that matches counts."""

    @model_validator(mode="after")
    def _is_one_way(self) -> "Stub":
        if self.answers is not None and (self.matching or self.answer is not None):
            raise ValueError("`answers` come in order: leave out `answer` and `matching`")
        if self.answers is None and not self.matching and self.answer is None:
            raise ValueError("a stub needs `answer`, `answers` or `matching`")
        return self


class Tool(_Section):
    """A tool."""

    name: str = Setting(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """What the model calls it by."""
    description: str = ""
    """When to call it, and what for; the model reads it."""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    """JSON Schema of its arguments."""
    stub: Annotated[Stub, BeforeValidator(_as_stub)] | None = None
    """Answers that are written down: a text, or `answer`, `answers`, `matching`."""
    command: str = ""
    """A program that gets the call as a line of JSON, and writes the answer."""
    timeout: float = Setting(default=30.0, gt=0, le=3600)
    """Seconds that the program has."""

    @model_validator(mode="after")
    def _is_answered(self) -> "Tool":
        if (self.stub is None) == (not self.command):
            raise ValueError("a tool is answered by a `stub` or by a `command`: give one of them")
        if self.parameters.get("type") != "object":
            raise ValueError("`parameters` is a JSON Schema whose type is object")
        return self


class ToolsFile(_Section):
    """The tools of an agent."""

    tools: list[Tool] = Setting(min_length=1, max_length=128)
    """Each with name, description, parameters, and how it is answered."""

    @model_validator(mode="after")
    def _are_told_apart(self) -> "ToolsFile":
        names = [tool.name for tool in self.tools]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two tools are called {name}")
        return self


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, as the model wrote it.

    Attributes:
        id: By which the result is known.
        name: Of the tool.
        arguments: JSON, as it came; it may be broken.
    """

    id: str
    name: str
    arguments: str

    @property
    def message(self) -> dict[str, Any]:
        """As it stands under `tool_calls`."""
        called = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": called}


@dataclass(frozen=True)
class ToolSet:
    """The tools of an agent, ready to be called.

    Attributes:
        tools: By name.
        folder: Where the file lies; programs are looked for from there.
        digest: Hash of what the file says.
    """

    tools: Mapping[str, Tool]
    folder: Path = field(repr=False)
    digest: str

    @property
    def declared(self) -> list[dict[str, Any]]:
        """As a request declares them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in self.tools.values()
        ]

    def result(self, call: ToolCall, earlier: int = 0) -> str:
        """What a tool says to a call; what went wrong is told to the model, too.

        Args:
            call: By the model.
            earlier: How often it called that tool before, in this conversation.
        """
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools)
            return failed(f"There is no tool {call.name!r}. Tools: {known}.")
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError as error:
            seen = call.arguments[:_SEEN]
            return failed(f"The arguments are not JSON: {error}; seen: {seen!r}.")
        if not isinstance(arguments, dict):
            return failed("The arguments are not a JSON object.")
        if tool.stub is not None:
            return _from_stub(tool.stub, arguments, earlier)
        return self._from_program(tool, arguments)

    def _from_program(self, tool: Tool, arguments: dict[str, Any]) -> str:
        question = json.dumps({"name": tool.name, "arguments": arguments}, ensure_ascii=False)
        process = CommandProcess(_words(tool, self.folder), longest_line=_LONGEST_RESULT)
        try:
            process.write(question.encode(), last=True)
            said = b"\n".join(process.lines(seconds=tool.timeout)).decode(errors="replace").strip()
            status = process.ended()
            if status:
                return failed(f"The tool ended with status {status}{process.complaint()}.")
        except AgentError as error:
            return failed(str(error))
        finally:
            process.stop()
        return said[:_LONGEST_RESULT]


def failed(why: str) -> str:
    """A result that says what went wrong.

    Examples:
        >>> failed("There is no such tool.")
        '{"error": "There is no such tool."}'
    """
    return json.dumps({"error": why}, ensure_ascii=False)


def _from_stub(stub: Stub, arguments: Mapping[str, Any], earlier: int) -> str:
    if stub.answers is not None:
        return _as_text(stub.answers[min(earlier, len(stub.answers) - 1)])
    for match in stub.matching:
        if all(
            name in arguments and arguments[name] == value for name, value in match.when.items()
        ):
            return _as_text(match.answer)
    if stub.answer is None:
        return failed("Nothing is known for these arguments.")
    return _as_text(stub.answer)


def _as_text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _words(tool: Tool, folder: Path) -> Sequence[str]:
    """The program and its arguments; one with a slash is looked for beside the file."""
    program, *rest = shlex.split(tool.command)
    return [str((folder / program).absolute()) if "/" in program else program, *rest]


def read_tools(path: Path) -> ToolSet:
    r"""Tools from a YAML or JSON file; errors name the line, the key and the remedy.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "tools.yaml"
        >>> _ = path.write_text("tools:\n- {name: weather, stub: Sunny.}\n")
        >>> read_tools(path).result(ToolCall("1", "weather", "{}"))
        'Sunny.'
    """
    data, lines = read_yaml(path)
    read = validated(ToolsFile, data, lines, path)
    for tool in read.tools:
        try:
            words = _words(tool, path.parent) if tool.command else ()
        except ValueError as error:
            raise DialensError(
                f"{path}: the command of {tool.name} cannot be read: {error}."
            ) from error
        if words and shutil.which(words[0]) is None:
            raise DialensError(
                f"{path}: there is no program {words[0]!r} for {tool.name} that can be run. Write "
                "./ before one beside this file, and make it executable (chmod +x)."
            )
    said = json.dumps(read.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return ToolSet({tool.name: tool for tool in read.tools}, path.parent, digest)
