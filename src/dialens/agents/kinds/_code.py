"""Agents that are Python code of the user's: where it is found, how it is asked, what goes wrong.

`MODULE:OBJECT` is looked for on Python's path and in the current folder, `FILE.py:OBJECT` is a
file. Kinds differ in what the object is (a function, a chain, an agent of a framework) and share
the rest: one event loop, how many are answered at once, errors that name the place in the code.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dialens.agents._agent import AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._pieces import LONGEST, tidy, whole, without_thought
from dialens.agents._settings import setting
from dialens.agents.kinds._event_loop import EventLoop
from dialens.agents.kinds._messages import as_messages
from dialens.base import DialensError, first_line

Ask = Callable[[list[dict[str, Any]], int], Generator[str, None, Reply | None]]
"""Given a conversation in the words of chat completions and a seed: pieces of the answer, and at
the end what else is known of it."""


@dataclass(frozen=True)
class CodeSettings:
    """How code is asked."""

    begin: str = setting(
        "Please begin the conversation.", "Said to the code when it is to speak first."
    )
    at_once: int = setting(
        0,
        "The most replies at the same time, 1 for code that is not thread-safe; 0 for no limit.",
        low=0,
        connection=True,
    )
    timeout: float = setting(
        120.0,
        "Seconds for an answer of asynchronous code; other code cannot be interrupted.",
        low=0.01,
        connection=True,
    )
    longest_reply: int = setting(
        LONGEST, "Characters of the longest answer accepted.", low=1, connection=True
    )


@dataclass(frozen=True)
class CodeAgent:
    """Python code that answers.

    Attributes:
        system: What it is called.
        name: Which setting of it.
        parameters: What was set.
        place: Where the code is, for errors.
        settings: How it is asked.
        ask: What asks it.
        identity: The hash of its source, so that other code is another agent.
        loop: For asynchronous code.
    """

    system: str
    name: str
    parameters: Parameters
    place: str
    settings: CodeSettings
    ask: Ask = field(repr=False)
    identity: str = ""
    loop: EventLoop = field(default_factory=EventLoop, repr=False, compare=False)
    _turn: threading.Semaphore = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Limit how many are answered at once."""
        most = self.settings.at_once or sys.maxsize
        object.__setattr__(self, "_turn", threading.Semaphore(most))

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Ask the code and wait for the whole answer."""
        return whole(self.stream(history, seed=seed))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Ask the code and pass on its pieces."""
        began = time.monotonic()
        messages: list[dict[str, Any]] = [*as_messages(history, self.settings.begin)]
        thought: list[str] = []
        written: list[str] = []
        told: list[Reply | None] = []
        with self._turn:
            said = without_thought(self._pieces(messages, seed, told), thought)
            for piece in tidy(said, longest=self.settings.longest_reply, who=self.system):
                written.append(piece)
                yield piece
        known = (told[0] if told else None) or Reply("")
        return replace(
            known,
            text="".join(written),
            seconds=time.monotonic() - began,
            thought="\n".join([*filter(None, [known.thought]), *thought]),
        )

    def close(self) -> None:
        """Stop the loop of asynchronous code."""
        self.loop.close()

    def _pieces(
        self, messages: list[dict[str, Any]], seed: int, told: list[Reply | None]
    ) -> Generator[str, None, None]:
        try:
            told.append((yield from self.ask(messages, seed)))
        except AgentError:
            raise
        except Exception as error:
            raise AgentError(
                f"{self.place} failed with {type(error).__name__}: {first_line(error)} "
                f"({_where(error, self.place)}).",
                "failed",
            ) from error


def _where(error: Exception, place: str) -> str:
    """The last line in the code's own file on the way to an error, or else the last of all."""
    steps = traceback.extract_tb(error.__traceback__)
    stem = Path(place.rpartition(":")[0].replace(".", "/").removesuffix("/py")).name
    own = [step for step in steps if Path(step.filename).stem == stem]
    last = (own or steps)[-1]
    return f"{last.filename}, line {last.lineno}"


def load(spec: AgentSpec) -> Any:
    """The object that the target of a spec names.

    Raises:
        DialensError: There is no such module, file or object, or it cannot be imported.

    Examples:
        >>> load(AgentSpec("python", "os.path:basename"))("a/b")
        'b'
        >>> load(AgentSpec("python", "os.path"))
        Traceback (most recent call last):
        ...
        dialens.DialensError: python:os.path: name a module or file and what is in it...
    """
    where, colon, name = spec.target.rpartition(":")
    if not colon or not where or not name:
        raise DialensError(
            f"{spec}: name a module or file and what is in it: {spec.kind}:package.module:OBJECT "
            f"or {spec.kind}:file.py:OBJECT."
        )
    found: Any = _module(spec, where)
    for step in name.split("."):
        if not hasattr(found, step):
            there = [one for one in vars(found) if not one.startswith("_")]
            raise DialensError(
                f"{spec}: there is no {step!r} in {where}. It has: {', '.join(there) or 'nothing'}."
            )
        found = getattr(found, step)
    return found


def _module(spec: AgentSpec, where: str) -> ModuleType:
    try:
        if where.endswith(".py"):
            return _from_file(spec, Path(where))
        if "" not in sys.path and str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))  # where `python -m` would look as well
        return importlib.import_module(where)
    except DialensError:
        raise
    except ModuleNotFoundError as error:
        if error.name and where.startswith(error.name):
            raise DialensError(
                f"{spec}: there is no module {error.name!r}. It is looked for where Python looks "
                "and in the current folder; a file is written with its .py."
            ) from error
        raise DialensError(
            f"{spec}: {where} wants the module {error.name!r}, which is not installed."
        ) from error
    except Exception as error:
        raise DialensError(
            f"{spec}: {where} cannot be imported: {type(error).__name__}: {first_line(error)} "
            f"({_where(error, spec.target)})."
        ) from error


def _from_file(spec: AgentSpec, path: Path) -> ModuleType:
    """A file as a module; what lies beside it can be imported by it."""
    if not path.is_file():
        raise DialensError(f"{spec}: there is no file {path}.")
    path = path.resolve()
    mark = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    name = f"_dialens_agent_{mark}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def source_hash(code: Any) -> str:
    """The hash of what is written of some code; empty where that cannot be read."""
    try:
        return hashlib.sha256(inspect.getsource(code).encode()).hexdigest()
    except (OSError, TypeError):
        return ""


def module_hash(spec: AgentSpec) -> str:
    """The hash of the module that a target names, which must be loaded."""
    return source_hash(_module(spec, spec.target.rpartition(":")[0]))


def name_of(spec: AgentSpec) -> str:
    """What code is called: the last word of its target."""
    return spec.target.rpartition(":")[2].rpartition(".")[2]
