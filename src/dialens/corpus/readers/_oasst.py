"""OpenAssistant's conversations: trees (`prompt` with `replies`), or messages with their parents.

A tree holds many dialogues that share their beginnings. No reply is read as the agent's twice: the
first dialogue follows the best ranked replies from the root to a leaf, and every further reply
begins a dialogue that shows what came before it as the partner's (it was given, whoever wrote it)
and goes on with the best ranked replies below it. Prompts that nobody answered end no dialogue of
their own. Messages that were deleted are left out with what hangs on them.

What people judged becomes ratings of the reply: its labels (`quality`, `helpfulness`, `toxicity` …,
each a mean between 0 and 1 with its number of answers), and its rank among the replies to the same
prompt as `preference`, the share of the others that it was placed above.

The agent is the model that wrote the reply (`model_name`) if it is `synthetic`; otherwise people
wrote it, who are called `volunteers`. Files may be JSON lines or Parquet.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl

from dialens.base import DialensError, counted
from dialens.corpus._dialogue import Dialogue, Rating, Turn, batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Record, Source, json_records
from dialens.corpus._tables import Tables
from dialens.corpus.readers._fields import moment

VOLUNTEERS = "volunteers"
_ROLES = {"prompter": "partner", "assistant": "agent"}
_FLAT = frozenset({"message_id", "parent_id", "message_tree_id", "role", "text"})
_PARQUET = b"PAR1"
_OBJECT = msgspec.json.Decoder(dict[str, Any])


@dataclass
class _Message:
    """A message of a tree, and the replies to it from the best ranked on."""

    id: str
    role: str
    text: str
    line: int
    facts: Mapping[str, Any]
    replies: list["_Message"] = field(default_factory=list)

    @property
    def agent(self) -> str:
        model = self.facts.get("model_name")
        return str(model) if self.facts.get("synthetic") and model else VOLUNTEERS


@dataclass(frozen=True)
class OasstReader:
    """Reads trees and flat messages."""

    name: str = "oasst"
    summary: str = "OpenAssistant (OASST): trees or messages, JSON lines or Parquet, with ratings"
    example: str = (
        '{"message_tree_id": "t1", "tree_state": "ready_for_export", "prompt": {'
        '"message_id": "t1", "role": "prompter", "text": "Is it raining?", "lang": "en", '
        '"replies": [{"message_id": "m1", "parent_id": "t1", "role": "assistant", '
        '"text": "A little, I hear.", "lang": "en", "rank": 0, "synthetic": false, '
        '"labels": {"quality": {"value": 0.75, "count": 3}}, "replies": []}]}}\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether the first record is a tree or a message of one."""
        if source.head.startswith(_PARQUET):
            return _columns(source) >= _FLAT
        first = source.first or {}
        prompt = first.get("prompt")
        return first.keys() >= _FLAT or (
            isinstance(prompt, dict) and {"message_id", "replies"} <= prompt.keys()
        )

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches."""
        return batches(_dialogues(source, intake))


def _columns(source: Source) -> set[str]:
    try:
        return set(pl.read_parquet_schema(source.path))
    except (pl.exceptions.PolarsError, OSError):
        return set()  # the reader of Parquet says what is wrong with it


def _dialogues(source: Source, intake: Intake) -> Iterator[Dialogue]:
    loose: dict[str, dict[str, _Message]] = {}
    unanswered = 0
    for record, content in _records(source, intake):
        try:
            if "prompt" not in content:
                tree = loose.setdefault(str(content.get("message_tree_id")), {})
                message = _message(content, "", record.line)
                if message.id in tree:
                    raise RecordError("is a duplicate", field="message_id", seen=message.id)
                tree[message.id] = message
                continue
            root = _tree(content["prompt"], "prompt", record.line)
            talks = list(_talks(root, source)) if root else []
            unanswered += not talks
            for talk in talks:
                intake.claim(talk.dialog, source.path, record.line)
        except UNREADABLE as error:
            wrong = as_record_error(error, record)
            wrong.unit = "line" if record.raw else "row"
            intake.reject(source.path, record.line, wrong)
            continue
        yield from talks
    for messages in loose.values():
        for root in _roots(messages, source, intake):
            talks = list(_talks(root, source))
            unanswered += not talks
            for talk in talks:
                try:
                    intake.claim(talk.dialog, source.path, root.line)
                except RecordError as error:
                    intake.reject(source.path, root.line, error)
                    continue
                yield talk
    if unanswered:
        prompts = counted(unanswered, "prompt")
        intake.note(f"{source.path.name}: left out {prompts} without a reply.")


def _records(source: Source, intake: Intake) -> Iterator[tuple[Record, dict[str, Any]]]:
    if source.head.startswith(_PARQUET):
        try:
            frame = pl.read_parquet(source.path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DialensError(f"{source.path} is not a whole Parquet file ({error}).") from error
        for number, row in enumerate(frame.iter_rows(named=True), 1):
            yield Record(number, b"", None, number), row
        return
    for record in json_records(source):
        try:
            if record.problem:
                raise record.problem
            yield record, _OBJECT.decode(record.raw)
        except UNREADABLE as error:
            intake.reject(source.path, record.line, as_record_error(error, record))


def _message(content: Any, place: str, line: int) -> _Message:
    before = f"{place}." if place else ""
    if not isinstance(content, dict):
        raise RecordError("is wrong: expected an object", field=place, seen=content)
    for key in ("message_id", "role", "text"):
        if not isinstance(content.get(key), str):
            raise RecordError(
                "is missing or no text", field=f"{before}{key}", seen=content.get(key)
            )
    if content["role"] not in _ROLES:
        raise RecordError(
            "is not a known role",
            field=f"{before}role",
            seen=content["role"],
            remedy="Known roles: prompter, assistant. Leave such records out with --on-error skip.",
        )
    return _Message(content["message_id"], _ROLES[content["role"]], content["text"], line, content)


def _tree(content: Any, place: str, line: int) -> _Message | None:
    """The message with its replies; None if it was deleted."""
    message = _message(content, place, line)
    if content.get("deleted"):
        return None
    replies = content.get("replies") or []
    if not isinstance(replies, list):
        raise RecordError("is no list", field=f"{place}.replies", seen=replies)
    for number, reply in enumerate(replies):
        child = _tree(reply, f"{place}.replies[{number}]", line)
        if child is not None:
            message.replies.append(child)
    message.replies.sort(key=_standing)
    return message


def _roots(messages: Mapping[str, _Message], source: Source, intake: Intake) -> list[_Message]:
    """The messages that answer none; each other one hangs on its parent, if that is there."""
    roots = []
    for message in messages.values():
        parent = message.facts.get("parent_id")
        if message.facts.get("deleted"):
            continue
        if parent is None:
            roots.append(message)
        elif parent in messages:
            messages[parent].replies.append(message)
        else:
            wrong = RecordError(
                "names a message that is not in the file", field="parent_id", seen=parent
            )
            wrong.unit = "row" if source.head.startswith(_PARQUET) else "line"
            intake.reject(source.path, message.line, wrong)
    for message in messages.values():
        message.replies.sort(key=_standing)
    return roots


def _standing(message: _Message) -> float:
    rank = message.facts.get("rank")
    return float(rank) if isinstance(rank, int | float) else float("inf")


def _talks(root: _Message, source: Source) -> Iterator[Dialogue]:
    """The best branch, then a dialogue for every reply that no earlier one holds."""
    waiting: list[tuple[list[_Message], _Message]] = [([], root)]
    count = 0
    while waiting:
        given, start = waiting.pop(0)
        branch = [start]
        while branch[-1].replies:
            best, *others = branch[-1].replies
            context = [*given, *branch]
            waiting.extend((context, other) for other in others)
            branch.append(best)
        if any(message.role == "agent" for message in branch):
            count += 1
            name = root.id if count == 1 else f"{root.id}-{count}"
            yield _dialogue(name, given, branch, source)


def _dialogue(name: str, given: list[_Message], branch: list[_Message], source: Source) -> Dialogue:
    turns = [_turn(message, "partner") for message in given]
    turns += [_turn(message, message.role) for message in branch]
    about = {key: branch[-1].facts[key] for key in ("lang",) if branch[-1].facts.get(key)}
    if about:
        turns[0].meta = {**(turns[0].meta or {}), "record": about}
    path = [*given, *branch]
    ratings = [
        rating
        for place in range(len(given), len(path))
        if path[place].role == "agent"
        for rating in _ratings(path[place], place, path[place - 1] if place else None)
    ]
    agent = next(message.agent for message in reversed(branch) if message.role == "agent")
    return Dialogue(source.stem, agent, name, turns, ratings)


def _turn(message: _Message, role: str) -> Turn:
    # A given turn keeps its speaker, so that a reader of the dialogue sees who said it.
    speaker = message.agent if message.role == "agent" else "prompter"
    when = message.facts.get("created_date")
    return Turn(speaker, role, message.text, moment(when), meta={"message_id": message.id})


def _ratings(message: _Message, turn: int, parent: _Message | None) -> Iterator[Rating]:
    for quality, value, count in _labels(message.facts.get("labels")):
        facts: dict[str, object] | None = None if count is None else {"count": count}
        yield Rating(quality, value, turn, study="oasst", scale=[0, 1], factors=facts)
    ranks = [
        reply.facts["rank"]
        for reply in (parent.replies if parent else [])
        if isinstance(reply.facts.get("rank"), int | float)
    ]
    rank = message.facts.get("rank")
    if isinstance(rank, int | float) and len(ranks) > 1 and parent is not None:
        above = sum(other > rank for other in ranks) / (len(ranks) - 1)
        yield Rating(
            "preference",
            above,
            turn,
            study="oasst",
            scale=[0, 1],
            condition=parent.id,
            factors={"rank": rank, "among": len(ranks)},
        )


def _labels(labels: object) -> Iterator[tuple[str, float, int | None]]:
    """Labels with their means: an object for each, or columns of names, values and counts."""
    if not isinstance(labels, dict):
        return
    if isinstance(labels.get("name"), list):
        counts = labels.get("count") or [None] * len(labels["name"])
        rows: Iterable[tuple[Any, Any, Any]] = zip(
            labels["name"], labels.get("value") or [], counts, strict=True
        )
    else:
        rows = (
            (name, label.get("value"), label.get("count"))
            for name, label in labels.items()
            if isinstance(label, dict)
        )
    for name, value, count in rows:
        if isinstance(value, int | float):
            yield str(name), float(value), count


OASST = OasstReader()
