"""Practice with lines, and checks before the first item."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from dialens.studies import TEA, Screen, study_of
from dialens.studies.instruments import simulate
from dialens.studies.plan import plan
from dialens.studies.simulation import Population, World


def screens(cell: str, lines: list[float]) -> list[Screen]:
    study = study_of(TEA | {"practice": {"lines": lines}, "factors": {"anchor": ["none", "both"]}})
    return [s for s in plan(study, f"anchor={cell}", 0) if s.id.startswith("line-")]


def drawn(screen: Screen) -> list[float]:
    return [block["length"] for block in screen.body if block["kind"] == "line"]


def test_lines_that_are_too_long_are_drawn_to_one_scale() -> None:
    made = screens("both", [40, 200, 500])
    assert [drawn(screen) for screen in made] == [[8.0, 40.0], [8.0, 100.0]]


def test_lines_that_fit_are_drawn_as_they_are() -> None:
    assert [drawn(screen) for screen in screens("both", [40, 80, 20])] == [[40, 80], [40, 20]]


def test_with_a_number_the_first_line_is_the_modulus() -> None:
    (made,) = screens("both", [40, 80])
    assert made.body[1]["label"] == "First line: 100"
    assert [field.name for field in made.fields] == ["length"]


def test_without_a_number_both_lines_are_asked_for() -> None:
    (made,) = screens("none", [40, 80])
    assert [field.options["prompt"] for field in made.fields] == [
        "How long is the first line?",
        "How long is the second line?",
    ]
    assert "100" not in str(made.body)


def test_simulated_people_answer_lines_in_proportion() -> None:
    (made,) = screens("none", [40, 80])
    study = study_of(TEA | {"practice": {"lines": [40, 80]}})
    person = World(study, Population(noise=0.0, round_share=0.0), seed=1).person(1)
    reply = person.reply(made)
    assert reply is not None
    assert reply.answers["length"] / reply.answers["standard_length"] == pytest.approx(2, rel=0.02)
    assert simulate(np.random.default_rng(0), made.fields[0])


def test_a_line_too_short_to_be_seen_is_refused() -> None:
    with pytest.raises(ValidationError, match="more than 50 times"):
        study_of(TEA | {"practice": {"lines": [1, 51]}})


def attention(after: list[int], **changes: Any) -> list[str]:
    question = {"kind": "yes_no", "prompt": "Yes?"}
    checks = {"attention": {"early": {"question": question, "correct": "yes", "after": after}}}
    study = study_of(TEA | {"checks": checks} | changes)
    cell = study.cells[0]
    return [s.id for s in plan(study, cell, 0) if s.kind in ("rating", "check")]


def test_a_check_comes_before_the_first_item() -> None:
    ids = attention([0, 2])
    assert ids[0] == "check-early-1"
    assert ids[3] == "check-early-2"


def test_a_check_comes_before_the_first_conversation() -> None:
    talks = {"agents": [{"name": "a", "agent": "hred"}], "exchanges": 1}
    data = {name: value for name, value in TEA.items() if name not in ("items", "factors")}
    qualities = {"warmth": {"instrument": "likert", "level": "dialogue"}}
    question = {"kind": "yes_no", "prompt": "Yes?"}
    checks = {"attention": {"early": {"question": question, "correct": "yes", "after": [0]}}}
    study = study_of(data | {"conversations": talks, "qualities": qualities, "checks": checks})
    kinds = [screen.kind for screen in plan(study, study.cells[0], 0)]
    assert kinds.index("check") < kinds.index("chat")


def test_a_check_after_fewer_than_no_items_is_refused() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        attention([-1])
