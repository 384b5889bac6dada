"""Every page that participants can meet, seen by axe: on a desktop and a phone, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dialens.studies import load_study, study_of
from dialens.studies.instruments import CONTROLS
from dialens.studies.recruiters import personal_links
from dialens.studies.texts import Texts
from dialens.web import study_app
from dialens.web._serving import PatientProtocol
from tests.accessibility import ALL, USUAL, Inspection
from tests.agents.endpoint import Endpoint
from tests.studies.test_translation import GERMAN, written
from tests.web.conftest import KEY, Hosting, Make, Window, running, tea
from tests.web.talks import talk
from tests.web.test_browser import PHONE, begin, fill, onward
from tests.web.test_gates import COMPREHENSION, ONE_CELL, SCREENING, STATEMENTS, told
from tests.web.test_kinds_browser import QUESTIONS
from tests.web.test_languages_browser import arabic
from tests.web.test_media import with_media

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FEW = {1: "not at all", 5: "completely"}
KINDS: dict[str, Any] = {
    "likert": {"kind": "likert", "points": 5, "labels": FEW},
    "long": {"kind": "likert", "points": 11, "labels": {1: "never", 11: "always"}},
    "slider": {"kind": "slider", "low": 0, "high": 10},
    "magnitude": "magnitude",
    "best": "best_worst",
    "ranking": "ranking",
    "words": {"kind": "free_text", "rows": 2},
}
ANCHORS = {"likert": 3, "long": 5, "slider": 5}


def everything() -> dict[str, Any]:
    """A study with every kind of screen and question."""
    made = tea(
        contact="Ada, ada@example.org",
        factors={},
        presentation={"layout": "separate", "anchor": "both", "anchor_value": ANCHORS},
        consent=STATEMENTS | {"warning": "Some replies are rude."},
        screening=SCREENING,
        instructions=told(COMPREHENSION)
        | {
            "examples": [
                {"context": ["Tea?", "No."], "response": "Why not?", "verdict": "Fine", "why": "Kind."}
            ]
        },
        practice={"lines": [40, 80], "items": [_item("practice")]},
        questionnaires={"before": [{"title": "About you", "questions": QUESTIONS}]},
        checks={
            "attention": {
                "reading": {
                    "question": {"kind": "choice", "prompt": "Choose A.", "choices": ["A", "B"]},
                    "correct": "A",
                    "after": [0],
                }
            }
        },
        qualities={
            name: {"definition": f"How {name} it is.", "instrument": kind}
            for name, kind in KINDS.items()
        },
    )
    made["items"]["inline"] = [_item("only")]
    return made


def _item(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "context": ["Tea or coffee?", "What do you think?", "I cannot decide."],
        "responses": {"plain": "Tea.", "warm": "Tea, always!", "odd": "Purple, I think."},
        "standard": "I like tea.",
    }


def take(page: Page, look: Inspection, name: str, language: str = "en") -> set[str]:
    """Take a study from the first page to the last; the controls that were met."""
    say, met = Texts.of(language).say, set()
    look(page, f"{name}-welcome")
    begin(page, say("begin"))
    while not page.locator(".the-code").count():
        screen = page.locator("form[data-screen]").get_attribute("data-screen")
        here = {box.get_attribute("data-control") for box in page.locator("[data-control]").all()}
        look(page, f"{name}-{screen}", ALL if here - met else USUAL)
        if here - met:
            page.locator("main button[type=submit]").last.click()
            page.wait_for_selector("#summary:not([hidden])")
            look(page, f"{name}-{screen}-wrong")
        met |= {one for one in here if one}
        fill(page)
        onward(page, say("continue"))
    look(page, f"{name}-end")
    return met


def test_a_whole_participation(host: Hosting, window: Window) -> None:
    look = Inspection()
    page = window(host(everything()).url, expected=("422",))
    met = take(page, look, "all")
    assert look.found == []
    assert met == set(CONTROLS)
    assert {"color-contrast", "target-size", "label", "region"} <= look.rules
