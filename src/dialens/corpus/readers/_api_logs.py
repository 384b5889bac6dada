"""Logs of the APIs of OpenAI, Anthropic and what is compatible with them.

- A request with its response: `{"request": …, "response": …}`, bodies in themselves or under
  `body`; or the request's own keys with `response` or `choices` beside them.
- The response alone: chat completions, Responses API objects, Anthropic messages.
- Batches: output lines (`custom_id` with `response`, or Anthropic's `result`). Their requests are
  joined by `custom_id` from the batch's input file, if it lies in the same folder.
- Amazon Bedrock's logs of model invocations (`inputBodyJson`, `outputBodyJson`).

Requests repeat the conversation so far and are put together as `_calls` says. A response that
names the one before (`previous_response_id`) goes on from it; `conversation`, or a session's or
thread's id in the record or its metadata, names the dialogue. The agent is the model that replied.
A call that failed (an error, no response, a line of a batch with a status such as 429) is left out
and counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialens.base import DialensError
from dialens.corpus._intake import RecordError
from dialens.corpus._marks import finish_of
from dialens.corpus._source import Source
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._exchanges import exchange_of
from dialens.corpus.readers._failures import FailedCall, ended_in_error, error_in
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._payloads import decoded, messages_in
from dialens.corpus.readers._rows import Row, columns, rows

_REQUEST = ("request", "req", "request_body", "body", "params")
_RESPONSE = ("response", "resp", "response_body", "result", "completion")
_GIVEN = ("messages", "input", "contents", "prompt")
_OBJECTS = ("chat.completion", "response", "text_completion")
_THREADS = ("conversation_id", "session_id", "thread_id", "conversationId", "sessionId", "threadId")
_TIMES = ("timestamp", "created_at", "createdAt", "start_time", "time", "ts")
_REPLY = ("choices", "candidates", "content", "output")
_BATCH_FAILURES = ("error", "errored", "expired", "canceled")
_SMALL = 2048


def _recognises(source: Source) -> bool:
    first = _from_bedrock(source.first or {})
    if first.get("object") in _OBJECTS or _is_anthropic(first):
        return True
    if "custom_id" in first and any(key in first for key in (*_REQUEST, *_RESPONSE)):
        return True
    request = _request(first)
    response = _response(first)
    if request is first:
        return any(key in first for key in ("messages", "input")) and _replies(response)
    if request is None or not any(key in request for key in _GIVEN):
        return False
    return "body" in first or any(key in first for key in _RESPONSE)


def _from_bedrock(record: dict[str, Any]) -> dict[str, Any]:
    """A model invocation log of Amazon Bedrock as a request with its response."""
    asked, replied = record.get("input"), record.get("output")
    if not isinstance(asked, dict) or "inputBodyJson" not in asked:
        return record
    result = replied.get("outputBodyJson") if isinstance(replied, dict) else None
    if isinstance(result, list):  # a stream: the pieces of one reply
        result = {"role": "assistant", "content": "".join(map(_piece, result))}
    rest = {key: value for key, value in record.items() if key not in ("input", "output")}
    return {
        **rest,
        "request": {"model": record.get("modelId"), **asked["inputBodyJson"]},
        "response": result,
        "error": record.get("errorCode"),
    }


def _piece(event: object) -> str:
    """The text of one event of a stream, as Converse and Anthropic's models write them."""
    inside = event if isinstance(event, dict) else {}
    delta = inside.get("contentBlockDelta", inside).get("delta")
    text = delta.get("text") if isinstance(delta, dict) else None
    return text if isinstance(text, str) else ""


def _is_anthropic(record: Mapping[str, Any]) -> bool:
    return (
        record.get("type") == "message"
        and record.get("role") == "assistant"
        and {"model", "content"} <= record.keys()
    )


def _replies(response: object) -> bool:
    """Whether this is the body of a response, not something else that is called so."""
    return isinstance(response, dict) and (
        response.get("object") in _OBJECTS
        or isinstance(response.get("choices"), list)
        or _is_anthropic(response)
        or isinstance(response.get("candidates"), list)
        or _is_output_of_responses(response)
    )


def _is_output_of_responses(record: Mapping[str, Any]) -> bool:
    items = record.get("output")
    return isinstance(items, list) and any(
        isinstance(item, dict) and item.get("type") == "message" and item.get("role") == "assistant"
        for item in items
    )


