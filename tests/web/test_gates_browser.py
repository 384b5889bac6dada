"""Consent with boxes, the menu and withdrawing, in a real browser."""

from __future__ import annotations

import pytest

from tests.web.conftest import Hosting, Window, kept, tea
from tests.web.test_browser import PHONE, begin, onward
from tests.web.test_gates import ONE_CELL, STATEMENTS

pytestmark = pytest.mark.browser


def test_a_box_that_is_needed_is_asked_for(host: Hosting, window: Window) -> None:
    page = window(host(tea(consent=STATEMENTS)).url, expected=("422",))
    begin(page)
    page.get_by_text("I have read this and want to take part.").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector("#summary:not([hidden])")
    link = page.get_by_role("link", name="My answers may be stored.")
    link.click()
    page.keyboard.press("Space")
    assert page.get_by_label("My answers may be stored.").is_checked()
    onward(page)
    assert page.locator("form[data-screen=instructions]").count() == 1


def test_the_menu_opens_by_keyboard_and_keeps_what_was_entered(
    host: Hosting, window: Window
) -> None:
    page = window(host(tea(contact="Ada, ada@example.org", **ONE_CELL)).url)
    begin(page)
    page.get_by_text("I have read this and want to take part.").click()
    onward(page)
    onward(page)
    field = page.locator("[data-control=number] input").first
    field.fill("80")
    page.locator(".menu summary").focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("Read the conversation, then judge each reply.").is_visible()
    assert page.get_by_text("Ada, ada@example.org").is_visible()
    assert field.input_value() == "80"


def test_withdrawing_needs_no_script(host: Hosting, window: Window) -> None:
    server = host(tea(**ONE_CELL))
    page = window(server.url, java_script_enabled=False, **PHONE)
    page.get_by_role("button", name="Begin").click()
    page.get_by_text("I have read this and want to take part.").click()
    page.get_by_role("button", name="Continue").click()
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Stop taking part").click()
    page.get_by_text("Delete them, and everything else about me.").click()
    page.get_by_role("button", name="Stop taking part").click()
    page.get_by_text("Everything about you was deleted.").wait_for()
    with kept(server) as store:
        study = store.studies()[0].hash
        assert store.answers_frame(study).is_empty()
        assert [(end.outcome, end.n) for end in store.early_ends(study)] == [("withdrawn", 1)]
