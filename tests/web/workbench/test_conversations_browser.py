"""Conversations, flags and runs in a real browser, with the mouse and with keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dialens.web._serving import PatientProtocol
from dialens.web.workbench import workbench_app
from dialens.workbench import Workbench
from tests.accessibility import Inspection
from tests.web.conftest import Window, running
from tests.workbench.by_hand import corpus_folder, score_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    corpus_folder(place / "talks")
    score_folder(place / "out", place / "talks")
    return place


@pytest.fixture
def bench(folder: Path, tmp_path: Path) -> Iterator[Workbench]:
    workbench = Workbench.open(folder, cache=tmp_path / "cache")
    yield workbench
    workbench.close()


def texts(page: Page) -> list[str]:
    """What the rows show of their texts."""
    return page.locator(".talks .words").all_inner_texts()


def test_search_sort_filter_brush_and_flag(bench: Workbench, window: Window) -> None:
    app = workbench_app(bench)
    inspect = Inspection()
    with running(app, PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}{app.address}")
        page.get_by_role("link", name="Conversations", exact=True).first.click()
        expect(page.locator(".lead")).to_have_text("16 turns of 2 agents.")
        inspect(page, "workbench-conversations")

        page.wait_for_load_state()
        page.keyboard.press("/")
        page.keyboard.type("sorry")
        page.keyboard.press("Enter")
        expect(page.locator(".lead")).to_have_text("2 turns of 16 with “sorry”.")
        assert page.locator("mark").all_inner_texts() == ["sorry", "Sorry"]
        page.get_by_role("link", name="Remove the filter text: sorry").click()
        expect(page.locator(".lead")).to_have_text("16 turns of 2 agents.")

        first = page.locator(".talks .words").first
        page.get_by_role("link", name="Empathy").click()
        expect(page.locator(".lead")).to_contain_text("highest empathy first")
        expect(first).to_have_text("I am so sorry to hear that.")
        page.get_by_role("link", name="Empathy").click()
        expect(page.locator(".lead")).to_contain_text("lowest empathy first")
        expect(first).to_have_text("Get another <b>cat</b>.")

        page.wait_for_load_state()
        chart = page.locator("[data-brush]")
        box = chart.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] + 5, box["y"] + 20, steps=4)
        page.mouse.up()
        expect(page.locator(".chips")).to_contain_text("Empathy: at least")
        expect(page.locator(".lead")).to_contain_text("4 turns of 16")
        inspect(page, "workbench-conversations-brushed")
        page.get_by_role("link", name="Remove all").click()
        expect(page.locator(".chips")).to_have_count(0)

        page.locator("summary", has_text="Filter").click()
        page.get_by_label("calm").check()
        page.get_by_role("button", name="Filter").click()
        expect(page.locator(".lead")).to_contain_text("8 turns of 16")

        page.wait_for_load_state()
        for key in ("j", "j", "1", "3"):
            page.keyboard.press(key)
        second = page.locator("[data-row]").nth(1)
        expect(second.locator("[data-marks]")).to_contain_text("3")
        assert sorted(bench.notebook.flags()["code"].to_list()) == [1, 3]
        page.keyboard.press("1")
        expect(second.locator("[data-marks]")).not_to_contain_text("1")
        assert bench.notebook.flags()["code"].to_list() == [3]
        page.keyboard.press("Enter")
        page.wait_for_url("**/dialogue?**")
        page.go_back()

        page.goto(f"http://127.0.0.1:{port}/conversations?flag=any")
        expect(page.locator(".lead")).to_have_text("1 turn of 16.")
        page.locator("summary", has_text="Views").click()
        page.get_by_label("Save this view as").fill("to read")
        page.get_by_role("button", name="Save").click()
        page.locator("summary", has_text="Views").click()
        page.get_by_role("link", name="to read").wait_for()
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.wait_for_load_state()
    inspect.done()


def test_a_code_book_and_a_second_coder(bench: Workbench, window: Window) -> None:
    app = workbench_app(bench)
    inspect = Inspection()
    with running(app, PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}{app.address}")
        page.get_by_role("link", name="Flags", exact=True).click()
        page.get_by_text("Nothing is flagged yet.").wait_for()
        page.get_by_label("Name of flag 1").fill("warm <i>")
        page.get_by_label("When flag 1 is given").fill("feels with people")
        page.get_by_role("button", name="Save flag 1").click()
        for coder, rows in (("ann", (1, 3)), ("bob", (1,))):
            page.goto(f"http://127.0.0.1:{port}/flags")
            page.get_by_label("Flags of this browser are set by").fill(coder)
            page.get_by_role("button", name="Change").click()
            page.goto(f"http://127.0.0.1:{port}/conversations?dialog=exam-calm")
            for row in rows:
                page.locator("[data-row]").nth(row).click(position={"x": 5, "y": 5})
                page.keyboard.press("1")
                expect(page.locator("[data-row]").nth(row).locator(".flag.own")).to_have_count(1)
        page.goto(f"http://127.0.0.1:{port}/flags")
        # ann 1 1, bob 1 0: three ones and a zero; expected 2·3·1/(4·3), observed 2/4.
        expect(page.locator(".lead")).to_contain_text("2 units flagged with 1 code by ann and bob")
        expect(page.get_by_role("table")).to_contain_text("0.00")
        inspect(page, "workbench-flags")
        with page.expect_download() as taken:
            page.get_by_role("link", name="flags.csv").click()
        lines = Path(taken.value.path()).read_text("utf-8").splitlines()
        assert len(lines) == 1 + 4
    inspect.done()


def test_a_run_from_the_page(bench: Workbench, folder: Path, window: Window) -> None:
    app = workbench_app(bench)
    inspect = Inspection()
    with running(app, PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}{app.address}")
        page.get_by_role("link", name="Runs", exact=True).click()
        inspect(page, "workbench-runs")
        form = page.locator("form", has_text="Score conversations")
        form.get_by_label("Only these metrics or families").fill("length, question")
        form.get_by_role("button", name="Score").click()
        page.get_by_text("is running").wait_for()
        inspect(page, "workbench-running")
        done = page.locator("section", has_text="dialens score").get_by_text("done")
        done.wait_for(timeout=90_000)
        assert (folder / "scores" / "scores.parquet").exists()
        bench.refresh()
        page.goto(f"http://127.0.0.1:{port}/conversations?sort=-length")
        expect(page.locator(".lead")).to_contain_text("highest words a turn first")
        form = page.locator("form", has_text="Score conversations")
        page.goto(f"http://127.0.0.1:{port}/runs")
        form.get_by_label("Into the new folder").fill("../out")
        form.get_by_role("button", name="Score").click()
        page.get_by_text("is not a name for a new folder").wait_for()
        page.wait_for_load_state()  # the server goes next
    inspect.done()
