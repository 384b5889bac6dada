"""Allocation and stopping by precision, as a study file says it and on people's means."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from dialens.statistics import sequence_reach
from dialens.studies import TEA, Study, estimate, preregister, preregistration_markdown, study_of
from dialens.studies._precision import AT_MOST, PRECISE, PersonMeans, precision

PRECISION = {"kind": "precision", "quality": "warmth", "half_width": 0.5}
WARMTH = {"warmth": {"instrument": {"kind": "likert", "points": 7}}}
LAYOUT = {"layout": {"levels": ["together", "separate"]}}
TWO = {"layout": {"levels": ["together", "separate"]}, "order": {"levels": ["fixed", "random"]}}


def study(factors: dict[str, Any] | None = None, **wanted: Any) -> Study:
    changes = {"qualities": WARMTH, "factors": LAYOUT if factors is None else factors}
    own = {"presentation": {"anchor": "none"}, "allocation": PRECISION | wanted}
    return study_of(TEA | changes | own)


def means(made: Study, values: dict[str, list[float]]) -> list[PersonMeans]:
    return [PersonMeans(cell.name, x, {}) for cell in made.cells for x in values[cell.name]]


def test_allocation_is_operation_and_even_unless_said() -> None:
    even = study_of(TEA | {"qualities": WARMTH, "factors": LAYOUT, "presentation": {}})
    assert even.design.allocation.kind == "even"
    other = study_of(
        TEA | {"qualities": WARMTH, "factors": LAYOUT, "presentation": {}, "allocation": PRECISION}
    )
    assert even.hash == other.hash


@pytest.mark.parametrize(
    ("allocation", "told"),
    [
        ({"kind": "precision", "quality": "warmth"}, "is needed"),
        ({"half_width": 0.5}, "goes with `kind: precision`"),
        (PRECISION | {"quality": "warmht"}, "Did you mean warmth"),
        (PRECISION | {"compare": "layuot"}, "Did you mean layout"),
        (PRECISION | {"at_least": 2}, "at_least"),
    ],
)
def test_what_cannot_be_is_refused(allocation: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        study_of(TEA | {"qualities": WARMTH, "factors": LAYOUT, "allocation": allocation})


def test_a_ratio_has_no_width_in_points() -> None:
    with pytest.raises(ValueError, match="magnitude have no one unit"):
        study_of(TEA | {"allocation": PRECISION | {"quality": "coherence", "compare": "layout"}})


def test_several_factors_are_asked_about() -> None:
    with pytest.raises(ValueError, match="name one of layout, order"):
        study(TWO)
    assert study(TWO, compare="order").design.allocation.compare == "order"


def test_a_difference_between_two_cells_by_hand() -> None:
    made = study(half_width=0.9)
    together, separate = (cell.name for cell in made.cells)
    values = {together: [4.0, 5.0] * 10, separate: [3.0, 5.0] * 10}
    found = precision(made, means(made, values), taken=40)
    (only,) = found.comparisons
    assert only.name == "together − separate"
    assert only.value == pytest.approx(0.5)
    variances = np.array([np.var(values[name], ddof=1) for name in (together, separate)])
    reach = sequence_reach(np.array([1.0, -1.0]), np.array([20, 20]), variances, planned=100)
    assert only.half_width == pytest.approx(float(reach))
    assert found.stopped == PRECISE
    assert found.needs[separate] > found.needs[together]
    assert "which is enough" in found.sentences[0]
    assert "valid however often one looks" in found.sentences[1]


def test_levels_of_a_factor_are_means_of_their_cells() -> None:
    made = study(TWO, compare="order")
    values = {cell.name: [1.0, 3.0] * 6 for cell in made.cells}
    values[made.cells[0].name] = [3.0, 5.0] * 6  # together, fixed
    (only,) = precision(made, means(made, values), taken=48).comparisons
    assert only.name == "fixed − random"
    assert only.value == pytest.approx(1.0)  # (4 + 2) / 2 − 2


def test_everybody_judges_all_agents() -> None:
    made = study({}, compare="agent", half_width=0.2, at_most=100)
    people = [
        PersonMeans("all", 3.0, {"a": n, "b": n - 0.5 + 0.1 * (n % 2), "c": 3.0 + n % 2})
        for n in range(30)
    ]
    found = precision(made, people, taken=30)
    by_name = {one.name: one for one in found.comparisons}
    assert list(by_name) == ["a − b", "a − c", "b − c"]
    # Everybody's difference of a and b is nearly the same: people's levels do not count.
    assert by_name["a − b"].half_width < 0.05 < 1 < by_name["a − c"].half_width
    assert by_name["a − b"].value == pytest.approx(0.45)
    assert found.stopped is None


def test_people_who_all_say_the_same_show_nothing() -> None:
    made = study(at_most=100)
    values = {cell.name: [7.0] * 15 for cell in made.cells}
    found = precision(made, means(made, values), taken=30)
    assert found.stopped is None
    assert "everybody says the same" in found.sentences[0]


def test_nothing_is_said_before_there_are_enough() -> None:
    made = study(at_least=12, at_most=20)
    values = {cell.name: [3.0, 4.0] * 5 for cell in made.cells}
    found = precision(made, means(made, values), taken=19)
    assert (found.comparisons, found.stopped, found.needs) == ((), None, {})
    assert "before each cell has 12 people" in found.sentences[0]
    assert precision(made, means(made, values), taken=20).stopped == AT_MOST


def test_that_nobody_is_let_in_is_said_though_nothing_is_known() -> None:
    made = study(at_least=12, at_most=20)
    values = {cell.name: [3.0, 4.0] * 5 for cell in made.cells}
    open_, over = (precision(made, means(made, values), taken=n) for n in (19, 20))
    assert over.sentences[1].endswith("(20 completed): nobody new is let in.")
    assert len(open_.sentences) == 1
    assert [one.state_of("open") for one in (open_, over)] == ["open", "closed by precision"]
    assert over.state_of("paused") == "paused"


def test_too_few_people_are_told_beforehand() -> None:
    told = estimate(study(at_least=12, at_most=20)).warnings
    assert any("each of 2 cells has 12 (at_least), 24 in all" in one for one in told)
    reach = sequence_reach(np.array([1.0, -1.0]), np.array([20, 20]), np.ones(2), planned=100)
    # A scale of 6 points, of which a tenth is 0.6.
    for factor, warned in ((0.99, True), (1.01, False)):
        made = study(at_most=40, half_width=0.6 * factor * float(reach))
        told = estimate(made).warnings
        assert any("standard deviation of" in one for one in told) == warned
    assert not any("allocation" in one for one in estimate(study_of(TEA)).warnings)


def test_the_rule_is_part_of_a_preregistration() -> None:
    made = study_of(
        TEA
        | {"qualities": WARMTH, "factors": LAYOUT, "presentation": {}, "allocation": PRECISION}
        | {"hypotheses": ["Warmth differs."]}
    )
    text = preregistration_markdown(preregister(made, now=datetime(2026, 1, 1, tzinfo=UTC)))
    assert "- allocation.half_width: 0.5" in text
    assert "confidence sequence" in text
