"""The author's page in a real browser: it follows the file, and the form writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dialens.studies.templates import write_template
from dialens.web import study_preview
from dialens.web._serving import PatientProtocol
from tests.web.conftest import Window, running
from tests.web.test_preview import rewrite

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Page


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_template("likert", tmp_path / "mine")
    return tmp_path / "mine" / "study.yaml"


@pytest.fixture
def address(file: Path) -> Iterator[str]:
    preview = study_preview(file)
    with running(preview, PatientProtocol) as port:
        yield f"http://127.0.0.1:{port}{preview.address}"
    preview.close()


def shown(page: Page) -> FrameLocator:
    return page.frame_locator("#frame")


def go_to(page: Page, label: str) -> None:
    page.locator("#screens button", has_text=label).first.click()
    page.wait_for_selector(f"#screens button[aria-current]:has-text('{label}')")


def data(file: Path) -> Any:
    return YAML(typ="safe").load(file)


def test_the_page_follows_the_file_and_stays_where_it_is(
    file: Path, address: str, window: Window
) -> None:
    page = window(address)
    go_to(page, "soup")
    shown(page).get_by_text("Love it.").wait_for()
    rewrite(file, "Love it.", "I adore it.")
    shown(page).get_by_text("I adore it.").wait_for()
    assert page.locator("#screens [aria-current]").inner_text().startswith("soup")
    rewrite(file, "title: How", "titel: How")
    error = page.locator("#problems .error", has_text="Did you mean title?")
    error.wait_for()
    assert "Line 6" in error.inner_text()
    assert shown(page).get_by_text("I adore it.").is_visible()
    rewrite(file, "titel: How", "title: How")
    error.wait_for(state="detached")
    page.reload()
    shown(page).get_by_text("I adore it.").wait_for()


def test_a_label_is_edited_a_quality_added_and_the_comment_stays(
    file: Path, address: str, window: Window
) -> None:
    before = file.read_text("utf-8")
    page = window(address)
    go_to(page, "soup")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.locator("summary", has_text="Qualities").click()
    page.locator("summary", has_text="relevance").click()
    page.get_by_label("Label", exact=True).fill("To the point")
    page.keyboard.press("Tab")
    shown(page).locator("dt", has_text="To the point").wait_for(state="attached")  # folded
    page.get_by_label("Name of a new quality").fill("warmth")
    page.keyboard.press("Enter")
    page.locator("summary", has_text="warmth").wait_for()
    shown(page).locator(".prompt", has_text="Warmth").first.wait_for()
    assert data(file)["qualities"]["relevance"]["label"] == "To the point"
    assert data(file)["qualities"]["warmth"]["instrument"] == {"kind": "likert"}
    text = file.read_text("utf-8")
    for line in before.splitlines():
        if "#" in line:
            assert line in text
    page.locator("summary", has_text="appropriateness").click()
    page.get_by_role("button", name="Remove appropriateness").click()
    page.locator("summary", has_text="appropriateness").wait_for(state="detached")
    assert "appropriateness" not in data(file)["qualities"]
    for _ in range(3):
        page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.getElementById('undo').disabled")
    assert file.read_text("utf-8") == before


def test_messages_stand_beside_the_fields(file: Path, address: str, window: Window) -> None:
    page = window(address)
    page.get_by_role("button", name="Edit contact").click()
    page.wait_for_function("() => document.activeElement.id === 'f-contact'")
    contact = page.locator("""[data-at='["contact"]']""")
    assert "PLEASE FILL IN still stands" in contact.inner_text()
    page.locator("summary", has_text="Presentation").click()
    page.get_by_label("Deadline").fill("-3")
    page.keyboard.press("Tab")
    wrong = page.locator("""[data-at='["presentation","deadline"]']""")
    wrong.locator(".error").wait_for()
    assert wrong.locator("input").get_attribute("aria-invalid") == "true"
    page.get_by_label("Deadline").fill("soon")
    page.keyboard.press("Tab")
    wrong.get_by_text("A number is expected here").wait_for()
    assert data(file)["presentation"]["deadline"] == -3


def test_a_name_that_is_taken_is_refused_beside_it_and_the_old_one_is_back(
    file: Path, address: str, window: Window
) -> None:
    before = file.read_text("utf-8")
    page = window(address, expected=("422",))
    page.get_by_role("button", name="Edit", exact=True).click()
    page.locator("summary", has_text="Qualities").click()
    page.locator("summary", has_text="relevance").click()
    name = page.get_by_label("Name in the data").last
    name.fill("appropriateness")
    page.keyboard.press("Tab")
    refusal = page.locator("""[data-at='["qualities","relevance"]'] .error""")
    refusal.wait_for()
    assert "There is a qualities.appropriateness already" in refusal.inner_text()
    assert name.input_value() == "relevance"
    told, field = refusal.bounding_box(), name.bounding_box()
    assert told is not None
    assert field is not None
    assert abs(told["y"] - field["y"]) < 200
    page.get_by_label("Name of a new quality").fill("relevance")
    page.keyboard.press("Enter")
    page.get_by_text("There is a quality relevance already").wait_for()
    assert file.read_text("utf-8") == before


def test_a_file_saved_elsewhere_is_not_overwritten(
    file: Path, address: str, window: Window
) -> None:
    page = window(address, expected=("409",))
    page.get_by_role("button", name="Edit", exact=True).click()
    title = page.get_by_label("Title", exact=True)
    title.press_sequentially("!")
    rewrite(file, "targets: 20", "targets: 30")
    text = file.read_text("utf-8")
    page.wait_for_timeout(1200)
    page.keyboard.press("Tab")
    page.locator("#conflict", has_text="was changed on disk").wait_for()
    assert file.read_text("utf-8") == text
    page.get_by_role("button", name="Reload the form").click()
    page.locator("#conflict").wait_for(state="hidden")
    assert page.get_by_label("Targets", exact=True).input_value() == "30"


def test_the_author_takes_the_study(address: str, window: Window, file: Path) -> None:
    page = window(address)
    shown(page).get_by_role("button", name="Begin").wait_for()
    page.get_by_role("button", name="Take it yourself").click()
    inside = shown(page)
    inside.locator("form[action='/begin'] button").click()
    inside.get_by_label("I have read this").check()
    for _ in range(20):
        for row in inside.locator(".points").all():
            row.locator("input").nth(2).check(force=True)
        button = inside.get_by_role("button", name="Continue")
        key = inside.locator("[name=key]").input_value()
        button.click()
        page.wait_for_function(
            "key => { const page = document.getElementById('frame').contentDocument;"
            " return page.readyState === 'complete' && (page.querySelector('.the-code')"
            " || (page.querySelector('[name=key]') ?? {value: key}).value !== key); }",
            arg=key,
        )
        if inside.locator(".the-code").count():
            break
    assert inside.locator(".the-code").inner_text()
    assert "nothing is stored" in page.locator("#where").inner_text()
    assert [path.name for path in file.parent.glob("*.db*")] == []


def test_phone_and_dark(address: str, window: Window) -> None:
    dark = (
        "() => { const page = document.getElementById('frame').contentDocument;"
        " return getComputedStyle(page.body).backgroundColor === 'rgb(16, 23, 26)'; }"
    )
    page = window(address)
    go_to(page, "soup")
    page.get_by_role("button", name="Phone").click()
    page.get_by_role("button", name="Dark").click()
    for screen in ("rate-003", "rate-004"):
        shown(page).locator(f"form[data-screen={screen}]").wait_for()
        page.wait_for_function(dark)
        assert page.evaluate("document.getElementById('frame').contentWindow.innerWidth") == 390
        page.get_by_role("button", name="Next").click()


def test_items_levels_and_questions_come_and_go(file: Path, address: str, window: Window) -> None:
    page = window(address)
    page.get_by_role("button", name="Edit", exact=True).click()

    def section(*at: str | int) -> str:
        return f"details[data-at='{json.dumps(at, separators=(',', ':'))}']"

    def unfold(*at: str | int) -> None:
        page.locator(section(*at)).locator("> summary").click()

    def press(name: str) -> None:
        with page.expect_response("**/changes"):
            page.get_by_role("button", name=name, exact=True).click()

    unfold("items")
    unfold("items", "inline")
    press("Add item")
    page.locator(section("items", "inline", 4)).wait_for()
    added = data(file)["items"]["inline"][4]
    assert added["id"] == "item-5"
    unfold("factors")
    page.get_by_label("Name of a new factor").fill("tone")
    press("Add factor")
    unfold("factors", "tone", 0)
    page.locator("[id='f-factors/tone/0/name']").fill("plain")
    with page.expect_response("**/changes"):
        page.keyboard.press("Tab")
    assert [level["name"] for level in data(file)["factors"]["tone"]] == ["plain", "second"]
    page.get_by_label("Cell").select_option("tone=plain")
    unfold("questionnaires")
    unfold("questionnaires", "after")
    press("Add questionnaire")
    unfold("questionnaires", "after", 0, "questions")
    page.get_by_label("Name of a new question").fill("age")
    press("Add question")
    page.locator(section("questionnaires", "after", 0, "questions", "age")).wait_for()
    kind = page.locator("[id='f-questionnaires/after/0/questions/age/kind']")
    with page.expect_response("**/changes"):
        kind.select_option("number")
    page.get_by_label("High", exact=True).fill("120")
    with page.expect_response("**/changes"):
        page.keyboard.press("Tab")
    asked = data(file)["questionnaires"]["after"][0]["questions"]["age"]
    assert asked == {"kind": "number", "prompt": "PLEASE FILL IN", "high": 120}
    press("Remove age")
    page.locator(section("questionnaires")).wait_for()
    assert "questionnaires" not in data(file)
    shown(page).locator("body").wait_for()
    page.wait_for_function("() => !document.querySelector('#problems .error')")
