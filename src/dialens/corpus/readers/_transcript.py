"""Plain transcripts: `Name: what they said`, one turn a line.

A line that names no speaker continues the turn before it. A rule (`---`, `===`, `***`) ends a
conversation; where a file has none, a blank line does, unless every turn stands between blank
lines, which then mean nothing. A time before the name (`[2024-05-01 10:30]`, `10:30:05 -`) is
kept: as `created_at` if it has a date, in `meta` otherwise. In Markdown that begins with a heading,
headings of that level end a conversation as rules do, unless they are the speakers: where headings
of a level are names that come again (`## User`, `## Assistant`), each begins a turn.

The agent is the first speaker with a name like Bot, Assistant, System, Agent, AI or Model; else
the first who is not called User, Human or the like, where someone is; else the second to speak.
What the user says with `--role agent=NAME` comes before all of that.

Settings and logs have colons too. A file is a transcript if most of its lines name a speaker and
the speakers come again; YAML and lines of a log (`INFO: …`) are none. `--format transcript`
overrides that.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import roles_of_speakers, sounds_like_agent, sounds_like_partner
from dialens.corpus._source import MAX_RECORD_BYTES, Record, Source, lines, too_long

_TIME = r"""
    (?:[\[(]? (?P<time>
        (?:\d{4}-\d\d-\d\d (?:[T\x20,]+ \d\d?:\d\d(?::\d\d(?:\.\d+)?)? (?:Z|[+-]\d\d:?\d\d)?)?)
        | \d\d?:\d\d(?::\d\d)? (?:\x20?[AaPp][Mm])?
    ) [\])]? \s* (?:[-–|]\s*)?)?
"""
_SAID = re.compile(
    rf"^\s* {_TIME} [*_]{{0,2}} (?P<speaker>[^\W\d_][\w.'’()&\#/\x20-]{{0,39}}?) [*_]{{0,2}}"
    r"\s*:(?!//) [*_]{0,2} (?:\s(?P<text>.*)|(?P<close>\S.*)|)$",
    re.VERBOSE | re.DOTALL,
)
_RULE = re.compile(rb"^\s*([-=*_])\1{2,}\s*$")
_HEADING = re.compile(rb"\s*(#{1,6})\s+\S")
_LINE_OF_HEADING = re.compile(rb"^[ ]{0,3}(#{1,6})[ \t]+(.+?)[ \t#]*\r?$", re.MULTILINE)
_SNIFFED_LINES = 60
_ENOUGH = 4
_SETTINGS = frozenset({".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".env"})
_YAML_ITEM = re.compile(r"^\s*-\s+[\w-]+:(\s|$)")
_LOG_WORD = re.compile(
    r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|Traceback|Exception)\b"
    r"|^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d"
)


def _recognises(source: Source) -> bool:
    """Whether most lines are someone's words, by speakers who speak again."""
    if b"\x00" in source.head or source.path.suffix.lower() in _SETTINGS:
        return False
    if _speaker_level(source.head) is not None:
        return _HEADING.match(source.head) is not None
    separates = _separator(source.head)
    texts = [
        row.decode(errors="replace")
        for row in source.head.split(b"\n")[:_SNIFFED_LINES]
        if row.strip() and not separates(row)
    ]
    if not texts or _SAID.match(texts[0]) is None or any(map(_YAML_ITEM.match, texts)):
        return False
    speakers = [match.group("speaker").strip() for text in texts if (match := _SAID.match(text))]
    if 2 * len(speakers) < len(texts) or any(map(_LOG_WORD.search, speakers)):
        return False
    return _are_people(speakers, logged=source.path.suffix.lower() == ".log")


def _are_people(speakers: Sequence[str], *, logged: bool) -> bool:
    """Whether names before colons are those of speakers, and not keys of settings or a log.

    Speakers come again, keys seldom do; where there is too little to tell, names are written with
    a capital letter or are words such as user and bot.
    """
    counts = Counter(speakers)
    first_two = list(counts)[:2]
    if any(map(sounds_like_agent, first_two)) and any(map(sounds_like_partner, first_two)):
        return True
    capital = 2 * sum(not name.islower() for name in counts) >= len(counts)
    if len(speakers) < _ENOUGH:
        return capital
    again = sum(count for count in counts.values() if count > 1)
    return len(counts) > 1 and 3 * again >= 2 * len(speakers) and (capital or not logged)


