"""Agents that are Python functions: the conversation goes in, the answer comes out.

The function gets a list of `{"role": "user" or "assistant", "content": …}`, `seed` if it has such a
parameter, and what was set beside the settings. It gives a text, a `Reply`, or a message with
`content` (and `tokens_in`, `cost` …), or pieces of text one after another; it may be asynchronous.
"""

import inspect
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dialens.agents._agent import AgentError, AgentSpec, Reply
from dialens.agents._settings import Named, Value, read_open_settings, setting
from dialens.agents.kinds._code import Ask, CodeAgent, CodeSettings, load, name_of, source_hash
from dialens.agents.kinds._event_loop import EventLoop
from dialens.base import DialensError, did_you_mean

_KNOWN = {one.name for one in fields(Reply)} - {"text", "seconds"}


@dataclass(frozen=True)
class PythonSettings(CodeSettings):
    """How a function is asked; whatever else is set goes to its parameters."""

    takes: str = setting(
        "messages",
        "messages: the conversation as a list; text: what was said last.",
        choices=("messages", "text"),
        connection=True,
    )


def agent_of(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    system: str | None = None,
    **settings: Value,
) -> AgentSpec:
    """A function as an agent of a plan, without naming where it is written.

    Args:
        function: What `python:MODULE:FUNCTION` takes.
        name: Which setting of the system; made of the settings if not given.
        system: What it is called; the function's name if not given.
        settings: Those of the kind `python`, and values of the function's own parameters.

    Examples:
        >>> from dialens.agents import make_agent
        >>> from dialens.agents._agent import Message
        >>> agent = make_agent(agent_of(lambda said: said[-1]["content"].upper(), system="loud"))
        >>> agent.reply([Message("partner", "hello")]).text
        'HELLO'
    """
    place = f"{getattr(function, '__module__', '')}:{_called(function)}"
    return AgentSpec("python", place, system or _called(function), name, settings, function)


def _called(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def open_agent(spec: AgentSpec) -> CodeAgent:
    """An agent that is a function; what cannot be called with a conversation is said here."""
    settings, own = read_open_settings(PythonSettings, spec)
    function = load(spec) if spec.function is None else spec.function
    if inspect.isclass(function) or not callable(function):
        what = "a class" if inspect.isclass(function) else f"a {type(function).__name__}"
        raise DialensError(
            f"{spec}: this is {what}. Name a function that takes a conversation and gives an "
            "answer, or an object that can be called so."
        )
    seeded = _takes_seed(spec, function, own)
    loop = EventLoop()
    named = Named.of(spec, PythonSettings, system=name_of(spec))
    return CodeAgent(
        named.system,
        named.name,
        named.parameters,
        spec.target,
        settings,
        _asking(function, settings, own, loop, seeded=seeded),
        source_hash(function),
        loop,
    )


def _takes_seed(spec: AgentSpec, function: Callable[..., Any], own: Mapping[str, Value]) -> bool:
    """Whether a function wants the seed; parameters that it does not have are refused."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of C, without a signature
        return False
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = next((one for one in parameters if one.kind in placed), None)
    if first is None and all(one.kind != inspect.Parameter.VAR_POSITIONAL for one in parameters):
        raise DialensError(
            f"{spec}: the function takes no conversation. Give it a parameter for one."
        )
    anything = any(one.kind == inspect.Parameter.VAR_KEYWORD for one in parameters)
    names = [one.name for one in parameters if one is not first]
    for name in own:
        if name not in names and not anything:
            raise DialensError(
                f"{spec}: the function has no parameter {name!r}, and neither is it a setting. "
                f"{did_you_mean(name, names)}"
            )
    return "seed" in names or anything


def _asking(
    function: Callable[..., Any],
    settings: PythonSettings,
    own: Mapping[str, Value],
    loop: EventLoop,
    *,
    seeded: bool,
) -> Ask:
    def ask(messages: list[dict[str, Any]], seed: int) -> Generator[str, None, Reply | None]:
        given: Any = messages if settings.takes == "messages" else messages[-1]["content"]
        options = {"seed": seed, **own} if seeded else own
        result = function(given, **options)
        if inspect.isawaitable(result):
            result = loop.run(result, seconds=settings.timeout)
        if hasattr(result, "__aiter__"):
            result = loop.pieces(aiter(result), seconds=settings.timeout)
        if isinstance(result, Iterator):
            return (yield from _pieces(result))
        text, known = _read(result)
        yield text
        return known

    return ask


def _pieces(result: Iterator[Any]) -> Generator[str, None, Reply | None]:
    """Pieces of text as they come, and what a generator returns at its end."""
    while True:
        try:
            piece = next(result)
        except StopIteration as end:
            return None if end.value is None else _read(end.value)[1]
        if not isinstance(piece, str):
            raise _no_answer(piece, "among its pieces")
        yield piece


def _read(result: object) -> tuple[str, Reply | None]:
    """The text of an answer, and what else is known of it."""
    if isinstance(result, str):
        return result, None
    if isinstance(result, Reply):
        return result.text, result
    if isinstance(result, Mapping):
        text = result.get("content", result.get("text"))
        if isinstance(text, str):
            known = {key: value for key, value in result.items() if key in _KNOWN}
            return text, Reply(text, **known)
    raise _no_answer(result, "as its answer")


def _no_answer(result: object, where: str) -> AgentError:
    keys = f" with the keys {', '.join(map(str, result))}" if isinstance(result, Mapping) else ""
    return AgentError(
        f"The function gave {type(result).__name__}{keys} {where}. It must give a text, pieces of "
        'text, a `dialens.agents.Reply`, or {"content": …}.',
        "malformed",
    )