def _body(record: Mapping[str, Any], keys: Iterable[str]) -> object:
    """What stands under the first of the keys, without the envelope of HTTP."""
    value = next((decoded(record[key]) for key in keys if record.get(key) is not None), None)
    if isinstance(value, dict) and "body" in value and not any(key in value for key in _GIVEN):
        return decoded(value["body"])
    return value


def _request(record: dict[str, Any]) -> dict[str, Any] | None:
    body = _body(record, _REQUEST)
    if isinstance(body, dict):
        return body
    return record if any(key in record for key in ("messages", "input", "contents")) else None


def _response(record: dict[str, Any]) -> object:
    known = record.get("object") in _OBJECTS or _is_anthropic(record)
    if known or "choices" in record or _is_output_of_responses(record):
        return {key: value for key, value in record.items() if key not in _GIVEN}
    body = _body(record, _RESPONSE)
    if isinstance(body, dict) and isinstance(body.get("message"), dict) and "type" in body:
        return body["message"]  # the result of a batch of Anthropic
    return body


def _parse(row: Row, source: Source) -> Iterable[Item]:
    record = _from_bedrock(row.content)
    request, response = _request(record), _response(record)
    if request is None and response is None and not record.get("error"):
        raise RecordError(
            "holds neither a request nor a response", field="request", seen=", ".join(record)
        )
    asked = replied = None
    where = next((key for key in _REQUEST if record.get(key) is not None), "")
    if request is not None:
        asked = messages_in(_only_given(request), role="user", path=_path(record, where))
    if response is not None:
        where = next((key for key in _RESPONSE if record.get(key) is not None), "")
        replied = messages_in(response, role="assistant", path=_path(record, where))
    result = response if isinstance(response, dict) else {}
    sent = request or {}
    custom = _text(record, "custom_id")
    failed = _failure(record, result)
    unanswered = custom is None or any(key in record for key in (*_RESPONSE, "error"))
    if failed or (replied is None and unanswered):
        yield FailedCall(failed, custom)
        return
    name = custom if custom and response is not None else _text(result, "id")
    about: dict[str, Any] = {
        "id": name,
        "trace": custom or name,
        "thread": _thread(record, sent, result),
        "follows": _text(result, "previous_response_id") or _text(sent, "previous_response_id"),
        "model": _text(result, "model", "modelVersion") or _text(sent, "model"),
        "began": _time(record, result),
        "kept": _kept(record, sent, result),
    }
    if asked is None and replied is None:
        yield Call([], 0, **about)
        return
    told = exchange_of(asked, replied)
    finish = finish_of(result)
    if finish and len(told.turns) > told.given:
        told.turns[-1].meta = {**(told.turns[-1].meta or {}), **finish}
    yield Call(told.turns, told.given, **about)


