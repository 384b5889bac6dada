"""Spans of OpenTelemetry that hold calls of a model, whatever wrote them.

Containers: OTLP as JSON (`resourceSpans`, one batch a line or a file), spans one by one as
OpenTelemetry's console exporter and Phoenix's API write them, and Phoenix's tables (Parquet, CSV,
JSONL) with a column an attribute. Attributes: those of the GenAI conventions
(`gen_ai.input.messages`, before that `gen_ai.prompt.0.role`, and messages as events of the span or
as log records), of OpenInference (`llm.input_messages`), and of the AI SDK (`ai.prompt.messages`).

A span is a call, a trace an exchange: the input and output of its root if they are messages or
text, else the longest line of its calls. Traces with one `gen_ai.conversation.id` or `session.id`
are one dialogue. The model that replied is the agent, `service.name` the system.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialens.corpus._intake import RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._attributes import attributes_of, flattened, nested, unnested
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._exchanges import exchange_of
from dialens.corpus.readers._failures import FailedCall, ended_in_error
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._payloads import Found, decoded, messages_in
from dialens.corpus.readers._rows import Row, columns

_IDS = ("spanId", "span_id", "context.span_id")
_TRACES = ("traceId", "trace_id", "context.trace_id")
_PARENTS = ("parentSpanId", "parent_id", "parent_span_id")
_BEGAN = ("startTimeUnixNano", "start_time", "startTime", "timeUnixNano")
_ENDED = ("endTimeUnixNano", "end_time", "endTime")
_THREADS = ("gen_ai.conversation.id", "session.id", "thread.id", "conversation.id")
_MODELS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.response.model",
    "ai.model.id",
)
_ASKED = (
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "llm.input_messages",
    "llm.prompts",
    "ai.prompt.messages",
    "ai.prompt",
)
_REPLIED = (
    "gen_ai.output.messages",
    "gen_ai.completion",
    "llm.output_messages",
    "llm.completions",
    "ai.response.text",
)
_EVENT = "gen_ai."


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    names = set(columns(source))
    if names & {"resourceSpans", "resourceLogs", "resource_spans"}:
        return True
    inside = (source.first or {}).get("data")
    if isinstance(inside, list) and inside and isinstance(inside[0], dict):
        names = set(inside[0])
    context = (source.first or {}).get("context")
    known = bool(names & {*_IDS, *_TRACES}) or (isinstance(context, dict) and "span_id" in context)
    if any(name.startswith("attributes.") for name in names):
        return known
    return known and "attributes" in names and bool(names & {*_PARENTS, *_BEGAN})


def _parse(row: Row, source: Source) -> Iterable[Item]:
    for place, span, shared in _spans(row.content):
        try:
            yield from _calls(span, place, shared)
        except RecordError as error:
            yield error


def _spans(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each span with its path and its resource's attributes."""
    for outer, scope, inner in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for one, batch in enumerate(map(_object, _list(content.get(outer)))):
            shared = attributes_of(_object(batch.get("resource")))
            scopes = batch.get(scope) or batch.get("instrumentationLibrarySpans")
            for two, part in enumerate(map(_object, _list(scopes))):
                for three, span in enumerate(_list(part.get(inner))):
                    yield f"{outer}[{one}].{scope}[{two}].{inner}[{three}].", span, shared
    data = content.get("data")
    for number, span in enumerate(_list(data)):
        if isinstance(span, dict):
            yield f"data[{number}].", span, {}
    if not any(key in content for key in ("resourceSpans", "resourceLogs")) and data is None:
        yield "", content, attributes_of(_object(content.get("resource")))


