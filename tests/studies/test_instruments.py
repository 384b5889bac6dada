"""One suite that every instrument passes, and what each of them takes and refuses."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from dialens.corpus import RATINGS
from dialens.studies import AnswerError, Field, Screen, rating_rows
from dialens.studies.instruments import Instrument, instrument, instruments, simulate, validate
from dialens.studies.texts import Texts
from dialens.testing import check_instrument
from dialens.testing._instruments import instrument_field as asked

ALL = list(instruments().values())


@pytest.fixture(params=ALL, ids=lambda used: used.name)
def used(request: pytest.FixtureRequest) -> Instrument:
    return request.param


def test_it_keeps_its_promises(used: Instrument) -> None:
    check_instrument(used)


def test_answers_become_rows_of_the_ratings_table(used: Instrument) -> None:
    field = asked(used)
    value = validate(field, simulate(np.random.default_rng(1), field))
    screen = Screen("s", "rating", "t", fields=(field,), state={"condition": "all", "order": 0})
    rows = rating_rows(screen, field, value)
    numbers = used.rows(field, value)
    assert [row["value"] for row in rows] == [number for _, number in numbers]
    assert all(math.isfinite(row["value"]) for row in rows)
    assert all(set(row) <= {*RATINGS, "length"} for row in rows)
    if used.name not in ("free_text", "check_boxes"):
        assert len(rows) == len(field.targets)
    scale = json.loads(json.dumps(used.scale(field)))
    assert scale["kind"] == used.name
    for row in rows:
        if scale.get("low") is not None:
            assert scale["low"] <= row["value"] <= scale["high"]


def test_better_opinions_get_better_numbers(used: Instrument) -> None:
    if used.name in ("free_text", "number", "check_boxes") or used.judges == "none":
        pytest.skip("says nothing about how good something is")
    field = asked(used)
    generator = np.random.default_rng(0)
    if used.judges == "one":
        low, high = (
            used.rows(field, simulate(generator, field, {"1": opinion}))[0][1]
            for opinion in (5.0, 95.0)
        )
        assert low < high
        return
    latent = {slot: 30.0 * place for place, slot in enumerate(field.targets)}
    numbers = dict(used.rows(field, simulate(generator, field, latent)))
    ranked = [numbers[slot] for slot in field.targets]
    reversed_scale = bool(used.scale(field).get("reversed"))
    assert ranked == sorted(ranked, reverse=reversed_scale)


def test_true_is_an_answer_to_yes_or_no_only(used: Instrument) -> None:
    if used.name == "yes_no":
        assert validate(asked(used), True) == "yes"
        return
    with pytest.raises(AnswerError):
        validate(asked(used), True)


def test_a_missing_answer_is_asked_for(used: Instrument) -> None:
    with pytest.raises(AnswerError, match="Please") as caught:
        validate(asked(used), None)
    assert caught.value.field == "quality"


def field_of(name: str, **settings: Any) -> Field:
    used = instrument(name)
    made = asked(used)
    own = used.options(used.settings(kind=name, **settings))
    return replace(made, options={**made.options, **own})


@pytest.mark.parametrize(
    ("name", "settings", "value", "stored"),
    [
        ("magnitude", {}, " 0.5 ", 0.5),
        ("magnitude", {}, "1e3", 1000.0),
        ("magnitude", {}, 100_000, 100_000.0),
        ("likert", {"points": 5}, "5", 5),
        ("likert", {"points": 5, "first": 0}, 0, 0),
        ("slider", {}, "33.3", 33.3),
        ("pairwise", {}, 2, "2"),
        ("pairwise", {"ties": True}, "tie", "tie"),
        ("best_worst", {}, {"best": "3", "worst": "1"}, {"best": "3", "worst": "1"}),
        ("ranking", {}, ["2", "3", "1"], ["2", "3", "1"]),
        ("ranking", {}, {"1": "3", "2": "1", "3": "2"}, ["2", "3", "1"]),
        ("free_text", {}, "  two\r\nlines\x00 ", "two\nlines"),
        ("yes_no", {}, "YES", "yes"),
        ("number", {"whole": True}, "41", 41),
    ],
)
def test_what_a_form_sends_is_understood(
    name: str, settings: dict[str, Any], value: Any, stored: Any
) -> None:
    found = validate(field_of(name, **settings), value)
    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize(
    ("name", "settings", "value", "said"),
    [
        ("magnitude", {}, "0", "above zero"),
        ("magnitude", {}, "-3", "above zero"),
        ("magnitude", {}, "1,000", "two ways. Please write 1000"),
        ("magnitude", {}, "ten", "type a number"),
        ("magnitude", {}, "1_0", "type a number"),
        ("magnitude", {}, "1e400", "too large"),
        ("magnitude", {}, 1e12, "too large"),
        ("likert", {"points": 5}, "6", "from 1 to 5"),
        ("likert", {"points": 5}, "2.5", "whole number"),
        ("likert", {"points": 5}, "good", "whole number from 1 to 5"),
        ("likert", {"points": 5}, "1e999", "whole number from 1 to 5"),
        ("matrix", {"statements": {"a": "A"}}, {"a": "good"}, "one of the points in each line"),
        ("slider", {}, 100.5, "between 0 and 100"),
        ("pairwise", {}, "tie", "even if it is close"),
        ("pairwise", {}, "4", "one of the answers"),
        ("best_worst", {}, {"best": "1", "worst": "1"}, "cannot be the same"),
        ("best_worst", {}, {"best": "1"}, "the worst one"),
        ("ranking", {}, ["1", "2"], "each exactly once"),
        ("ranking", {}, ["1", "1", "2"], "each exactly once"),
        ("ranking", {}, {"1": "1", "2": "1", "3": "2"}, "given twice"),
        ("ranking", {}, {"1": "1", "2": "2", "3": "4"}, "from 1 to 3"),
        ("free_text", {"longest": 5}, "too long", "at most 5"),
        ("free_text", {"shortest": 5}, "no", "a little more"),
        ("free_text", {}, "   ", "Please answer"),
        ("number", {"low": 18}, "17", "at least 18"),
        ("number", {"high": 20}, "21", "at most 20"),
        ("number", {"whole": True}, "1.5", "whole number"),
    ],
)
def test_what_is_wrong_is_said(name: str, settings: dict[str, Any], value: Any, said: str) -> None:
    with pytest.raises(AnswerError, match=said):
        validate(field_of(name, **settings), value)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("likert", {"points": 1}, "greater than or equal to 2"),
        ("likert", {"points": 5, "labels": {6: "x"}}, "6 is not a point"),
        ("slider", {"low": 5, "high": 5}, "has to be below"),
        ("slider", {"step": 500}, "larger than the slider"),
        ("number", {"low": 5, "high": 4}, "is above high"),
        ("magnitude", {"modulus": 0}, "greater than 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    name: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        instrument(name).settings(kind=name, **settings)


def test_a_magnitude_follows_the_modulus() -> None:
    field = field_of("magnitude", modulus=10.0)
    # an opinion of 65 is 65 % of the standard, whatever number the standard has
    assert simulate(np.random.default_rng(0), field, {"1": 65.0}) == pytest.approx(6.5)


def test_a_slider_starts_without_a_handle() -> None:
    assert instrument("slider").form(field_of("slider"), Texts.of("en")).attributes["start"] is None


def test_half_an_answer_at_the_deadline_is_none() -> None:
    assert validate(field_of("magnitude"), "12 and", overdue=True) is None
    assert validate(field_of("magnitude"), "12", overdue=True) == 12.0
