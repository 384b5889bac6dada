"""Talking with an agent in a real browser: the text streams, failures are told, nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from dialens.studies.export import export
from dialens.studies.store import ConversationStore
from tests.agents.endpoint import Endpoint
from tests.web.conftest import PASSWORD, Host, Hosting, Serve, Server, Window, kept
from tests.web.talks import talk
from tests.web.test_browser import PHONE, begin, fill, finish, onward, wide

if TYPE_CHECKING:
    from playwright.sync_api import Page

SHOTS = os.environ.get("DIALENS_SHOTS")


def shoot(page: Page, name: str) -> None:
    """Keep a picture, for whoever asks for it."""
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def to_chat(page: Page) -> None:
    begin(page)
    fill(page)
    onward(page)
    onward(page)
    page.wait_for_selector("form[data-chat]")


def say(page: Page, text: str, number: int) -> None:
    """Write a message, and wait for the whole reply."""
    page.get_by_label("Your message").fill(text)
    page.get_by_role("button", name="Send").click()
    page.wait_for_function(
        "n => document.querySelectorAll('.log .turn:not(.own)').length >= n"
        " && !document.querySelector('.log').hasAttribute('aria-busy')",
        arg=number,
    )


def bubbles(page: Page) -> list[str]:
    return [one.inner_text() for one in page.locator(".log .bubble").all()]


def exchanges(server: Server | Host) -> pl.DataFrame:
    with kept(server) as store:
        return ConversationStore(store.database).exchanges_frame(store.studies()[0].hash)


def test_a_whole_participation(
    host: Hosting, window: Window, endpoint: Endpoint, tmp_path: Path
) -> None:
    served = host(talk(endpoint.url, "led-1", "led-2"))
    page = window(served.url)
    to_chat(page)
    assert "bot-" not in page.content()
    assert "led-" not in page.content()
    shoot(page, "empty")
    page.get_by_label("Your message").fill("It rains & I <b>like</b> it.")
    page.get_by_label("Your message").press("Enter")
    page.wait_for_selector(".log .dots")
    shoot(page, "waiting")
    # The text streams: what has been said so far is there.
    endpoint.words.release(2)
    page.locator(".log .bubble").nth(1).get_by_text("You said:", exact=True).wait_for()
    endpoint.words.release(100)
    page.wait_for_function("() => !document.querySelector('.log').hasAttribute('aria-busy')")
    whole = "You said: It rains & I <b>like</b> it. (None)"
    assert bubbles(page) == ["It rains & I <b>like</b> it.", whole]
    assert page.evaluate("document.activeElement.id") == "text"
    say(page, "And you?", 2)
    assert page.get_by_role("button", name="Send").is_hidden()
    shoot(page, "over")
    onward(page)
    shoot(page, "rate-turn")
    assert page.locator(".response .bubble").inner_text() == whole
    assert page.locator(".talk .bubble").count() == 1
    fill(page)
    onward(page)
    assert page.locator(".talk .bubble").count() == 3
    fill(page)
    onward(page)
    assert page.locator(".talk .bubble").count() == 4
    shoot(page, "rate-whole")
    code = finish(page)
    assert code
    with kept(served) as store:
        study = store.studies()[0].hash
        done = export(store, study, tmp_path / "export")
        assert list(store.completions(study).values()) == [code]
    assert (done.conversations, done.ratings, done.failures) == (1, 3, 0)
    turns = pl.read_parquet(tmp_path / "export" / "conversations" / "turns.parquet")
    assert turns["text"].to_list() == [
        "It rains & I <b>like</b> it.",
        whole,
        "And you?",
        "You said: And you? (None)",
    ]
    rated = pl.read_parquet(tmp_path / "export" / "conversations" / "ratings.parquet")
    assert rated.select("quality", "turn").rows() == [
        ("relevance", 1),
        ("relevance", 3),
        ("overall", None),
    ]
    assert set(rated["dialog"]) == set(turns["dialog"])
    # Every message was asked for once.
    assert len(endpoint.requests) == 2


@pytest.mark.slow
def test_somebody_comes_back_in_the_middle_of_a_reply(
    serve: Serve, window: Window, endpoint: Endpoint
) -> None:
    server = serve(talk(endpoint.url, "led-1"))
    page = window(server.url, expected=("net::ERR_",))
    to_chat(page)
    page.get_by_label("Your message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector(".log .dots")
    page.reload()
    page.wait_for_function("() => document.querySelectorAll('.log .bubble').length == 2")
    endpoint.words.release(4)  # You said: Hello (None)
    page.wait_for_function("() => !document.querySelector('.log').hasAttribute('aria-busy')")
    assert bubbles(page) == ["Hello", "You said: Hello (None)"]
    assert len(endpoint.requests) == 1
    # The server dies while a reply is under way; when it is back, the message is asked again.
    page.get_by_label("Your message").fill("Still there?")
    page.get_by_role("button", name="Send").click()
    page.wait_for_function("() => document.querySelectorAll('.log .bubble').length == 4")
    while len(endpoint.requests) < 2:
        page.wait_for_timeout(20)
    server.kill()
    page.wait_for_selector(".status.lost")
    shoot(page, "lost")
    endpoint.words.release(100)
    server.start()
    page.wait_for_function(
        "() => !document.querySelector('.log').hasAttribute('aria-busy')", timeout=60_000
    )
    assert bubbles(page)[2:] == ["Still there?", "You said: Still there? (None)"]
    kept_rows = exchanges(server)
    assert kept_rows.select("said", "state").rows() == [
        ("Hello", "answered"),
        ("Still there?", "answered"),
    ]
    finish(page)


def test_an_agent_fails_and_recovers(host: Hosting, window: Window, endpoint: Endpoint) -> None:
    served = host(talk(endpoint.url, "flaky-1"))
    page = window(served.url)
    to_chat(page)
    page.get_by_label("Your message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Try again").wait_for()
    shoot(page, "failed")
    assert "try again" in page.locator("#trouble").inner_text()
    assert bubbles(page) == ["Hello"]
    page.get_by_role("button", name="Try again").click()
    page.wait_for_function("() => document.querySelectorAll('.log .bubble').length == 2")
    page.wait_for_function("() => !document.querySelector('.log').hasAttribute('aria-busy')")
    assert page.locator("#trouble").is_hidden()
    assert bubbles(page) == ["Hello", "You said: Hello (None)"]
    say(page, "Good.", 2)
    finish(page)
    assert exchanges(served)["tries"].to_list() == [2, 1]


def test_an_agent_that_only_fails_is_given_up(
    host: Hosting, window: Window, endpoint: Endpoint
) -> None:
    served = host(talk(endpoint.url, "cut", tries=2))
    page = window(served.url)
    to_chat(page)
    page.get_by_label("Your message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Continue").wait_for()
    shoot(page, "given-up")
    assert "not your fault" in page.locator("#trouble").inner_text()
    # There is nothing to judge: neither a reply nor the whole is asked for.
    onward(page)
    assert page.locator(".the-code").count() == 1
    researcher = window(f"{served.url}/researcher/login")
    researcher.get_by_label("Password").fill(PASSWORD)
    researcher.get_by_role("button").click()
    researcher.get_by_role("heading", name="Conversations").wait_for()
    shoot(researcher, "researcher")
    row = researcher.locator("section", has=researcher.locator("#agents")).locator("tbody tr")
    assert "bot-1" in row.inner_text()
    assert "2 ×" in row.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(host: Hosting, window: Window, endpoint: Endpoint, scheme: str) -> None:
    served = host(talk(endpoint.url, "words-40", topics=["Talk about the weather. " * 4]))
    options: dict[str, Any] = PHONE | {"color_scheme": scheme}
    page = window(served.url, **options)
    to_chat(page)
    assert wide(page) <= 0
    say(page, "A long message that goes over several lines on a phone. " * 5, 1)
    shoot(page, f"phone-{scheme}")
    assert wide(page) <= 0
    # A return key begins a new line there: the button sends.
    page.get_by_label("Your message").press("Enter")
    assert page.locator(".log .own").count() == 1
    assert page.get_by_role("button", name="Send").bounding_box()["height"] >= 44
    page.get_by_label("Your message").fill("")
    say(page, "Bye", 2)
    onward(page)
    shoot(page, f"phone-rate-{scheme}")
    finish(page)


def test_without_a_script(host: Hosting, window: Window, endpoint: Endpoint) -> None:
    served = host(talk(endpoint.url, "echo"))
    page = window(served.url, java_script_enabled=False)
    page.get_by_role("button", name="Begin").click()
    page.locator("input[value=yes]").check(force=True)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Continue").click()
    for number, text in enumerate(("Hello", "Bye"), start=1):
        page.get_by_label("Your message").fill(text)
        page.get_by_role("button", name="Send").click()
        page.locator(".log .bubble").nth(2 * number - 1).wait_for()
    page.get_by_role("button", name="Continue").click()
    assert "You said: Hello" in page.locator(".response .bubble").inner_text()
