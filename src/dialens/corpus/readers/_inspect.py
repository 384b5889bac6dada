"""Logs of Inspect (inspect_ai): `.eval`, a zip file, and `.json`.

A sample of an epoch is a dialogue: its messages. The model is the agent, the task the system. An
assistant's message that the data set gave (`source: "input"`) was not said by the model; its role
is `partner`, as that of all that is given to an agent. Long texts that stand under `attachments`
are put back.

Scores become ratings of the whole dialogue, because that is what a scorer judges: the rater is
`inspect:SCORER`, the quality the scorer (or `SCORER.KEY` where a score has several values). Values
are numbers as Inspect itself converts them: `C` is 1, `P` 0.5, `I` and `N` 0. What is no number
stays in `meta` only, where the scores are kept whole.

A sample that failed before the model said anything is left out and counted; a log of nothing else
says that the run failed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from dialens.base import DialensError
from dialens.corpus._dialogue import Dialogue, Rating, Turn, batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._marks import finish_of
from dialens.corpus._reading import UNREADABLE, as_record_error, check
from dialens.corpus._source import Record, Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._archive import MAGIC, opened
from dialens.corpus.readers._exchanges import mark_given
from dialens.corpus.readers._failures import FailedCall, Failures, error_in
from dialens.corpus.readers._messages import ROLES, SPEAKERS, turns_of
from dialens.corpus.readers._moments import moment
from dialens.corpus.readers._rows import documents

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_HEADERS = ("header.json", "_journal/start.json")
_ATTACHMENT = "attachment://"
_KEPT = ("id", "epoch", "target", "choices", "metadata", "scores", "score", "error", "limit")
_DECODER = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True)
class InspectReader:
    """Reads one log; a folder of them is read file by file."""

    name: str = "inspect"
    summary: str = "Inspect logs (.eval, .json): a sample is a dialogue, scores are ratings"
    example: str = (
        '{"version": 2, "status": "success", "eval": {"task": "greetings", "model": "bot-1"}, '
        '"samples": [{"id": "s1", "epoch": 1, "target": "hello", "messages": ['
        '{"role": "user", "content": "Hello!", "source": "input"}, '
        '{"role": "assistant", "content": "Hello, how are you?", "source": "generate"}], '
        '"scores": {"includes": {"value": "C"}}}]}\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether it is a zip file with Inspect's members, or an object with task and model."""
        if source.is_folder:
            return False
        if source.head.startswith(MAGIC):
            return _is_log(source)
        first = source.first or {}
        plan = first.get("eval")
        if isinstance(plan, dict):
            return "task" in plan and "model" in plan
        head = source.head  # too large to be decoded for a look
        return source.first is None and b'"eval"' in head and b'"task_id"' in head

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches; samples that cannot be read go to `intake`."""
        samples = _archived if source.head.startswith(MAGIC) else _written
        return batches(_dialogues(source, intake, samples(source)))


@dataclass(frozen=True)
class _Sample:
    """One sample, where it stands, and the log's header; or why it cannot be read."""

    content: dict[str, Any]
    plan: dict[str, Any]
    place: str
    line: int = 0
    problem: RecordError | None = None


def _is_log(source: Source) -> bool:
    try:
        with opened(source.path) as archive:
            names = archive.names
    except DialensError:
        return source.path.suffix == ".eval"
    return any(name in names for name in _HEADERS)


def _archived(source: Source) -> Iterator[_Sample]:
    with opened(source.path) as archive:
        names = archive.names
        header = next((name for name in _HEADERS if name in names), None)
        if header is None:
            raise DialensError(
                f"{source.path} is no log of Inspect: it has no header.json. "
                f"Seen: {', '.join(names[:5])}."
            )
        try:
            plan = _plan(_DECODER.decode(archive.read(header)))
        except UNREADABLE as error:
            what = as_record_error(error, Record(0, b"")).what
            raise DialensError(f"{source.path}: its member {header} {what}.") from error
        for name in names:
            if not name.startswith("samples/") or not name.endswith(".json"):
                continue
            raw = archive.read(name)
            try:
                yield _Sample(_DECODER.decode(raw), plan, f"{name}: ")
            except UNREADABLE as error:
                yield _Sample({}, {}, f"{name}: ", problem=as_record_error(error, Record(0, raw)))


def _written(source: Source) -> Iterator[_Sample]:
    for record in documents(source):
        try:
            if record.problem:
                raise record.problem
            content = _DECODER.decode(record.raw)
            plan, samples = _plan(content), content.get("samples") or []
            if not isinstance(samples, list):
                raise RecordError("is wrong: expected a list", field="samples", seen=samples)
        except UNREADABLE as error:
            wrong = as_record_error(error, record)
            yield _Sample({}, {}, "", record.line, wrong)
            continue
        for number, sample in enumerate(samples):
            place = f"samples[{number}]."
            if isinstance(sample, dict):
                yield _Sample(sample, plan, place, record.line)
            else:
                wrong = RecordError("is wrong: expected an object", seen=sample)
                yield _Sample({}, {}, place[:-1], record.line, wrong)