def _calls(span: dict[str, Any], place: str, shared: dict[str, Any]) -> Iterator[Item]:
    if not isinstance(span, dict):
        raise RecordError("is wrong: expected an object", field=place[:-1], seen=span)
    context = _object(span.get("context"))
    found = flattened(nested(attributes_of(span)))
    about: dict[str, Any] = {
        "id": _first(span, _IDS) or _first(context, ("span_id",)),
        "trace": _first(span, _TRACES) or _first(context, ("trace_id",)),
    }
    if about["trace"] is None:
        raise RecordError("is missing", field=f"{place}traceId", seen=", ".join(span))
    if "body" in span or "eventName" in span:
        yield from _logged(span, found, place, about)
        return
    about |= {
        "thread": _first(found, _THREADS),
        "model": _first(found, _MODELS),
        "name": _first(found, ("gen_ai.agent.name", "agent.name")),
        "system": _first(shared, ("service.name",)),
        "began": moment(_first(span, _BEGAN)),
        "ended": moment(_first(span, _ENDED)),
    }
    tree = nested(found)
    asked = _messages(tree, _ASKED, "user", place)
    replied = _messages(tree, _REPLIED, "assistant", place)
    if asked is None and replied is None:
        asked, replied = _events(span, place)
    root = _first(span, _PARENTS) is None
    whole = False
    if asked is None and replied is None and (root or _is_call(found)):
        whole = root
        for side in ("input", "output"):
            if unnested(tree, f"{side}.mime_type") == "application/json":
                tree[side]["value"] = decoded(tree[side].get("value"))
        asked = _messages(tree, ("input.value",), "user", place)
        replied = _messages(tree, ("output.value",), "assistant", place)
    if replied is None and (root or asked or _is_call(found)) and _status(span):
        yield FailedCall(_status(span), about["trace"])
        return
    if asked is None and replied is None:
        if _is_call(found) or root:
            yield Call([], 0, expected=_is_call(found), **about)
        return
    told = exchange_of(asked, replied)
    prompt = unnested(tree, "gen_ai.system_instructions")
    if prompt:
        found["system_instructions"] = decoded(prompt)
    kept = {"name": span.get("name"), "attributes": _small(found)}
    yield Call(told.turns, told.given, kept=kept, whole=whole, **about)


def _status(span: Mapping[str, Any]) -> str:
    """What a span that ended in an error says of it; empty for the others."""
    status = decoded(span.get("status", span.get("status_code")))
    if not ended_in_error(status):
        return ""
    told = _first(_object(status), ("message", "description"))
    return told or _first(span, ("status_message", "status_description")) or "error"


def _messages(tree: dict[str, Any], paths: Iterable[str], role: str, place: str) -> Found | None:
    for path in paths:
        value = unnested(tree, path)
        if value is None:
            continue
        value = decoded(value) if path.endswith("messages") else value
        if path.endswith("messages") and isinstance(value, str):
            raise RecordError(
                "is no list of messages", field=f"{place}attributes.{path}", seen=value
            )
        value = _opened(value)
        found = messages_in(value, role=role, path=f"{place}attributes.{path}")
        if found is not None:
            return found
    return None


def _opened(value: object) -> object:
    """Messages that stood in a string may have dotted names inside."""
    if isinstance(value, list):
        return [nested(item) if isinstance(item, dict) else item for item in value]
    return value


def _events(span: dict[str, Any], place: str) -> tuple[Found | None, Found | None]:
    """Messages that were noted as events: one each, or all of them in one."""
    asked: list[object] = []
    replied: list[object] = []
    for event in _list(decoded(span.get("events"))):
        name = event.get("name") if isinstance(event, dict) else None
        if not isinstance(name, str) or not name.startswith(_EVENT):
            continue
        facts = attributes_of(event)
        tree = nested(facts)
        both = [(_ASKED, asked, "user"), (_REPLIED, replied, "assistant")]
        for paths, messages, role in both:
            found = _messages(tree, paths, role, f"{place}events.")
            messages += found.messages if found else []
        message = _event_message(name, {**facts, **_object(facts.get("gen_ai.event.content"))})
        if message is not None:
            (replied if name == "gen_ai.choice" else asked).append(message)
    path = f"{place}events"
    return (
        messages_in(asked, role="user", path=path) if asked else None,
        messages_in(replied, role="assistant", path=path) if replied else None,
    )


