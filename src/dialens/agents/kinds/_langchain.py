"""Agents of LangChain and LangGraph: any Runnable of messages, of a text, or of named inputs.

What a Runnable takes is asked of itself (`get_input_jsonschema`). A chain that begins with a prompt
gets the conversation where it has a place for messages, what was said last where it has one for a
text, and what was set under its other names. A graph gets the conversation as `messages`. All are
run asynchronously, which chains and graphs of plain functions can do as well.
"""

import uuid
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from dialens.agents._agent import AgentError, AgentSpec, Reply
from dialens.agents._settings import Named, Value, read_open_settings, setting
from dialens.agents.kinds._code import Ask, CodeAgent, CodeSettings, load, module_hash, name_of
from dialens.agents.kinds._event_loop import EventLoop
from dialens.base import DialensError, listed

Make = Callable[[list[dict[str, Any]]], Any]
"""Makes the input of a Runnable of a conversation."""

_FOR_MESSAGES = ("messages", "history", "chat_history")
_FOR_TEXT = ("input", "question", "query", "text", "human_input")
_ANSWERS = ("output", "answer", "result", "content", "text", "response")
_METHODS = ("ainvoke", "astream", "get_input_jsonschema")


@dataclass(frozen=True)
class RunnableSettings(CodeSettings):
    """How a Runnable is asked; whatever else is set goes to inputs of that name."""

    takes: str = setting(
        "auto",
        "messages: the conversation; text: what was said last; auto: what the Runnable says.",
        choices=("auto", "messages", "text"),
        connection=True,
    )


def open_agent(spec: AgentSpec) -> CodeAgent:
    """An agent that is a Runnable or a graph; inputs that nobody gives are named here."""
    settings, own = read_open_settings(RunnableSettings, spec)
    runnable = load(spec)
    if not all(hasattr(runnable, name) for name in _METHODS):
        hint = "; call .compile() of a graph" if hasattr(runnable, "compile") else ""
        raise DialensError(f"{spec}: this is no Runnable but {type(runnable).__name__}{hint}.")
    made = _input(spec, runnable, settings, own)
    loop = EventLoop()
    ask = _asking_graph if hasattr(runnable, "channels") else _asking
    named = Named.of(spec, RunnableSettings, system=name_of(spec))
    return CodeAgent(
        named.system,
        named.name,
        named.parameters,
        spec.target,
        settings,
        ask(runnable, made, settings, loop),
        module_hash(spec),
        loop,
    )


def _input(
    spec: AgentSpec, runnable: Any, settings: RunnableSettings, own: Mapping[str, Value]
) -> Make:
    """How the input of a Runnable is made."""
    schema = runnable.get_input_jsonschema()
    takes = settings.takes
    if takes == "text" or (takes == "auto" and schema.get("type") == "string"):
        return lambda messages: messages[-1]["content"]
    inputs = schema.get("properties")
    if takes == "messages" or schema.get("type") != "object" or not inputs:
        return list
    needed = [name for name in schema.get("required", ()) if name not in own]
    kinds = {name: about.get("type") for name, about in inputs.items()}
    lists = [name for name, kind in kinds.items() if kind == "array" and name not in own]
    for_messages = _first(lists, _FOR_MESSAGES)
    texts = [name for name in needed if kinds[name] in ("string", None)]
    for_text = _first(texts, _FOR_TEXT)
    graph = hasattr(runnable, "channels")
    if graph:
        for_text = for_text if for_messages is None else None
    open_inputs = [name for name in needed if name not in (for_messages, for_text)]
    if (open_inputs and not graph) or (for_messages is None and for_text is None):
        wants = listed(open_inputs or list(inputs))
        raise DialensError(
            f"{spec}: it wants {wants}, and it is not known which is the conversation (messages, "
            "history or chat_history) and which its last message (input or question). Call them so "
            "or give the others with --set NAME=VALUE."
        )

    def make(messages: list[dict[str, Any]]) -> dict[str, Any]:
        given: dict[str, Any] = dict(own)
        if for_text is not None:
            given[for_text] = messages[-1]["content"]
        if for_messages is not None:
            given[for_messages] = messages if for_text is None else messages[:-1]
        return given

    return make


