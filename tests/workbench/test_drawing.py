"""The draw: who is in it is a matter of the seed and of the strata, and of nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.corpus import Dialogue, Turn, batches, write_corpus
from dialens.workbench import Draw, Strata, Unit, View, Workbench, draw
from dialens.workbench._drawing import DIALOG, OPENING, TURN, allocated
from tests.workbench.by_hand import corpus_folder, score_folder

PLAIN = Strata()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """Two agents on two openings, eight replies of agents, scored."""
    folder = tmp_path_factory.mktemp("drawn")
    corpus_folder(folder / "talks")
    score_folder(folder / "new", folder / "talks")
    opened = Workbench.open(folder, cache=tmp_path_factory.mktemp("cache"))
    yield opened
    opened.close()


def many(folder: Path, order: int = 1) -> Workbench:
    """Thirty conversations of three agents with five replies each, in one order or the other."""
    talks = [
        Dialogue(
            "s",
            f"agent{n % 3}",
            f"d{n}",
            [
                Turn(side, side, f"{side} {n} {t}")
                for t in range(5)
                for side in ("partner", "agent")
            ],
        )
        for n in range(30)
    ]
    folder.mkdir(parents=True)
    write_corpus(
        batches(talks[::order]), folder / "talks", source={"name": "x", "format": "python"}
    )
    return Workbench.open(folder, cache=folder.parent / "cache")


def names(drawn: Draw) -> list[tuple[str, int | None]]:
    return [(unit.dialog, unit.turn) for unit in drawn.units]


def test_a_seed_draws_the_same_in_whatever_order_rows_come(tmp_path: Path) -> None:
    found = []
    for order in (1, -1):
        bench = many(tmp_path / f"order{order}", order)
        found.append(names(draw(bench.index, View(), TURN, 12, seed=7, strata=PLAIN)))
        other = names(draw(bench.index, View(), TURN, 12, seed=8, strata=PLAIN))
        assert other != found[-1]
        bench.close()
    assert found[0] == found[1]


def test_agents_are_balanced_and_conversations_come_twice_only_when_they_must(
    tmp_path: Path,
) -> None:
    bench = many(tmp_path / "many")
    drawn = draw(bench.index, View(), TURN, 30, seed=1, strata=PLAIN)
    assert Counter(unit.agent for unit in drawn.units) == {f"agent{n}": 10 for n in range(3)}
    assert len({unit.dialog for unit in drawn.units}) == 30
    assert drawn.pool == 150
    assert drawn.notes == ("150 turns of people left out: agents are judged.",)
    more = draw(bench.index, View(), TURN, 200, seed=1, strata=PLAIN)
    assert len(more.items) == 150, "all if there are fewer than wanted"
    assert not more.rest
    bench.close()


def test_every_unit_has_the_same_chance(tmp_path: Path) -> None:
    """Over 300 seeds each of 30 conversations is drawn about as often: binomial, three sigma."""
    bench = many(tmp_path / "many")
    drawn: Counter[str] = Counter()
    for seed in range(300):
        found = draw(bench.index, View(level="dialog"), DIALOG, 9, seed=seed, strata=PLAIN)
        drawn.update(unit.dialog for unit in found.units)
    bench.close()
    assert sum(drawn.values()) == 2700
    # Of each agent's ten three are drawn: 300 · .3 = 90, standard deviation √(300 · .3 · .7) = 7.9.
    assert all(abs(n - 90) < 3.5 * 7.94 for n in drawn.values())


def test_what_is_over_is_shared_out_as_far_as_strata_go() -> None:
    assert allocated({"a": 1, "b": 5, "c": 5}, 9, seed=3) == {"a": 1, "b": 4, "c": 4}
    assert sorted(allocated({"a": 9, "b": 9, "c": 9}, 4, seed=3).values()) == [1, 1, 2]
    assert allocated({"a": 2}, 9, seed=3) == {"a": 2}
    assert allocated({}, 9, seed=3) == {}


def test_parts_of_a_metric_are_strata_within_agents(bench: Workbench) -> None:
    strata = Strata("empathy", 2)
    drawn = draw(bench.index, View(), TURN, 4, seed=1, strata=strata)
    # Seven values; the fourth of them, .5, begins the upper half, and calm's are .5 and more.
    assert {one.name: one.size for one in drawn.strata} == {
        "calm · Empathy, upper half": 4,
        "curt · Empathy, lower half": 3,
        "curt · Empathy unknown": 1,
    }
    assert Counter(unit.agent for unit in drawn.units) == {"calm": 2, "curt": 2}
    with pytest.raises(DialensError, match="no column kindness"):
        draw(bench.index, View(), TURN, 4, seed=1, strata=Strata("kindness"))
    with pytest.raises(DialensError, match="2 to 5 parts"):
        draw(bench.index, View(), TURN, 4, seed=1, strata=Strata("empathy", 9))


def test_a_view_of_any_level_gives_units_of_any_kind(bench: Workbench) -> None:
    index = bench.index
    calm = {"agent": ("calm",)}
    for level, what, count in (
        ("turn", TURN, 4),
        ("dialog", TURN, 4),
        ("agent", TURN, 4),
        ("turn", DIALOG, 2),
        ("dialog", DIALOG, 2),
        ("agent", DIALOG, 2),
    ):
        drawn = draw(index, View(level, choices=calm), what, 99, seed=1, strata=PLAIN)
        assert len(drawn.items) == count, (level, what)
        assert {unit.agent for unit in drawn.units} == {"calm"}
        assert {unit.turn is None for unit in drawn.units} == {what == DIALOG}


def test_contexts_that_several_agents_answered(bench: Workbench) -> None:
    drawn = draw(bench.index, View(), OPENING, 9, seed=1, strata=PLAIN, agents=2)
    assert sorted([(u.agent, u.dialog, u.turn) for u in item] for item in drawn.items) == [
        [("calm", "cat-calm", 1), ("curt", "cat-curt", 1)],
        [("calm", "exam-calm", 1), ("curt", "exam-curt", 1)],
    ]
    with pytest.raises(DialensError, match=r"No context.*answered by 3 agents"):
        draw(bench.index, View(), OPENING, 9, seed=1, strata=PLAIN, agents=3)


def test_flagged_turns_alone(tmp_path: Path) -> None:
    bench = many(tmp_path / "many")
    for dialog, turn in (("d3", 1), ("d4", 3), ("d5", 4)):
        bench.notebook.flag(Unit("talks", dialog, turn), 1, "ada")
    bench.follow()
    flagged = View(choices={"flag": ("any",)})
    drawn = draw(bench.index, flagged, TURN, 9, seed=1, strata=PLAIN)
    assert sorted(names(drawn)) == [("d3", 1), ("d4", 3)], "turn 4 is a person's"
    people = View(choices={"role": ("partner",)})
    with pytest.raises(DialensError, match="holds no reply of an agent"):
        draw(bench.index, people, TURN, 9, seed=1, strata=PLAIN)
    bench.close()
