import pytest

from dialens.base import Estimate, duration, interval, number, p_value
from dialens.base._wording import capitalised, in_brackets


def test_no_negative_zero_and_a_true_minus_sign() -> None:
    assert [number(x, 2) for x in (-0.004, -0.005, -0.006, -1234.5)] == [
        "0.00",
        "−0.01",
        "−0.01",
        "−1,234.50",
    ]
    assert number(-0.0) == "0.00"
    assert number(-0.002, percent=True) == "0 %"


def test_both_ends_of_an_interval_have_equally_many_decimals() -> None:
    assert interval(0.0123, 4.5) == "0.0 to 4.5"
    assert interval(-0.2, -0.1, percent=True) == "−20 to −10 %"


@pytest.mark.parametrize("ends", [(None, 1.0), (1.0, None), (None, None)])
def test_half_an_interval_is_none(ends: tuple[float | None, float | None]) -> None:
    assert interval(*ends) == "–"
    assert in_brackets(*ends) == ""
    assert not Estimate(0.5, *ends).has_interval


def test_p_values_at_the_border() -> None:
    assert [p_value(p) for p in (0.0, 0.00099, 0.001, 1.0)] == [
        "< 0.001",
        "< 0.001",
        "0.001",
        "1.000",
    ]


def test_zero_is_a_value() -> None:
    assert Estimate(0.0, 0.0, 0.0).has_interval
    assert Estimate(0.0, n=0).as_dict() == {"value": 0.0, "n": 0}


def test_empty_text_and_short_times() -> None:
    assert capitalised("") == ""
    assert [duration(s) for s in (0, 89.4, 90, 5399, 5400)] == [
        "0.0 s",
        "89 s",
        "2 min",
        "90 min",
        "1.5 h",
    ]
