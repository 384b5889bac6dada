"""Number keys: in the question that has the focus, never while typing, and nowhere recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.web.conftest import Hosting, Window, kept, tea
from tests.web.test_browser import PHONE, answers, begin, fill, onward

if TYPE_CHECKING:
    from playwright.sync_api import Page

ONE_REPLY = {
    "inline": [
        {"id": f"item{n}", "context": ["Tea?"], "responses": {"a": "Yes, please."}} for n in (1, 2)
    ]
}


def asking(**instruments: Any) -> dict[str, Any]:
    qualities = {name: {"instrument": kind} for name, kind in instruments.items()}
    return tea(factors={}, items=ONE_REPLY, qualities=qualities)


def to_rating(page: Page) -> None:
    begin(page)
    while page.locator("main.rating").count() == 0:
        fill(page)
        onward(page)


def chosen(page: Page) -> list[str]:
    return list(
        page.evaluate("() => [...document.querySelectorAll('input:checked')].map((i) => i.value)")
    )


def test_keys_answer_and_lead_on(host: Hosting, window: Window) -> None:
    scale = {"kind": "likert", "points": 10}
    choice = {"kind": "choice", "values": {"dull": 0, "engaging": 1}}
    server = host(asking(a_warmth=scale, b_kind=choice))
    page = window(server.url)
    to_rating(page)
    assert page.locator("[data-keys]").is_visible()
    page.keyboard.press("3")  # no question has the focus
    assert chosen(page) == []
    page.locator("input[type=radio]").first.focus()
    page.keyboard.press("4")
    page.keyboard.press("0")  # the second thought counts
    page.keyboard.press("Tab")
    page.keyboard.press("2")
    assert chosen(page) == ["10", "engaging"]
    page.keyboard.press("Enter")
    page.wait_for_selector("form[data-screen=rate-002]")
    page.wait_for_load_state()
    page.keyboard.press("7")  # who uses them begins in the first question
    assert chosen(page) == ["7"]
    given = answers(server).filter(pl.col("screen") == "rate-001")
    assert [json.loads(value) for value in given["value"]] == [10, "engaging"]
    with kept(server) as store:
        events = store.events_frame(store.studies()[0].hash)
    assert set(events.filter(screen="rate-001")["kind"]) == {
        "shown",
        "first_input",
        "change",
        "submitted",
    }


def test_a_scale_is_answered_by_its_numbers(host: Hosting, window: Window) -> None:
    server = host(asking(warmth={"kind": "likert", "points": 5, "first": 0}))
    page = window(server.url)
    to_rating(page)
    page.locator("input[type=radio]").first.focus()
    page.keyboard.press("0")
    assert chosen(page) == ["0"]
    page.keyboard.press("9")  # there is none
    assert chosen(page) == ["0"]


@pytest.mark.parametrize(
    "scale",
    [{"points": 11}, {"points": 11, "first": 0}, {"points": 7, "first": -3}],
)
def test_no_keys_where_not_every_point_has_one(
    host: Hosting, window: Window, scale: dict[str, int]
) -> None:
    server = host(asking(warmth={"kind": "likert", **scale}))
    page = window(server.url)
    to_rating(page)
    assert not page.locator("[data-keys]").is_visible()
    page.locator("input[type=radio]").first.focus()
    page.keyboard.press("1")
    assert chosen(page) == []


def test_never_while_typing(host: Hosting, window: Window) -> None:
    server = host(asking(warmth={"kind": "likert"}, why={"kind": "free_text"}, much="magnitude"))
    page = window(server.url)
    to_rating(page)
    page.locator("textarea").click()
    page.keyboard.type("1 of 2")
    page.locator("[data-control=number] input").click()
    page.keyboard.type("34")
    assert chosen(page) == []
    assert page.locator("textarea").input_value() == "1 of 2"
    page.locator("input[type=radio]").first.focus()
    page.keyboard.press("Control+1")
    assert chosen(page) == []


def test_consent_is_not_given_by_a_number(host: Hosting, window: Window) -> None:
    page = window(host(tea()).url)
    begin(page)
    page.locator("input[type=radio]").first.focus()
    page.keyboard.press("1")
    assert chosen(page) == []


def test_a_phone_reads_nothing_of_keys(host: Hosting, window: Window) -> None:
    page = window(host(asking(warmth={"kind": "likert"})).url, **PHONE)
    to_rating(page)
    assert not page.locator("[data-keys]").is_visible()
