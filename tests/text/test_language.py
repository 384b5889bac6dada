"""Whether texts are English: never said of English ones, always of others."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dialens.corpus import demo_path, read
from dialens.text import ENGLISH, MIXED, OTHER, UNCLEAR, languages
from dialens.text._language import _looked_at
from tests.text.other_languages import LANGUAGES

SHORT = ["ok", "lol", "Thanks!", "yep", "brb", "no idea", "haha nice", "gg", "k", "sounds good"]


def verdict(texts: list[str], partner: list[str] | None = None) -> str:
    rows = [("s", "a", "agent", text) for text in texts]
    rows += [("s", "a", "partner", text) for text in partner or []]
    table = pl.DataFrame(rows, schema=["system", "agent", "role", "text"], orient="row")
    found: str = languages(table.lazy())["verdict"].item()
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_ten_turns_of_another_language_are_noticed(language: str) -> None:
    assert verdict(LANGUAGES[language]) == OTHER


def test_the_demo_is_english() -> None:
    found = languages(read(demo_path()).turns)
    assert found["verdict"].to_list() == [ENGLISH] * 3
    assert found["known"].min() > 0.7


@pytest.mark.parametrize(
    "texts",
    [
        SHORT,
        SHORT * 100,
        ["Nein."] * 500,  # one text says no more by being repeated
        ["jazz " * 60, "india " * 40, "jobs jobs jobs"],  # agents that loop
        ["42", "https://example.org/a", "@ann #1", "!!!", ""],
        ["```python\nimport os\nfor pfad in os.scandir('.'): print(pfad.name)\n```"] * 3,
    ],
)
def test_short_or_repeated_texts_are_not_accused(texts: list[str]) -> None:
    assert verdict(texts) != OTHER


def test_who_says_too_little_is_judged_by_the_conversation() -> None:
    assert verdict(["Nein."], LANGUAGES["German"]) == OTHER
    assert verdict(["Nein."]) == UNCLEAR


def test_agents_are_told_apart_and_nobody_is_left_out() -> None:
    rows = [("s", "de", "agent", text) for text in LANGUAGES["German"]]
    rows += [("s", "en", "agent", f"I think that this is number {n} of them.") for n in range(9)]
    rows += [("s", "mute", "partner", "")]
    table = pl.DataFrame(rows, schema=["system", "agent", "role", "text"], orient="row")
    found = languages(table.lazy())
    assert found.select("agent", "verdict").rows() == [
        ("de", OTHER),
        ("en", ENGLISH),
        ("mute", UNCLEAR),
    ]
    assert languages(table.clear().lazy()).height == 0


def test_an_agent_that_changes_its_language_is_noticed() -> None:
    english = [f"I am glad that you have told me about it, and {n} more." for n in range(6)]
    assert verdict([*english, *LANGUAGES["German"][:6]]) == MIXED
    assert verdict([*english, *["Wir haben Ihre Bestellung heute verschickt, danke."] * 6]) == MIXED
    assert verdict([*english, "Wir haben Ihre Bestellung heute verschickt, danke."]) == ENGLISH


def test_of_very_many_turns_every_nth_is_looked_at(tmp_path: Path) -> None:
    count = 150_001
    table = pl.DataFrame({"text": [f"turn {n} of very many" for n in range(count)]}).select(
        *(pl.lit(name).alias(name) for name in ("system", "agent", "role")), "text"
    )
    table.write_parquet(tmp_path / "turns.parquet", row_group_size=7_000)
    looked_at = _looked_at(pl.scan_parquet(tmp_path / "turns.parquet"))
    assert looked_at.equals(table.gather_every(4))  # at most 50,000
