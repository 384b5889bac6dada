"""Exports of Langfuse: traces, observations and scores, as JSON, JSONL, CSV or Parquet.

A trace is an exchange: its own input and output if they are messages or text, else the longest line
of its generations. Traces of one session are one dialogue. The model of the generations is the
agent, else the trace's name. Pages of the API (`{"data": […]}`), traces with their observations
inside, and folders with traces, observations and scores in files of their own read alike.

Scores are ratings of the reply. Those of people's annotations have their author as rater; others
`langfuse:SOURCE`. What Langfuse calls `API` may have come from anyone: it is taken for a machine's.
"""

from collections.abc import Iterable, Iterator, Set
from typing import Any

from dialens.corpus._dialogue import Rating
from dialens.corpus._intake import RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._exchanges import exchange_of
from dialens.corpus.readers._failures import FailedCall, ended_in_error
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._payloads import decoded, messages_in
from dialens.corpus.readers._rows import Row, columns

_TRACE_ONLY = {"sessionid", "userid", "bookmarked", "htmlpath", "observations", "release", "public"}
_STEPS = ("GENERATION", "AGENT", "CHAIN", "SPAN")
_NOT_KEPT = {"input", "output", "observations", "scores", "sessionid", "id", "traceid", "timestamp"}
_RAW = {"projectid", "createdat", "updatedat", "starttime", "endtime", "parentobservationid"}


def _flat(key: str) -> str:
    return key.replace("_", "").replace(" ", "").lower()


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    """A record under keys without case and underscores, as exports differ in them."""
    is_csv = all(isinstance(value, str) for value in content.values())
    return {_flat(key): None if is_csv and value == "" else value for key, value in content.items()}


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    first = source.first or {}
    for key in ("data", "traces"):
        inside = first.get(key)
        if isinstance(inside, list) and inside and isinstance(inside[0], dict):
            return _is_one({_flat(name) for name in inside[0]})
    return _is_one({_flat(name) for name in columns(source)})


def _is_one(keys: Set[str]) -> bool:
    return _is_trace(keys) or _is_observation(keys) or _is_score(keys)


def _is_trace(keys: Set[str]) -> bool:
    return (
        {"id", "input", "output"} <= keys
        and bool(_TRACE_ONLY & keys)
        and bool({"timestamp", "name", "metadata"} & keys)
    )


def _is_observation(keys: Set[str]) -> bool:
    return {"id", "traceid", "type", "starttime", "input"} <= keys


def _is_score(keys: Set[str]) -> bool:
    return {"traceid", "name", "value", "source"} <= keys and "input" not in keys


def _parse(row: Row, source: Source) -> Iterable[Item]:
    content = row.content
    for key in ("data", "traces"):
        inside = content.get(key)
        if isinstance(inside, list) and "input" not in content:
            for number, item in enumerate(inside):
                yield from _one(item, f"{key}[{number}].")
            return
    yield from _one(content, "")


def _one(item: object, place: str) -> Iterator[Item]:
    try:
        if not isinstance(item, dict):
            raise RecordError("is wrong: expected an object", field=place.rstrip("."), seen=item)
        record = _plain(item)
        if _is_observation(record.keys()):
            yield from _observation(record, place, {})
        elif _is_score(record.keys()):
            yield Call([], 0, trace=_text(record, "traceid"), ratings=list(_ratings([record])))
        elif _is_trace(record.keys()) or {"id", "input", "output"} <= record.keys():
            yield from _trace(record, place)
        else:
            raise RecordError(
                "is no trace, observation or score of Langfuse",
                field=place.rstrip("."),
                seen=", ".join(item),
            )
    except RecordError as error:
        yield error


def _trace(record: dict[str, Any], place: str) -> Iterator[Item]:
    name = _text(record, "id")
    began = moment(record.get("timestamp"))
    about: dict[str, Any] = {
        "trace": name,
        "thread": _text(record, "sessionid"),
        "name": _text(record, "name"),
        "kept": _kept(record),
        "ratings": list(_ratings(decoded(record.get("scores")))),
    }
    call = _call(record, place, id=name, began=began, whole=True, **about)
    yield call or Call([], 0, id=name, **about)
    inside = decoded(record.get("observations"))
    for number, item in enumerate(inside if isinstance(inside, list) else []):
        if isinstance(item, dict):  # lists of traces name their observations by id only
            yield from _observation(_plain(item), f"{place}observations[{number}].", about)


