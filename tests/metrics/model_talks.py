"""A few short talks for tests of what models say of them, and how their values are looked up."""

from collections.abc import Iterator

import pytest

from dialens.corpus import Dialogue, Turn
from dialens.metrics import Scores


def said(*turns: str) -> list[Turn]:
    """Turns written as `agent: text` or `partner: text`."""
    found = []
    for turn in turns:
        role, _, text = turn.partition(":")
        found.append(Turn(role, role, text.strip()))
    return found


TALKS = [
    Dialogue(
        "s",
        "a",
        "d1",
        said(
            "partner: i love the cat", "agent: wow you never hate it", "agent: the zebra is happy"
        ),
    ),
    Dialogue("s", "a", "d2", said("agent: hope", "partner: we're sad !", "agent: do not hate ?")),
    Dialogue("s", "b", "d3", said("partner: thanks", "agent: i love it , i do", "agent:")),
    Dialogue("t", "c", "d4", said("agent: all the cat", "agent: scared of it all")),
]


def values(scores: Scores, level: str, name: str) -> dict[tuple[object, ...], float | None]:
    rows = scores.wide(level).iter_rows(named=True)
    keys = ("system", "agent", "dialog", "turn")
    return {tuple(r[k] for k in keys if r[k] is not None): r[name] for r in rows}


def groups() -> Iterator[tuple[str, tuple[object, ...], list[Dialogue]]]:
    for talk in TALKS:
        yield "dialog", (talk.system, talk.agent, talk.dialog), [talk]
    for pair in {(talk.system, talk.agent) for talk in TALKS}:
        yield "agent", pair, [t for t in TALKS if (t.system, t.agent) == pair]
    for system in {talk.system for talk in TALKS}:
        yield "system", (system,), [t for t in TALKS if t.system == system]


def same(got: float | None, wanted: float | None) -> None:
    assert got == (None if wanted is None else pytest.approx(wanted, abs=1e-3))
