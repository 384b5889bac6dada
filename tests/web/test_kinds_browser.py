"""Check boxes, answers of one's own, matrices, media and Markdown in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from dialens.studies import load_study
from dialens.studies.store import Store
from dialens.web import Site, study_app
from dialens.web._serving import PatientProtocol
from tests.web.conftest import PASSWORD, Host, Hosting, Window, running, tea
from tests.web.test_browser import PHONE, answers, begin, onward, wide
from tests.web.test_media import with_media

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

QUESTIONS = {
    "faults": {
        "kind": "check_boxes",
        "prompt": "Which **faults** have you met?",
        "choices": {"rude": "Rude replies", "wrong": "Wrong replies", "dull": "Dull replies"},
        "other": "Something else, namely",
    },
    "drink": {
        "kind": "choice",
        "prompt": "What do you drink?",
        "choices": ["Tea", "Coffee"],
        "other": "Something else, namely",
    },
    "self": {
        "kind": "matrix",
        "prompt": "How far do you agree?",
        "statements": {"loud": "I talk to strangers on trains.", "calm": "I stay calm."},
        "points": 7,
        "labels": {1: "not at all", 4: "partly", 7: "fully"},
    },
    "sure": {"kind": "slider", "prompt": "How sure are you?"},
}


def asking(**changes: Any) -> dict[str, Any]:
    return tea(questionnaires={"before": [{"questions": QUESTIONS}]}, **changes)


def fill(page: Page) -> None:
    page.get_by_label("Wrong replies").check()
    page.locator("[name='a:faults:other']").fill("too long")
    page.locator("[name='a:drink:other']").fill("milk")
    page.locator("[name='a:self:loud'][value='2']").check(force=True)
    page.locator("[name='a:self:calm'][value='6']").check(force=True)
    slider = page.locator("[data-slide] input[type=range]")
    if slider.count():
        slider.click(position={"x": 30, "y": 20})
    else:
        page.locator("[name='a:sure']").fill("12")


def stored(server: Host) -> dict[str, Any]:
    table = answers(server).filter(pl.col("kind") == "questions")
    return {field: json.loads(value) for field, value in table.select("field", "value").rows()}


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_they_are_answered_by_mouse_and_thumb(
    host: Hosting, window: Window, options: dict[str, Any]
) -> None:
    server = host(asking())
    page = window(server.url, **options)
    begin(page)
    page.get_by_text("I have read this").click()
    onward(page)
    assert wide(page) <= 0
    fill(page)
    assert page.locator("[name='a:drink:choice'][value=other]").is_checked()
    onward(page)
    told = stored(server)
    assert 0 <= told.pop("sure") <= 100
    assert told == {
        "faults": ["wrong", "other: too long"],
        "drink": "other: milk",
        "self": {"loud": 2, "calm": 6},
    }


def test_they_are_answered_by_keyboard_alone(host: Hosting, window: Window) -> None:
    server = host(asking())
    page = window(server.url)
    begin(page)
    page.get_by_text("I have read this").click()
    onward(page)
    keys = {
        "a:faults:rude": ["Space"],
        "a:faults:other": list("slow"),
        "a:drink:choice": ["Space"],
        "a:self:loud": ["Space", "ArrowRight", "ArrowRight"],
        "a:self:calm": ["Space", *["ArrowRight"] * 4],
        "range": ["ArrowRight"],
        "submit": ["Enter"],
    }
    while keys:
        page.keyboard.press("Tab")
        at = page.evaluate("document.activeElement.name || document.activeElement.type")
        for key in keys.pop(at, ()):
            page.keyboard.press(key)
    page.wait_for_selector("form[data-screen=instructions]")
    told = stored(server)
    assert told["faults"] == ["rude", "other: slow"]
    assert told["drink"] in ("Tea", "Coffee")
    assert told["self"] == {"loud": 3, "calm": 5}


def test_they_work_without_a_script_and_keep_what_was_entered(
    host: Hosting, window: Window
) -> None:
    server = host(asking())
    page = window(server.url, java_script_enabled=False, expected=("422",))
    page.get_by_role("button", name="Begin").click()
    page.get_by_text("I have read this").click()
    page.get_by_role("button", name="Continue").click()
    fill(page)
    page.locator("[name='a:self:calm']").first.count()
    fill(page)
    page.locator("[name='a:drink:choice'][value=other]").check()
    page.locator("[name='a:drink:other']").fill("")
    page.get_by_role("button", name="Continue").click()
    assert "Please write what it is." in page.locator("#summary").inner_text()
    assert page.get_by_label("Wrong replies").is_checked()
    assert page.locator("[name='a:self:loud'][value='2']").is_checked()
    assert page.locator("[name='a:faults:other']").input_value() == "too long"
    page.locator("[name='a:drink:other']").fill("milk")
    page.get_by_role("button", name="Continue").click()
    assert stored(server)["drink"] == "other: milk"


def test_what_somebody_wrote_is_not_among_the_events(host: Hosting, window: Window) -> None:
    server = host(asking())
    page = window(server.url)
    begin(page)
    page.get_by_text("I have read this").click()
    onward(page)
    fill(page)
    page.get_by_label("Wrong replies").uncheck()
    onward(page)
    with Store.open(server.database, create=False) as store:
        events = store.events_frame(store.studies()[0].hash)
    told = " ".join(events["detail"].cast(pl.String).drop_nulls())
    assert "too long" not in told
    assert "other=8 characters" in told
    assert "wrong=1" in told
    assert '"wrong="' in told  # the box was emptied again


def test_pictures_and_sounds_load(tmp_path: Path, window: Window) -> None:
    path = with_media(tmp_path)
    with Store.open(f"sqlite:///{tmp_path}/study.db") as store:
        site = Site.of(load_study(path), store, password=PASSWORD, folder=tmp_path)
        with running(study_app(site), PatientProtocol) as port:
            page = window(f"http://127.0.0.1:{port}")
            begin(page)
            page.get_by_text("I have read this").click()
            onward(page)
            onward(page)
            page.wait_for_function("document.querySelector('.media img').naturalWidth === 80")
            lengths = "[...document.querySelectorAll('audio')].map(sound => sound.duration)"
            page.wait_for_function(f"{lengths}.every(seconds => Math.abs(seconds - 0.5) < 0.01)")
            assert page.locator("audio").count() == 2


REPLY = """Sure! **Three** steps:

1. Boil `500 ml` of water.
2. Add tea.

| tea | minutes |
|:----|--------:|
| green | 2 |

```
drink(tea)
```"""


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_markdown_is_shown_within_the_page(
    host: Hosting, window: Window, options: dict[str, Any]
) -> None:
    item = {"id": "a", "context": ["How *do* I make tea?"], "responses": {"x": REPLY, "y": "No."}}
    server = host(tea(factors={}, items={"inline": [item]}, presentation={"render": "markdown"}))
    page = window(server.url, **options)
    begin(page)
    page.get_by_text("I have read this").click()
    onward(page)
    onward(page)
    assert wide(page) <= 0
    assert page.locator(".reply ol > li").count() == 2
    assert (
        page.locator(".reply td.to-right").evaluate("e => getComputedStyle(e).textAlign") == "end"
    )
