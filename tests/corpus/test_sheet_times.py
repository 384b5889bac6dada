"""Times in sheets: the dates of regions order the turns; what cannot be ordered is refused."""

from pathlib import Path

import pytest

from dialens import DialensError
from dialens.corpus import Intake, read
from tests.corpus.test_sheets import sheet

HEADER = ["conversation_id", "sender", "message", "timestamp"]
WORDS = ["one", "two", "three", "four"]


def chats(path: Path, days: list[list[str]], *, newest_first: bool = True) -> Path:
    """Dialogues of four turns at some times."""
    rows = [
        (f"c{number}", ("User", "Bot")[place % 2], word, times[place])
        for number, times in enumerate(days)
        for place, word in enumerate(WORDS)
    ]
    return sheet(path, HEADER, rows[::-1] if newest_first else rows)


def moments(path: Path) -> list[str]:
    turns = read(path).turns.collect()
    for said in turns.group_by("dialog", maintain_order=True).agg("text")["text"]:
        assert said.to_list() == WORDS
    return sorted(time.isoformat()[:16] for time in turns["created_at"])


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("{day:02}.05.2024 {hour:02}:{minute:02}", "day, month, year"),
        ("{day:02}/05/2024 {hour:02}:{minute:02}", "day, month, year"),
        ("{day}/5/24, {hour:02}:{minute:02}:00", "day, month, year"),
        ("05/{day:02}/2024 {half:02}:{minute:02} {mark}", "month, day, year"),
        ("5/{day}/24 {half}:{minute:02}:00{mark}", "month, day, year"),
        ("2024/05/{day:02} {hour:02}:{minute:02}", "year, month, day"),
        ("{day} May 2024 {hour:02}:{minute:02}", None),
        ("May {day}, 2024 at {half}:{minute:02} {mark}", None),
        ("Wed, {day:02} May 2024 {hour:02}:{minute:02}:00 GMT", None),
    ],
)
def test_dates_of_regions_order_the_turns(
    tmp_path: Path, written: str, read_as: str | None
) -> None:
    clock = [(11, 58), (11, 59), (12, 0), (13, 1)]
    days = [
        [
            written.format(
                day=day, hour=h, minute=m, half=(h - 1) % 12 + 1, mark="AM" if h < 12 else "PM"
            )
            for h, m in clock
        ]
        for day in (1, 2, 3)
    ]
    path = chats(tmp_path / "chats.csv", days)
    expected = [f"2024-05-{day:02}T{h:02}:{m:02}" for day in (1, 2, 3) for h, m in clock]
    assert moments(path) == expected
    intake = Intake()
    read(path, intake=intake)
    noted = [note for note in intake.notes if "took the dates in 'timestamp' for" in note]
    assert [read_as in note for note in noted if read_as] == [True] * bool(read_as)


def test_a_day_beyond_twelve_decides_against_the_clock(tmp_path: Path) -> None:
    days = [[f"{day}/05/2024 09:{minute} PM" for minute in (10, 11, 12, 13)] for day in (4, 28)]
    assert moments(chats(tmp_path / "chats.csv", days))[0] == "2024-05-04T21:10"


def test_of_the_same_minute_the_lower_row_is_the_earlier_in_a_file_with_the_newest_first(
    tmp_path: Path,
) -> None:
    days = [["2024-05-01 10:00", "2024-05-01 10:00", "2024-05-01 10:01", "2024-05-01 10:01"]]
    assert len(moments(chats(tmp_path / "back.csv", days))) == 4
    assert len(moments(chats(tmp_path / "forth.csv", days, newest_first=False))) == 4


def test_our_own_columns_follow_times_too(tmp_path: Path) -> None:
    rows = [("d", "Bot", "two", "01.05.2024 10:01"), ("d", "User", "one", "01.05.2024 10:00")]
    path = sheet(tmp_path / "x.csv", ["dialog", "speaker", "text", "created_at"], rows)
    assert read(path).turns.collect()["text"].to_list() == ["one", "two"]


@pytest.mark.parametrize(
    "times",
    [
        [f"Mittwoch, 10:{minute} Uhr" for minute in (10, 11, 12, 13)],
        ["2024-05-01 10:10", "2024-05-01 10:11", "tomorrow", "2024-05-01 10:13"],
        [f"Mittwoch, {clock}" for clock in ("11:58 am", "11:59 am", "12:00 pm", "1:01 pm")],
    ],
    ids=["words", "mixed", "halves"],
)
def test_times_that_cannot_be_read_stop_what_would_be_read_backwards(
    tmp_path: Path, times: list[str]
) -> None:
    with pytest.raises(DialensError, match=r"cannot be read \(seen: .*line \d is earlier") as error:
        read(chats(tmp_path / "back.csv", [times]))
    assert "2024-05-01 10:30:00" in str(error.value)
    intake = Intake()
    corpus = read(chats(tmp_path / "forth.csv", [times], newest_first=False), intake=intake)
    assert corpus.turns.collect()["text"].to_list() == WORDS
    assert any("in the order of the rows" in note for note in intake.notes)
