"""A Slack workspace's export: zip or folder, with `users.json` and a file a channel and day.

A thread is a dialogue; what was written outside threads is one for each channel and day. Authors
with a `bot_id`, and users whom the workspace marks as bots, are agents. Names stand in place of
user ids, in mentions too; links and escaped characters are written out. Joins, topics, and posts
with nothing but a file are no turns.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dialens.base import DialensError
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Source, json_records
from dialens.corpus.readers._bundles import Bundle, bundle_of
from dialens.corpus.readers._fields import moment, object_in
from dialens.corpus.readers._posts import ChatReader, Post

_CONVERSATIONS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_USERS = r"(org_)?users\.json"
_DAYS = r"[^/]+/\d{4}-\d\d-\d\d\.json"
_SPOKEN = (None, "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment")
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_MARKUP = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")


@dataclass(frozen=True)
class _People:
    """Names of users and bots by their ids, and which of them are bots."""

    names: dict[str, str] = field(default_factory=dict)
    bots: set[str] = field(default_factory=set)


def _recognises(source: Source) -> bool:
    bundle = bundle_of(source)
    return (
        bundle is not None
        and bool(bundle.names(_USERS))
        and bool(bundle.names("|".join(map(re.escape, _CONVERSATIONS))))
        and bool(bundle.names(_DAYS))
    )


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    bundle = bundle_of(source)
    if bundle is None:
        raise DialensError(
            f"{source.path} is one file. A Slack export is a zip archive, or the folder in it, "
            "with users.json, channels.json and a folder for each channel: give that."
        )
    people = _people(bundle, intake)
    kept: list[tuple[float, Post]] = []
    for name in bundle.names(_DAYS):
        channel, _, file = name.partition("/")
        day = file.removesuffix(".json")
        part = bundle.file(name)
        for record in json_records(part):
            try:
                if record.problem:
                    raise record.problem
                message = _OBJECT.decode(record.raw)
                stamp, post = _post(message, channel, day, people, record.line)
                kept.append((stamp, post))
            except UNREADABLE as error:
                intake.reject(part.path, record.line, as_record_error(error, record))
    # Replies stand under the day on which they were written, not with their thread.
    yield from (post for _, post in sorted(kept, key=lambda pair: pair[0]))


def _people(bundle: Bundle, intake: Intake) -> _People:
    people = _People()
    for name in bundle.names(_USERS):
        part = bundle.file(name)
        for record in json_records(part):
            try:
                user = _OBJECT.decode(record.raw)
            except UNREADABLE as error:
                intake.reject(part.path, record.line, as_record_error(error, record))
                continue
            profile = object_in(user, "profile")
            shown = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"))
            who = str(user.get("id"))
            people.names[who] = str(next(filter(None, (*shown, user.get("name"))), who))
            if user.get("is_bot") or profile.get("bot_id") or who == "USLACKBOT":
                people.bots.add(who)
    return people


def _post(
    message: Mapping[str, Any], channel: str, day: str, people: _People, line: int
) -> tuple[float, Post]:
    stamp = message.get("ts")
    try:
        seconds = float(stamp or "")
    except (TypeError, ValueError):
        raise RecordError("is not a time", field="ts", seen=stamp) from None
    attached = [key for key in ("files", "attachments", "blocks") if message.get(key)]
    event = message.get("subtype") not in _SPOKEN
    text = message.get("text", "" if attached or event else None)
    if not isinstance(text, str):
        raise RecordError("is missing or no text", field="text", seen=text)
    text = text or "\n".join(_inside([message[key] for key in attached if key != "files"]))
    thread = message.get("thread_ts")
    speaker, bot = _speaker(message, people)
    kept = ("files", "attachments", "reactions")
    meta: dict[str, object] = {
        "ts": stamp,
        **{key: message[key] for key in kept if message.get(key)},
    }
    return seconds, Post(
        dialog=f"{channel}-{thread}" if thread else f"{channel}-{day}",
        line=line,
        speaker=speaker,
        text=_plain(text, people),
        created_at=moment(stamp),
        bot=bot,
        aside=event or (not text and bool(attached)),
        reply_to=str(thread) if thread and thread != stamp else None,
        meta=meta,
    )


def _inside(value: object) -> Iterator[str]:
    """The words in blocks and attachments, where bots that send no plain text have them."""
    if isinstance(value, list):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, dict) and isinstance(value.get("text"), str):
        yield value["text"]
    elif isinstance(value, dict):
        for key in ("text", "fields", "elements"):
            if value.get(key):
                yield from _inside(value[key])


def _speaker(message: Mapping[str, Any], people: _People) -> tuple[str, bool]:
    """Who wrote it, and whether that is a bot."""
    user, bot = message.get("user"), message.get("bot_id")
    profile = object_in(message, "bot_profile")
    if bot:
        known = people.names.get(str(user)) if user else None
        name = profile.get("name") or message.get("username") or known
        return str(name or people.names.get(str(bot)) or bot), True
    inside = object_in(message, "user_profile")
    name = people.names.get(str(user)) or inside.get("display_name") or inside.get("real_name")
    return str(name or user or message.get("username") or "Slack"), str(user) in people.bots


def _plain(text: str, people: _People) -> str:
    """A post as people see it: names instead of ids, links without brackets."""

    def shown(match: re.Match[str]) -> str:
        kind, what, label = match.groups()
        if kind == "@":
            return f"@{people.names.get(what, label or what)}"
        if kind == "#":
            return f"#{label or what}"
        if kind == "!":
            return label or f"@{what.partition('^')[0]}"
        return label or what.removeprefix("mailto:")

    return html.unescape(_MARKUP.sub(shown, text))


SLACK = ChatReader(
    name="slack",
    summary="A Slack workspace's export: the zip, or the folder with users.json and channels",
    example=(
        "export/\n  users.json\n  channels.json\n  help/2024-05-01.json\n"
        'help/2024-05-01.json: [{"type": "message", "user": "U1", "ts": "1714559400.000100", '
        '"text": "Is it raining?"}]\n'
    ),
    recognises=_recognises,
    posts=_posts,
)
