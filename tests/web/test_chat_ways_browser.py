"""Other ways to talk, in a browser: judged as it comes, ended by person or time, two agents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.endpoint import Endpoint
from tests.web.conftest import Hosting, Window
from tests.web.talks import arena, talk
from tests.web.test_browser import PHONE, fill, finish, onward, wide
from tests.web.test_chat_browser import bubbles, exchanges, say, shoot, to_chat

if TYPE_CHECKING:
    from playwright.sync_api import Page


def send(page: Page, text: str) -> None:
    page.get_by_label("Your message").fill(text)
    page.get_by_role("button", name="Send").click()


def without_script_to_chat(page: Page) -> None:
    page.get_by_role("button", name="Begin").click()
    page.locator("input[value=yes]").check(force=True)
    for _ in range(2):
        page.get_by_role("button", name="Continue").click()


def test_each_reply_is_judged_as_it_comes(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    served = host(talk(endpoint.url, "echo", rate="each_reply"))
    page = window(served.url, viewport={"width": 1280, "height": 800})
    to_chat(page)
    for number, text in enumerate(("Hello", "Bye"), start=1):
        send(page, text)
        # The question comes by itself, below the reply; what was said before stands above.
        page.wait_for_selector("main.rating")
        shoot(page, f"each-reply-{number}")
        assert page.locator(".response .bubble").inner_text() == f"You said: {text} (None)"
        assert page.locator(".talk .bubble").count() == 2 * number - 1
        assert page.locator(".topic").inner_text() == "Talk about the weather."
        assert page.locator(".response").is_visible()
        assert page.locator(".response").bounding_box()["y"] < 800
        fill(page)
        onward(page)
        if number == 1:
            page.wait_for_selector("form[data-chat]")
            assert bubbles(page) == ["Hello", "You said: Hello (None)"]
            shoot(page, "each-reply-chat")
    assert page.locator(".talk .bubble").count() == 4  # the whole
    finish(page)
    assert exchanges(served)["ended"].to_list() == ["exchanges"] * 2


def test_the_participant_ends_the_conversation(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    served = host(talk(endpoint.url, "echo", exchanges=5, least_exchanges=2))
    page = window(served.url)
    to_chat(page)
    end = page.get_by_role("button", name="End the conversation")
    say(page, "Hello", 1)
    assert end.is_hidden()
    say(page, "Bye", 2)
    shoot(page, "may-end")
    end.click()
    page.get_by_role("button", name="Continue").wait_for()
    assert page.get_by_role("button", name="Send").count() == 0
    onward(page)
    for _ in range(2):  # two replies, and no more, then the whole
        fill(page)
        onward(page)
    assert page.locator(".talk .bubble").count() == 4
    finish(page)
    assert exchanges(served)["ended"].to_list() == ["participant"] * 2


def test_the_conversation_ends_when_the_time_is_over(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    served = host(talk(endpoint.url, "echo", exchanges=5, minutes=0.05))
    page = window(served.url)
    to_chat(page)
    assert page.get_by_role("timer").is_hidden()
    say(page, "Hello", 1)
    assert page.get_by_role("timer").inner_text().startswith("Time left: 0:0")
    page.get_by_label("Your message").fill("Never sent")
    page.get_by_text("The time for this conversation is over.").wait_for()
    shoot(page, "time-over")
    assert page.get_by_role("button", name="Send").count() == 0
    onward(page)
    finish(page)
    assert exchanges(served).select("said", "ended").rows() == [("Hello", "time")]


def test_a_reply_is_held_back_as_if_it_were_typed(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    served = host(
        talk(
            endpoint.url,
            "echo",
            pace={"seconds": 0.6, "characters_per_second": 10_000, "spread": 0},
        )
    )
    page = window(served.url)
    to_chat(page)
    send(page, "Hello")
    page.wait_for_selector(".log .dots")
    page.wait_for_timeout(250)
    page.reload()  # looking again does not show it sooner
    page.wait_for_selector(".log .dots")
    page.get_by_text("You said: Hello (None)").wait_for()
    row = exchanges(served).row(0, named=True)
    assert row["waited"] >= 0.6 > row["seconds"]


def test_two_agents_of_different_speed_appear_at_one_pace(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    """The second takes a second for its four words; people wait for both for as long."""
    pace = {"seconds": 1.6, "characters_per_second": 10_000, "spread": 0}
    served = host(talk(endpoint.url, "echo", "slow-0.25", exchanges=1, assign="within", pace=pace))
    page = window(served.url)
    to_chat(page)
    seconds = []
    for _ in range(2):
        began = time.monotonic()
        send(page, "Hello")
        page.wait_for_selector(".log .dots")
        # For those who do not see the dots, since a log that is busy is not read out.
        assert page.locator("[data-is-writing]").text_content() == "Chatbot is writing"
        page.get_by_text("You said: Hello (None)").wait_for()
        seconds.append(time.monotonic() - began)
        onward(page)
        for _ in range(2):
            fill(page)
            onward(page)
    assert min(seconds) >= 1.6
    rows = exchanges(served).sort("agent")
    assert rows["waited"].n_unique() == 1
    assert rows["over_pace"].to_list() == [0.0, 0.0]
    assert rows["held_ms"][0] > rows["held_ms"][1] + 700


@pytest.mark.parametrize("how", ["desk", "phone", "bare"])
def test_two_agents_answer_side_by_side(
    host: Hosting, window: Window, endpoint: Endpoint, how: str
) -> None:
    served = host(arena(endpoint.url, "echo", "words-30"))
    options: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
    if how == "phone":
        options = PHONE | {"color_scheme": "dark"}
    if how == "bare":
        options["java_script_enabled"] = False
    page = window(served.url, **options)
    if how == "bare":
        without_script_to_chat(page)
    else:
        to_chat(page)
    for number in (1, 2):
        send(page, f"Message {number}")
        if how == "bare":
            page.locator(".log .side-2").nth(number - 1).wait_for()
            page.get_by_role("button", name="Continue").click()
        page.wait_for_selector("main.rating")
        shoot(page, f"arena-{how}-{number}")
        replies = page.locator(".response .bubble")
        assert replies.count() == 2
        left, right = (replies.nth(place).bounding_box() for place in (0, 1))
        assert (left["y"] == right["y"]) == (how != "phone")  # one below the other on a phone
        assert "bot-" not in page.content()
        if how != "bare":
            assert wide(page) <= 0
        page.get_by_text("Chatbot 2", exact=True).last.click()
        page.get_by_role("button", name="Continue").click()
        if number == 1:
            page.wait_for_selector("form.composer")
            assert page.locator(".log .turn").count() == 3
            shoot(page, f"arena-{how}-chat")
    page.get_by_text("Which chatbot was better?").first.wait_for()
    shoot(page, f"arena-{how}-whole")
    assert page.locator(".talk .turn").count() == 6
    page.get_by_text("Chatbot 1", exact=True).last.click()
    page.get_by_role("button", name="Continue").click()
    page.locator(".the-code").wait_for()
    rows = exchanges(served)
    assert rows["talk"].to_list() == ["chat-001-1"] * 2 + ["chat-001-2"] * 2
    assert set(rows["ended"]) == {"exchanges"}
    assert rows["said"].to_list() == ["Message 1", "Message 2"] * 2


def test_the_side_that_failed_is_tried_again(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    served = host(arena(endpoint.url, "flaky-1", "echo", rate="after", exchanges=1))
    page = window(served.url)
    to_chat(page)
    send(page, "Hello")
    page.get_by_role("button", name="Try again").wait_for()
    assert bubbles(page) == ["Hello", "You said: Hello (None)"]  # the other side has answered
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Continue").wait_for()
    sides = page.locator(".log .turn:not(.own)")
    assert [one.get_attribute("class") for one in sides.all()] == ["turn side-1", "turn side-2"]
    assert sides.nth(0).bounding_box()["y"] == sides.nth(1).bounding_box()["y"]
    assert exchanges(served)["tries"].to_list() == [2, 1]
