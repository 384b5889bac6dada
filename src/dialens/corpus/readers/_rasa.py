"""Rasa's conversations: trackers (`/conversations/ID/tracker`, the tracker store), or event lines.

A tracker is `{sender_id, events: […]}`; an event broker and the `events` table of an SQL tracker
store write one event a line, each with its `sender_id` (in the table, the event is the JSON text
under `data`). `user` and `bot` events with a text are turns; actions, slots, and messages with
nothing but buttons or pictures stand in the `meta` of the turn they precede. Every session
(`session_started`) is a dialogue, as it is one to Rasa. The agent is called by the `assistant_id`
that newer versions put into the events' metadata.

Stories are not read: they are written or checked by hand and name the bot's actions, not what it
said.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from dialens.base import DialensError
from dialens.corpus._dialogue import Dialogue, Turn, batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error, check
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import Record, Source, json_records
from dialens.corpus._tables import Tables
from dialens.corpus.readers._fields import moment, object_in

_ROLES = {"user": "partner", "bot": "agent"}
_DECODER = msgspec.json.Decoder(dict[str, Any])
_STORIES = re.compile(
    rb"""^\s*-\s*(story|rule)\s*:.*^\s*-?\s*steps\s*:   # stories, rules, tests
    | ^nlu\s*:\s*$.*^\s*-\s*(intent|lookup|synonym|regex)\s*:
    | ^responses\s*:\s*$.*^\s*utter_\w+\s*:
    | \A\s*\#\#[^\n]*\n\s*\*[^\n]*\n\s*-\s*(utter|action)_\w+   # the Markdown of older versions
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_INTENT = re.compile(r"/[\w-]+(\{.*\})?", re.DOTALL)
_UNSAID = ("action_listen", "action_session_start")


