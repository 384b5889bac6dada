"""What a browser measures while a screen is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import Host, Hosting, Window, kept, tea
from tests.web.test_browser import PHONE, begin, fill, onward

if TYPE_CHECKING:
    from playwright.sync_api import Page


def rated(server: Host) -> dict[str, Any]:
    with kept(server) as store:
        rows = store.screens_frame(store.studies()[0].hash).filter(kind="rating")
    return rows.row(0, named=True)


def words() -> dict[str, Any]:
    return tea(
        factors={},
        qualities={"why": {"instrument": {"kind": "free_text"}, "required": False}},
    )


def to_rating(page: Page) -> None:
    begin(page)
    while page.locator("main.rating").count() == 0:
        fill(page)
        onward(page)


def test_a_desktop_and_typing(host: Hosting, window: Window) -> None:
    server = host(words())
    page = window(server.url, color_scheme="dark", locale="fr-FR")
    to_rating(page)
    page.locator("textarea").first.click()
    page.keyboard.type("I like this one best.")  # 21 characters
    page.keyboard.press("Backspace")
    onward(page)
    row = rated(server)
    assert (row["device"], row["theme"], row["browser_language"]) == ("desktop", "dark", "fr-FR")
    assert (row["viewport_width"], row["viewport_height"]) == (1200, 800)
    assert (row["keys"], row["characters"], row["pastes"]) == (22, 20, 0)
    assert (row["typing"], row["pasting"]) == ("usual", "none")
    assert row["anchor_in_view"] is None  # there is none


def test_a_phone(host: Hosting, window: Window) -> None:
    server = host(words())
    page = window(server.url, **PHONE)
    to_rating(page)
    onward(page)
    row = rated(server)
    assert (row["device"], row["viewport_width"], row["pixel_ratio"]) == ("phone", 390, 2)
    assert (row["theme"], row["zoom"]) == ("light", 1)


def test_pasted_text_is_counted_over_a_reload_and_not_read(host: Hosting, window: Window) -> None:
    server = host(words())
    page = window(server.url)
    to_rating(page)
    boxes = page.locator("textarea")
    boxes.nth(0).click()
    page.keyboard.insert_text("x" * 50)  # as a suggestion or dictation does: one change
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("ControlOrMeta+c")
    boxes.nth(1).click()
    page.keyboard.press("ControlOrMeta+v")
    page.wait_for_function("() => document.querySelectorAll('textarea')[1].value.length === 50")
    page.reload()
    onward(page)
    row = rated(server)
    assert (row["pastes"], row["pasted_characters"], row["characters"]) == (1, 50, 100)
    assert (row["typing"], row["pasting"]) == ("few_keys", "most")


@pytest.mark.parametrize(("scrolled", "low", "high"), [(False, 0.9, 1.0), (True, 0.0, 0.5)])
def test_whether_the_anchor_was_in_view(
    host: Hosting, window: Window, scrolled: bool, low: float, high: float
) -> None:
    quality = {"instrument": {"kind": "magnitude"}, "required": False}
    several = {f"quality{number}": quality for number in range(6)}
    anchored = {"anchor": "both", "layout": "together"}
    server = host(tea(factors={}, presentation=anchored, qualities=several))
    page = window(server.url, **PHONE)
    to_rating(page)
    if scrolled:
        page.mouse.wheel(0, 1500)
    page.wait_for_timeout(1500)
    page.evaluate("document.querySelector('form').requestSubmit()")
    page.wait_for_function("() => document.querySelector('form')?.dataset.screen !== 'rate-001'")
    assert low <= rated(server)["anchor_in_view"] <= high
