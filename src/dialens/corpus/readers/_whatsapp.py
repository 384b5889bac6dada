r"""WhatsApp's text exports, from Android and iOS: `_chat.txt`, `WhatsApp Chat with ….txt`, the zip.

    31/12/2023, 21:41 - Ann: Hello        (Android)
    [31.12.23, 21:41:07] Ann: Hello       (iOS)

Dates and clocks stand as the phone's region writes them. Whether day or month comes first is seen
from the whole file: every date must be one, time runs forwards, a clock with `PM` is American, and
of what is left, the order in which the least time passes. Lines without a time go on with the
message before. Lines of the app itself, pictures and other media, deleted messages are no turns. A
day of a chat is a dialogue; times are kept as if they were UTC, because the file names no zone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time

from dialens.corpus._dates import WrittenDate, date_order
from dialens.corpus._intake import Intake, RecordError, not_utf8
from dialens.corpus._source import Source, all_lines
from dialens.corpus.readers._bundles import files_of
from dialens.corpus.readers._posts import ChatReader, Post

_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u2068\u2069\ufeff"))
_SPACES = str.maketrans({"\u202f": " ", "\u00a0": " "})
_HEADER = re.compile(
    r"""^ (?P<open>\[)?
    (?P<one>\d{1,4}) (?P<sep>[./-]) \x20? (?P<two>\d{1,2}) (?P=sep) \x20? (?P<three>\d{1,4}) \.?
    (?P<comma>,? \x20 (?:(?:klo|kl\.?|à|um|at|alle|a\x20las|às)\x20)?)
    (?P<early>(?:上午|下午|午前|午後|오전|오후)\x20?)?
    (?P<hour>\d{1,2}) [:.] (?P<minute>\d\d) (?:[:.](?P<second>\d\d))?
    (?:\x20?(?P<late>[AaPp]\.?\x20?[Mm]\.?))?
    (?(open)\]\x20?|\x20-\x20) (?P<rest>.*) $""",
    re.VERBOSE | re.DOTALL,
)
_AFTERNOON = re.compile(r"^p|下午|午後|오후", re.IGNORECASE)
_ATTACHED = re.compile(r"^\S[^\n]*\.\w{2,5} \([^()\n]+\)(?:\n|$)")
_GONE = re.compile(
    r"^(this message was deleted|you deleted this message|diese nachricht wurde gelöscht|"
    r"du hast diese nachricht gelöscht|se eliminó este mensaje|eliminaste este mensaje|"
    r"ce message a été supprimé|vous avez supprimé ce message|mensagem apagada|"
    r"questo messaggio è stato eliminato|dit bericht is verwijderd|null)\.?$",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"^<[^<>\n]{3,60}>$")
_EDITED = re.compile(r" ?\u200e?<[^<>\n]{5,60}>$")
_FILES = r"_chat\.txt|.*whatsapp.*\.txt"
_SNIFFED_LINES = 40


@dataclass(slots=True)
class _Line:
    """A line that begins with a time, and those that go on with it."""

    number: int
    date: WrittenDate
    clock: tuple[int, int, int]
    american: bool
    rest: str


def _header(line: str) -> re.Match[str] | None:
    match = _HEADER.match(line.translate(_MARKS).translate(_SPACES))
    if match is None or not match["open"]:
        return match
    # In brackets that is how transcripts and logs write times.
    iso = len(match["one"]) == 4 and match["sep"] == "-" and "," not in match["comma"]
    return None if iso else match


def _recognises_file(source: Source) -> bool:
    if source.is_folder or b"\x00" in source.head:
        return False
    rows = [row for row in source.head.split(b"\n")[:_SNIFFED_LINES] if row.strip()]
    matches = [_header(row.decode(errors="replace")) for row in rows]
    first = next(iter(matches), None)
    return first is not None and any(match and ": " in match["rest"] + " " for match in matches)


def _recognises(source: Source) -> bool:
    return any(map(_recognises_file, files_of(source, _FILES)))


def _posts(source: Source, intake: Intake) -> Iterator[Post]:
    for file in files_of(source, _FILES, intake):
        if file is source or _recognises_file(file):
            name = source.stem if file is source else file.path.name.split(".")[0].strip("_")
            chat = name if file is source or name != "chat" else source.stem
            yield from _chat(list(_lines(file, intake)), chat)


def _lines(source: Source, intake: Intake) -> Iterator[_Line]:
    waiting: _Line | None = None
    for number, raw, problem in all_lines(source):
        try:
            if problem:
                raise problem
            text = raw.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            intake.reject(source.path, number, not_utf8(error))
            continue
        except RecordError as error:
            intake.reject(source.path, number, error)
            continue
        match = _header(text)
        if match is not None:
            if waiting is not None:
                yield waiting
            waiting = _begun(number, match, text)
        elif waiting is not None:
            waiting.rest += "\n" + text
        elif text.strip():
            intake.reject(
                source.path,
                number,
                RecordError(
                    "does not begin with a date and a time",
                    field="time",
                    seen=text,
                    remedy="A chat begins with a line such as `31/12/2023, 21:41 - Ann: Hello`. "
                    "Export it again without editing it, or leave the line out with "
                    "--on-error skip.",
                ),
            )
    if waiting is not None:
        yield waiting


def _begun(number: int, match: re.Match[str], text: str) -> _Line:
    hour = int(match["hour"])
    half = match["late"] or match["early"]
    if half:
        hour = hour % 12 + (12 if _AFTERNOON.match(half.strip()) else 0)
    # The marks in what was said are kept until it is known what they say.
    rest = _after(text, len(match["rest"])) if match["rest"] else ""
    return _Line(
        number,
        WrittenDate((int(match["one"]), int(match["two"]), int(match["three"])), match["sep"]),
        (hour, int(match["minute"]), int(match["second"] or 0)),
        (match["late"] or "").isupper(),
        rest,
    )


def _after(text: str, visible: int) -> str:
    """The end of a line that holds so many visible characters, with the marks among them."""
    place = len(text)
    while visible and place:
        place -= 1
        visible -= ord(text[place]) not in _MARKS
    while place and ord(text[place - 1]) in _MARKS:
        place -= 1
    return text[place:]


def _chat(lines: list[_Line], name: str) -> Iterator[Post]:
    american = any(line.american and line.date.separator == "/" for line in lines)
    order = date_order([[line.date for line in lines]], american=american)
    for line in lines:
        when = _moment(line, order)
        day = when.date().isoformat() if when else "unknown"
        speaker, colon, said = line.rest.partition(": ")
        if not colon and line.rest.rstrip().endswith(":"):
            speaker, colon, said = line.rest.rstrip()[:-1], ":", ""
        speaker = speaker.translate(_MARKS).translate(_SPACES).strip().removeprefix("~").strip()
        if not colon or "\n" in speaker or not speaker:
            text = line.rest.translate(_MARKS).strip()
            yield Post(f"{name}-{day}", line.number, "WhatsApp", text, when, aside=True)
            continue
        text, aside, meta = _said(said)
        yield Post(f"{name}-{day}", line.number, speaker, text, when, aside=aside, meta=meta)


def _said(said: str) -> tuple[str, bool, dict[str, object] | None]:
    """The words of a message, whether they are the app's, and what was attached."""
    marked = said.startswith("\u200e")
    text = said.translate(_MARKS).strip()
    if _BRACKETED.match(text) or _GONE.match(text):
        return text, True, None
    attached = _ATTACHED.match(text)
    if attached:
        caption = text[attached.end() :].strip()
        kept: dict[str, object] = {"attached": attached.group().strip()}
        return (caption, False, kept) if caption else (text, True, None)
    if marked:
        return text, True, None
    if "\u200e<" in said and _EDITED.search(said):
        return _EDITED.sub("", said).translate(_MARKS).strip(), False, {"edited": True}
    return text, False, None


def _moment(line: _Line, order: str) -> datetime | None:
    day = line.date.read(order)
    try:
        return datetime.combine(day, time(*line.clock), UTC) if day else None
    except ValueError:
        return None


WHATSAPP = ChatReader(
    name="whatsapp",
    summary="WhatsApp's chat export from Android or iOS: the text file, its folder or the zip",
    example=(
        "12/31/23, 9:41 PM - Messages and calls are end-to-end encrypted.\n"
        "12/31/23, 9:41 PM - Weather Bot: Good evening!\n"
        "12/31/23, 9:41 PM - Ann: Is it raining?\n"
        "12/31/23, 9:42 PM - Weather Bot: A little, I hear.\n"
    ),
    recognises=_recognises,
    posts=_posts,
)
