"""Plans: the same for the same seed, complete, balanced, and blind."""

import hashlib
import json
from collections import Counter
from dataclasses import asdict
from itertools import pairwise, permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.studies import SCREEN_KINDS, TEA, Screen, Study, study_of
from dialens.studies._types import BLOCK_KINDS
from dialens.studies.plan import arranged, dealt, latin_square, plan, shuffled

SEEDS = st.integers(0, 2**63 - 1)


def tea(**changes: Any) -> Study:
    return study_of(TEA | changes)


def items(count: int, agents: str = "xyz") -> dict[str, Any]:
    return {
        "inline": [
            {
                "id": f"i{number}",
                "context": ["Hello?"],
                "responses": {agent: f"Reply {agent}." for agent in agents},
                "standard": "Standard.",
            }
            for number in range(count)
        ]
    }


def rated(screens: tuple[Screen, ...]) -> list[Screen]:
    return [screen for screen in screens if screen.kind == "rating"]


def order_of(screens: tuple[Screen, ...]) -> list[str]:
    return list(dict.fromkeys(str(screen.state["item"]) for screen in rated(screens)))


# ---- orders


@given(size=st.integers(1, 40))
def test_a_latin_square_has_everything_once_in_every_place(size: int) -> None:
    rows = latin_square(size)
    for row in rows:
        assert sorted(row) == list(range(size))
    for column in zip(*rows, strict=True):
        assert set(Counter(column).values()) == {len(rows) // size}


@given(size=st.integers(2, 20))
def test_neighbours_are_balanced(size: int) -> None:
    """Williams (1949): every ordered pair of neighbours equally often."""
    rows = latin_square(size)
    pairs = Counter(pair for row in rows for pair in pairwise(row))
    assert len(pairs) == size * (size - 1)
    assert set(pairs.values()) == {1 if size % 2 == 0 else 2}


def test_shuffles_reach_every_order_about_equally_often() -> None:
    counts = Counter(tuple(shuffled("abc", "key", seed)) for seed in range(6000))
    assert set(counts) == set(permutations("abc"))
    # chi-square with 5 degrees of freedom: 20.5 is its 99.9 % point
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 20.5


@given(count=st.integers(1, 80), length=st.integers(1, 30))
def test_lists_hold_everything_once(count: int, length: int) -> None:
    lists = dealt(range(count), length, "study")
    assert sorted(number for part in lists for number in part) == list(range(count))
    sizes = {len(part) for part in lists}
    assert max(sizes) <= length
    assert max(sizes) - min(sizes) <= 1


@given(seed=SEEDS, order=st.sampled_from(["random", "latin_square", "fixed"]))
def test_every_order_is_a_permutation(seed: int, order: str) -> None:
    assert sorted(arranged("abcde", order, seed, "key")) == list("abcde")


# ---- plans


@settings(max_examples=40)
@given(seed=SEEDS, place=st.integers(0, 3))
def test_the_same_seed_gives_the_same_screens(seed: int, place: int) -> None:
    first, again = tea(), Study.from_definition(tea().definition)
    cell = first.cells[place]
    assert first.hash == again.hash
    assert plan(first, cell, seed) == plan(again, cell.name, seed)


def test_a_plan_does_not_change_between_versions() -> None:
    """Sessions outlive upgrades of the server: these orders are fixed for good.

    Taken by hand from the definition: the SHA-256 of name, purpose, block, seed and place.
    """
    key = "\x1f".join(["tea", "items", "()", "7"])
    ranks = [hashlib.sha256(f"{key}\x1e{place}".encode()).digest() for place in range(6)]
    by_hand = [f"c{place + 1}" for place in sorted(range(6), key=ranks.__getitem__)]
    assert order_of(plan(tea(), "anchor=none,layout=together", 7)) == by_hand


@settings(max_examples=40)
@given(
    seed=SEEDS,
    order=st.sampled_from(["random", "latin_square", "fixed"]),
    responses=st.sampled_from(["random", "latin_square", "fixed"]),
    qualities=st.sampled_from(["random", "latin_square", "fixed"]),
    layout=st.sampled_from(["together", "separate", "single"]),
)
def test_every_item_response_and_quality_is_asked_once(
    seed: int, order: str, responses: str, qualities: str, layout: str
) -> None:
    study = tea(
        factors={},
        presentation={
            "order": order, "responses": responses, "qualities": qualities, "layout": layout
        },
    )  # fmt: skip
    screens = plan(study, "all", seed)
    asked = Counter((f.item, f.response, f.quality) for s in rated(screens) for f in s.fields)
    wanted = product(
        [f"c{n}" for n in range(1, 7)], ["plain", "warm", "odd"], study.design.qualities
    )
    assert asked == Counter(wanted)
    assert len({screen.id for screen in screens}) == len(screens)
    for screen in screens:
        assert screen.kind in SCREEN_KINDS
        assert {block["kind"] for block in screen.body} <= set(BLOCK_KINDS)
        assert len({field.name for field in screen.fields}) == len(screen.fields)
        if layout != "together" and screen.kind == "rating":
            assert len({field.quality for field in screen.fields}) == 1
        if layout == "single" and screen.kind == "rating":
            assert len(screen.fields) == 1
        json.dumps(asdict(screen))


def test_layouts_have_the_screens_they_promise() -> None:
    study = tea()
    together = rated(plan(study, "anchor=none,layout=together", 3))
    separate = rated(plan(study, "anchor=none,layout=separate", 3))
    assert [len(screen.fields) for screen in together] == [6] * 6
    assert [len(screen.fields) for screen in separate] == [3] * 12
    # one after the other for the same item, as in the paper
    assert [screen.id for screen in separate[:2]] == ["rate-001-readability", "rate-001-coherence"]
    assert separate[0].state["item"] == separate[1].state["item"]


def test_a_latin_square_of_items_is_balanced_over_participants() -> None:
    study = tea(factors={}, presentation={"order": "latin_square"}, items=items(6))
    orders = [order_of(plan(study, "all", seed)) for seed in range(6)]
    for column in zip(*orders, strict=True):
        assert len(set(column)) == 6


def test_responses_stand_equally_often_in_each_place() -> None:
    study = tea(factors={}, items=items(6))
    for seed in range(12):
        places = Counter(
            (target["response"], target["position"])
            for screen in rated(plan(study, "all", seed))
            for field in screen.fields
            if field.quality == "coherence"
            for target in field.targets.values()
        )
        assert set(places.values()) == {2}  # 6 items over 3 places


WITHIN = {
    "anchor": {"levels": ["none", "both"], "assign": "within"},
    "layout": {"levels": ["together", "separate"], "assign": "within", "mix": "mixed"},
}


@settings(max_examples=30)
@given(seed=SEEDS)
def test_each_participant_sees_all_levels_equally_often(seed: int) -> None:
    study = tea(factors=WITHIN, items=items(8))
    screens = rated(plan(study, "all", seed))
    conditions = {str(screen.state["item"]): screen.state["condition"] for screen in screens}
    assert set(Counter(conditions.values()).values()) == {2}
    blocks = [screen.state["factor.anchor"] for screen in screens]
    changes = sum(a != b for a, b in pairwise(blocks))
    assert changes == 1  # blocked: one level after the other


def test_levels_within_participants_are_counterbalanced() -> None:
    study = tea(factors=WITHIN, items=items(8))
    pairs: Counter[tuple[Any, Any]] = Counter()
    first: Counter[Any] = Counter()
    n_seeds = 4 * 2  # combinations of levels, orders of the blocks
    for seed in range(n_seeds):
        screens = rated(plan(study, "all", seed))
        for item, condition in {s.state["item"]: s.state["condition"] for s in screens}.items():
            pairs[item, condition] += 1
        first[screens[0].state["factor.anchor"]] += 1
    assert set(pairs.values()) == {n_seeds // 4}
    assert set(first.values()) == {n_seeds // 2}


def test_lists_give_every_item_its_annotators() -> None:
    study = tea(
        factors={"layout": ["together", "separate"]},
        items={**items(10), "lists": {"length": 4, "annotators": 3}},
    )
    assert len(study.cells) == 6
    assert set(study.targets.values()) == {3}
    seen: Counter[Any] = Counter()
    for cell in study.cells:
        for seed in range(study.targets[cell.name]):
            found = plan(study, cell, seed)
            seen.update((item, cell.levels["layout"]) for item in order_of(found))
            assert "list" not in str(rated(found)[0].state["condition"])
    assert len(seen) == 20
    assert set(seen.values()) == {3}


def test_samples_are_drawn_for_the_study_or_the_participant() -> None:
    own = tea(factors={}, items={**items(20), "sample": {"count": 5}})
    drawn = [frozenset(order_of(plan(own, "all", seed))) for seed in range(8)]
    assert all(len(sample) == 5 for sample in drawn)
    assert len(set(drawn)) > 1
    same = tea(factors={}, items={**items(20), "sample": {"count": 5, "by": "study"}})
    assert len({frozenset(order_of(plan(same, "all", seed))) for seed in range(8)}) == 1


@pytest.mark.parametrize(
    ("anchor", "value", "text"),
    [("none", None, None), ("numerical", 100, None), ("textual", None, "I like tea."),
     ("both", 100, "I like tea.")],
)  # fmt: skip
def test_the_anchor_is_shown_as_asked(anchor: str, value: float | None, text: str | None) -> None:
    study = tea(factors={"anchor": ["none", "numerical", "textual", "both"]})
    screen = rated(plan(study, f"anchor={anchor}", 1))[0]
    blocks = [block for block in screen.body if block["kind"] == "anchor"]
    assert screen.state["factor.anchor"] == anchor
    assert screen.fields[0].options.get("anchor_value") == value
    if anchor == "none":
        assert not blocks
        assert screen.state["anchor"] is None
        shown = json.dumps([screen.body, [dict(field.options) for field in screen.fields]])
        assert "I like tea." not in shown
        return
    assert blocks[0]["text"] == text
    assert [entry["value"] for entry in blocks[0]["values"]] == (
        [] if value is None else [value] * 2
    )
    assert screen.state["anchor"] == (None if text is None else "textual")


def test_practice_with_lines_tells_no_number_without_an_anchor() -> None:
    study = tea(practice={"lines": [40, 80]})
    shown = {
        cell.levels["anchor"]: next(s for s in plan(study, cell, 0) if s.kind == "practice")
        for cell in study.cells
    }
    assert shown["both"].fields[0].options["anchor_value"] == 100
    assert "anchor_value" not in shown["none"].fields[0].options
    assert "100" not in json.dumps(shown["none"].body)


def test_scales_deadlines_and_notes_follow_the_levels() -> None:
    study = tea(
        factors={
            "scale": [
                {"name": "likert", "instrument": {"kind": "likert", "points": 7}},
                {"name": "free", "instrument": "magnitude"},
            ],
            "deadline": ["none", 10],
            "role": [
                {"name": "friend", "note": "Imagine a friend wrote this."},
                {"name": "stranger", "note": "Imagine a stranger wrote this."},
            ],
        }
    )
    assert len(study.cells) == 8
    screen = rated(plan(study, "scale=likert,deadline=10s,role=stranger", 0))[0]
    assert {field.instrument for field in screen.fields} == {"likert"}
    assert screen.deadline_s == 10
    assert screen.body[0]["text"] == "Imagine a stranger wrote this."
    assert screen.state["condition"] == "scale=likert,deadline=10s,role=stranger"


def test_what_a_participant_gets_never_names_an_agent() -> None:
    study = tea(items=items(4, agents="xyz"), factors={})
    for screen in plan(study, "all", 5):
        shown = json.dumps(
            [
                screen.id,
                screen.title,
                screen.body,
                [[f.name, dict(f.options)] for f in screen.fields],
            ]
        )
        shown = shown.replace("Reply x.", "").replace("Reply y.", "").replace("Reply z.", "")
        for agent in "xyz":
            assert f'"{agent}"' not in shown


def test_checks_come_where_they_should_and_look_like_the_rest() -> None:
    gold = {
        "id": "g",
        "context": ["Hi?"],
        "responses": {"good": "Hello!", "bad": "hi hi the"},
        "expect": [{"quality": "coherence", "response": "good", "above": "bad"}],
    }
    attention = {
        "question": {"kind": "yes_no", "prompt": "Please choose No."},
        "correct": "no",
        "after": [2, 4],
    }
    study = tea(factors={}, checks={"gold": [gold], "attention": {"reading": attention}})
    kinds = []
    for seed in range(10):
        screens = plan(study, "all", seed)
        checks = [screen for screen in screens if screen.kind == "check"]
        asked = [screen.id for screen in checks if screen.id.startswith("check-")]
        assert asked == ["check-reading-1", "check-reading-2"]
        golden = [place for place, s in enumerate(screens) if s.state.get("item") == "g"]
        kinds.append(golden)
        orders = [s.state["order"] for s in screens if s.id.startswith("rate-")]
        assert orders == list(range(7))
    assert len(set(map(tuple, kinds))) > 1
