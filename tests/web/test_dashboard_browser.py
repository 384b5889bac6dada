"""The dashboard in a real browser: it stays live, and what somebody does on it stays."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from dialens.studies.store import Store
from tests.web.conftest import PASSWORD, Host, Hosting, Window, kept, tea
from tests.web.test_browser import _CONTRAST, _NAMELESS, PHONE, wide

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

ROUND_MS = 16_000
PAGES = ("", "/people", "/screens", "/settings")


def open_dashboard(window: Window, server: Host, path: str = "", **options: object) -> Page:
    page = window(f"{server.url}/researcher", **options)
    page.clock.install()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/researcher")
    page.goto(f"{server.url}/researcher{path}")
    return page


def arrive(store: Store, n: int = 1) -> list[str]:
    """So many people begin; their pseudonyms."""
    study = store.studies()[0].hash
    return [
        store.begin(
            study,
            recruiter="link",
            worker=None,
            now=datetime.now(UTC),
            seed_source=lambda: 7,
        ).participant
        for _ in range(n)
    ]


def as_of(page: Page) -> str:
    return page.locator(".as-of time").get_attribute("datetime") or ""


def round_of(page: Page) -> None:
    """Let the page come again, and wait until it has."""
    with page.expect_response(lambda answer: "/researcher" in answer.url):
        page.clock.run_for(ROUND_MS)
    page.wait_for_function("() => !refreshing")


def test_a_click_into_a_table_does_not_stop_it(host: Hosting, window: Window) -> None:
    server = host(tea())
    with kept(server) as store:
        name = arrive(store)[0]
        page = open_dashboard(window, server, "/people")
        row = page.locator(f"tr[data-key={name}]")
        row.locator("td").nth(1).click()
        page.locator(".scroller").focus()
        page.evaluate("document.querySelector('tbody th a').seenBefore = true")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('tbody th'))")
        for expected in (2, 3, 4):
            before = as_of(page)
            arrive(store)
            round_of(page)
            page.wait_for_function(
                "n => document.querySelectorAll('tbody tr').length === n", arg=expected
            )
            page.wait_for_function(
                "old => document.querySelector('.as-of time').dateTime >= old", arg=before
            )
    # What was selected and focused is the same element, not a new one that looks like it.
    assert page.evaluate("getSelection().toString()").strip() == name
    assert page.locator(f"tr[data-key={name}] th a").evaluate("link => link.seenBefore")
    assert page.evaluate("document.activeElement.className") == "scroller"


def test_it_says_when_the_server_does_not_answer(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = open_dashboard(window, server, expected=("Failed to load resource",))
    assert re.fullmatch(r"As of \d\d:\d\d:\d\d", page.locator(".as-of p").first.inner_text())
    seen = as_of(page)
    page.route("**/researcher", lambda route: route.abort())
    page.clock.run_for(ROUND_MS)
    page.wait_for_selector("text=The server does not answer")
    assert as_of(page) == seen  # the figures are as old as they say
    page.unroute("**/researcher")
    round_of(page)
    page.wait_for_function("() => document.querySelector('[data-lost]').textContent === ''")


def test_who_is_logged_out_is_told(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = open_dashboard(window, server)
    page.context.clear_cookies()
    page.clock.run_for(ROUND_MS)
    page.wait_for_selector("text=You are logged out")


def test_sorted_filtered_typed_and_opened_stays(host: Hosting, window: Window) -> None:
    server = host(tea())
    with kept(server) as store:
        names = sorted(arrive(store, 3))
        page = open_dashboard(window, server, "/people")
        page.get_by_role("link", name="Person").click()
        page.wait_for_function(
            "() => document.querySelector('th[aria-sort] a').innerText[0] === 'P'"
        )
        rows = page.locator("tbody tr")
        shown = [row.get_attribute("data-key") for row in rows.all()]
        assert shown == names[::-1]
        page.get_by_label("Pseudonym or code").press_sequentially(names[1])
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
        arrive(store)
        round_of(page)
        page.wait_for_selector("text=1 of 4 people")
        assert page.get_by_label("Pseudonym or code").input_value() == names[1]
        assert page.evaluate("document.activeElement.id") == "find"
        page.get_by_role("link", name="show all").click()
        page.wait_for_selector("text=4 of 4 people")
        assert page.get_by_label("Pseudonym or code").input_value() == ""
        assert "find" not in page.url
    page.goto(f"{server.url}/researcher/settings")
    page.locator("summary").click()
    page.get_by_label("Closing words").fill("Half a sent")
    before = page.evaluate("scrollTo(0, 120), scrollY")
    opened = page.evaluate("document.querySelector('details').open")
    round_of(page)
    assert page.get_by_label("Closing words").input_value() == "Half a sent"
    assert page.evaluate("document.querySelector('details').open") == opened
    assert page.evaluate("scrollY") == before


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_names_contrast_and_width(host: Hosting, window: Window, look: str) -> None:
    server = host(tea())
    options = PHONE if look == "phone" else {"color_scheme": look}
    with kept(server) as store:
        name = arrive(store)[0]
    page = open_dashboard(window, server, **options)
    for path in (*PAGES, f"/people/{name}", f"/people/{name}/replay?index=2"):
        page.goto(f"{server.url}/researcher{path}")
        assert page.evaluate(_NAMELESS) == []
        assert page.evaluate(_UNNAMED) == []
        assert wide(page) <= 0
        if "replay" not in path:  # disabled inputs need no contrast (WCAG 1.4.3)
            assert page.evaluate(_CONTRAST) == []


def test_by_keyboard_alone(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = open_dashboard(window, server)
    page.get_by_role("button", name="Pause all cells").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".sure")
    page.get_by_role("button", name="Pause all of them").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.paused")
    assert page.locator(".state.paused").count() == 4


_UNNAMED = """() => {
  const wrong = [];
  for (const cell of document.querySelectorAll("th")) {
    if (!cell.innerText.trim()) wrong.push("an empty table header");
  }
  const label = (mark) => document.getElementById(mark.getAttribute("aria-labelledby"))?.innerText;
  const marks = [...document.querySelectorAll("nav, section, [role=region], [role=search]")];
  const names = marks.map((mark) => mark.ariaLabel ?? label(mark));
  if (names.some((name) => !name)) wrong.push("a landmark without a name");
  if (new Set(names).size !== names.length) wrong.push(`landmarks of one name: ${names}`);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  return wrong;
}"""


def test_it_asks_again_only_after_the_last_answer(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = open_dashboard(window, server)
    held: list[Route] = []
    asked: list[str] = []
    page.route("**/researcher", lambda route: held.append(route))
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_request("**/researcher"):
        page.clock.run_for(ROUND_MS)
    page.clock.run_for(4 * ROUND_MS)
    page.wait_for_selector("text=The server does not answer")
    assert sum(url.endswith("/researcher") for url in asked) == 1
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    page.wait_for_function("() => !refreshing")
    page.unroute("**/researcher")
    round_of(page)


def test_nobody_asks_for_a_page_that_is_hidden(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = open_dashboard(window, server)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hidden = "h => Object.defineProperty(document, 'hidden', {configurable: true, get: () => h})"
    page.evaluate(hidden, True)
    page.clock.run_for(5 * ROUND_MS)
    assert not page.evaluate("refreshing")
    assert [url for url in asked if url.endswith("/researcher")] == []
    page.evaluate(hidden, False)
    with page.expect_response(lambda answer: "/researcher" in answer.url):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_function("() => !refreshing")
    round_of(page)
