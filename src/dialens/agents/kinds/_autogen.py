"""Agents and teams of AutoGen (autogen-agentchat).

Such an agent remembers what it was told. Each reply begins anew: the conversation so far is put
into its model's context, or given to a team as its task. An agent that is named answers one
conversation at a time; a function that makes agents is called for each reply, so that several are
answered at once.
"""

import inspect
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from dialens.agents._agent import AgentError, AgentSpec, Reply
from dialens.agents._settings import Named, read_settings
from dialens.agents.kinds._code import Ask, CodeAgent, CodeSettings, load, module_hash, name_of
from dialens.agents.kinds._event_loop import EventLoop
from dialens.base import DialensError


@dataclass(frozen=True)
class AutogenSettings(CodeSettings):
    """How an agent of AutoGen is asked."""


def open_agent(spec: AgentSpec) -> CodeAgent:
    """An agent that is one of AutoGen's, or is made by a function."""
    settings = read_settings(AutogenSettings, spec)
    found = load(spec)
    if _answers(found):
        settings = replace(settings, at_once=1)
    elif not callable(found) or inspect.isclass(found):
        raise DialensError(
            f"{spec}: this is no agent or team of AutoGen but {type(found).__name__}. Name one, or "
            "a function that makes one."
        )
    loop = EventLoop()
    named = Named.of(spec, AutogenSettings, system=name_of(spec))
    return CodeAgent(
        named.system,
        named.name,
        named.parameters,
        spec.target,
        settings,
        _asking(found, settings, loop),
        module_hash(spec),
        loop,
    )


def _answers(found: Any) -> bool:
    """Whether it is an agent, which takes messages, or a team, which runs a task."""
    return hasattr(found, "on_messages") or (hasattr(found, "run") and hasattr(found, "reset"))


def _asking(found: Any, settings: CodeSettings, loop: EventLoop) -> Ask:
    async def answer(messages: list[dict[str, Any]]) -> Reply:
        agent = found
        if not _answers(found):
            agent = found()
            agent = await agent if inspect.isawaitable(agent) else agent
        if not _answers(agent):
            raise AgentError(
                f"The function made {type(agent).__name__}, no agent or team.", "malformed"
            )
        if hasattr(agent, "on_messages"):
            return await _from_agent(agent, messages)
        return await _from_team(agent, messages)

    def ask(messages: list[dict[str, Any]], seed: int) -> Generator[str, None, Reply | None]:
        reply = loop.run(answer(messages), seconds=settings.timeout)
        yield reply.text
        return reply

    return ask


async def _from_agent(agent: Any, messages: list[dict[str, Any]]) -> Reply:
    core = import_module("autogen_core")
    token = core.CancellationToken()
    await agent.on_reset(token)
    earlier, last = messages[:-1], messages[-1:]
    context = getattr(agent, "model_context", None)
    if context is None:  # one that keeps its memory to itself is told everything
        earlier, last = [], messages
    else:
        models = import_module("autogen_core.models")
        for message in earlier:
            if message.get("content") and message["role"] in ("user", "assistant"):
                await context.add_message(_for_model(models, agent.name, message))
    response = await agent.on_messages(_as_chat(last, agent.name), token)
    return _reply([*(response.inner_messages or []), response.chat_message])


async def _from_team(team: Any, messages: list[dict[str, Any]]) -> Reply:
    await team.reset()
    task = _as_chat(messages, "assistant")
    result = await team.run(task=task)
    fresh = list(result.messages)[len(task) :]
    if not fresh:
        raise AgentError(f"The team ended without a word ({result.stop_reason}).", "empty")
    return _reply(fresh)


def _for_model(models: Any, name: str, message: dict[str, Any]) -> Any:
    """A message as the model's context keeps it."""
    if message["role"] == "assistant":
        return models.AssistantMessage(content=message["content"], source=name)
    return models.UserMessage(content=message["content"], source="user")


def _as_chat(messages: Sequence[dict[str, Any]], name: str) -> list[Any]:
    kinds = import_module("autogen_agentchat.messages")
    return [
        kinds.TextMessage(
            content=message["content"],
            source="user" if message["role"] == "user" else name,
        )
        for message in messages
        if message.get("content") and message["role"] in ("user", "assistant")
    ]


def _reply(messages: Sequence[Any]) -> Reply:
    """The last message, with what was thought and called before it, and what all of it took."""
    *inner, last = messages
    usages = [one.models_usage for one in messages if getattr(one, "models_usage", None)]
    thoughts = [str(one.content) for one in inner if type(one).__name__ == "ThoughtEvent"]
    text = last.to_text() if callable(getattr(last, "to_text", None)) else str(last.content)
    return Reply(
        text,
        tokens_in=_total([usage.prompt_tokens for usage in usages]),
        tokens_out=_total([usage.completion_tokens for usage in usages]),
        thought="\n".join(thoughts),
        before=tuple(said for one in inner for said in _heard_by_nobody(one)),
    )


def _total(counts: Sequence[int]) -> int | None:
    return sum(counts) or None


def _heard_by_nobody(message: Any) -> list[dict[str, Any]]:
    """Calls of tools and their results, in the form of chat completions."""
    name, content = type(message).__name__, getattr(message, "content", None)
    if name == "ToolCallRequestEvent" and isinstance(content, list):
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in content
        ]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    if name == "ToolCallExecutionEvent" and isinstance(content, list):
        return [
            {"role": "tool", "tool_call_id": one.call_id, "content": one.content} for one in content
        ]
    return []
