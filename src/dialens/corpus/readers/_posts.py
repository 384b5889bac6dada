"""What exports of chat apps share: posts of people and bots, cut into dialogues, with an agent.

A chat has no end, so each day of it is a dialogue; where the app knows threads, each thread is one.
Posts without words (a picture, somebody joined) are no turns: they stand in the `meta` of the turn
they precede (`before`), or of the last one (`after`).

Who is the agent: whoever `--role agent=NAME` names; else whom the export marks as a bot; else who
has a name like Bot or Assistant; else the other one of two, where one is called User or the like.
Where nothing tells, the reader stops and lists the speakers. A dialogue in which the agent does
not speak is left out, and the number of them is noted.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from dialens.base import DialensError, counted, did_you_mean
from dialens.corpus._dialogue import Dialogue, Turn, batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._roles import sounds_like_agent, sounds_like_partner
from dialens.corpus._source import UNDECODABLE, Source
from dialens.corpus._tables import Tables

_LISTED = 12
_ABOUT = re.compile(rb'\A\s*\{.*?"messages"\s*:\s*\[', re.DOTALL)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def said_before_messages(source: Source) -> dict[str, Any] | None:
    """What a JSON export says of its chat, before the messages; None if it is no such export."""
    opening = _ABOUT.match(source.head)
    if opening is None:
        return None
    try:
        return _OBJECT.decode(opening.group() + b"]}")
    except UNDECODABLE:
        return None


@dataclass(slots=True)
class Post:
    """One message of a chat, or an event in it (`aside`), which is no turn."""

    dialog: str
    line: int
    speaker: str
    text: str
    created_at: datetime | None = None
    bot: bool = False
    aside: bool = False
    reply_to: str | None = None
    meta: dict[str, object] | None = None


@dataclass(frozen=True)
class ChatReader:
    """A reader for the export of a chat app; `posts` gives its messages, in order."""

    name: str
    summary: str
    example: str
    recognises: Callable[[Source], bool]
    posts: Callable[[Source, Intake], Iterable[Post]]
    agent: str | None = None
    """What the agent is called, where its name as a speaker says nothing."""

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches; bad messages go to `intake`."""
        posts = list(self.posts(source, intake))
        return batches(_dialogues(posts, source, intake, self.agent))


def _dialogues(
    posts: Sequence[Post], source: Source, intake: Intake, called: str | None
) -> Iterator[Dialogue]:
    """The dialogues in which an agent speaks, in the order in which they begin."""
    talks: dict[str, list[Post]] = {}
    for post in posts:
        talks.setdefault(post.dialog, []).append(post)
    talks = {name: talk for name, talk in talks.items() if any(not post.aside for post in talk)}
    if not talks:
        return
    agents = agents_of(posts, source)
    without = 0
    for name, talk in talks.items():
        spoken = Counter(post.speaker for post in talk if not post.aside and post.speaker in agents)
        if not spoken:
            without += 1
            continue
        try:
            intake.claim(name, source.path, talk[0].line)
        except RecordError as error:
            intake.reject(source.path, talk[0].line, error)
            continue
        agent = spoken.most_common(1)[0][0]
        yield Dialogue(source.stem, called or agent, name, _turns(talk, agent))
    if without:
        who = " or ".join(sorted(agents))
        intake.note(
            f"{source.path.name}: left out {without:,} of {counted(len(talks), 'conversation')}, "
            f"in which {who} does not speak."
        )


def _turns(talk: Sequence[Post], agent: str) -> list[Turn]:
    turns: list[Turn] = []
    waiting: list[dict[str, object]] = []
    for post in talk:
        if post.aside:
            waiting.append({"speaker": post.speaker, "text": post.text, **(post.meta or {})})
            continue
        meta = {**({"before": waiting} if waiting else {}), **(post.meta or {})}
        turns.append(
            Turn(
                speaker=post.speaker,
                role="agent" if post.speaker == agent else "partner",
                text=post.text,
                created_at=post.created_at,
                reply_to=post.reply_to,
                meta=meta or None,
            )
        )
        waiting = []
    if waiting:
        turns[-1].meta = {**(turns[-1].meta or {}), "after": waiting}
    return turns


def agents_of(posts: Iterable[Post], source: Source) -> frozenset[str]:
    """Who of those who write is an agent; an error that lists them where nothing tells."""
    said = [post for post in posts if not post.aside]
    counts = Counter(post.speaker for post in said)
    chosen = _chosen(counts, source)
    if chosen:
        return chosen
    partners = {name for name, role in source.options.roles.items() if role == "partner"}
    others = [name for name in counts if name not in partners]
    found = {post.speaker for post in said if post.bot} - partners
    found = found or {name for name in others if sounds_like_agent(name)}
    if not found and len(counts) > 1:
        named = [name for name in others if not sounds_like_partner(name)]
        if len(named) == 1 and len(named) < len(counts):
            found = set(named)
    if not found:
        raise DialensError(
            f"{source.path} does not say who the agent is. {_speakers(counts)}\n"
            f"Name the agent, for example: --role agent={_quoted(counts.most_common(1)[0][0])}"
        )
    return frozenset(found)


def _chosen(counts: Counter[str], source: Source) -> frozenset[str]:
    """Those whom `--role agent=…` names, however they are capitalised."""
    wanted = [name for name, role in source.options.roles.items() if role == "agent"]
    folded = {name.casefold(): name for name in counts}
    chosen = frozenset(folded[name.casefold()] for name in wanted if name.casefold() in folded)
    if wanted and not chosen:
        raise DialensError(
            f"{source.path}: nobody called {' or '.join(map(repr, wanted))} writes in it. "
            f"{did_you_mean(wanted[0], list(counts))}{_speakers(counts)}\n"
            f"Name the agent, for example: --role agent={_quoted(counts.most_common(1)[0][0])}"
        )
    return chosen


def _speakers(counts: Counter[str]) -> str:
    shown = [f"{name} ({count:,})" for name, count in counts.most_common(_LISTED)]
    more = f" and {len(counts) - _LISTED:,} more" if len(counts) > _LISTED else ""
    return f"Speakers and their messages: {', '.join(shown)}{more}."


def _quoted(name: str) -> str:
    return name if name.replace("_", "").isalnum() else '"' + name.replace('"', '\\"') + '"'


def in_time(posts: Iterable[Post]) -> list[Post]:
    """Posts in the order of their times, dialogue by dialogue, where all of one have a time."""
    talks: dict[str, list[Post]] = {}
    for post in posts:
        talks.setdefault(post.dialog, []).append(post)
    ordered: list[Post] = []
    for talk in talks.values():
        timed = [(post.created_at, post) for post in talk if post.created_at is not None]
        if len(timed) == len(talk):
            talk = [post for _, post in sorted(timed, key=lambda pair: pair[0])]
        ordered.extend(talk)
    return ordered