def _failure(record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Why there is no reply in a record; empty if there is one, or nothing is said of it."""
    if any(result.get(key) for key in _REPLY):
        return ""
    bodies = (record[key] for key in _RESPONSE if isinstance(record.get(key), dict))
    envelope: Mapping[str, Any] = next(bodies, {})
    said = error_in(record.get("error"), result.get("error"), envelope.get("error"))
    if said or result.get("type") in _BATCH_FAILURES:
        return said or str(result["type"])
    status = next((place.get("status_code") for place in (envelope, record) if place), None)
    return error_in(result, f"status {status}") if ended_in_error(status) else ""


def _only_given(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what would be taken for a message: `text` is a setting, for one."""
    used = (*_GIVEN, "system", "instructions")
    return {key: value for key, value in request.items() if key in used}


def _path(record: Mapping[str, Any], key: str) -> str:
    value = decoded(record.get(key)) if key else None
    enveloped = isinstance(value, dict) and "body" in value
    return f"{key}.body" if enveloped else key


def _thread(*places: Mapping[str, Any]) -> str | None:
    for place in places:
        inside = place.get("metadata")
        for record in (place, inside if isinstance(inside, dict) else {}):
            found = _text(record, *_THREADS)
            if found:
                return found
        talk = place.get("conversation")
        if isinstance(talk, dict) and talk.get("id"):
            return str(talk["id"])
        if isinstance(talk, str) and talk:
            return talk
    return None


def _time(record: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    stamps = [record.get(key) for key in _TIMES]
    stamps += [response.get("created"), response.get("created_at")]
    return next((found for found in map(moment, stamps) if found is not None), None)


def _kept(
    record: Mapping[str, Any], request: Mapping[str, Any], response: Mapping[str, Any]
) -> dict[str, object]:
    """What else the record says; of request and response, settings and usage."""
    inner = (*_REQUEST, *_RESPONSE, *_GIVEN, "choices", "output", "content", "instructions")
    kept: dict[str, object] = {}
    if request is not record and response.keys() != record.keys():
        kept = {key: value for key, value in record.items() if key not in inner}
    settings = {key: value for key, value in request.items() if key not in (*inner, "system")}
    about = {key: value for key, value in response.items() if key not in (*inner, "candidates")}
    parts = {"request": settings, "response": about}
    return {**kept, **{key: value for key, value in parts.items() if value}}


def _text(record: Mapping[str, Any], *keys: str) -> str | None:
    values = (record.get(key) for key in keys)
    return next(
        (str(value) for value in values if isinstance(value, str | int) and value != ""), None
    )


def _complete(items: list[Call | FailedCall], sources: list[Source]) -> list[Item]:
    """Join the requests of batches with their responses."""
    calls = [item for item in items if isinstance(item, Call)]
    failed = [item for item in items if isinstance(item, FailedCall)]
    asked = {call.trace: call for call in calls if _is_request(call)}
    if not asked and not any(_needs_request(call) for call in calls):
        return list(items)
    replies = [call for call in calls if not _is_request(call)]
    if not replies and not failed:
        return _only_requests(list(asked.values()), sources)
    if any(_needs_request(call) and call.trace not in asked for call in replies):
        for call in _requests_beside(sources):
            asked.setdefault(call.trace, call)
    for call in replies:
        request = asked.pop(call.trace, None) if "custom_id" in call.kept else None
        if request is None:
            continue
        call.turns = [*request.turns, *call.turns]
        call.given = len(request.turns)
        call.model = call.model or request.model
        call.kept = {**request.kept, **call.kept}
    inside = {call.trace for call in calls}
    silent = (FailedCall(trace=call.trace) for call in asked.values() if call.trace in inside)
    return [*replies, *failed, *silent]


def _is_request(call: Call) -> bool:
    return "custom_id" in call.kept and call.id is None


def _needs_request(call: Call) -> bool:
    return "custom_id" in call.kept and call.id is not None and call.given == 0


def _only_requests(requests: list[Call], sources: list[Source]) -> list[Item]:
    path = sources[0].path
    outputs = [other.path.name for other in _beside(sources) if _is_output(other)]
    if outputs and sources[0].label is not None:
        return []  # one file of a folder: the output's turn comes, and brings its requests
    hint = (
        f"Read {outputs[0]}, beside it: its requests are joined from here."
        if outputs
        else "Put the batch's output file beside it and read that."
    )
    raise DialensError(
        f"{path} holds {len(requests):,} requests of a batch and no reply to any of them. {hint}"
    )


def _requests_beside(sources: list[Source]) -> Iterator[Call]:
    for source in _beside(sources):
        if _is_output(source):
            continue
        for row in rows(source):
            if row.problem is None and "custom_id" in row.content:
                yield from (item for item in _parse(row, source) if isinstance(item, Call))


def _beside(sources: list[Source]) -> Iterator[Source]:
    """Other files of a batch in the same folders."""
    taken = {source.path for source in sources}
    for folder in sorted({source.path.parent for source in sources}):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path not in taken and ".json" in path.name:
                source = Source(path)
                if b'"custom_id"' in source.head[:_SMALL] and "custom_id" in columns(source):
                    yield source


def _is_output(source: Source) -> bool:
    return any(key in (source.first or {}) for key in _RESPONSE)


API_LOGS = CallReader(
    name="api-logs",
    summary="Requests and responses of OpenAI's and Anthropic's APIs, batches, Responses API",
    example=(
        '{"request": {"model": "bot-1", "messages": [{"role": "user", "content": "Hello!"}]}, '
        '"response": {"id": "r1", "object": "chat.completion", "model": "bot-1", "choices": '
        '[{"index": 0, "message": {"role": "assistant", "content": "Hello, how are you?"}}]}}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
    complete=_complete,
)