def _speaker_level(head: bytes) -> bytes | None:
    """The marks of the headings that are speakers' names; None where no headings are.

    Headings of a document do not come again, as speakers do; of few headings the first two have to
    be words such as user and assistant.
    """
    named: dict[bytes, list[str]] = {}
    for marks, text in _LINE_OF_HEADING.findall(head):
        match = _SAID.match(_as_said(text))
        named.setdefault(marks, []).append(match["speaker"].strip() if match else "")
    for marks, names in named.items():
        first_two = list(dict.fromkeys(names))[:2]
        known = any(map(sounds_like_agent, first_two)) and any(map(sounds_like_partner, first_two))
        if all(names) and (known or len(names) >= _ENOUGH) and _are_people(names, logged=False):
            return bytes(marks)
    return None


def _as_said(heading: bytes) -> str:
    """A heading that is a name, as the line of a transcript without words after the name."""
    return re.sub(r"^[^\w\[(]+|[\s:*_]+$", "", heading.decode(errors="replace")) + ":"


def _separator(head: bytes) -> Callable[[bytes], bool]:
    """What tells a line between two conversations: a rule, or a heading like the first line."""
    heading = _HEADING.match(head)
    begins = heading[1] + b" " if heading and heading[1] != _speaker_level(head) else None

    def separates(row: bytes) -> bool:
        if _RULE.match(row):
            return True
        return begins is not None and row.lstrip().startswith(begins)

    return separates


def _blocks(source: Source) -> Iterator[Record]:
    """One record a conversation: the lines between two separators."""
    separates = _separator(source.head)
    blank_ends = _blank_ends(source.head)
    kept: list[bytes] = []
    size = began = last = count = 0
    problem: RecordError | None = None
    for record in lines(source):
        rule = separates(record.raw)
        gap = blank_ends and record.line > last + 1
        if (rule or gap) and (kept or problem):
            count += 1
            yield Record(began, b"\n".join(kept), problem, count)
            kept, size, problem = [], 0, None
        last = record.line
        if rule:
            continue
        if not kept and problem is None:
            began = record.line
        size += len(record.raw) + 1
        if problem is None:
            problem = record.problem or (too_long(size) if size > MAX_RECORD_BYTES else None)
        if problem is None:
            kept.append(record.raw)
        else:
            kept = []
    if kept or problem:
        yield Record(began, b"\n".join(kept), problem, count + 1)


def _blank_ends(head: bytes) -> bool:
    if _speaker_level(head) is not None:
        return False
    rows = head.split(b"\n")
    if any(map(_separator(head), rows)):
        return False
    blocks = re.split(rb"(?:\r?\n[ \t]*){2,}", head.strip())
    spoken = [
        sum(_SAID.match(row.decode(errors="replace")) is not None for row in block.splitlines())
        for block in blocks
    ]
    return len(blocks) < 2 or max(spoken) > 1


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    turns: list[Turn] = []
    marks = _speaker_level(source.head)
    for number, line in enumerate(record.raw.decode().split("\n")):
        line = line.removesuffix("\r")
        match = _SAID.match(line) if marks is None else _named_by_heading(line, marks)
        if match:
            turns.append(_turn(match))
        elif turns:
            turns[-1].text = f"{turns[-1].text}\n{line.strip()}".lstrip("\n")
        else:
            raise RecordError(
                f"names no speaker in line {record.line + number}",
                field="speaker",
                seen=line,
                remedy="Begin every turn with `Name: `, or with a heading that is the name; a line "
                "without a name continues the turn before it. Or leave such conversations out "
                "with --on-error skip.",
            )
    agent, roles = roles_of_speakers((turn.speaker for turn in turns), source.options.roles)
    for turn in turns:
        turn.role = roles[turn.speaker]
    yield Dialogue(source.stem, agent, f"{source.stem}-{record.number}", turns)


def _named_by_heading(line: str, marks: bytes) -> re.Match[str] | None:
    heading = _LINE_OF_HEADING.match(line.encode())
    return _SAID.match(_as_said(heading[2])) if heading and heading[1] == marks else None


def _turn(match: re.Match[str]) -> Turn:
    text = match["text"] or match["close"] or ""
    created_at, meta = _when(match["time"])
    return Turn(match["speaker"], "", text.strip(), created_at=created_at, meta=meta)


def _when(time: str | None) -> tuple[datetime | None, dict[str, object] | None]:
    if time is None:
        return None, None
    try:
        moment = datetime.fromisoformat(re.sub(r"[,\s]+", "T", time.strip(), count=1))
    except ValueError:
        return None, {"time": time}
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)), None


TRANSCRIPT = RecordReader(
    name="transcript",
    summary="Plain text, `Name: words` a line, or Markdown with names as headings; a blank line or "
    "--- between conversations",
    example="User: Hello!\nBot: Hello, how are you?\n\nUser: Still there?\nBot: Always.\n",
    recognises=_recognises,
    parse=_parse,
    records=_blocks,
)
