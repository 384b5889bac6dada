"""Subtitles with speakers, and files with colons that are no transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialens import DialensError
from dialens.corpus import ReadOptions, read

# As Microsoft Teams writes a meeting: voices, ids, cues cut where a line is full.
TEAMS = """WEBVTT

NOTE written by a machine
00:00 --> 00:01 is no cue here

d1b2/1-0
00:00:01.000 --> 00:00:02.500 align:start
<v Ann Lee>Where is my &amp; her parcel,</v>

d1b2/2-0
00:00:02.500 --> 00:00:03.000
<v Ann Lee>please?</v>

d1b2/3-0
00:00:04.000 --> 00:01:01.250
<v HelpBot>It is <i>on its way</i>.</v>
"""
# As Zoom does: names in the text, a name only where the speaker changes.
ZOOM = """WEBVTT

1
00:00:01.000 --> 00:00:02.500
Ann Lee: Where is my parcel,

2
00:00:02.500 --> 00:00:03.000
please?

3
00:00:04.000 --> 00:00:05.250
HelpBot: It is on its way.
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
ANN: Where is my parcel,
please?

2
00:01:04,000 --> 00:01:05,250
BOT: It is on its way.
"""


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("name", "text", "speakers", "first"),
    [
        ("teams.vtt", TEAMS, ("Ann Lee", "HelpBot"), "Where is my & her parcel, please?"),
        ("zoom.vtt", ZOOM, ("Ann Lee", "HelpBot"), "Where is my parcel, please?"),
        ("film.srt", SRT, ("ANN", "BOT"), "Where is my parcel, please?"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_cues_of_a_speaker_are_a_turn(
    tmp_path: Path,
    name: str,
    text: str,
    speakers: tuple[str, str],
    first: str,
    newline: str,
    encoding: str,
) -> None:
    path = write(tmp_path / name, text.replace("\n", newline), encoding)
    turns = read(path).turns.collect()
    assert turns["dialog"].unique().to_list() == [path.stem]
    assert turns.select("speaker", "role", "text").rows() == [
        (speakers[0], "partner", first),
        (speakers[1], "agent", "It is on its way."),
    ]


def test_times_stay_with_turns_and_roles_may_be_told(tmp_path: Path) -> None:
    path = write(tmp_path / "film.srt", SRT)
    assert read(path).turns.collect()["meta"].to_list() == ['{"start":1.0}', '{"start":64.0}']
    turned = read(path, options=ReadOptions().with_roles(["agent=Ann"])).turns.collect()
    assert turned["role"].to_list() == ["agent", "partner"]


def test_subtitles_without_speakers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "film.srt", SRT.replace("ANN: ", "").replace("BOT: ", ""))
    with pytest.raises(DialensError, match=r"film\.srt, line 1: .*names no speaker in line 2"):
        read(path)


RASA = """version: "3.1"

stories:
- story: happy path
  steps:
  - intent: greet
  - action: utter_greet
  - intent: mood_great
  - action: utter_happy
"""
MKDOCS = """site_name: dialens
site_url: https://example.org
theme:
  name: material
  features:
    - navigation.tabs
plugins:
  - search
markdown_extensions:
  admonition: true
  toc: 2
"""
KEYS = "host: example.org\nport: 80\nuser_name: ann\npath: /srv\nverbose: yes\n"
LOGS = {
    "python": "INFO:root:started\nWARNING:root:slow\nINFO:root:done\nERROR:root:failed: no\n",
    "dated": "".join(
        f"2024-05-01 10:30:0{n},123 - app.server - {level} - request: {n}\n"
        for n, level in enumerate(["INFO", "DEBUG", "INFO", "ERROR", "INFO"])
    ),
    "levels": "".join(f"2024-05-01 10:30:0{n} INFO server: request {n}\n" for n in range(6)),
    "syslog": "".join(f"May  1 1{n % 2}:30:05 host sshd[12]: session {n}\n" for n in range(6)),
    "parts": "".join(f"10:30:0{n} {'db' if n % 2 else 'server'}: line {n}\n" for n in range(6)),
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rasa_stories.yml", RASA),
        ("rasa_stories.txt", RASA),
        ("mkdocs.yml", MKDOCS),
        ("mkdocs.txt", MKDOCS),
        ("settings.txt", KEYS),
        ("short.txt", KEYS[: KEYS.index("user")]),
        *((f"{name}.log", text) for name, text in LOGS.items()),
        ("mail.txt", "From: ann\nTo: bob\nSubject: hello\nDate: today\n\nDear Bob,\nbye\n"),
    ],
)
def test_settings_and_logs_are_no_transcripts(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DialensError, match=r"recognises|is a table|Rasa stories"):
        read(write(tmp_path / name, text))


@pytest.mark.parametrize(
    "text",
    [
        "A: hello\nB: hello to you\n",
        "user: hi\nassistant: hello\n",
        "ann: hi\nbob: hey\nann: all well?\nbob: yes: very\n",
        "Ann: hi\nBob: hey\nCid: hi all\nAnn: ready?\nBob: yes\nCid: no\n",
        "User:\nhi there\n\nBot:\nhello\n\nUser:\nbye\n\nBot:\nbye\n",
        "[10:30] Ann: hi\n[10:31] Support Agent: hello\nhow can I help?\n",
        "Customer: it said ERROR: 5\nAgent: - try again\n- or wait: a bit\n",
    ],
)
@pytest.mark.parametrize("name", ["talk.txt", "talk"])
def test_transcripts_still_are(tmp_path: Path, text: str, name: str) -> None:
    assert read(write(tmp_path / name, text)).turns.collect().height >= 2
