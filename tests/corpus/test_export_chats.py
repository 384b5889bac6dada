"""Exports of chat apps: dialogues, agents, roles."""

import json
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, ReadOptions, Source, read
from dialens.corpus.readers._whatsapp import WHATSAPP
from tests.corpus.exports import agents, meta, put, said, zipped

# WhatsApp

MARK, NARROW = "\u200e", "\u202f"
CLOCKS = {
    "us android": (f"12/31/23, 9:41{NARROW}PM - ", "2023-12-31T21:41:00"),
    "indian android": (f"31/12/23, 9:41{NARROW}pm - ", "2023-12-31T21:41:00"),
    "midnight": ("12/31/23, 12:05 AM - ", "2023-12-31T00:05:00"),
    "british android": ("31/12/2023, 21:41 - ", "2023-12-31T21:41:00"),
    "german android": ("31.12.23, 21:41 - ", "2023-12-31T21:41:00"),
    "dutch android": ("31-12-2023 21:41 - ", "2023-12-31T21:41:00"),
    "swedish android": ("2023-12-31 21:41 - ", "2023-12-31T21:41:00"),
    "finnish android": ("31.12.2023 klo 21.41 - ", "2023-12-31T21:41:00"),
    "spanish android": ("31/12/23, 9:41 p. m. - ", "2023-12-31T21:41:00"),
    "french android": ("31/12/2023 à 21:41 - ", "2023-12-31T21:41:00"),
    "japanese android": ("2023/12/31 21:41 - ", "2023-12-31T21:41:00"),
    "chinese android": ("2023/12/31 下午9:41 - ", "2023-12-31T21:41:00"),
    "german ios": ("[31.12.23, 21:41:07] ", "2023-12-31T21:41:07"),
    "us ios": (f"[12/31/23, 9:41:07{NARROW}PM] ", "2023-12-31T21:41:07"),
    "marked ios": (f"{MARK}[31/12/2023, 21:41:07] ", "2023-12-31T21:41:07"),
}


@pytest.mark.parametrize(("stamp", "when"), CLOCKS.values(), ids=CLOCKS)
def test_whatsapp_reads_the_clocks_of_many_regions(stamp: str, when: str, tmp_path: Path) -> None:
    text = f"{stamp}Ann: Will it rain?\n{stamp}Help Bot: Yes: at noon.\nTake a coat.\n"
    corpus = read(put(tmp_path / "WhatsApp Chat with Help Bot.txt", text))
    assert corpus.manifest["source"]["format"] == "whatsapp"
    assert said(corpus) == {
        "WhatsApp Chat with Help Bot-2023-12-31": [
            ("Ann", "partner", "Will it rain?"),
            ("Help Bot", "agent", "Yes: at noon.\nTake a coat."),
        ]
    }
    times = corpus.turns.collect()["created_at"]
    assert [time.isoformat() for time in times] == [f"{when}+00:00"] * 2


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["1/2/24, 9:00 AM", "1/3/24, 9:00 AM", "1/13/24, 9:00 AM"], "2024-01-02"),
        (["1/2/24, 09:00", "13/2/24, 09:00"], "2024-02-01"),
        (["10/1/24, 09:00", "11/1/24, 09:00", "2/2/24, 09:00"], "2024-01-10"),
        (["1/30/24, 09:00", "2/1/24, 09:00"], "2024-01-30"),
        (["2/1/24, 9:00 AM"], "2024-02-01"),
        (["2/1/24, 9:00 am"], "2024-01-02"),
        (["2/1/24, 09:00"], "2024-01-02"),
    ],
)
def test_whatsapp_finds_out_whether_day_or_month_comes_first(
    lines: list[str], days: str, tmp_path: Path
) -> None:
    text = "".join(f"{line} - Bot: hello\n" for line in lines)
    assert next(iter(said(read(put(tmp_path / "chat.txt", text))))) == f"chat-{days}"


