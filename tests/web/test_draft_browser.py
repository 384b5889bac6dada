"""What was entered and not sent yet survives a reload, and nothing longer than it has to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.web.conftest import Hosting, Window, tea
from tests.web.test_browser import answers, begin, fill, finish, onward

if TYPE_CHECKING:
    from playwright.sync_api import Page


def mixed() -> dict[str, Any]:
    """A study with a scale, a slider, a ranking and words on one screen."""
    kinds: dict[str, Any] = {
        "warmth": {"kind": "likert", "points": 7},
        "use": {"kind": "slider", "low": 0, "high": 10},
        "order": "ranking",
        "why": {"kind": "free_text", "rows": 2},
    }
    return tea(
        factors={},
        qualities={name: {"instrument": kind} for name, kind in kinds.items()},
    )


def to_rating(page: Page) -> None:
    begin(page)
    while page.locator("main.rating").count() == 0:
        fill(page)
        onward(page)


def stored(page: Page) -> int:
    return int(page.evaluate("sessionStorage.length"))


def test_a_reload_keeps_what_was_entered(host: Hosting, window: Window) -> None:
    server = host(mixed())
    page = window(server.url)
    to_rating(page)
    fill(page)
    page.locator("textarea").first.fill("A friendly tone.")
    page.reload()
    page.get_by_text("What you had entered here before").wait_for()
    assert page.locator("textarea").first.input_value() == "A friendly tone."
    assert page.locator("[data-control=choices] input:checked").count() == 3
    assert page.locator("[data-control=order] input:checked").count() == 3
    assert page.locator("input[type=range].untouched").count() == 0
    onward(page)  # complete as it was
    assert page.locator("textarea").first.input_value() == ""
    why = answers(server).filter(answers(server)["quality"] == "why")["value"]
    assert '"A friendly tone."' in why.to_list()


def test_nothing_is_kept_after_a_submission_and_the_end(host: Hosting, window: Window) -> None:
    server = host(mixed())
    page = window(server.url)
    to_rating(page)
    fill(page)
    assert stored(page) == 1
    onward(page)
    assert stored(page) == 0
    finish(page)
    assert stored(page) == 0


def test_a_draft_is_nobody_elses(host: Hosting, window: Window) -> None:
    server = host(mixed())
    page = window(f"{server.url}/?participant=anna")
    to_rating(page)
    fill(page)
    page.goto(f"{server.url}/?participant=berta")  # the next person, in the same tab
    assert stored(page) == 0
    begin(page)
    assert page.locator("input:checked").count() == 0


def test_a_slow_line_is_told_of(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = window(server.url)
    begin(page)
    fill(page)
    waiting: list[Any] = []
    page.route(
        "**/study",
        lambda route: (
            waiting.append(route) if route.request.method == "POST" else route.continue_()
        ),
    )
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("Your answers are being sent.").wait_for(timeout=3000)
    waiting[0].continue_()
    page.wait_for_selector("form[data-screen=instructions]")