def _first(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """The name with the usual one, or the only one there is."""
    found = next((name for name in usual if name in names), None)
    return names[0] if found is None and len(names) == 1 else found


def _config(seed: int) -> dict[str, Any]:
    """A graph that remembers gets the whole conversation, so that each reply is a thread anew."""
    return {"configurable": {"thread_id": str(uuid.uuid4()), "seed": seed}}


def _asking(runnable: Any, make: Make, settings: CodeSettings, loop: EventLoop) -> Ask:
    def ask(messages: list[dict[str, Any]], seed: int) -> Generator[str, None, Reply | None]:
        source: AsyncIterator[Any] = runnable.astream(make(messages), _config(seed))
        whole: Any = None
        for chunk in loop.pieces(source, seconds=settings.timeout):
            if isinstance(chunk, str) or hasattr(chunk, "content"):
                yield _text(chunk)
            whole = _joined(whole, chunk)
        if isinstance(whole, str) or hasattr(whole, "content"):
            return _known(whole)
        text, known = _answer(whole)
        yield text
        return known

    return ask


def _joined(whole: Any, chunk: Any) -> Any:
    """What came so far with what came now; what cannot be added replaces what was before."""
    if whole is None:
        return chunk
    try:
        return whole + chunk
    except TypeError:
        return chunk


def _asking_graph(runnable: Any, make: Make, settings: CodeSettings, loop: EventLoop) -> Ask:
    def ask(messages: list[dict[str, Any]], seed: int) -> Generator[str, None, Reply | None]:
        work = runnable.ainvoke(make(messages), _config(seed))
        text, known = _answer(loop.run(work, seconds=settings.timeout))
        yield text
        return known

    return ask


def _answer(result: Any) -> tuple[str, Reply | None]:
    """The answer in what a Runnable or graph gave: a state with messages, or something named so."""
    if isinstance(result, str) or hasattr(result, "content"):
        return _text(result), _known(result)
    if isinstance(result, Mapping):
        messages = result.get("messages")
        if isinstance(messages, Sequence) and messages and hasattr(messages[-1], "content"):
            return _last_of(messages)
        named = next((key for key in _ANSWERS if key in result), None)
        if named is not None and (
            isinstance(result[named], str) or hasattr(result[named], "content")
        ):
            return _text(result[named]), _known(result[named])
    keys = f" with the keys {', '.join(map(str, result))}" if isinstance(result, Mapping) else ""
    raise AgentError(
        f"The Runnable gave {type(result).__name__}{keys}; an answer is a text, a message, or a "
        "state with `messages`.",
        "malformed",
    )


def _last_of(messages: Sequence[Any]) -> tuple[str, Reply | None]:
    """The last message of a state, and what was called before it since somebody spoke."""
    fresh: list[Any] = []
    for message in reversed(messages):
        if getattr(message, "type", "") == "human":
            break
        fresh.insert(0, message)
    if not fresh or getattr(fresh[-1], "type", "") != "ai":
        raise AgentError("The graph ended without a message of its own.", "empty")
    *before, last = fresh
    known = _known(last) or Reply("")
    for one in before:
        known = _added(known, _known(one))
    convert = import_module("langchain_core.messages").convert_to_openai_messages
    return _text(last), replace(known, before=tuple(convert(before)))


def _added(known: Reply, more: Reply | None) -> Reply:
    if more is None:
        return known

    def total(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else a + b

    return replace(
        known,
        tokens_in=total(known.tokens_in, more.tokens_in),
        tokens_out=total(known.tokens_out, more.tokens_out),
    )


def _text(message: Any) -> str:
    """What a message says; parts that are no text say nothing."""
    content = message if isinstance(message, str) else message.content
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
    return "".join(map(str, parts))


def _known(message: Any) -> Reply | None:
    """What a message tells beside its text."""
    if isinstance(message, str) or getattr(message, "type", "") not in ("ai", "AIMessageChunk"):
        return None
    usage = getattr(message, "usage_metadata", None) or {}
    about = getattr(message, "response_metadata", None) or {}
    return Reply(
        "",
        tokens_in=usage.get("input_tokens") or None,
        tokens_out=usage.get("output_tokens") or None,
        finish=str(about.get("finish_reason") or about.get("stop_reason") or ""),
        model=str(about.get("model_name") or about.get("model") or ""),
    )