def _plan(log: dict[str, Any]) -> dict[str, Any]:
    plan = log.get("eval")
    if not isinstance(plan, dict):
        raise RecordError("is missing", field="eval", seen=sorted(log))
    return plan


def _dialogues(source: Source, intake: Intake, samples: Iterable[_Sample]) -> Iterator[Dialogue]:
    failures = Failures(source.path, "sample")
    anything_said = False
    for sample in samples:
        try:
            if sample.problem:
                raise sample.problem
            talk = _dialogue(sample, source)
            check(talk)
            if not any(turn.role == "agent" for turn in talk.turns):
                failures.add(FailedCall(error_in(sample.content.get("error"))))
                continue
            intake.claim(talk.dialog, source.path, sample.line)
        except RecordError as error:
            error.field = f"{sample.place}{error.field}" if error.field else sample.place
            intake.reject(source.path, sample.line, error)
            continue
        anything_said = True
        yield talk
    failures.finish(intake, anything_said=anything_said)


def _dialogue(sample: _Sample, source: Source) -> Dialogue:
    content = sample.content
    if "messages" not in content:
        raise RecordError("is missing", field="messages", seen=sorted(content))
    attached = content.get("attachments") or {}
    asked = content.get("input")  # what there is if the sample failed before the first message
    messages = content["messages"] or (
        [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    )
    messages = _resolved(messages, attached if isinstance(attached, dict) else {})
    turns = turns_of(messages, roles=ROLES, field="messages", speaker_of=SPEAKERS)
    if not turns:
        raise RecordError(
            "holds no message of a user or an assistant",
            field="messages",
            seen=content.get("error"),
        )
    for turn in turns:
        _keep_given_apart(turn)
    kept = {key: content[key] for key in _KEPT if content.get(key) not in (None, [], {})}
    turns[0].meta = {**(turns[0].meta or {}), "sample": kept}
    output = content.get("output")  # of the model's last call
    finish = finish_of(output) if isinstance(output, dict) else {}
    if finish and turns[-1].role == "agent":
        turns[-1].meta = {**(turns[-1].meta or {}), **finish}
    ended = moment(content.get("completed_at"))
    task = sample.plan.get("task")
    name = str(content.get("id", sample.place.rstrip(".: ")))
    config = sample.plan.get("config")
    if isinstance(config, dict) and config.get("epochs") not in (None, 1):
        name = f"{name}-{content.get('epoch', 1)}"
    model = sample.plan.get("model")
    study = task if isinstance(task, str) and task else source.stem
    return Dialogue(
        system=study,
        agent=model if isinstance(model, str) and model else source.stem,
        dialog=f"{source.label}/{name}" if source.label else name,
        turns=turns,
        ratings=[
            Rating(
                quality,
                value,
                level="dialog",
                rater=f"inspect:{scorer}",
                rater_kind="llm",
                study=study,
                scale=scale,
                answered_at=ended,
            )
            for scorer, quality, value, scale in _scores(content)
        ],
    )


def _keep_given_apart(turn: Turn) -> None:
    message = (turn.meta or {}).get("message")
    if isinstance(message, dict) and message.get("source") == "input":
        mark_given([turn])


def _resolved(value: Any, attached: dict[str, Any]) -> Any:
    """A value in which every reference to an attachment is what was attached."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return attached.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(item, attached) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attached) for key, item in value.items()}
    return value


def _scores(sample: dict[str, Any]) -> Iterator[tuple[str, str, float, object]]:
    """Scorer, quality, value and scale of each score that is a number."""
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        scores = {"score": sample["score"]} if sample.get("score") else {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            parts = {f"{scorer}.{key}": part for key, part in value.items()}
        elif isinstance(value, list):
            parts = {f"{scorer}.{number}": part for number, part in enumerate(value)}
        else:
            parts = {scorer: value}
        for quality, part in parts.items():
            number, scale = _number(part)
            if number is not None:
                yield scorer, quality, number, scale


def _number(value: object) -> tuple[float | None, object]:
    if isinstance(value, bool):
        return float(value), [0, 1]
    if isinstance(value, int | float):
        return (float(value), None) if value == value else (None, None)
    if not isinstance(value, str):
        return None, None
    if value in _LETTERS:
        return _LETTERS[value], [0, 1]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()], [0, 1]
    try:
        number = float(value)
    except ValueError:
        return None, None
    return (number, None) if number == number else (None, None)


INSPECT = InspectReader()
