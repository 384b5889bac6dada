"""Runs exported from LangSmith: JSONL, JSON, CSV or Parquet.

A run is a call, the runs of a trace are an exchange: the root's inputs and outputs if they are
messages or text, else the longest line of the `llm` runs. Runs with the same `thread_id`,
`session_id` or `conversation_id` in their metadata are one dialogue. (A run's own `session_id` is
its project in LangSmith, not a conversation.) The model is the agent, the project the system.
Feedback is kept as ratings of the reply, with the average that LangSmith gives.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialens.corpus._dialogue import Rating
from dialens.corpus._intake import RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._exchanges import exchange_of
from dialens.corpus.readers._failures import FailedCall, ended_in_error, error_in
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._payloads import Found, decoded, messages_in, text_as_message
from dialens.corpus.readers._rows import Row, columns

_THREADS = ("thread_id", "session_id", "conversation_id")
_MODELS = ("ls_model_name", "model", "model_name", "deployment", "azure_deployment")
_MODEL_RUNS = ("llm", "chat_model")
_TALKING = (*_MODEL_RUNS, "chain", "agent", "")
_SPEAKERS = {"Human": "user", "AI": "assistant", "System": "system", "Tool": "tool"}
_SPEAKER = re.compile(rf"^({'|'.join(_SPEAKERS)}):", re.MULTILINE)
_KEPT = ("name", "run_type", "tags", "error", "status", "total_tokens", "total_cost")


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    names = set(columns(source))
    inside = (source.first or {}).get("runs")
    if isinstance(inside, list) and inside and isinstance(inside[0], dict):
        names = set(inside[0])
    marks = {"run_type", "dotted_order", "trace_id", "dataset_id", "parent_run_id"}
    return "inputs" in names and bool(marks & names)


def _parse(row: Row, source: Source) -> Iterable[Item]:
    inside = row.content.get("runs")
    if not isinstance(inside, list):
        yield from _run(row.content, "")
        return
    for number, run in enumerate(inside):
        try:
            yield from _run(run, f"runs[{number}].")
        except RecordError as error:
            yield error


def _run(run: dict[str, Any], place: str) -> Iterator[Item]:
    if "inputs" not in run:
        raise RecordError("is missing", field=f"{place}inputs", seen=", ".join(run))
    kind = str(run.get("run_type") or "").lower()
    name, trace = _text(run, "id"), _text(run, "trace_id")
    root = not run.get("parent_run_id") and trace in (None, name)
    extra = _object(run.get("extra"))
    metadata = {**_object(run.get("metadata")), **_object(extra.get("metadata"))}
    outputs = decoded(run.get("outputs"))
    about: dict[str, Any] = {
        "id": name,
        "trace": trace or name,
        "thread": _text(run, "thread_id") or _text(metadata, *_THREADS),
        "system": _text(run, "session_name", "project_name"),
        "name": _text(run, "name") if root else None,
        "model": _model(metadata, extra, outputs),
        "kept": {
            **{key: run[key] for key in _KEPT if run.get(key)},
            **({"metadata": metadata} if metadata else {}),
        },
        "ratings": list(_ratings(run)),
    }
    if kind not in _TALKING or (kind not in _MODEL_RUNS and not root):
        yield Call([], 0, expected=False, **about)
        return
    asked = _asked(decoded(run["inputs"]), f"{place}inputs")
    replied = messages_in(outputs, role="assistant", path=f"{place}outputs")
    if replied is None and (run.get("error") or ended_in_error(run.get("status"))):
        yield FailedCall(error_in(run.get("error"), "error"), trace or name)
        return
    if asked is None and replied is None:
        yield Call([], 0, **about)
        return
    found = exchange_of(asked, replied)
    yield Call(
        found.turns,
        found.given,
        began=moment(run.get("start_time")),
        ended=moment(run.get("end_time")),
        whole=root and kind not in _MODEL_RUNS,
        **about,
    )


def _asked(inputs: object, path: str) -> Found | None:
    prompts = inputs.get("prompts") if isinstance(inputs, dict) else None
    if not isinstance(prompts, list) or not prompts or not isinstance(prompts[0], str):
        return messages_in(inputs, role="user", path=path)
    parts = _SPEAKER.split(prompts[0])  # messages in one text, as older tracers noted them
    if parts[0].strip() or len(parts) == 1:
        return text_as_message(prompts[0], role="user", path=f"{path}.prompts[0]")
    said = zip(parts[1::2], parts[2::2], strict=True)
    return Found(
        [
            {"role": _SPEAKERS[name], "content": text.removesuffix("\n").removeprefix(" ")}
            for name, text in said
        ],
        f"{path}.prompts",
    )


def _model(metadata: dict[str, Any], extra: dict[str, Any], outputs: object) -> str | None:
    result = outputs if isinstance(outputs, dict) else {}
    places = (
        metadata,
        _object(extra.get("invocation_params")),
        _object(result.get("llm_output")),
        result,
    )
    return next((name for name in (_text(place, *_MODELS) for place in places) if name), None)


def _ratings(run: dict[str, Any]) -> Iterator[Rating]:
    for quality, entry in _object(run.get("feedback_stats")).items():
        value = entry.get("avg") if isinstance(entry, dict) else entry
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Rating(quality, float(value), rater="langsmith:feedback", rater_kind="llm")


def _object(value: object) -> dict[str, Any]:
    value = decoded(value)
    return value if isinstance(value, dict) else {}


def _text(record: Mapping[str, Any], *keys: str) -> str | None:
    values = (record.get(key) for key in keys)
    return next(
        (str(value) for value in values if isinstance(value, str | int) and value != ""), None
    )


LANGSMITH = CallReader(
    name="langsmith",
    summary="LangSmith runs (JSONL, JSON, CSV, Parquet); runs of one thread are a dialogue",
    example=(
        '{"id": "r1", "trace_id": "r1", "run_type": "llm", "name": "ChatModel", '
        '"start_time": "2026-01-01T12:00:00", "extra": {"metadata": {"thread_id": "s1", '
        '"ls_model_name": "bot-1"}}, '
        '"inputs": {"messages": [[{"lc": 1, "type": "constructor", "id": ["langchain", "schema", '
        '"messages", "HumanMessage"], "kwargs": {"content": "Hello!"}}]]}, '
        '"outputs": {"generations": [[{"text": "", "message": {"lc": 1, "type": "constructor", '
        '"id": ["langchain", "schema", "messages", "AIMessage"], '
        '"kwargs": {"content": "Hello, how are you?"}}}]]}}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
)