def test_whatsapp_media_and_the_apps_own_lines_are_no_turns(tmp_path: Path) -> None:
    stamp = "31/12/2023, 21:41 - "
    android = [
        f"{stamp}Messages and calls are end-to-end encrypted. Tap to learn more.",
        f"{stamp}Ann added +49 170 1234567",
        f"{stamp}Ann: <Media omitted>",
        f"{stamp}Ann: IMG-20231231-WA0001.jpg (file attached)",
        f"{stamp}Ann: IMG-20231231-WA0002.jpg (file attached)",
        "Look at this cloud",
        f"{stamp}Bot: <Medien ausgeschlossen>",
        f"{stamp}Bot: A cumulus.",
        f"{stamp}Ann: This message was deleted",
    ]
    corpus = read(put(tmp_path / "a.txt", "\n".join(android)))
    assert list(said(corpus).values()) == [
        [("Ann", "partner", "Look at this cloud"), ("Bot", "agent", "A cumulus.")]
    ]
    assert len(meta(corpus, 0)["before"]) == 4
    assert meta(corpus, 1)["after"] == [{"speaker": "Ann", "text": "This message was deleted"}]
    stamp = "[31.12.23, 21:41:07] "
    ios = [
        f"{stamp}Weather: {MARK}Messages and calls are end-to-end encrypted.",
        f"{stamp}Ann: Will it rain? {MARK}<This message was edited>",
        f"{MARK}{stamp}Ann: {MARK}image omitted",
        f"{stamp}~{NARROW}Bot: Yes.",
        f"{MARK}{stamp}Bot: {MARK}<attached: 0001-PHOTO.jpg>",
    ]
    corpus = read(put(tmp_path / "b.txt", "\r\n".join(ios)))
    assert list(said(corpus).values()) == [
        [("Ann", "partner", "Will it rain?"), ("Bot", "agent", "Yes.")]
    ]
    assert meta(corpus, 0)["edited"] is True


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_whatsapp_from_ios_is_read_with_its_pictures_beside_it(kind: str, tmp_path: Path) -> None:
    chat = "[31.12.23, 21:41:07] Ann: Hi\n[31.12.23, 21:41:09] Bot: Ho\n"
    files = {"_chat.txt": chat, "0001-PHOTO.jpg": "no picture"}
    source = tmp_path / "WhatsApp Chat - Bot"
    if kind == "zip":
        source = zipped(tmp_path / "WhatsApp Chat - Bot.zip", files)
    else:
        for name, content in files.items():
            put(source / name, content)
    assert list(said(read(source))) == ["WhatsApp Chat - Bot-2023-12-31"]


def test_a_log_or_a_transcript_is_no_whatsapp_chat(tmp_path: Path) -> None:
    for text in (
        "[2024-05-01 10:30:00] INFO: started\n",
        "2024-05-01 10:30:00,123 - INFO: started\n",
        "[2024-05-01 10:30] Ann: hi\n[2024-05-01 10:31] Bot: ho\n",
        "10:30:05 - Ann: hi\n",
    ):
        assert not WHATSAPP.recognises(Source(put(tmp_path / "a.txt", text)))


# Who is the agent

PEOPLE = (
    "31/12/2023, 21:41 - Ann: Will it rain?\n"
    "31/12/2023, 21:42 - +49 170 1234567: Yes.\n"
    "31/12/2023, 21:43 - Ann: When?\n"
    "01/01/2024, 09:00 - Ann: Happy new year!\n"
)


def test_where_nothing_tells_who_the_agent_is_the_speakers_are_listed(tmp_path: Path) -> None:
    path = put(tmp_path / "chat.txt", PEOPLE)
    with pytest.raises(DialensError) as caught:
        read(path, intake=Intake())
    assert str(caught.value).startswith(f"{path} does not say who the agent is.")
    assert "Ann (3), +49 170 1234567 (1)" in str(caught.value)
    assert "--role agent=Ann" in str(caught.value)


@pytest.mark.parametrize("option", ["agent=+49 170 1234567", "user=Ann"])
def test_the_agent_can_be_named(option: str, tmp_path: Path) -> None:
    intake = Intake()
    options = ReadOptions().with_roles([option])
    corpus = read(put(tmp_path / "chat.txt", PEOPLE), options=options, intake=intake)
    assert list(agents(corpus).values()) == ["+49 170 1234567"]
    assert [role for _, role, _ in said(corpus)["chat-2023-12-31"]] == [
        "partner",
        "agent",
        "partner",
    ]
    assert intake.notes == [
        "chat.txt: left out 1 of 2 conversations, in which +49 170 1234567 does not speak."
    ]


