"""The study in a real browser: by mouse, by keyboard, on a phone, with a bad connection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.studies.samples import load_template
from tests.web.conftest import PASSWORD, Host, Hosting, Serve, Server, Window, kept, tea

if TYPE_CHECKING:
    from playwright.sync_api import Page

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}


def anchoring() -> dict[str, Any]:
    """The template `anchoring2020` with two of its items and one place in each cell."""
    study = load_template("anchoring2020")
    made: dict[str, Any] = json.loads(study.definition)["design"]
    few = study.items[:2]
    made["items"] = {
        "inline": [
            {
                "id": item.id,
                "context": [said.text for said in item.context],
                "responses": {one.key: one.text for one in item.candidates},
                "standard": item.standard,
            }
            for item in few
        ]
    }
    return made | {"targets": 1, "contact": "ada@example.org"}


def begin(page: Page, button: str = "Begin") -> None:
    """Begin, and wait until the page's script runs: before, a form is the browser's to send."""
    page.get_by_role("button", name=button).click()
    page.wait_for_selector("form[data-screen=consent]")
    page.wait_for_load_state()


def onward(page: Page, button: str = "Continue") -> None:
    """Continue, and wait until the next screen is there."""
    before = page.evaluate("document.querySelector('[name=key]').value")
    page.get_by_role("button", name=button).click()
    page.wait_for_function(
        "key => document.querySelector('.the-code')"
        " || (document.querySelector('[name=key]') ?? {value: key}).value !== key",
        arg=before,
    )
    page.wait_for_load_state()


def fill(page: Page) -> None:
    """Answer whatever is asked."""
    for box in page.locator("[data-field]").all():
        control = box.get_attribute("data-control")
        if control == "number":
            box.locator("input").fill("40")
        elif control == "text":
            box.locator("textarea").fill("Nothing to add.")
        elif control == "slider":
            box.locator("input[type=range]").click(position={"x": 30, "y": 20})
        elif control == "choices":
            box.locator("input[type=radio]").first.check(force=True)
        elif control == "best_worst":
            box.get_by_role("radio").nth(0).check()
            box.get_by_role("radio").nth(3).check()
        elif control == "order":
            for rank, item in enumerate(box.locator("li").all()):
                item.locator("input").nth(rank).check(force=True)
        elif control in ("tick", "check_boxes"):
            box.locator("input[type=checkbox]").first.check()
        elif control == "matrix":
            for line in box.locator("[role=radiogroup]").all():
                line.locator("input").first.check(force=True)


def finish(page: Page) -> str:
    for _ in range(200):
        if page.locator(".the-code").count():
            return page.locator(".the-code").inner_text()
        fill(page)
        onward(page)
    raise AssertionError("the study does not end")


def _posts(route: Any) -> bool:
    return bool(route.request.method == "POST")


def wide(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def answers(server: Server | Host) -> pl.DataFrame:
    with kept(server) as store:
        return store.answers_frame(store.studies()[0].hash)


def test_a_whole_participation_in_each_cell(serve: Serve, window: Window) -> None:
    server = serve(anchoring())
    codes = []
    for _ in range(4):
        page = window(server.url)
        begin(page)
        codes.append(finish(page))
    assert len(set(codes)) == 4
    with kept(server) as store:
        record = store.studies()[0]
        assert [cell.completed for cell in store.progress(record.hash)] == [1, 1, 1, 1]
        events = store.events_frame(record.hash)
        rows = store.answers_frame(record.hash)
    ratings = rows.filter(pl.col("kind") == "rating")
    assert ratings.height == 4 * 2 * 3 * 2  # cells, items, replies, qualities
    assert ratings["value"].unique().to_list() == ["40.0"]
    assert rows["active_ms"].null_count() == 0
    shown = rows.select("rater", "screen").unique().height + 4  # instructions ask nothing
    assert events.filter(pl.col("kind") == "submitted").height == shown
    assert {"shown", "first_input", "change", "submitted"} <= set(events["kind"])


def test_resume_after_closing_the_browser(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = window(server.url)
    begin(page)
    fill(page)
    onward(page)
    onward(page)
    screen = page.locator("form").get_attribute("data-screen")
    state = page.context.storage_state()
    page.context.close()
    again = window(server.url, storage_state=state)
    assert again.url.endswith("/study")
    assert again.locator("form").get_attribute("data-screen") == screen
    finish(again)


def test_on_a_phone(host: Hosting, window: Window) -> None:
    server = host(anchoring())
    page = window(server.url, **PHONE)
    begin(page)
    while not page.locator(".the-code").count():
        assert wide(page) <= 0
        for button in page.locator("button, .option, .point, .dot").all():
            box = button.bounding_box()
            assert box is not None
            assert box["height"] >= 44  # a thumb
        fill(page)
        onward(page)


def test_by_keyboard_alone(host: Hosting, window: Window) -> None:
    server = host(tea(factors={}, presentation={"anchor": "both"}))
    page = window(server.url)
    keys = page.keyboard

    def to(selector: str) -> None:
        for _ in range(60):
            keys.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab never reaches {selector}")

    to("button")
    keys.press("Enter")
    page.wait_for_selector("form[data-screen=consent]")
    to("input[type=radio]")
    keys.press("Space")
    to("button")
    keys.press("Enter")
    page.wait_for_selector("form[data-screen=instructions]")
    to("button")
    keys.press("Enter")
    for screen in ("rate-001", "rate-002"):
        page.wait_for_selector(f"form[data-screen={screen}]")
        to("input[type=text]")
        for number in range(6):  # the return key leads from number to number, and onwards
            keys.type(str(10 + number))
            keys.press("Enter")
    page.wait_for_selector(".the-code")
    given = answers(server).filter(pl.col("kind") == "rating")["value"].to_list()
    assert given == [f"{10 + number}.0" for number in range(6)] * 2


def instruments() -> dict[str, Any]:
    """A study with every instrument, each on a screen of its own."""
    kinds: dict[str, Any] = {
        "likert": {"kind": "likert", "points": 7, "labels": {1: "no", 7: "yes"}},
        "slider": {"kind": "slider", "low": 0, "high": 10, "step": 0.5},
        "ranking": "ranking",
        "best": "best_worst",
        "words": {"kind": "free_text", "rows": 2},
    }
    return tea(
        factors={},
        presentation={"layout": "separate"},
        qualities={name: {"instrument": kind} for name, kind in kinds.items()},
    )


def test_a_slider_starts_without_a_handle(host: Hosting, window: Window) -> None:
    server = host(instruments())
    page = window(server.url, expected=("422",))
    begin(page)
    while page.locator("[data-control=slider]").count() == 0:
        fill(page)
        onward(page)
    line = page.locator("input[type=range]").first
    assert line.get_attribute("class") == "untouched"
    assert page.locator("[data-control=slider] input[type=hidden]").first.input_value() == ""
    page.get_by_role("button", name="Continue").click()  # nothing is chosen: nothing is taken
    page.wait_for_selector("#summary:not([hidden])")
    assert page.locator("[data-error]:not([hidden])").count() == 3
    box = line.bounding_box()
    assert box is not None
    line.click(position={"x": box["width"] / 2, "y": box["height"] / 2})  # right in the middle
    assert line.get_attribute("class") == ""
    assert page.locator("[data-control=slider] input[type=hidden]").first.input_value() == "5"
    finish(page)


def test_every_instrument_by_mouse(host: Hosting, window: Window) -> None:
    server = host(instruments())
    page = window(server.url)
    begin(page)
    finish(page)
    given = answers(server).filter(pl.col("kind") == "rating")
    values = {row["quality"]: json.loads(row["value"]) for row in given.iter_rows(named=True)}
    assert values["ranking"] == ["1", "2", "3"]
    assert values["best"] == {"best": "1", "worst": "2"}
    assert values["likert"] == 1


def test_a_rank_is_given_once(host: Hosting, window: Window) -> None:
    server = host(instruments())
    page = window(server.url)
    begin(page)
    while page.locator("[data-control=order]").count() == 0:
        fill(page)
        onward(page)
    rows = page.locator(".ranks li")
    rows.nth(0).locator("input").nth(0).check(force=True)
    rows.nth(1).locator("input").nth(0).check(force=True)
    assert page.locator(".ranks input:checked").count() == 1


def test_a_lost_connection_loses_nothing(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = window(server.url, expected=("Failed to load", "ERR_"))
    begin(page)
    fill(page)
    sent: list[str] = []
    told = False

    def lose(route: Any) -> None:
        if not _posts(route):
            route.continue_()
        elif not told:
            sent.append("never arrives")
            route.abort()
        elif "arrives, and the answer is lost" not in sent:
            sent.append("arrives, and the answer is lost")
            route.fetch()
            route.abort()
        else:
            sent.append("arrives")
            route.continue_()

    page.route("**/study", lose)
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("The connection is lost.").wait_for()
    told = True
    page.wait_for_selector("form[data-screen=instructions]")
    assert sent[0] == "never arrives"
    assert sent[-2:] == ["arrives, and the answer is lost", "arrives"]
    assert answers(server)["value"].to_list() == ['"yes"']


def test_the_back_button_and_two_tabs(host: Hosting, window: Window) -> None:
    server = host(tea())
    page = window(server.url)
    begin(page)
    fill(page)
    tab = page.context.new_page()
    tab.goto(f"{server.url}/study")
    fill(tab)
    onward(page)
    onward(tab)  # the same screen from the other tab
    assert tab.locator("form").get_attribute("data-screen") == "instructions"
    page.go_back()
    page.wait_for_url(f"{server.url}/**")
    page.goto(f"{server.url}/study")
    assert page.locator("form").get_attribute("data-screen") == "instructions"
    assert answers(server).height == 1


def test_time_runs_out(host: Hosting, window: Window) -> None:
    server = host(tea(presentation={"deadline": 1}))
    page = window(server.url)
    begin(page)
    fill(page)
    onward(page)
    onward(page)
    page.wait_for_selector(".the-code")  # the rest goes by itself
    rated = answers(server).filter(pl.col("kind") == "rating")
    assert rated["value"].unique().to_list() == ["null"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_names(host: Hosting, window: Window, scheme: str) -> None:
    """Text against its background (WCAG 2.2, 1.4.3), and a name for whatever takes input."""
    server = host(instruments())
    page = window(server.url, color_scheme=scheme)
    begin(page)
    while not page.locator(".the-code").count():
        assert page.evaluate(_CONTRAST) == []
        assert page.evaluate(_NAMELESS) == []
        fill(page)
        onward(page)


def test_twice_as_large(host: Hosting, window: Window) -> None:
    server = host(anchoring())
    page = window(server.url, viewport={"width": 600, "height": 400}, device_scale_factor=2)
    begin(page)
    while not page.locator(".the-code").count():
        assert wide(page) <= 0
        fill(page)
        onward(page)


def test_the_researcher_watches(host: Hosting, window: Window) -> None:
    server = host(anchoring())
    someone = window(server.url)
    begin(someone)
    finish(someone)
    page = window(f"{server.url}/researcher")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("table")
    assert "1 of 4" in page.title()
    page.get_by_role("link", name="Preview").first.click()
    page.get_by_text("Nothing that is entered here is recorded.").wait_for()
    page.get_by_role("button", name="Next").click()
    page.frame_locator("#frame").locator("form[data-screen=consent]").wait_for()
    page.get_by_role("link", name="Back to the study").click()
    page.get_by_role("button", name="Pause").first.click()
    page.wait_for_selector(".state.paused")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the data").click()
    assert download.value.suggested_filename == "anchoring2020-export.zip"
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")


_CONTRAST = """() => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const channel = (c) => linear(c / 255);
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("main *, header *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(".unseen")) continue;
    const a = light(rgb(getComputedStyle(node).color)), b = light(behind(node));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.className}: ${node.textContent.trim()} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""

_NAMELESS = """() => [...document.querySelectorAll("input:not([type=hidden]), textarea, select")]
  .filter((node) => !node.labels?.length && !node.ariaLabel).map((node) => node.name)"""
