"""Anchors: a number only where participants give one, inside its scale, and where it stands."""

from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies import TEA, Field, Screen, load_study, rating_rows, study_of
from dialens.studies.plan import plan

FIVE = {
    "warmth": {"instrument": {"kind": "likert", "points": 7}},
    "usefulness": {"instrument": "slider"},
    "coherence": {"instrument": {"kind": "magnitude", "modulus": 100}},
    "why": {"instrument": "free_text", "required": False},
    "preference": {"instrument": {"kind": "ranking"}},
}
VALUES = {"warmth": 4, "usefulness": 50}


def shown(**presentation: Any) -> Screen:
    """The first rating screen of a study that shows an anchor on every one."""
    given = {"anchor": "both", "anchor_value": VALUES, **presentation}
    study = study_of(TEA | {"qualities": FIVE, "factors": {}, "presentation": given})
    return next(screen for screen in plan(study, "all", 0) if screen.kind == "rating")


def numbers(screen: Screen) -> dict[str, float]:
    (anchor,) = (block for block in screen.body if block["kind"] == "anchor")
    return {entry["quality"]: entry["value"] for entry in anchor["values"]}


def test_only_qualities_with_numbers_have_one() -> None:
    assert numbers(shown()) == {"Warmth": 4, "Usefulness": 50, "Coherence": 100}


def test_null_shows_no_number_of_a_quality() -> None:
    screen = shown(anchor_value=VALUES | {"usefulness": None, "coherence": None})
    assert numbers(screen) == {"Warmth": 4}


def test_each_rating_carries_the_number_of_its_quality() -> None:
    screen = shown()
    told: dict[str, set[Any]] = {}
    for field in screen.fields:
        answer = {"warmth": 3, "usefulness": 3.0, "coherence": 3.0, "preference": ["1", "2", "3"]}
        for row in rating_rows(screen, field, answer.get(str(field.quality))):
            told.setdefault(row["quality"], set()).add(row["anchor"])
    assert told == {
        "warmth": {"4"},
        "usefulness": {"50"},
        "coherence": {"100"},
        "preference": {"textual"},
    }


def test_a_screen_without_a_number_shows_no_empty_anchor() -> None:
    screens = plan(
        study_of(
            TEA
            | {
                "qualities": FIVE,
                "factors": {},
                "presentation": {
                    "anchor": "numerical",
                    "anchor_value": VALUES,
                    "layout": "separate",
                },
            }
        ),
        "all",
        0,
    )
    with_anchor = {
        field.quality
        for screen in screens
        for field in screen.fields
        if any(block["kind"] == "anchor" for block in screen.body)
    }
    assert with_anchor == {"warmth", "usefulness", "coherence"}


def noted(screen: Screen) -> list[str]:
    return [str(field.options["anchor_note"]) for field in screen.fields if _note(field)]


def _note(field: Field) -> bool:
    return "anchor_note" in field.options


def test_the_number_is_repeated_below_questions_only_if_asked_for() -> None:
    assert noted(shown()) == []
    screen = shown(anchor_repeated=True, standard_label="Comparison reply")
    assert set(noted(screen)) == {
        "Comparison reply: 4.",
        "Comparison reply: 50.",
        "Comparison reply: 100.",
    }
    assert len(noted(screen)) == 9  # three replies, three qualities with a number


STUDY = """\
study: tea
title: Tea
items: {inline: [{id: a, responses: {x: One., y: Two.}, standard: S.}]}
qualities:
  warmth: {instrument: {kind: likert, points: 7}}
  preference: {instrument: pairwise}
presentation:
  anchor: both
  anchor_value: 4
consent: {text: Contact a@b.org}
instructions: {text: Judge.}
"""


@pytest.mark.parametrize(
    ("was", "now", "line", "said"),
    [
        ("anchor_value: 4", "anchor_value: 100", 9, "its scale goes from 1 to 7"),
        ("anchor_value: 4", "anchor_value: {warmth: 8}", 9, "8 cannot be the number of warmth"),
        ("anchor_value: 4", "anchor_value: {warmht: 4}", 9, "Did you mean warmth?"),
        (
            "anchor_value: 4",
            "anchor_value: {warmth: 4, preference: 1}",
            9,
            "preference is judged by pairwise preference, which has no number: leave it out",
        ),
        ("  anchor_value: 4\n", "", 8, "none is known for warmth. Set presentation.anchor_value"),
        ("{kind: likert, points: 7}", "{kind: magnitude}", 0, ""),
        ("anchor_value: 4", "anchor_value: -4", 9, "its scale goes from 1 to 7"),
        ("{kind: likert, points: 7}", "free_text", 8, "no quality is answered with one"),
    ],
)
def test_numbers_that_nobody_could_give_are_refused_with_their_line(
    tmp_path: Path, was: str, now: str, line: int, said: str
) -> None:
    assert was in STUDY
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace(was, now, 1))
    if not said:
        assert load_study(path).items
        return
    with pytest.raises(DialensError) as caught:
        load_study(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in str(caught.value)


def test_where_the_scale_is_a_factor_each_level_has_its_number() -> None:
    levels = [
        {"name": "points", "instrument": {"kind": "likert", "points": 7}},
        {"name": "free", "instrument": "magnitude"},
    ]
    study = study_of(
        TEA
        | {
            "factors": {"scale": levels},
            "presentation": {"anchor": "numerical", "anchor_value": {"points": 4}},
        }
    )
    for cell, number in (("scale=points", 4), ("scale=free", 100)):
        screen = next(s for s in plan(study, cell, 0) if s.kind == "rating")
        assert set(numbers(screen).values()) == {number}


def test_repeating_the_number_is_a_column_of_the_data() -> None:
    levels = {k: v for k, v in shown(anchor_repeated=True).state.items() if k.startswith("factor.")}
    assert levels["factor.anchor_repeated"] == "yes"
    assert "factor.anchor_repeated" not in shown().state
