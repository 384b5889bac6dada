"""Dialogflow's conversations: history, BigQuery rows and Cloud Logging entries of CX; ES responses.

- CX conversations, as the API gives them: `{name, interactions: [{request, response}]}`;
- CX interaction logs in BigQuery, a row an exchange: `{conversation_name, turn_position, request,
  response}`, as JSON lines or CSV;
- CX requests and responses in Cloud Logging: entries with `jsonPayload` and `labels.session_id`;
- ES responses or webhook requests: `{session, queryResult: {queryText, fulfillmentText}}`.

What the user wrote or said is the partner's turn, the texts of one response are one turn of the
agent. Events, payloads and hand-overs are no turns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import Source, json_records
from dialens.corpus.readers._cells import header_of, table_rows
from dialens.corpus.readers._fields import moment
from dialens.corpus.readers._posts import ChatReader, Post

_DECODER = msgspec.json.Decoder(dict[str, Any])
_ROW = frozenset({"conversation_name", "turn_position", "request", "response"})
Exchange = tuple[str, Any, list[Post]]
"""The dialogue, what orders it in there, and the posts of it."""


def _recognises(source: Source) -> bool:
    first = source.first
    if first is None:
        return set(header_of(source)) >= _ROW
    listed = first.get("conversations")
    if isinstance(listed, list) and listed and isinstance(listed[0], dict):
        first = listed[0]
    return (
        _is_history(first)
        or first.keys() >= _ROW
        or _is_entry(first)
        or (isinstance(first.get("queryResult"), dict) and "session" in first)
    )


def _is_history(record: Mapping[str, Any]) -> bool:
    interactions = record.get("interactions")
    return (
        isinstance(interactions, list)
        and bool(interactions)
        and isinstance(interactions[0], dict)
        and isinstance(interactions[0].get("response"), dict)
        and "queryResult" in interactions[0]["response"]
    )


def _is_entry(record: Mapping[str, Any]) -> bool:
    return "dialogflow" in str(record.get("logName")) and "jsonPayload" in record


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    exchanges = list(_tabled(source, intake) if source.first is None else _listed(source, intake))
    order = [key for _, key, _ in exchanges]
    if all(key is not None for key in order):
        exchanges.sort(key=lambda exchange: exchange[1])
    asked = {
        dialog
        for dialog, _, posts in exchanges
        if any((post.meta or {}).get("request") for post in posts)
    }
    for dialog, _, posts in exchanges:
        for post in posts:
            # In a log the user's words stand in the request and again in the response to it.
            repeated = (post.meta or {}).pop("repeated", False) if post.meta else False
            if post.meta is not None:
                post.meta.pop("request", None)
                post.meta = post.meta or None
            if not (repeated and dialog in asked):
                yield post


def _tabled(source: Source, intake: Intake) -> Iterator[Exchange]:
    for line, row in table_rows(source, intake):
        try:
            yield _row(row, line)
        except UNREADABLE as error:
            seen = RecordError(str(error), field="response", seen=row.get("response"))
            intake.reject(source.path, line, error if isinstance(error, RecordError) else seen)


def _listed(source: Source, intake: Intake) -> Iterator[Exchange]:
    for record in json_records(source):
        try:
            if record.problem:
                raise record.problem
            content = _DECODER.decode(record.raw)
            exchanges = list(_record(content, record.line, f"{source.stem}-{record.number}"))
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))
            continue
        yield from exchanges


def _record(content: dict[str, Any], line: int, nameless: str) -> Iterator[Exchange]:
    if isinstance(content.get("conversations"), list):
        for number, one in enumerate(content["conversations"], 1):
            yield from _record(one, line, f"{nameless}.{number}")
    elif "interactions" in content:
        yield from _history(content, line, nameless)
    elif "conversation_name" in content:
        yield _row(content, line)
    elif "jsonPayload" in content:
        yield _entry(content, line)
    elif "queryResult" in content:
        yield _response(content, line)
    else:
        raise RecordError("is missing", field="interactions", seen=sorted(content))


def _history(content: dict[str, Any], line: int, nameless: str) -> Iterator[Exchange]:
    dialog = _last(content.get("name") or nameless, "name")
    interactions = content["interactions"]
    if not isinstance(interactions, list):
        raise RecordError("is wrong: expected a list", field="interactions", seen=interactions)
    for number, one in enumerate(interactions):
        place = f"interactions[{number}]"
        if not isinstance(one, dict):
            raise RecordError("is wrong: expected an object", field=place, seen=one)
        when = one.get("createTime") or content.get("startTime")
        key = (str(one["createTime"]), number) if one.get("createTime") else None
        feedback = {"answer_feedback": one["answerFeedback"]} if one.get("answerFeedback") else {}
        posts = _exchange(
            dialog, one.get("request"), one.get("response"), when, line, place, feedback
        )
        yield dialog, key, posts


def _row(content: Mapping[str, Any], line: int) -> Exchange:
    dialog = _last(content.get("conversation_name"), "conversation_name")
    request, response = (
        _DECODER.decode(content[key])
        if isinstance(content.get(key), str) and content[key]
        else content.get(key)
        for key in ("request", "response")
    )
    try:
        position = int(content.get("turn_position") or 0)
    except (TypeError, ValueError):
        raise RecordError(
            "is not a whole number", field="turn_position", seen=content.get("turn_position")
        ) from None
    when = content.get("request_time")
    return dialog, (dialog, position), _exchange(dialog, request, response, when, line, "", {})


def _entry(content: Mapping[str, Any], line: int) -> Exchange:
    payload, labels = content.get("jsonPayload"), content.get("labels")
    if not isinstance(payload, dict):
        raise RecordError("is wrong: expected an object", field="jsonPayload", seen=payload)
    named = labels.get("session_id") if isinstance(labels, dict) else None
    dialog = _last(named or payload.get("session"), "labels.session_id")
    when = content.get("timestamp") or content.get("receiveTimestamp")
    posts: list[Post] = []
    if isinstance(payload.get("queryInput"), dict):
        posts = _exchange(dialog, payload, None, when, line, "jsonPayload", {})
        for post in posts:
            post.meta = {**(post.meta or {}), "request": True}
    elif isinstance(payload.get("queryResult"), dict):
        posts = _exchange(dialog, None, payload, when, line, "jsonPayload", {})
        for post in posts:
            if not post.bot:
                post.meta = {**(post.meta or {}), "repeated": True}
    return dialog, None if when is None else (str(when), line), posts


def _response(content: Mapping[str, Any], line: int) -> Exchange:
    dialog = _last(content.get("session"), "session")
    when = content.get("timestamp")
    posts = _exchange(dialog, None, content, when, line, "", {})
    return dialog, None, posts


def _last(name: object, field: str) -> str:
    """The conversation's own id, at the end of its long name."""
    if not isinstance(name, str) or not name:
        raise RecordError("is missing", field=field, seen=name)
    return name.rstrip("/").rpartition("/")[2]