def test_an_agent_who_is_not_there_is_an_error_that_lists_those_who_are(tmp_path: Path) -> None:
    options = ReadOptions().with_roles(["agent=Anne"])
    with pytest.raises(DialensError, match=r"nobody called 'Anne'.*Did you mean Ann\?.*Ann \(3\)"):
        read(put(tmp_path / "chat.txt", PEOPLE), options=options)


# Slack

SLACK: dict[str, object] = {
    "users.json": [
        {"id": "U1", "name": "ann", "profile": {"display_name": "", "real_name": "Ann Lee"}},
        {"id": "U2", "name": "helper", "is_bot": True, "profile": {"real_name": "Helper"}},
    ],
    "channels.json": [{"id": "C1", "name": "help"}],
    "integration_logs.json": [],
    "help/2024-05-01.json": [
        {
            "type": "message",
            "subtype": "channel_join",
            "user": "U1",
            "ts": "1714550000.1",
            "text": "<@U1> has joined",
        },
        {
            "type": "message",
            "user": "U1",
            "ts": "1714559400.1",
            "text": "<@U2> rain &amp; wind? <https://a.example|map>",
            "thread_ts": "1714559400.1",
        },
        {"type": "message", "user": "U1", "ts": "1714559500.1", "text": "Anyone here?"},
        {
            "type": "message",
            "subtype": "bot_message",
            "bot_id": "B9",
            "username": "Deploys",
            "ts": "1714559600.1",
            "text": "Deployed.",
        },
    ],
    "help/2024-05-02.json": [
        {
            "type": "message",
            "user": "U2",
            "bot_id": "B2",
            "bot_profile": {"name": "Helper"},
            "ts": "1714645800.1",
            "thread_ts": "1714559400.1",
            "text": "",
            "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Rain at noon."}}],
        },
    ],
    "random/2024-05-01.json": [
        {"type": "message", "user": "U1", "ts": "1714559700.1", "text": "Lunch?"}
    ],
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_slack_threads_and_days_are_dialogues(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "workspace"
    if kind == "zip":
        source = zipped(tmp_path / "workspace.zip", SLACK)
    else:
        for name, content in SLACK.items():
            put(source / name, content)
    intake = Intake()
    corpus = read(source, intake=intake)
    assert said(corpus) == {
        "help-1714559400.1": [
            ("Ann Lee", "partner", "@Helper rain & wind? map"),
            ("Helper", "agent", "Rain at noon."),
        ],
        "help-2024-05-01": [
            ("Ann Lee", "partner", "Anyone here?"),
            ("Deploys", "agent", "Deployed."),
        ],
    }
    assert agents(corpus) == {"help-1714559400.1": "Helper", "help-2024-05-01": "Deploys"}
    assert "left out 1 of 3 conversations" in intake.notes[0]
    options = ReadOptions().with_roles(["agent=Helper"])
    assert list(said(read(source, options=options))) == ["help-1714559400.1"]


# Telegram and Discord


def test_telegram_joins_the_pieces_of_a_text(tmp_path: Path) -> None:
    messages = [
        {
            "id": 1,
            "type": "service",
            "date": "2024-05-01T10:00:00",
            "actor": "Ann",
            "action": "create_group",
            "text": "",
        },
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-01T10:00:00",
            "from": "Ann",
            "from_id": "user1",
            "photo": "a.jpg",
            "text": "",
        },
        {
            "id": 3,
            "type": "message",
            "date": "2024-05-01T10:00:01",
            "from": "Ann",
            "from_id": "user1",
            "text": ["Is ", {"type": "bold", "text": "this"}, " rain?"],
        },
        {
            "id": 4,
            "type": "message",
            "date": "2024-05-01T10:00:02",
            "from": "Sky",
            "from_id": "user7",
            "reply_to_message_id": 3,
            "text": "Yes.",
        },
    ]
    chat = {"name": "Sky", "type": "bot_chat", "id": 7, "messages": messages}
    corpus = read(put(tmp_path / "result.json", chat))
    assert said(corpus) == {
        "Sky-2024-05-01": [("Ann", "partner", "Is this rain?"), ("Sky", "agent", "Yes.")]
    }
    assert corpus.turns.collect()["reply_to"].to_list() == [None, "3"]
    assert len(meta(corpus, 0)["before"]) == 2
    folder = put(tmp_path / "ChatExport_2024" / "result.json", chat).parent
    put(folder / "photos" / "a.jpg", "no picture")
    assert list(said(read(folder))) == ["Sky-2024-05-01"]


