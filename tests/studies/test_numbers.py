"""Numbers as people type them on keyboards of several languages."""

from __future__ import annotations

import math

import pytest

from dialens.studies import AnswerError, Field
from dialens.studies.instruments import validate
from dialens.studies.instruments._numbers import number_in

ASKED = Field("q", "magnitude")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2,5", 2.5),
        ("2.5", 2.5),
        ("0,125", 0.125),
        (",5", 0.5),
        ("12,", 12.0),
        ("1234,567", 1234.567),
        ("1 234", 1234.0),
        ("1\u00a0234,5", 1234.5),
        ("12\u202f345.5", 12345.5),
        ("1’234.5", 1234.5),
        ("1.234.567", 1234567.0),
        ("1,234,567", 1234567.0),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("٥٠", 50.0),
        ("۱۲", 12.0),
        ("١٢٫٥", 12.5),
        ("١٬٢٣٤", 1234.0),
        ("１２．５", 12.5),
        ("\u200f٧\u200f", 7.0),
        ("1e3", 1000.0),
        ("+3", 3.0),
    ],
)
def test_what_can_be_read_in_one_way_is_taken(typed: str, meant: float) -> None:
    assert number_in(ASKED, typed) == meant


@pytest.mark.parametrize(
    "typed", ["", "ten", "12 34", "1,2,3", "1.2,3,4", "1_000", "nan", "inf", "²", "1 2345", "--1"]
)
def test_what_is_no_number_is_refused(typed: str) -> None:
    with pytest.raises(AnswerError, match="Please type a number"):
        number_in(ASKED, typed)


@pytest.mark.parametrize(("typed", "large"), [("1,234", "1234"), ("12.500", "12500")])
def test_what_could_be_a_thousand_times_more_is_asked_again(typed: str, large: str) -> None:
    with pytest.raises(AnswerError, match=f"“{typed}” can be read in two ways.*{large}"):
        number_in(ASKED, typed)


def test_bounds_tell_what_was_meant() -> None:
    options = {"low": 0.0, "high": 2.0, "step": 0.001, "low_label": None, "high_label": None}
    assert validate(Field("q", "slider", options=options), "1.125") == 1.125
    age = Field("q", "number", options={"low": 0, "high": 120, "whole": False})
    assert validate(age, "30,125") == 30.125


def test_a_number_beyond_all_numbers_is_too_large() -> None:
    with pytest.raises(AnswerError, match="too large"):
        number_in(ASKED, "1e999")
    with pytest.raises(AnswerError, match="too large"):
        number_in(ASKED, math.inf)
