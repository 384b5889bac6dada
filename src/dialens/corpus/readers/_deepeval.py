"""Test cases of DeepEval: JSON, JSONL and CSV of data sets, and the files of test runs.

A case is a dialogue: `input` and `actual_output`, or the `turns` of a conversational case. The
expected output is a reference response. In test runs, each metric is a rating by
`deepeval:JUDGE`: of the reply, or of the whole dialogue for conversational cases. DeepEval does
not note which model replied; the agent is the run's hyperparameter `model`, else the file.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from dialens.corpus._dialogue import Rating
from dialens.corpus._intake import RecordError
from dialens.corpus._source import Source
from dialens.corpus.readers._call_reader import CallReader, Item
from dialens.corpus.readers._calls import Call
from dialens.corpus.readers._exchanges import exchange_of
from dialens.corpus.readers._payloads import messages_in, text_as_message
from dialens.corpus.readers._rows import Row, columns

_RUN = ("testCases", "conversationalTestCases")
_REPLY = ("actual_output", "actualOutput")
_REFERENCE = ("expected_output", "expectedOutput")
_USED = {"input", "turns", "metricsData", *_REPLY, *_REFERENCE}


def _recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    names = set(columns(source))
    inside = (source.first or {}).get("testRunData")
    if isinstance(inside, dict) or {"testCases", "metricsScores"} <= names:
        return True
    if "input" in names and any(key in names for key in _REPLY):
        return True
    told = {"scenario", "expected_outcome", "chatbot_role", "user_description", "expectedOutcome"}
    return "turns" in names and bool(told & names)


def _parse(row: Row, source: Source) -> Iterable[Item]:
    content = row.content.get("testRunData", row.content)
    if not isinstance(content, dict) or not any(key in content for key in _RUN):
        yield _case(row.content, "", f"{source.stem}-{row.number}", None)
        return
    settings = content.get("hyperparameters")
    model = settings.get("model") if isinstance(settings, dict) else None
    outer = "testRunData." if "testRunData" in row.content else ""
    count = 0
    for key in _RUN:
        cases = content.get(key)
        for number, case in enumerate(cases if isinstance(cases, list) else []):
            count += 1
            place = f"{outer}{key}[{number}]."
            try:
                yield _case(case, place, f"{source.stem}-{count}", model)
            except RecordError as error:
                yield error


def _case(case: dict[str, Any], place: str, name: str, model: object) -> Call:
    if not isinstance(case, dict):
        raise RecordError("is wrong: expected an object", field=place.rstrip("."), seen=case)
    turns = case.get("turns") or None
    if turns is not None:
        found = exchange_of(messages_in(turns, role="user", path=f"{place}turns"), None)
        given = 0
    else:
        for key in ("input", *_REPLY[:1]):
            if key not in case and not (key in _REPLY and _REPLY[1] in case):
                raise RecordError("is missing", field=f"{place}{key}", seen=", ".join(case))
        reply = next(key for key in _REPLY if key in case)
        if case[reply] is None:
            raise RecordError(
                "is empty: a golden without an output holds nothing that an agent said",
                field=f"{place}{reply}",
                seen=case["input"],
                remedy="Run the agent on the goldens first, or leave such cases out with "
                "--on-error skip.",
            )
        asked, said = (_text(case, key, place) for key in ("input", reply))
        found = exchange_of(
            text_as_message(asked, role="user", path=f"{place}input"),
            text_as_message(said, role="assistant", path=f"{place}{reply}"),
        )
        given = found.given
    return Call(
        found.turns,
        given,
        thread=name,
        model=model if isinstance(model, str) and model else None,
        kept={key: value for key, value in case.items() if key not in _USED and value},
        ratings=list(_ratings(case, "turn" if turns is None else "dialog")),
        reference=next((str(case[key]) for key in _REFERENCE if case.get(key)), None),
    )


def _text(case: dict[str, Any], key: str, place: str) -> str:
    if not isinstance(case[key], str):
        raise RecordError("is wrong: expected a string", field=f"{place}{key}", seen=case[key])
    return str(case[key])


def _ratings(case: dict[str, Any], level: str) -> Iterator[Rating]:
    metrics = case.get("metricsData")
    for metric in metrics if isinstance(metrics, list) else []:
        value = metric.get("score") if isinstance(metric, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            judge = metric.get("evaluationModel") or "metric"
            yield Rating(
                quality=str(metric.get("name") or "score"),
                value=float(value),
                level=level,
                rater=f"deepeval:{judge}",
                rater_kind="llm",
                scale=[0, 1],
            )


DEEPEVAL = CallReader(
    name="deepeval",
    summary="DeepEval test cases and test runs (JSON, JSONL, CSV); metrics are ratings",
    example=(
        '[{"input": "Hello!", "actual_output": "Hello, how are you?", '
        '"expected_output": "Good morning!", "retrieval_context": null, "context": null}]\n'
    ),
    recognises_file=_recognises,
    parse=_parse,
    joint=False,
)