def test_telegrams_export_of_everything(tmp_path: Path) -> None:
    def chat(name: str, kind: str, number: int, other: str) -> dict[str, Any]:
        return {
            "name": name,
            "type": kind,
            "id": number,
            "messages": [
                {
                    "id": place,
                    "type": "message",
                    "date": "2024-05-01T10:00:00",
                    "from": who,
                    "from_id": whose,
                    "text": f"{who} says {place}",
                }
                for place, (who, whose) in enumerate([("Ann", "user1"), (name, other)])
            ],
        }

    everything = {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 1, "first_name": "Ann", "bio": "{[messages]}"},
        "contacts": {"about": "…", "list": [{"user_id": 0, "first_name": "Bob"}]},
        "chats": {
            "about": "This page lists all chats.",
            "list": [
                chat("Sky", "bot_chat", 7, "user7"),
                chat("Bob", "personal_chat", 8, "user8"),
            ],
        },
    }
    path = tmp_path / "result.json"
    path.write_text(json.dumps(everything, indent=1))
    intake = Intake()
    corpus = read(path, intake=intake)
    assert said(corpus) == {
        "Sky-2024-05-01": [("Ann", "partner", "Ann says 0"), ("Sky", "agent", "Sky says 1")]
    }
    assert "left out 1 of 2 conversations" in intake.notes[0]


def discord(name: str, text: str, **more: Any) -> dict[str, Any]:
    author = {"id": name, "name": name.lower(), "nickname": name, "isBot": name == "Sky"}
    return {
        "id": text,
        "type": "Default",
        "timestamp": "2024-05-01T10:00:00.123+02:00",
        "content": text,
        "author": author,
        "attachments": [],
        "embeds": [],
        **more,
    }


def test_discord_knows_its_bots(tmp_path: Path) -> None:
    export = {
        "guild": {"id": "1", "name": "Server"},
        "channel": {"id": "2", "type": "GuildTextChat", "name": "weather"},
        "dateRange": {"after": None, "before": None},
        "messages": [
            discord("Ann", "", type="GuildMemberJoin"),
            discord("Ann", "", attachments=[{"id": "5", "fileName": "sky.png"}]),
            discord("Ann", "Rain?"),
            discord("Sky", "Yes.", type="Reply", reference={"messageId": "Rain?"}),
        ],
        "messageCount": 4,
    }
    corpus = read(put(tmp_path / "weather.json", export))
    assert said(corpus) == {
        "weather-2024-05-01": [("Ann", "partner", "Rain?"), ("Sky", "agent", "Yes.")]
    }
    assert len(meta(corpus, 0)["before"]) == 2


def test_discords_csv(tmp_path: Path) -> None:
    text = (
        "AuthorID,Author,Date,Content,Attachments,Reactions\n"
        '"1","ann","2024-05-01T10:00:00.0000000+00:00","Rain?","",""\n'
        '"7","SkyBot","05/01/2024 10:00 AM","Yes, ""now""","",""\n'
    )
    assert said(read(put(tmp_path / "weather.csv", text))) == {
        "weather-2024-05-01": [("ann", "partner", "Rain?"), ("SkyBot", "agent", 'Yes, "now"')]
    }


def test_a_broken_message_can_be_left_out_of_a_chat(tmp_path: Path) -> None:
    broken = {"id": 9, "type": "message", "date": "2024-05-01T10:00:00", "from": "Ann"}
    good = [
        {
            "id": place,
            "type": "message",
            "date": "2024-05-01T10:00:00",
            "from": who,
            "from_id": whose,
            "text": "hi",
        }
        for place, (who, whose) in enumerate([("Ann", "user1"), ("Sky", "user7")])
    ]
    chat = {"name": "Sky", "type": "bot_chat", "id": 7, "messages": [broken, *good]}
    path = tmp_path / "result.json"
    path.write_text(json.dumps(chat, indent=1))
    with pytest.raises(DialensError, match=r"result\.json, line 6: field `text` is missing"):
        read(path)
    intake = Intake(OnError.SKIP)
    assert len(said(read(path, intake=intake))["Sky-2024-05-01"]) == 2
    assert intake.rejected == 1
