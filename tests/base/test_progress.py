"""Progress in a log."""

import pytest

from dialens.base import LOG_EVERY, progress


def test_nothing_done_yet_is_said_without_a_guess(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LOG_EVERY, "0")
    with progress("Scoring", total=5) as advance:
        advance(0)
        advance(5)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("Scoring: 0 of 5 turns, 0 a minute")
    assert "left" not in first + second


def test_where_machines_start_first_the_pace_is_that_of_what_follows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty seconds to start, then 100 turns a second."""
    monkeypatch.setenv(LOG_EVERY, "0")
    clock = iter([0.0, 20.0, 25.0])
    monkeypatch.setattr("dialens.base._progress.time.monotonic", lambda: next(clock))
    with progress("Scoring", total=2_000, starts_slowly=True) as advance:
        advance(500)
        advance(500)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "Scoring: 500 of 2,000 turns"
    assert second == "Scoring: 1,000 of 2,000 turns, 100 a second, 10 s left"