def _event_message(name: str, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message in an event called `gen_ai.user.message`, `gen_ai.choice` and so on."""
    inner = decoded(facts.get("message"))
    body = inner if isinstance(inner, dict) else facts
    if name == "gen_ai.choice":
        role = "assistant"
        content = inner if isinstance(inner, str) else body.get("content")
    elif name.endswith(".message"):
        role = name.split(".")[1]
        content = body.get("content")
    else:
        return None
    calls = decoded(body.get("tool_calls"))
    return {"role": role, "content": content, **({"tool_calls": calls} if calls else {})}


def _logged(
    record: dict[str, Any], facts: dict[str, Any], place: str, about: dict[str, Any]
) -> Iterator[Call]:
    """A log record that notes one message of a span, as calls that grow by it."""
    name = record.get("eventName") or facts.get("event.name")
    body = record.get("body")
    told = attributes_of({"attributes": [{"key": "body", "value": body}]}).get("body")
    if not isinstance(name, str) or not name.startswith(_EVENT):
        return
    inside = told if isinstance(told, dict) else {"content": told}
    message = _event_message(name, inside)
    if message is None:
        asked = _messages(nested({**facts, **inside}), _ASKED, "user", place)
        replied = _messages(nested({**facts, **inside}), _REPLIED, "assistant", place)
        if asked or replied:
            whole = exchange_of(asked, replied)
            yield Call(whole.turns, whole.given, **about)
        return
    yield Call(
        [],
        0,
        trace=about["trace"],
        began=moment(_first(record, _BEGAN)),
        kept={"span": about["id"], "message": message, "reply": name == "gen_ai.choice"},
    )


def _complete(calls: list[Call | FailedCall], sources: list[Source]) -> list[Item]:
    """Log records of one span become the turns of that span's call."""
    notes: dict[tuple[str | None, object], list[Call]] = {}
    rest: list[Call] = []
    wrong: list[Item] = []
    failed = [call for call in calls if isinstance(call, FailedCall)]
    for call in (call for call in calls if isinstance(call, Call)):
        if not call.turns and "message" in call.kept:
            notes.setdefault((call.trace, call.kept["span"]), []).append(call)
        else:
            rest.append(call)
    spans = {(call.trace, call.id): call for call in rest}
    for (trace, span), group in notes.items():
        asked = [note.kept["message"] for note in group if not note.kept["reply"]]
        replied = [note.kept["message"] for note in group if note.kept["reply"]]
        try:
            told = exchange_of(
                messages_in(asked, role="user", path="body") if asked else None,
                messages_in(replied, role="assistant", path="body") if replied else None,
            )
        except RecordError as error:
            wrong.append(error)
            continue
        known = spans.get((trace, str(span)))
        if known is None:
            known = Call([], 0, line=group[0].line, trace=trace, began=group[0].began)
            rest.append(known)
        if not known.turns:
            known.turns, known.given = told.turns, told.given
    return [*rest, *failed, *wrong]


def _is_call(found: Mapping[str, Any]) -> bool:
    kind = str(found.get("openinference.span.kind", "")).upper()
    operation = str(found.get("gen_ai.operation.name", ""))
    return kind == "LLM" or operation in ("chat", "text_completion", "generate_content")


def _small(found: Mapping[str, Any]) -> dict[str, object]:
    """The attributes without those that hold the conversation."""
    told = (*_ASKED, *_REPLIED, "input.", "output.", "gen_ai.system_instructions")
    return {key: value for key, value in found.items() if not key.startswith(told)}


def _first(record: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    values = (record.get(key) for key in keys)
    return next((str(value) for value in values if value not in (None, "")), None)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    value = decoded(value)
    return value if isinstance(value, dict) else {}


SPANS = CallReader(
    name="spans",
    summary="OpenTelemetry GenAI and OpenInference (Phoenix) spans: OTLP JSON, JSONL, Parquet",
    example=(
        '{"name": "chat bot-1", "context": {"trace_id": "t1", "span_id": "s1"}, "parent_id": null, '
        '"start_time": "2026-01-01T12:00:00Z", "end_time": "2026-01-01T12:00:01Z", '
        '"attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "bot-1", '
        '"gen_ai.conversation.id": "c1", "gen_ai.input.messages": [{"role": "user", '
        '"parts": [{"type": "text", "content": "Hello!"}]}], "gen_ai.output.messages": '
        '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello, how are you?"}]}]}}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
    complete=_complete,
)
