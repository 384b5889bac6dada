"""Calls of a model that were logged one by one, put together to the dialogues they were part of.

Traces, spans and request logs hold one record a call, and each call repeats the conversation so
far. Read call by call, a dialogue of ten replies would be ten dialogues with 55 replies. So:

- Calls of one **trace** are steps of one exchange. The longest line of them is what counts; others
  (a router, a title generator) are kept in `meta.other_calls` of its last turn.
- Calls of one **thread** (a session or conversation id) are one dialogue, in the order of their
  times. Each brings what it has beyond what is already there, whether it repeats the whole
  conversation, a window of it or nothing. Another reply to the same words, where the log repeats
  conversations, is a dialogue of its own.
- Calls without a thread belong together if the conversation so far, whole, begins the next call's
  input. Each dialogue goes on once; what goes on from the same place again is another dialogue.

A reply is the agent's in one dialogue only. Where a second one repeats it, it was given to the
agent, and its role there is `partner`, as in judged sets; `meta.repeated` says so.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dialens.corpus._dialogue import Dialogue, Rating, Reference, Turn
from dialens.corpus._reasoning import said_in
from dialens.corpus.readers._exchanges import REPEATED, starts_with


@dataclass(slots=True, eq=False)
class Call:
    """One logged call: what was given to the model, and what it replied.

    A record that only knows something about a trace (its session, a score) is a call without turns.

    Attributes:
        turns: What was given, then the reply.
        given: How many of the turns were given.
        line: Where the call stands in its file.
        id: Of the call itself; two calls with one id are a mistake in the log.
        trace: Of the exchange that the call is a step of.
        thread: Of the conversation.
        follows: The id of the call that this one goes on from.
        model: Who replied.
        name: What the log calls the agent, where it names no model.
        system: The system under test.
        began: When the call was made.
        ended: When the reply was there.
        kept: What else the log knew; it goes to `meta.call` of the call's last turn.
        ratings: Judgements of the reply.
        reference: A reference response to it.
        whole: Whether it is the trace's own input and output, which count before its steps.
        expected: Whether it is a mistake if no turn can be read of its trace.
    """

    turns: list[Turn]
    given: int
    line: int = 0
    id: str | None = None
    trace: str | None = None
    thread: str | None = None
    follows: str | None = None
    model: str | None = None
    name: str | None = None
    system: str | None = None
    began: datetime | None = None
    ended: datetime | None = None
    kept: dict[str, object] = field(default_factory=dict)
    ratings: list[Rating] = field(default_factory=list)
    reference: str | None = None
    whole: bool = False
    expected: bool = True


@dataclass(slots=True, eq=False)
class Talk:
    """A dialogue in the making."""

    turns: list[Turn]
    line: int
    name: str
    calls: list[Call]
    ratings: list[Rating] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


def talks_of(calls: Iterable[Call], stem: str) -> list[Talk]:
    """The dialogues that these calls were part of, in the order in which they begin in the file.

    A talk without turns is one of which the log has only records about it.

    Examples:
        >>> def call(*texts):
        ...     roles = ("partner", "agent")
        ...     turns = [Turn(roles[n % 2], roles[n % 2], text) for n, text in enumerate(texts)]
        ...     return Call(turns, len(turns) - 1)
        >>> log = [call("Hi", "Hello!"), call("Hi", "Hello!", "Bye", "Take care!")]
        >>> [len(talk.turns) for talk in talks_of(log, "log")]
        [4]
    """
    numbered = list(calls)
    _share_texts(numbered)
    for number, call in enumerate(numbered, 1):
        _stamp(call)
        if call.trace is None and call.thread is None:
            call.trace = call.id or f"{stem}-{number}"
    exchanges = [_exchange(steps) for steps in _grouped(numbered)]
    silent = [
        Talk([], call.line, "", [call]) for call in exchanges if not call.turns and call.expected
    ]
    exchanges = [call for call in exchanges if call.turns]
    threads: dict[str, list[Call]] = defaultdict(list)
    alone: list[Call] = []
    _resolve(exchanges)
    for call in exchanges:
        if call.thread is None:
            alone.append(call)
        else:
            threads[call.thread].append(call)
    talks = [
        talk for name, members in threads.items() for talk in _of_thread(name, _in_order(members))
    ]
    talks += [*_by_prefix(_in_order(alone), stem), *silent]
    return sorted(talks, key=lambda talk: talk.line)


def dialogue(talk: Talk, stem: str) -> Dialogue:
    """A talk as readers hand it over; the agent is the model of most calls, else the file."""
    models = Counter(call.model for call in talk.calls if call.model)
    names = (call.name for call in talk.calls if call.name)
    systems = (call.system for call in talk.calls if call.system)
    return Dialogue(
        system=next(systems, stem),
        agent=max(models, key=lambda name: models[name]) if models else next(names, stem),
        dialog=talk.name,
        turns=talk.turns,
        ratings=talk.ratings,
        references=talk.references,
    )


def _share_texts(calls: Sequence[Call]) -> None:
    """Let equal texts be one object: a log that repeats its conversations grows quadratically."""
    known: dict[str, str] = {}
    for call in calls:
        for turn in call.turns:
            turn.text = known.setdefault(turn.text, turn.text)
            aside = (turn.meta or {}).get("before")
            for message in aside if isinstance(aside, list) else []:
                content = message.get("content") if isinstance(message, dict) else None
                if isinstance(content, str):
                    message["content"] = known.setdefault(content, content)


def _stamp(call: Call) -> None:
    """Put the call's times and the rest of its record on what it brought."""
    if not call.turns:
        return
    if call.given and call.turns[call.given - 1].created_at is None:
        call.turns[call.given - 1].created_at = call.began
    for turn in call.turns[call.given :]:
        turn.created_at = turn.created_at or call.ended or call.began
    named = {"id": call.id, "trace": call.trace, "model": call.model, **call.kept}
    kept = {key: value for key, value in named.items() if value not in (None, "", [], {})}
    last = call.turns[-1]
    if kept:
        last.meta = {**(last.meta or {}), "call": kept}