def _exchange(
    dialog: str,
    request: Any,
    response: Any,
    when: object,
    line: int,
    place: str,
    about: dict[str, object],
) -> list[Post]:
    """What the user said and what the agent answered."""
    before = f"{place}." if place else ""
    result = response.get("queryResult") if isinstance(response, dict) else None
    if response is not None and not isinstance(result, dict):
        raise RecordError("is missing", field=f"{before}response.queryResult", seen=response)
    result = result or {}
    posts: list[Post] = []
    said = _said(request, result, f"{before}request")
    moment_ = moment(when)
    if said is not None:
        posts.append(Post(dialog, line, "user", said, moment_))
    elif request is not None or result:
        event = result.get("triggerEvent") or result.get("triggerIntent") or "event"
        posts.append(Post(dialog, line, "user", str(event), moment_, aside=True))
    if result:
        text, other = _answer(result, f"{before}response.queryResult")
        facts = {**about, **({"messages": other} if other else {})}
        intent = result.get("intent") or (result.get("match") or {}).get("intent") or {}
        if isinstance(intent, dict) and intent.get("displayName"):
            facts["intent"] = intent["displayName"]
        posts.append(
            Post(
                dialog,
                line,
                "agent",
                text or "",
                moment_,
                bot=True,
                aside=text is None,
                meta=facts or None,
            )
        )
    return posts


def _said(request: Any, result: Mapping[str, Any], place: str) -> str | None:
    """The user's words: typed, or as they were understood when spoken."""
    query = request.get("queryInput") if isinstance(request, dict) else None
    if isinstance(query, dict) and isinstance(query.get("text"), dict):
        typed = query["text"].get("text")
        if not isinstance(typed, str):
            raise RecordError("is missing", field=f"{place}.queryInput.text.text", seen=typed)
        return typed
    return next(
        (
            result[key]
            for key in ("text", "transcript", "queryText")
            if isinstance(result.get(key), str)
        ),
        None,
    )


def _answer(result: Mapping[str, Any], place: str) -> tuple[str | None, list[Any]]:
    """The texts of a response, and its messages that are none."""
    key = "responseMessages" if "responseMessages" in result else "fulfillmentMessages"
    messages = result.get(key, [])
    if not isinstance(messages, list):
        raise RecordError("is wrong: expected a list", field=f"{place}.{key}", seen=messages)
    texts: list[str] = []
    other: list[Any] = []
    for number, message in enumerate(messages):
        inner = message.get("text") if isinstance(message, dict) else None
        variants = inner.get("text") if isinstance(inner, dict) else None
        if inner is None:
            other.append(message)
        elif isinstance(variants, list) and all(isinstance(one, str) for one in variants):
            texts.extend(variants[:1])  # of several ways to say it, one is said
        else:
            wrong = f"{place}.{key}[{number}].text.text"
            raise RecordError("is missing or no list of texts", field=wrong, seen=inner)
    if not texts and isinstance(result.get("fulfillmentText"), str):
        texts = [result["fulfillmentText"]]
    return ("\n".join(texts) if texts else None), other


DIALOGFLOW = ChatReader(
    name="dialogflow",
    summary="Dialogflow CX: conversation history, BigQuery rows or Cloud Logging; ES responses",
    example=(
        '{"name": "projects/p/locations/global/agents/a/conversations/c1", "interactions": [{'
        '"createTime": "2024-05-01T10:30:00Z", '
        '"request": {"queryInput": {"text": {"text": "Is it raining?"}, "languageCode": "en"}}, '
        '"response": {"queryResult": {"responseMessages": '
        '[{"text": {"text": ["A little, I hear."]}}]}}}]}\n'
    ),
    recognises=_recognises,
    posts=_posts,
    agent=UNKNOWN,
)
