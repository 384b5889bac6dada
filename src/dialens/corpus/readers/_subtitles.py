"""Subtitles: WebVTT and SubRip, as meetings and calls are written down.

A file is a conversation. Who speaks is said by `<v Name>` (WebVTT, Teams) or by `Name: ` at the
head of a cue (Zoom); a cue without a name goes on with the speaker before it. Cues of one speaker
that follow each other are one turn, since they are cut where a line is full. A turn keeps the
second at which it begins as `start` in `meta`. Who the agent is is told as in a transcript.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import roles_of_speakers
from dialens.corpus._source import MAX_RECORD_BYTES, Record, Source, all_lines, too_long

_TIME = r"(?:(\d+):)?(\d\d?):(\d\d)[.,](\d{1,3})"
_CUE = re.compile(rf"^\s*{_TIME}\s*-->\s*(?:\d+:)?\d\d?:\d\d[.,]\d{{1,3}}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)*\s+([^>]+)>")
_NAMED = re.compile(r"^\s*(?:-\s*)?([^\W\d_][\w.'’()&\x20-]{0,39}?)\s*:\s+(?=\S)")
_TAG = re.compile(r"</?[A-Za-z][^>]*>|<\d[\d:.]*>|\{\\[^}]*\}")
_ASIDE = re.compile(r"^(NOTE|STYLE|REGION)\b")


@dataclass
class _Cue:
    line: int
    start: float
    rows: list[str]


def _recognises(source: Source) -> bool:
    rows = source.head[:4096].decode(errors="replace").lstrip().splitlines()
    if rows and rows[0].startswith("WEBVTT"):
        return True
    return len(rows) > 2 and rows[0].strip().isdigit() and _CUE.match(rows[1]) is not None


def _records(source: Source) -> Iterator[Record]:
    """The whole file as one record."""
    rows: list[bytes] = []
    size = 0
    problem: RecordError | None = None
    for _, raw, flaw in all_lines(source):
        size += len(raw) + 1
        problem = problem or flaw or (too_long(size) if size > MAX_RECORD_BYTES else None)
        if problem is None:
            rows.append(raw.removesuffix(b"\r"))
    yield Record(1, b"" if problem else b"\n".join(rows), problem, 1)


def _cues(text: str) -> Iterator[_Cue]:
    cue: _Cue | None = None
    aside = False
    for number, row in enumerate(text.split("\n"), start=1):
        match = _CUE.match(row)
        if match:
            hours, minutes, seconds, fraction = match.groups()
            start = 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)
            cue = _Cue(number, start + int(fraction.ljust(3, "0")) / 1000, [])
        elif not row.strip():
            if cue is not None:
                yield cue
            cue, aside = None, False
        elif cue is not None and not aside:
            cue.rows.append(row.strip())
        elif _ASIDE.match(row):
            aside = True
    if cue is not None:
        yield cue


def _said(cue: _Cue) -> Iterator[tuple[str | None, str]]:
    """What is said in a cue, by whom; two may speak in one."""
    for row in cue.rows:
        voices = list(_VOICE.finditer(row))
        if voices:
            ends = [*(voice.start() for voice in voices[1:]), len(row)]
            for voice, end in zip(voices, ends, strict=True):
                yield html.unescape(voice.group(1)).strip(), _plain(row[voice.end() : end])
            continue
        text = _plain(row)
        named = _NAMED.match(text)
        yield (named.group(1).strip(), text[named.end() :]) if named else (None, text)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    turns: list[Turn] = []
    for cue in _cues(record.raw.decode()):
        for speaker, text in _said(cue):
            if turns and speaker in (None, turns[-1].speaker):
                turns[-1].text = f"{turns[-1].text} {text.removeprefix('- ')}".strip()
            elif speaker is not None:
                turns.append(Turn(speaker, "", text, meta={"start": cue.start}))
            elif text:
                raise RecordError(
                    f"names no speaker in line {cue.line}",
                    field="speaker",
                    seen=text,
                    remedy="Speakers stand as <v Name> or as `Name: ` at the head of a cue. "
                    "Without them there is no dialogue to score.",
                )
    if not turns:
        raise RecordError("holds no cue with a speaker")
    agent, roles = roles_of_speakers((turn.speaker for turn in turns), source.options.roles)
    for turn in turns:
        turn.role = roles[turn.speaker]
    yield Dialogue(source.stem, agent, source.stem, turns)


SUBTITLES = RecordReader(
    name="subtitles",
    summary="WebVTT (.vtt) and SubRip (.srt) with speakers: `<v Name>` or `Name: `",
    example=(
        "WEBVTT\n\n00:01.000 --> 00:02.500\n<v User>Hello!\n\n"
        "00:03.000 --> 00:04.000\n<v Bot>Hello, how are you?\n"
    ),
    recognises=_recognises,
    parse=_parse,
    records=_records,
)