def _grouped(calls: Sequence[Call]) -> Iterable[list[Call]]:
    traces: dict[object, list[Call]] = defaultdict(list)
    for call in calls:
        traces[call.trace if call.trace is not None else id(call)].append(call)
    return traces.values()


def _exchange(steps: list[Call]) -> Call:
    """The one line that counts among the calls of a trace."""
    if len(steps) == 1:
        return steps[0]
    lines = _lines([step for step in _in_order(steps) if step.turns])
    if not lines:
        return next((step for step in steps if step.expected), steps[0])
    longest = max(range(len(lines)), key=lambda place: (_weight(lines[place]), place))
    main = lines.pop(longest)
    joined = main[0]
    for step in main[1:]:
        fresh = step.turns[len(joined.turns) :]
        if fresh:
            _forget_after(joined.turns[-1])
        joined.turns = [*joined.turns, *fresh]
        joined.ended = step.ended or joined.ended
    joined.given = min(step.given for step in main)
    joined.line = min(step.line for step in steps)
    joined.ratings = [rating for step in steps for rating in step.ratings]
    for key in ("thread", "model", "name", "system", "follows"):
        values = (getattr(step, key) for step in [*reversed(main), *reversed(steps)])
        setattr(joined, key, next((value for value in values if value is not None), None))
    if lines:
        last = joined.turns[-1]
        others = [_summary(line[-1]) for line in lines]
        last.meta = {**(last.meta or {}), "other_calls": others}
    return joined


def _lines(steps: Iterable[Call]) -> list[list[Call]]:
    """Steps of which each goes on from the one before."""
    lines: list[list[Call]] = []
    for step in steps:
        for line in lines:
            if starts_with(step.turns, line[-1].turns):
                line.append(step)
                break
            if starts_with(line[-1].turns, step.turns):
                line.insert(0, step)
                break
        else:
            lines.append([step])
    return lines


def _weight(line: list[Call]) -> tuple[bool, int, int]:
    turns = line[-1].turns
    replies = sum(turn.role == "agent" and bool(turn.text) for turn in turns)
    return any(step.whole for step in line), replies, len(turns)


def _forget_after(turn: Turn) -> None:
    """What came after the last turn stands before the next one, now that there is one."""
    if turn.meta and "after" in turn.meta:
        turn.meta = {key: value for key, value in turn.meta.items() if key != "after"} or None


def _summary(call: Call) -> dict[str, object]:
    said = [{"role": turn.role, "text": turn.text} for turn in call.turns]
    named = {"id": call.id, "model": call.model}
    return {**{key: value for key, value in named.items() if value}, "turns": said}


def _resolve(calls: Sequence[Call]) -> None:
    """Calls that go on from another one by its id are of one thread, named by the first."""
    by_id = {call.id: call for call in calls if call.id is not None}
    for call in calls:
        first, seen = call, {call.id}
        while first.follows in by_id and first.follows not in seen:
            first = by_id[first.follows]
            seen.add(first.id)
        if call.thread is None and (call.follows is not None or first is not call):
            call.thread = first.thread or first.id or first.follows
    heads = {call.thread for call in calls}
    for call in calls:
        if call.thread is None and call.id is not None and call.id in heads:
            call.thread = call.id


