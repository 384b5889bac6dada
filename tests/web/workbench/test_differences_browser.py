"""Comparisons and metrics in a real browser: with the mouse, with keys, for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from dialens.web._serving import PatientProtocol
from dialens.web.workbench import workbench_app
from dialens.workbench import Workbench
from tests.accessibility import Inspection
from tests.web.conftest import Window, running


@pytest.fixture(scope="module")
def address(made_rated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workbench = Workbench.open(made_rated, cache=tmp_path_factory.mktemp("indexes"))
    app = workbench_app(workbench)
    with running(app, PatientProtocol) as port:
        yield f"http://127.0.0.1:{port}{app.address}"
    workbench.close()


def test_from_a_comparison_to_what_makes_a_difference(address: str, window: Window) -> None:
    page = window(address)
    inspect = Inspection()
    page.get_by_role("link", name="Comparisons").click()
    page.get_by_text("1 comparison, the newest first.").wait_for()
    inspect(page, "comparisons")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Differences").wait_for()
    page.get_by_label("Order").select_option("p")
    page.wait_for_url("**sort=p**")
    page.get_by_label("only corrected p below .05").check()
    page.wait_for_url("**clear=1**")
    rows = page.locator("tr[data-row]")
    assert rows.count() > 0
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.innerText").startswith("Words a turn")
    page.keyboard.press("Enter")
    page.wait_for_url("**#dialogues")
    section = page.locator("#dialogues")
    section.get_by_text("Over 12 shared openings, long is on average 6.2 above").wait_for()
    inspect(page, "comparison-paired")
    page.get_by_label("only corrected p below .05").uncheck()
    page.wait_for_url(lambda url: "clear" not in parse_qs(urlsplit(url).query))
    page.locator("tr[data-row]", has_text="long − other").first.locator(".plot a").click()
    section.get_by_text("long’s 12 dialogues are on average 2.4 above").wait_for()
    inspect(page, "comparison-unpaired")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    inspect.done()


def test_a_metric_and_a_range_of_it(address: str, window: Window) -> None:
    page = window(address)
    inspect = Inspection()
    page.get_by_role("link", name="Metrics").click()
    page.get_by_role("heading", name="Words and phrases").wait_for()
    inspect(page, "metrics")
    page.get_by_role("link", name="Words a turn").click()
    page.get_by_text("Words a turn high, people low").wait_for()
    inspect(page, "metric")
    page.get_by_label("Beside").select_option("judge:j1:warmth")
    page.wait_for_url(re.compile("against=judge"))
    page.get_by_text("Words a turn high, warmth (j1) low").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1200, "height": 800})
    chart = page.locator("[data-brush]")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 3
    page.mouse.move(box["x"] + 0.75 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.999 * box["width"] + 9, middle, steps=4)
    page.mouse.up()
    page.wait_for_url("**/conversations?**")
    page.get_by_text(re.compile(r"^\d+ turns of 64, highest words a turn first")).wait_for()
    inspect.done()
