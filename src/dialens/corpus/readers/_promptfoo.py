r"""Results of promptfoo: the JSON file, JSONL with one result a line, and CSV.

A result is a dialogue: the prompt as it was sent (a text, or chat messages in JSON) and the output.
The provider is the agent, the prompt's label the system. A result without an output (an error, a
timeout) is left out and counted. Results of one `conversationId` are one
dialogue, and where a provider returns the whole conversation (a simulated user), that is read. The
score and the named scores are ratings of the reply by `promptfoo`.

A CSV does not hold the prompt as it was sent. It is filled in from the column's name if that shows
the template; otherwise the test's variables stand in its place.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from dialens.base import DialensError
from dialens.corpus._dialogue import Rating
from dialens.corpus._intake import RecordError, message
from dialens.corpus._source import Source
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._cells import csv_rows, first_rows
from dialens.corpus.readers._exchanges import Exchange, exchange_of, mark_given
from dialens.corpus.readers._failures import FailedCall, error_in
from dialens.corpus.readers._payloads import holds_messages, messages_in, text_as_message
from dialens.corpus.readers._rows import Row, header, rows

_OUTPUT = re.compile(r"\[(?P<provider>[^\]]+)\] (?P<label>.+)", re.DOTALL)
_VERDICT = re.compile(r"\[(PASS|FAIL|ERROR)\]\s?(?:\([\d.]+\)\s?)?")
_ABOUT = re.compile(
    r"(Status|Score|Named Scores|Grader Reason|Comment|Metric: .+|__\w+|Description)"
)
_BESIDE = (["Status"], ["Reasoning"], ["Grader Reason"])
_VARIABLE = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
_KEPT = (
    "vars",
    "error",
    "success",
    "gradingResult",
    "latencyMs",
    "testIdx",
    "promptIdx",
    "metadata",
)
_LONGEST_NAME = 100


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    first = source.first
    if first is None:
        return bool(header(source)) and _has_outputs(first_rows(source))
    results = first.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return "stats" in results or "prompts" in results or "table" in results
    return {"prompt", "response", "provider"} <= first.keys() and bool(
        {"testCase", "gradingResult", "vars", "promptIdx"} & first.keys()
    )


def _has_outputs(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a header names outputs, and not a row of texts that begin with a bracket.

    Beside an output stand columns about it; before they did (2024), its cells began with a verdict.
    """
    names, cells = ([*rows, [], []])[:2]
    outputs = [place for place, name in enumerate(names) if _OUTPUT.fullmatch(name)]
    return 0 not in outputs and any(
        names[place + 1 : place + 2] in _BESIDE
        or any(map(_VERDICT.match, cells[place : place + 1]))
        for place in outputs
    )


def _rows(source: Source) -> Iterator[Row]:
    is_json = source.head.lstrip()[:1] in (b"{", b"[") or source.first is not None
    return rows(source) if is_json else _table(source)


def _parse(row: Row, source: Source) -> Iterable[Item]:
    outer = row.content.get("results")
    inner = outer.get("results") if isinstance(outer, dict) else None
    if not isinstance(inner, list):
        yield _result(row.content, "", f"{source.stem}-{row.number}", source)
        return
    for number, result in enumerate(inner):
        place = f"results.results[{number}]."
        try:
            if not isinstance(result, dict):
                raise RecordError("is wrong: expected an object", field=place[:-1], seen=result)
            yield _result(result, place, f"{source.stem}-{number + 1}", source)
        except RecordError as error:
            yield error


def _result(result: dict[str, Any], place: str, fallback: str, source: Source) -> Call | FailedCall:
    prompt, response, provider = (result.get(key) for key in ("prompt", "response", "provider"))
    if not isinstance(prompt, dict) or "raw" not in prompt:
        raise RecordError("is missing", field=f"{place}prompt.raw", seen=prompt)
    if not _has_output(response):
        return FailedCall(error_in(result.get("error"), response))
    said = _said(prompt, response, place)
    label = prompt.get("label")
    short = isinstance(label, str) and 0 < len(label) <= _LONGEST_NAME and "\n" not in label
    agent = provider
    if isinstance(provider, dict):
        agent = provider.get("label") or provider.get("id")
    name = result.get("id")
    thread = _conversation(result)
    if thread is None:
        mark_given(said.turns[: said.given])
    return Call(
        said.turns,
        said.given,
        id=str(name) if name else None,
        thread=f"{thread}-{agent}-{label}" if thread else str(name or fallback),
        model=str(agent) if agent else None,
        system=label if short and label != prompt["raw"] else source.stem,
        kept={key: result[key] for key in _KEPT if result.get(key)},
        ratings=list(_ratings(result)),
    )


def _has_output(response: object) -> bool:
    if not isinstance(response, dict):
        return False
    metadata = response.get("metadata")
    whole = metadata.get("messages") if isinstance(metadata, dict) else None
    return response.get("output") is not None or bool(whole)


