"""Tables of agents on the terminal: no name is cut, no two rows are called the same."""

import pytest
from rich.console import Console

from dialens.cli._agent_tables import print_grids

NAMES = ["empathy", "agreeableness", "language_style_matching", "emotional_entropy", "question"]
AGENTS = {("v1", "bot"): "v1 / bot", ("v2", "bot"): "v2 / bot"}
CELLS = {(agent, name): "0.123" for agent in AGENTS for name in NAMES}


def printed(width: int, *, all_of_them: bool) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as said:
        print_grids(console, AGENTS, NAMES, CELLS, all_of_them=all_of_them)
    return said.get()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120])
def test_every_word_of_a_name_is_whole_whatever_the_width(width: int) -> None:
    words = set(printed(width, all_of_them=True).split())
    assert {word for name in NAMES for word in name.split("_")} <= words
    assert "…" not in "".join(words)
    shown = printed(width, all_of_them=False)
    assert max(map(len, shown.splitlines())) <= width
    known = {word for name in NAMES for word in name.split("_")}
    numbers = {"0.123", "agent", "v1", "v2", "/", "bot"}
    assert set(shown.split()) <= known | numbers


def test_agents_of_one_name_are_told_apart() -> None:
    text = printed(80, all_of_them=False)
    assert "v1 / bot" in text
    assert "v2 / bot" in text