def _observation(record: dict[str, Any], place: str, trace: dict[str, Any]) -> Iterator[Item]:
    """A step of a trace, if it is one that talks; the root of a trace counts for the trace."""
    kind = str(record.get("type", "")).upper()
    root = record.get("isrootobservation") is True or record.get("parentobservationid") is None
    if kind not in _STEPS or (kind != "GENERATION" and (trace or not root)):
        return
    if ended_in_error(record.get("level")) and not record.get("output"):
        said = _text(record, "statusmessage") or "error"
        yield FailedCall(said, _text(record, "traceid") or trace.get("trace"))
        return
    model = _text(record, "model", "providedmodelname", "modelid")
    try:
        call = _call(
            record,
            place,
            id=_text(record, "id"),
            trace=_text(record, "traceid") or trace.get("trace"),
            thread=_text(record, "sessionid") or trace.get("thread"),
            model=model,
            name=_text(record, "tracename") or trace.get("name"),
            began=moment(record.get("starttime")),
            ended=moment(record.get("endtime")),
            kept=_kept(record),
            whole=root and kind != "GENERATION",
        )
    except RecordError as error:
        yield error
        return
    if call is not None:
        yield call
    elif root and not trace:
        session, name = _text(record, "sessionid"), _text(record, "tracename", "name")
        owner = _text(record, "traceid")
        yield Call([], 0, trace=owner, thread=session, name=name, expected=kind == "GENERATION")


def _call(record: dict[str, Any], place: str, **known: Any) -> Call | None:
    """The call in an input and an output, or None if no message stands in them."""
    given, said = record.get("input"), record.get("output")
    if isinstance(given, str) and not isinstance(decoded(given), str):
        given, said = decoded(given), decoded(said)  # an export that keeps JSON in strings
    asked = messages_in(given, role="user", path=f"{place}input")
    replied = messages_in(said, role="assistant", path=f"{place}output")
    if asked is None and replied is None:
        return None
    found = exchange_of(asked, replied)
    return Call(found.turns, found.given, **known)


def _text(record: dict[str, Any], *keys: str) -> str | None:
    values = (record.get(key) for key in keys)
    return next((str(value) for value in values if value not in (None, "")), None)


def _kept(record: dict[str, Any]) -> dict[str, object]:
    kept = {key: decoded(value) for key, value in record.items() if key not in _NOT_KEPT | _RAW}
    return {key: value for key, value in kept.items() if value not in (None, [], {})}


def _ratings(scores: object) -> Iterator[Rating]:
    if isinstance(scores, dict):  # one column of a table: a value or values by name
        scores = [
            {"name": name, "value": value}
            for name, values in scores.items()
            for value in (values if isinstance(values, list) else [values])
        ]
    for item in scores if isinstance(scores, list) else []:
        score = _plain(item) if isinstance(item, dict) else {}
        value = score.get("value")
        try:
            number = float(value) if isinstance(value, int | float | str) else None
        except ValueError:
            number = None
        if number is None or not isinstance(score.get("name"), str):
            continue
        origin = str(score.get("source") or "score").upper()
        people = origin == "ANNOTATION"
        yield Rating(
            quality=score["name"],
            value=number,
            rater=_text(score, "authoruserid") or f"langfuse:{origin.lower()}",
            rater_kind="human" if people else "llm",
            scale=[0, 1] if str(score.get("datatype")).upper() == "BOOLEAN" else None,
            answered_at=moment(score.get("timestamp")),
        )


LANGFUSE = CallReader(
    name="langfuse",
    summary="Langfuse: traces, observations and scores (JSON, JSONL, CSV); a session is a dialogue",
    example=(
        '{"id": "t1", "timestamp": "2026-01-01T12:00:00Z", "name": "chat", "sessionId": "s1", '
        '"input": {"messages": [{"role": "user", "content": "Hello!"}]}, '
        '"output": {"role": "assistant", "content": "Hello, how are you?"}}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
)