def _in_order(calls: Sequence[Call]) -> list[Call]:
    """By time if every call has one; else as they stand, shorter inputs first."""
    stamps = [call.began for call in calls if call.began is not None]
    if len(stamps) == len(calls):
        return [
            call
            for _, _, call in sorted(
                zip(stamps, (call.given for call in calls), calls, strict=True),
                key=lambda entry: entry[:2],
            )
        ]
    if any(turn.role == "agent" for call in calls for turn in call.turns[: call.given]):
        return sorted(calls, key=lambda call: call.given)
    return list(calls)


def _of_thread(name: str, calls: list[Call]) -> list[Talk]:
    repeats = any(turn.role == "agent" for call in calls for turn in call.turns[: call.given])
    talks: list[Talk] = []
    for call in calls:
        asked = call.turns[: call.given]
        talk = next((old for old in talks if repeats and _goes_on(old, asked)), None)
        if talk is not None:
            _append(talk, call, len(talk.turns))
        elif not talks:
            talks.append(_begin(call, name))
        elif repeats and asked and starts_with(talks[-1].turns, asked):
            _start_again(talks, call, f"{name}-{len(talks) + 1}")
        else:
            _append(talks[-1], call, _overlap(talks[-1].turns, asked) if repeats else 0)
    return talks


def _goes_on(talk: Talk, asked: list[Turn]) -> bool:
    return starts_with(asked, talk.turns)


def _overlap(turns: list[Turn], asked: list[Turn]) -> int:
    """How many turns at the beginning of an input are the last ones of the conversation."""
    for size in range(min(len(turns), len(asked)), 0, -1):
        if starts_with(turns[-size:], asked[:size]):
            return size
    return 0


def _begin(call: Call, name: str) -> Talk:
    talk = Talk(call.turns, call.line, name, [call])
    _rate(talk, call)
    return talk


def _start_again(talks: list[Talk], call: Call, name: str) -> None:
    _mark_repeated(call.turns[: call.given])
    talks.append(_begin(call, name))


def _mark_repeated(turns: Iterable[Turn]) -> None:
    for turn in turns:
        if turn.role == "agent":
            turn.role = "partner"
            turn.meta = {**(turn.meta or {}), REPEATED: True}


def _append(talk: Talk, call: Call, known: int) -> None:
    """Let a talk go on with what a call has beyond the first `known` turns."""
    fresh = call.turns[known:]
    if fresh and known:
        _forget_after(talk.turns[-1])
    talk.turns = [*talk.turns, *fresh]
    talk.line = min(talk.line, call.line)
    talk.calls.append(call)
    _rate(talk, call)


def _rate(talk: Talk, call: Call) -> None:
    """A call's ratings are of its reply, the last thing that the agent has said so far."""
    replies = [place for place, turn in enumerate(talk.turns) if turn.role == "agent"]
    replied = any(turn.role == "agent" for turn in call.turns[call.given :])
    if call.reference and replied:
        talk.references.append(Reference(replies[-1], call.reference))
    for rating in call.ratings:
        if rating.level == "turn" and rating.turn is None:
            if replied and replies:
                rating.turn = replies[-1]
            else:
                rating.level = "dialog"
        talk.ratings.append(rating)


def _by_prefix(calls: list[Call], stem: str) -> list[Talk]:
    talks: list[Talk] = []
    ends: dict[int, dict[str | None, list[Talk]]] = {}
    passed: set[int] = set()
    for call in calls:
        path = list(_path(call.turns))
        talk = None
        for known in range(min(call.given, len(path) - 1), 0, -1):
            talk = _taken(ends.get(path[known - 1], {}), call.model)
            if talk is not None:
                _append(talk, call, known)
                break
        if talk is None:
            shared = next((n for n in range(call.given, 0, -1) if path[n - 1] in passed), 0)
            _mark_repeated(call.turns[:shared])
            talk = _begin(call, call.trace or call.id or stem)
            talks.append(talk)
        passed.update(path)
        ends.setdefault(path[-1], {}).setdefault(call.model, []).append(talk)
    return talks


def _path(turns: Sequence[Turn]) -> Iterator[int]:
    """A number for each beginning of these turns."""
    value = 0
    for turn in turns:
        value = hash((value, turn.role, said_in(turn.text)))
        yield value


def _taken(ending: dict[str | None, list[Talk]], model: str | None) -> Talk | None:
    """Take the last talk that ends here, one with the same model if there is any."""
    for waiting in (ending.get(model, []), *ending.values()):
        if waiting:
            return waiting.pop()
    return None
