"""Retry over HTTP: what is sent again, how long is waited, and when it ends."""

from __future__ import annotations

import random

import httpx
import pytest

from dialens.base import RetryPolicy, retry_after, send_with_retry

POLICY = RetryPolicy(attempts=4, first_wait_s=1.0, longest_wait_s=10.0)


class Server:
    """Answers, or fails, as it is told to."""

    def __init__(self, *outcomes: int | Exception, headers: dict[str, str] | None = None) -> None:
        self.outcomes = list(outcomes)
        self.headers = headers or {}
        self.waits: list[float] = []
        self.asked = 0

    def send(self) -> httpx.Response:
        self.asked += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return httpx.Response(outcome, headers=self.headers)

    def status(self, *, idempotent: bool = True) -> int:
        response = send_with_retry(
            self.send,
            POLICY,
            idempotent=idempotent,
            sleep=self.waits.append,
            draw=random.Random(1),
        )
        return response.status_code


def test_temporary_failures_are_tried_again_and_waits_double_with_jitter() -> None:
    server = Server(503, httpx.ReadTimeout("slow"), 429, 200)
    assert server.status() == 200
    for wait, middle in zip(server.waits, (1, 2, 4), strict=True):
        assert 0.5 * middle <= wait <= 1.5 * middle


def test_attempts_are_bounded_and_the_last_outcome_counts() -> None:
    server = Server(*[503] * 9)
    assert server.status() == 503
    assert (server.asked, len(server.waits)) == (4, 3)
    server = Server(*[httpx.ConnectError("nobody")] * 9)
    with pytest.raises(httpx.ConnectError):
        server.status()
    assert server.asked == 4


@pytest.mark.parametrize("status", [200, 303, 400, 403, 404, 422, 500])
def test_what_will_not_change_is_not_asked_again(status: int) -> None:
    server = Server(status)
    assert server.status() == status
    assert server.waits == []


@pytest.mark.parametrize("outcome", [httpx.ReadTimeout("slow"), httpx.ReadError("cut"), 503])
def test_what_may_have_been_done_is_not_done_twice(outcome: int | Exception) -> None:
    server = Server(outcome, 200)
    if isinstance(outcome, Exception):
        with pytest.raises(type(outcome)):
            server.status(idempotent=False)
    else:
        assert server.status(idempotent=False) == outcome
    assert server.asked == 1


def test_what_was_surely_not_done_is_tried_again() -> None:
    server = Server(httpx.ConnectError("nobody"), httpx.ConnectTimeout("slow"), 429, 200)
    assert server.status(idempotent=False) == 200


def test_a_server_says_how_long_to_wait_within_bounds() -> None:
    server = Server(429, 200, headers={"Retry-After": "7"})
    assert (server.status(), server.waits) == (200, [7.0])
    server = Server(429, 200, headers={"Retry-After": "3600"})
    assert (server.status(), server.waits) == (200, [10.0])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        ("0.25", 0.25),
        ("-5", 0.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value}, clock=lambda: 100.0) == seconds
