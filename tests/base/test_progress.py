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