@dataclass(frozen=True)
class RasaReader:
    """Reads trackers and events; recognises stories in order to refuse them."""

    name: str = "rasa"
    summary: str = "Rasa trackers or events: JSON from the tracker endpoint, store or event broker"
    example: str = (
        '{"sender_id": "c1", "slots": {}, "events": ['
        '{"event": "action", "name": "action_listen", "timestamp": 1714559399.0}, '
        '{"event": "user", "timestamp": 1714559400.0, "text": "Is it raining?", '
        '"parse_data": {"intent": {"name": "ask_weather"}}}, '
        '{"event": "bot", "timestamp": 1714559402.0, "text": "A little, I hear.", '
        '"metadata": {"utter_action": "utter_rain", "assistant_id": "weather"}}]}\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether it is a tracker, an event, or a file of stories."""
        first = source.first
        if first is None:
            return _is_stories(source)
        if "sender_id" not in first:
            return False
        return isinstance(first.get("events"), list) or "event" in first or _is_row(first)

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches."""
        if source.first is None and _is_stories(source):
            raise DialensError(
                f"{source.path} holds Rasa stories or training data, which name the bot's actions "
                "and not what it said: there is no reply to score.\n"
                "Give trackers instead: the JSON of /conversations/ID/tracker, or the events of "
                "the tracker store or the event broker."
            )
        return batches(self._dialogues(source, intake))

    def _dialogues(self, source: Source, intake: Intake) -> Iterator[Dialogue]:
        loose: dict[str, list[tuple[Record, dict[str, Any]]]] = {}
        for record in json_records(source):
            try:
                if record.problem:
                    raise record.problem
                content = _DECODER.decode(record.raw)
                sender = _sender(content)
                if "events" not in content:
                    loose.setdefault(sender, []).append((record, _event(content)))
                    continue
                events = content["events"]
                if not isinstance(events, list):
                    raise RecordError("is wrong: expected a list", field="events", seen=events)
                talks = _talks(sender, events, source)
                for talk in talks:
                    check(talk)
                for talk in talks:
                    intake.claim(talk.dialog, source.path, record.line)
            except UNREADABLE as error:
                intake.reject(source.path, record.line, as_record_error(error, record))
                continue
            yield from talks
        for sender, rows in loose.items():
            try:
                talks = _talks(sender, [event for _, event in rows], source)
                for talk in talks:
                    intake.claim(talk.dialog, source.path, rows[0][0].line)
            except UNREADABLE as error:
                intake.reject(source.path, rows[0][0].line, as_record_error(error, rows[0][0]))
                continue
            yield from talks


def _is_stories(source: Source) -> bool:
    return _STORIES.search(source.head) is not None


def _is_row(first: dict[str, Any]) -> bool:
    """Whether it is a row of the table in which an SQL tracker store keeps events."""
    return "type_name" in first and "data" in first


def _sender(content: dict[str, Any]) -> str:
    sender = content.get("sender_id")
    if not isinstance(sender, str | int) or sender == "":
        raise RecordError("is missing", field="sender_id", seen=sender)
    return str(sender)


def _event(content: dict[str, Any]) -> dict[str, Any]:
    """The event of a line by itself; that of a table's row stands under `data`."""
    data = content.get("data")
    if "event" not in content and isinstance(data, str):
        return _DECODER.decode(data)
    if "event" not in content and isinstance(data, dict):
        return data
    if "event" not in content:
        raise RecordError("is missing", field="events", seen=sorted(content))
    return content


def _talks(sender: str, events: list[Any], source: Source) -> list[Dialogue]:
    """A dialogue for every session in which somebody said something."""
    sessions: list[list[Turn]] = [[]]
    agent = UNKNOWN
    aside: list[dict[str, object]] = []
    for number, event in enumerate(events):
        place = f"events[{number}]"
        if not isinstance(event, dict):
            raise RecordError("is wrong: expected an object", field=place, seen=event)
        kind = str(event.get("event"))
        metadata = object_in(event, "metadata")
        agent = str(metadata.get("assistant_id") or agent)
        if kind == "session_started" and sessions[-1]:
            sessions.append([])
        turn = _turn(event, place, metadata) if kind in _ROLES else None
        if turn is None:
            if kind in _ROLES or (kind == "action" and event.get("name") not in _UNSAID):
                aside.append(_short(event))
            continue
        if aside:
            turn.meta = {"before": aside, **(turn.meta or {})}
            aside = []
        sessions[-1].append(turn)
    spoken = [turns for turns in sessions if turns]
    if aside and spoken:
        spoken[-1][-1].meta = {**(spoken[-1][-1].meta or {}), "after": aside}
    for turns in spoken:
        for turn in turns:
            turn.speaker = agent if turn.role == "agent" and agent != UNKNOWN else turn.speaker
    names = [sender, *(f"{sender}-{number}" for number in range(2, len(spoken) + 1))]
    return [
        Dialogue(source.stem, agent, name, turns)
        for name, turns in zip(names, spoken, strict=False)
    ]


def _turn(event: dict[str, Any], place: str, metadata: dict[str, Any]) -> Turn | None:
    """The turn of an event, or None when it has no words."""
    kind, text = str(event["event"]), event.get("text")
    if text is None and "text" in event:
        return None
    if not isinstance(text, str):
        raise RecordError("is missing or no text", field=f"{place}.text", seen=text)
    intent = object_in(object_in(event, "parse_data"), "intent")
    if kind == "user" and _INTENT.fullmatch(text):
        return None  # a button or a channel sent the intent itself, nobody wrote it
    shown = {key: value for key, value in object_in(event, "data").items() if value}
    meta: dict[str, object] = {
        **({"intent": intent["name"]} if intent.get("name") else {}),
        **({"utter_action": metadata["utter_action"]} if metadata.get("utter_action") else {}),
        **({"data": shown} if shown else {}),
    }
    return Turn(kind, _ROLES[kind], text, moment(event.get("timestamp")), meta=meta or None)


def _short(event: dict[str, Any]) -> dict[str, object]:
    """What is kept of an event that is no turn."""
    keys = ("event", "name", "text", "data", "policy", "confidence")
    return {key: event[key] for key in keys if event.get(key)}


RASA = RasaReader()