def _said(prompt: dict[str, Any], response: object, place: str) -> Exchange:
    output: object = None
    if isinstance(response, dict):
        metadata = response.get("metadata")
        whole = metadata.get("messages") if isinstance(metadata, dict) else None
        if isinstance(whole, list) and whole:
            path = f"{place}response.metadata.messages"
            told = exchange_of(messages_in(whole, role="user", path=path), None)
            return Exchange(told.turns, 0)
        output = response.get("output")
    asked = messages_in(prompt["raw"], role="user", path=f"{place}prompt.raw")
    path = f"{place}response.output"
    if isinstance(output, dict | list) and not holds_messages(output):
        output = msgspec.json.encode(output).decode()  # a reply that was to be JSON
    if isinstance(output, str):
        return exchange_of(asked, text_as_message(output, role="assistant", path=path))
    replied = messages_in(output, role="assistant", path=path)
    if output is not None and replied is None:
        raise RecordError("is neither a text nor a message", field=path, seen=output)
    return exchange_of(asked, replied)


def _conversation(result: dict[str, Any]) -> str | None:
    case = result.get("testCase")
    places = [case.get("metadata") if isinstance(case, dict) else None, result.get("metadata")]
    for place in places:
        if isinstance(place, dict) and place.get("conversationId"):
            return str(place["conversationId"])
    return None


def _ratings(result: dict[str, Any]) -> Iterator[Rating]:
    named = result.get("namedScores")
    scores = {"score": result.get("score"), **(named if isinstance(named, dict) else {})}
    for quality, value in scores.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Rating(quality, float(value), rater="promptfoo", rater_kind="llm", scale=[0, 1])


def _table(source: Source) -> Iterator[Row]:
    """The outputs of a CSV as results, several to a row."""
    names: list[str] = []
    number = 0
    for line, cells, problem in csv_rows(source):
        if not names:
            if problem:  # without a header nothing below it can be read
                raise DialensError(message(source.path, line, problem))
            names = cells
            continue
        if problem is None and len(cells) != len(names):
            problem = RecordError(f"has {len(cells)} cells where the header has {len(names)}")
        outputs = [place for place, name in enumerate(names) if _OUTPUT.fullmatch(name)]
        if problem is None and not outputs:  # a cell of the header may hold the others
            problem = RecordError("has no output: no column is called `[provider] prompt`")
        if problem:
            yield Row(line, {}, problem)
            continue
        first = outputs[0]
        variables = {
            name: cell
            for name, cell in zip(names[:first], cells[:first], strict=True)
            if not _ABOUT.fullmatch(name)
        }
        for place, end in zip(outputs, [*outputs[1:], len(names)], strict=True):
            number += 1
            about = dict(zip(names[place + 1 : end], cells[place + 1 : end], strict=True))
            yield Row(line, _from_cell(names[place], cells[place], variables, about), None, number)


def _from_cell(
    name: str, cell: str, variables: dict[str, str], about: dict[str, str]
) -> dict[str, Any]:
    column = _OUTPUT.fullmatch(name)
    provider, label = column.group("provider", "label") if column else ("", name)
    verdict = _VERDICT.match(cell)
    text = cell[verdict.end() :] if verdict else cell
    if verdict and verdict[1] != "PASS":
        text = text.rpartition("\n---\n")[2]
    named = {key.removeprefix("Metric: "): value for key, value in about.items()}
    scores = {key: number for key, value in named.items() if (number := _number(value)) is not None}
    failed = verdict is not None and verdict[1] == "ERROR"
    return {
        "prompt": {"raw": _filled(label, variables), "label": label},
        "provider": provider,
        "response": {"error": text} if failed else {"output": text},
        "vars": variables,
        "score": scores.pop("Score", None),
        "namedScores": scores,
        "gradingResult": {key: value for key, value in about.items() if value},
    }


def _filled(label: str, variables: dict[str, str]) -> str:
    if _VARIABLE.search(label):
        return _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), label)
    if len(variables) == 1:
        return next(iter(variables.values()))
    return "\n".join(f"{name}: {value}" for name, value in variables.items()) or label


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


PROMPTFOO = CallReader(
    name="promptfoo",
    summary="promptfoo results (JSON, JSONL, CSV): provider is agent, scores are ratings",
    example=(
        '{"evalId": "e1", "results": {"version": 3, "prompts": [], "stats": {}, "results": ['
        '{"id": "r1", "prompt": {"raw": "Hello!", "label": "greeting"}, '
        '"provider": {"id": "bot-1"}, "response": {"output": "Hello, how are you?"}, '
        '"vars": {}, "score": 1, "success": true, "namedScores": {}}]}}\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
    rows=_rows,
    joint=False,
)
