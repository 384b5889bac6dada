"""One conversation and agents side by side in a browser: keys, axe, a full disk, two coders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from dialens.web._serving import PatientProtocol
from dialens.web.workbench import workbench_app
from dialens.workbench import Code, Workbench
from tests.accessibility import Inspection
from tests.web.conftest import Window, running
from tests.workbench.spoken import EVIL_NAME, make_spoken

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


class Open:
    """A folder that is served."""

    def __init__(self, bench: Workbench, port: int, token: str) -> None:
        self.bench, self._port, self._token = bench, port, token

    def at(self, path: str, **asked: object) -> str:
        query = urlencode({**asked, "token": self._token})
        return f"http://127.0.0.1:{self._port}{path}?{query}"

    def talk(self, dialog: str, **asked: object) -> str:
        return self.at("/dialogue", source="talks", dialog=dialog, **asked)

    def flags(self, dialog: str) -> set[tuple[int, int]]:
        found = self.bench.notebook.flags().filter(dialog=dialog)
        return set(found.select("turn", "code").rows())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    place = tmp_path_factory.mktemp("browsed")
    make_spoken(place / "folder")
    bench = Workbench.open(place / "folder", cache=place / "cache")
    bench.notebook.write_code(Code(1, "off topic"))
    app = workbench_app(bench, "the-key")
    with running(app, PatientProtocol) as port:
        yield Open(bench, port, "the-key")
    bench.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def said(page: Page, words: str) -> None:
    page.get_by_role("status").filter(has_text=words).wait_for()


def current(page: Page) -> str:
    return str(page.evaluate("document.querySelector('[data-current]').dataset.turn"))


def test_with_the_keyboard_alone(folder: Open, window: Window) -> None:
    page = window(folder.talk("exam-again", **{"from": "level=dialog&agent=calm"}))
    press(page, "j")
    assert current(page) == "1"
    assert page.url.endswith("#t1")
    assert page.evaluate("document.activeElement.id") == "t1"
    press(page, "1")
    said(page, "Flag 1 set on turn 1")
    assert folder.flags("exam-again") == {(1, 1)}
    assert page.locator("#t1 .flag.own").inner_text().split() == ["1", "off", "topic"]
    press(page, "1")
    said(page, "Flag 1 taken from turn 1")
    press(page, "2", "3", "0")
    said(page, "No flags on turn 1")
    assert folder.flags("exam-again") == set()
    press(page, ".")
    page.keyboard.type("why j k 1 2?")
    press(page, "Control+Enter")
    said(page, "Note on turn 1 stored")
    assert folder.bench.notebook.notes().filter(dialog="exam-again")["note"].to_list() == [
        "why j k 1 2?"
    ]
    press(page, "Enter")
    page.locator("#t1 .scores .values").first.wait_for()
    press(page, "k", "k")
    assert current(page) == "-1"  # the conversation as a whole comes before its turns
    press(page, "9")
    said(page, "Flag 9 set on the conversation")
    press(page, "?")
    assert page.get_by_text("off topic; again to take it away").is_visible()
    press(page, "Escape", "n")
    page.wait_for_url(re.compile("dialog=cat-calm"))
    press(page, "p")
    page.wait_for_url(re.compile("dialog=exam-again"))


def test_a_turn_has_an_address(folder: Open, window: Window) -> None:
    page = window(folder.talk("exam-calm") + "#t3")
    assert current(page) == "3"
    assert page.locator("[data-dot='3']").get_attribute("class") == "current"
    page.locator("[data-dot='1']").click()
    assert current(page) == "1"
    page.get_by_role("link", name="Questions").click()
    page.wait_for_url(re.compile(r"lens=question.*#t1$"))
    assert page.locator("#t1 mark").all_inner_texts() == ["?"]
    page.get_by_label("Along the turns", exact=True).select_option("question")
    page.wait_for_url(re.compile(r"metric=question.*#t1$"))
    page = window(folder.talk("long") + "#t444")  # not among the first
    page.wait_for_url(re.compile("turn=444"))
    page.wait_for_function("document.querySelector('[data-current]')?.dataset.turn === '444'")


def test_with_the_mouse(folder: Open, window: Window) -> None:
    page = window(folder.talk("cat-calm"))
    page.locator("#t3 .bubble").click()
    page.locator("#t3").get_by_role("button", name="off topic").click()
    said(page, "Flag 1 set on turn 3")
    page.locator("#t3").get_by_role("button", name="Note").click()
    page.get_by_label("Your note").fill("left by going on")
    page.locator("#t1 .bubble").click()
    said(page, "Note on turn 3 stored")
    assert folder.flags("cat-calm") == {(3, 1)}
    page.reload()
    assert "left by going on" in page.locator("#t3 .noted").inner_text()


def test_a_full_disk_is_said_and_the_note_is_kept(folder: Open, window: Window) -> None:
    page = window(folder.talk("exam-curt"), expected=("422",))
    book = folder.bench.notebook._database
    assert book is not None
    book.execute(f"pragma max_page_count = {book.execute('pragma page_count').fetchone()[0]}")
    try:
        press(page, "j", ".")
        page.get_by_label("Your note").fill("x" * 9_000)
        press(page, "Control+Enter")
        alert = page.get_by_role("alert").filter(has_text="Not stored, turn 1:")
        alert.wait_for()
        assert "full" in alert.inner_text()
        assert page.get_by_label("Your note").input_value() == "x" * 9_000
    finally:
        book.execute("pragma max_page_count = 1000000")
    page.get_by_role("button", name="Save").click()
    said(page, "Note on turn 1 stored")
    assert page.locator("[data-flag-failed]").inner_text() == ""


def test_who_does_not_reach_the_server_is_told(folder: Open, window: Window) -> None:
    page = window(folder.talk("exam-curt"), expected=("ERR_FAILED", "Failed to load"))
    page.route("**/api/flag", lambda route: route.abort())
    press(page, "j", "4")
    page.get_by_role("alert").filter(has_text="does not answer").wait_for()
    assert page.locator("#t1 [data-code='4']").get_attribute("aria-pressed") == "false"
    assert (1, 4) not in folder.flags("exam-curt")


def test_two_browsers_keep_both_flags(folder: Open, window: Window) -> None:
    pages = []
    for name in ("ann", "bob"):
        page = window(folder.talk("cat-curt"))
        cookies = {"dialens-coder": name, "dialens-others": "show"}
        page.context.add_cookies(
            [{"name": key, "value": value, "url": page.url} for key, value in cookies.items()]
        )
        pages.append(page)
    for page, code in zip(pages, "12", strict=True):
        press(page, "j", code)
        said(page, f"Flag {code} set")
    press(pages[0], "3")
    said(pages[0], "Flag 3 set")
    assert "bob" in pages[0].locator("#t1 [data-marks]").inner_text()
    found = folder.bench.notebook.flags().filter(dialog="cat-curt")
    assert set(found.select("code", "coder").rows()) == {(1, "ann"), (3, "ann"), (2, "bob")}


def test_side_by_side_with_the_keyboard(folder: Open, window: Window) -> None:
    page = window(folder.at("/side-by-side", metric="length"))
    press(page, "j", "Enter")
    page.locator("[data-current]").wait_for()
    press(page, "l", "5")
    said(page, "Flag 5 set on turn 1")
    assert (1, 5) in folder.flags("exam-curt")
    press(page, "k", "h", "6")
    said(page, "Flag 6 set on the conversation")
    assert (-1, 6) in folder.flags("exam-calm")
    press(page, "n")
    page.get_by_text("My cat died.").first.wait_for()


def test_names_and_texts_do_nothing(folder: Open, window: Window) -> None:
    page = window(folder.talk(EVIL_NAME))
    press(page, "j", "1", ".")
    page.keyboard.type("<img src=z onerror=alert(3)>")
    press(page, "Control+Enter")
    said(page, "stored")
    assert "<img src=z" in page.locator("#t1 .noted").inner_text()
    assert page.locator("main img, main script").count() == 0
    page.goto(folder.at("/side-by-side", agent=EVIL_NAME))
    assert page.locator("main img, main script").count() == 0


def test_accessibility(folder: Open, window: Window) -> None:
    look = Inspection()
    page = window(folder.talk("exam-calm"))
    press(page, "j", "1", "2", "Enter")
    said(page, "Flag 2")
    page.locator("#t1 .scores .values").first.wait_for()
    page.locator(".ratings summary").first.click()
    look(page, "dialogue")
    press(page, "j", "j", ".")
    look(page, "dialogue-note")
    press(page, "Escape")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        for path in ("/side-by-side", "/dialogue"):
            asked = {"dialog": EVIL_NAME} if path == "/dialogue" else {"level": "turn"}
            page.goto(folder.at(path, **asked))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    look(page, "dialogue-evil")
    page.goto(folder.at("/side-by-side"))
    look(page, "openings")
    page.locator("[data-row]").first.click()
    page.locator("[data-current]").wait_for()
    press(page, "j", "1")
    said(page, "Flag 1")
    look(page, "side-by-side")
    look.done()


def test_without_a_script(folder: Open, window: Window) -> None:
    page = window(folder.talk("exam-calm"), java_script_enabled=False)
    assert page.locator("#t1 .bubble").inner_text().startswith("I am so sorry")
    page.locator("#t1 .scores summary").click()
    page.get_by_role("link", name="Show them").first.click()
    assert page.locator("#t1 .scores .values").first.is_visible()
