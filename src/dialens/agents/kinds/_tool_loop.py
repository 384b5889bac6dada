"""A model that calls tools is answered until it speaks."""

import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dialens.agents._agent import AgentError, Message, Reply, calls_in
from dialens.agents.kinds._tools import ToolCall, ToolSet, failed

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Answered:
    """What a model answered to one request.

    Attributes:
        reply: What it said, which may be nothing where it calls tools.
        calls: Of tools.
    """

    reply: Reply
    calls: tuple[ToolCall, ...] = ()


Messages = Sequence[Mapping[str, Any]]
Ask = Callable[[Messages, bool], Generator[str, None, Answered]]
"""Makes a request: with what came after the conversation, and whether tools may be called."""


def until_it_speaks(
    ask: Ask,
    history: Sequence[Message],
    tools: ToolSet | None,
    *,
    most_calls: int,
    who: str,
) -> Generator[str, None, Reply]:
    """Ask, answer the calls of tools, and ask again, until the model speaks.

    What it says beside a call is part of its reply. After `most_calls` calls it is asked once more,
    without leave to call; requests, tokens and cost of all requests are those of the reply.

    Args:
        ask: Makes a request.
        history: The conversation, with the calls that were made in it.
        tools: What it may call.
        most_calls: For one reply.
        who: Named in errors.

    Raises:
        AgentError: `tools` if it calls although it may not, and says nothing.
    """
    called = Counter(calls_in(message for turn in history for message in turn.before))
    exchanged: list[dict[str, Any]] = []
    replies: list[Reply] = []
    made = 0
    waited = 0.0
    while True:
        may_call = tools is not None and made < most_calls
        try:
            answered = yield from _spaced(ask(exchanged, may_call), replies)
        except AgentError as error:
            error.attempts += sum(one.attempts for one in replies)
            answered_before = [*replies, *([error.spent] if error.spent else [])]
            error.spent = joined(answered_before) if answered_before else None
            raise
        replies.append(answered.reply)
        if not answered.calls:
            return _with_calls(joined(replies), exchanged, waited)
        if tools is None or not may_call:
            return _with_calls(_spoken(replies, answered, tools, who), exchanged, waited)
        calls = [
            call if call.id else replace(call, id=f"call_{made + place}")
            for place, call in enumerate(answered.calls, start=1)
        ]
        said = answered.reply.text or None
        written = [call.message for call in calls]
        exchanged.append({"role": "assistant", "content": said, "tool_calls": written})
        began = time.monotonic()
        for call in calls:
            made += 1
            if made > most_calls:
                result = failed(f"No more than {most_calls} calls are answered.")
            else:
                result = tools.result(call, called[call.name])
            called[call.name] += 1
            exchanged.append({"role": "tool", "tool_call_id": call.id, "content": result})
        waited += time.monotonic() - began


def _spaced(
    pieces: Generator[str, None, Answered], before: Sequence[Reply]
) -> Generator[str, None, Answered]:
    """Pass pieces on, apart from what was said before."""
    gap = "\n\n" if any(one.text for one in before) else ""
    with closing(pieces):  # whoever stops listening must not leave a connection open
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                answered: Answered = end.value
                return answered
            yield gap + piece
            gap = ""


def _spoken(replies: Sequence[Reply], answered: Answered, tools: ToolSet | None, who: str) -> Reply:
    """A reply whose last calls are not answered; an error where nothing was said."""
    names = ", ".join(sorted({call.name for call in answered.calls}))
    reply = joined(replies)
    if reply.text:
        return replace(reply, note=_both(reply.note, f"a call of {names} was not answered"))
    if tools is None:
        words = (
            f"{who} called a tool ({names}) instead of speaking, and has none here. Set "
            "tools=FILE, or tell it in `instruction` to answer in words."
        )
    else:
        words = (
            f"{who} did not stop calling tools ({names}). Raise most_calls, or let the tools "
            "answer what it needs to know."
        )
    error = AgentError(words, "tools", attempts=reply.attempts)
    error.spent = reply
    raise error


def _with_calls(reply: Reply, exchanged: Messages, waited: float) -> Reply:
    """A reply with what led to it: what was said beside a call stands in the reply itself."""
    before = tuple({**one, "content": None} if "tool_calls" in one else one for one in exchanged)
    return replace(reply, before=before, seconds=reply.seconds + waited)


def joined(replies: Sequence[Reply]) -> Reply:
    r"""One reply of several that were given in turn: everything they took, the last one's end.

    Examples:
        >>> both = joined([Reply("Wait.", 1.0, 1, 10, 5), Reply("Sunny.", 2.0, 2, 20, 5)])
        >>> both.text, both.seconds, both.attempts, both.tokens_in, both.tokens_out, both.cost
        ('Wait.\n\nSunny.', 3.0, 3, 30, 10, None)
    """
    last = replies[-1]
    notes = ""
    for one in replies:
        notes = _both(notes, one.note)
    return replace(
        last,
        text="\n\n".join(one.text for one in replies if one.text),
        seconds=sum(one.seconds for one in replies),
        attempts=sum(one.attempts for one in replies),
        tokens_in=_sum([one.tokens_in for one in replies]),
        tokens_out=_sum([one.tokens_out for one in replies]),
        cost=_sum([one.cost for one in replies]),
        tokens_cached=_sum([one.tokens_cached for one in replies]),
        thought="\n\n".join(one.thought for one in replies if one.thought),
        note=notes,
    )


def _sum(values: Sequence[Number | None]) -> Number | None:
    """The sum; none where one of them is not known."""
    total: Number | None = None
    for value in values:
        if value is None:
            return None
        total = value if total is None else total + value
    return total


def _both(one: str, other: str) -> str:
    return one if other in one else f"{one}; {other}" if one else other
