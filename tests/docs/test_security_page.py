"""The checklist of security names tests that exist and leaves no requirement out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LEVEL_2 = """
1.1: 1 2; 1.2: 1 2 3 4 5 6 7 8 9; 1.3: 1 2 3 4 5 6 7 8 9 10 11; 1.4: 1 2 3; 1.5: 1 2; 2.1: 1 2 3;
2.2: 1 2 3; 2.3: 1 2 3 4; 2.4: 1; 3.2: 1 2; 3.3: 1 2 3 4; 3.4: 1 2 3 4 5 6; 3.5: 1 2 3 4 5;
3.7: 1 2; 4.1: 1 2 3; 4.2: 1; 4.3: 1 2; 4.4: 1 2 3 4; 5.1: 1; 5.2: 1 2 3; 5.3: 1 2; 5.4: 1 2 3;
6.1: 1 2 3; 6.2: 1 2 3 4 5 6 7 8 9 10 11 12; 6.3: 1 2 3 4; 6.4: 1 2 3 4; 6.5: 1 2 3 4 5;
6.6: 1 2 3; 6.8: 1 2 3 4; 7.1: 1 2 3; 7.2: 1 2 3 4; 7.3: 1 2; 7.4: 1 2 3 4 5; 7.5: 1 2; 7.6: 1 2;
8.1: 1 2; 8.2: 1 2 3; 8.3: 1; 8.4: 1; 9.1: 1 2 3; 9.2: 1 2 3 4; 11.1: 1 2; 11.2: 1 2 3;
11.3: 1 2 3; 11.4: 1 2 3 4; 11.5: 1; 11.6: 1; 12.1: 1 2 3; 12.2: 1 2; 12.3: 1 2 3 4; 13.1: 1;
13.2: 1 2 3 4 5; 13.3: 1 2; 13.4: 1 2 3 4 5; 14.1: 1 2; 14.2: 1 2 3 4; 14.3: 1 2 3; 15.1: 1 2 3;
15.2: 1 2 3; 15.3: 1 2 3 4 5 6 7; 16.1: 1; 16.2: 1 2 3 4 5; 16.3: 1 2 3 4; 16.4: 1 2 3;
16.5: 1 2 3;
"""
"""Requirements of levels 1 and 2 of ASVS 5.0.0 by section, without chapters 10 and 17."""

TEST = re.compile(r"`(?:[\w./]+::)?(test_\w+)`")
NUMBER = re.compile(r"\b\d+\.\d+\.\d+\b")


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "security.md").read_text("utf-8")


def rows(page: str) -> list[list[str]]:
    """The cells of every line of the tables."""
    lines = [line for line in page.splitlines() if NUMBER.match(line.removeprefix("| "))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(("name", "least"), [("security", 120), ("reliability", 60)])
def test_every_test_on_the_page_exists(name: str, least: int, repository: Path) -> None:
    named = set(TEST.findall((repository / "docs" / f"{name}.md").read_text("utf-8")))
    files = (repository / "tests").rglob("test_*.py")
    there = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert len(named) >= least
    assert not sorted(named - there)


def test_every_requirement_has_one_line(page: str) -> None:
    wanted = [
        f"{section}.{number}"
        for section, numbers in re.findall(r"(\d+\.\d+): ([\d ]+);", LEVEL_2)
        for number in numbers.split()
    ]
    found = [number for row in rows(page) for number in NUMBER.findall(row[0])]
    assert len(wanted) == 217
    assert sorted(found) == sorted(wanted)
    for chapter in (10, 17):
        assert f"Chapter {chapter} as a whole: not applicable" in page


def test_every_line_says_how_it_stands(page: str) -> None:
    """What is met names a test, or says why none is needed; what is open says what is missing."""
    for requirement, about, state in rows(page):
        assert about
        assert re.search(r"\*\*(met|open)\*\*|not applicable", state), requirement
        assert len(state) > len("**met**: none"), requirement
