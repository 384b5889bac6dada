"""Who is too fast for anybody, and who repeats a number: within quality and scale, by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from dialens.analysis.bias import flag_raters, rater_flags, study_data
from dialens.corpus import RATINGS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIKERT = '{"kind": "likert", "low": 1, "high": 7}'
SLIDER = '{"kind": "slider", "low": 0, "high": 100}'


def screen(
    rater: str, number: int, seconds: float, words: int | None, **more: Any
) -> dict[str, Any]:
    """One rating on a screen of its own."""
    return {
        "study": "tea",
        "rater": rater,
        "rater_kind": "human",
        "level": "turn",
        "system": "s",
        "agent": "a",
        "dialog": f"c{number}",
        "turn": 1,
        "quality": "warmth",
        "scale": LIKERT,
        "value": float(number % 5 + 1),
        "shown_at": NOON,
        "answered_at": NOON,
        "active_ms": round(seconds * 1000),
        "attempt": 1,
        "screen": f"rate-{number}",
        "screen_words": words,
    } | more


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    beside = {"attempt": pl.Int64, "screen": pl.String, "screen_words": pl.Int64}
    return pl.DataFrame(rows, schema={**RATINGS, **beside})


def flagged(rows: list[dict[str, Any]], flag: str) -> list[str]:
    return flag_raters(study_data(table(rows))).flagged(flag)


def test_if_everybody_speeds_everybody_is_flagged() -> None:
    """A tenth of a second a rating, by all: the median rater is no measure then."""
    rows = [screen(rater, n, 0.1, None) for rater in ("r1", "r2", "r3") for n in range(10)]
    assert flagged(rows, "speeding") == ["r1", "r2", "r3"]


@pytest.mark.parametrize(("seconds", "expected"), [(6.2, ["r1"]), (6.4, [])])
def test_a_screen_takes_as_long_as_reading_it(seconds: float, expected: list[str]) -> None:
    """60 words at 600 a minute are 6 s, and a rating 0.3 s: 6.3 s."""
    rows = [screen("r1", n, seconds, 60) for n in range(10)]
    rows += [screen("r2", n, 9.0, 60) for n in range(10)]
    assert flagged(rows, "speeding") == expected


def test_half_of_the_screens_decide() -> None:
    rows = [screen("r1", n, 1.0 if n < 5 else 30.0, 60) for n in range(10)]
    rows += [screen("r2", n, 1.0 if n < 4 else 30.0, 60) for n in range(10)]
    result = flag_raters(study_data(table(rows)))
    assert result.raters["too_fast_share"].to_list() == [0.5, 0.4]
    assert result.flagged("speeding") == ["r1"]


def test_the_relative_rule_still_holds() -> None:
    rows = [screen("r1", n, 2.0, None) for n in range(10)]
    rows += [screen(rater, n, 9.0, None) for rater in ("r2", "r3") for n in range(10)]
    assert flagged(rows, "speeding") == ["r1"]


def test_the_most_frequent_answer_is_counted_within_quality_and_scale() -> None:
    """r1 says 4 of all warmth and 50 of all tone: half of all numbers, and all of each."""
    slider = {"quality": "tone", "scale": SLIDER}
    rows = []
    for n in range(10):
        rows += [screen("r1", n, 9.0, None, value=4.0)]
        rows += [screen("r1", n, 9.0, None, value=50.0, screen=f"tone-{n}", **slider)]
        rows += [screen("r2", n, 9.0, None)]
        rows += [screen("r2", n, 9.0, None, value=3.0 * n, screen=f"tone-{n}", **slider)]
    result = flag_raters(study_data(table(rows)))
    # r2: each of five points twice of ten, each place on the line once of ten: 3 of 20.
    assert result.raters["same_share"].to_list() == [1.0, pytest.approx(0.15)]
    assert result.flagged("straight_lining") == ["r1"]


def test_flags_by_rater_for_an_export() -> None:
    rows = [screen("r1", n, 0.1, None) for n in range(10)]
    rows += [screen("r2", n, 9.0, None) for n in range(10)]
    asked = pl.DataFrame(schema={"rater": pl.String, "question": pl.String, "answer": pl.String})
    assert rater_flags(table(rows), asked) == {"r1": ["speeding"], "r2": []}
    assert rater_flags(table(rows[:10]), asked) == {}
