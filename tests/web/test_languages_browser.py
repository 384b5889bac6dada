"""Right-to-left pages in a browser: what has a side is mirrored, and nothing sticks out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dialens.studies import load_study
from dialens.web import study_app
from dialens.web._serving import PatientProtocol
from tests.accessibility import SHOTS
from tests.agents.endpoint import Endpoint
from tests.studies.test_translation import GERMAN, written
from tests.web.conftest import Hosting, Make, Window, running, tea
from tests.web.talks import talk
from tests.web.test_browser import answers, begin, fill, onward, wide

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

WIDTHS = [1280, 390]


def shoot(page: Page, name: str) -> None:
    """Keep a picture, for whoever asks for it."""
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def arabic() -> dict[str, Any]:
    """A study in Arabic with controls of every shape."""
    labels = {1: "لا أوافق", 4: "محايد", 7: "أوافق"}
    instruments: dict[str, tuple[str, Any]] = {
        "warmth": ("الدفء", {"kind": "likert", "points": 7, "labels": labels}),
        "place": ("الفائدة", {"kind": "slider"}),
        "size": ("الترابط", "magnitude"),
        "ends": ("التفضيل", {"kind": "best_worst"}),
        "ranks": ("الترتيب", {"kind": "ranking"}),
    }
    made = tea(
        language="ar",
        title="ما مدى جودة هذه الردود؟",
        consent={
            "text": "نسألكم عن رأيكم في ردود مختلفة. لا يُحفظ أي شيء آخر.",
            "warning": "قد تتضمن بعض الردود كلمات غير لائقة.",
        },
        instructions={
            "text": "اقرؤوا المحادثة ثم قيّموا كل رد.",
            "examples": [
                {"context": ["شاي أم قهوة؟", "شاي."], "response": "شاي دائمًا!", "verdict": "جيد"}
            ],
        },
        practice={"lines": [40, 80]},
        factors={"tone": [{"name": "a", "note": "حسب رأيكم."}, {"name": "b", "note": "بدقة."}]},
    )
    made["qualities"] = {
        name: {"label": label, "definition": "تعريف قصير.", "instrument": used}
        for name, (label, used) in instruments.items()
    }
    for item in made["items"]["inline"]:
        item["context"] = ["هل تفضلون الشاي أم القهوة؟", "القهوة صباحًا.", "ومساءً؟"]
        item["responses"] = {"a": "الشاي.", "b": "الشاي دائمًا!", "c": "بنفسجي، على ما أظن."}
    return made


def left(page: Page, selector: str, place: int = 0) -> float:
    """Where an element begins, from the left."""
    box = page.locator(selector).nth(place).bounding_box()
    assert box is not None
    return float(box["x"])


@pytest.mark.parametrize("width", WIDTHS)
def test_arabic_is_mirrored(host: Hosting, window: Window, width: int) -> None:
    server = host(arabic())
    page = window(server.url, expected=("422",), viewport={"width": width, "height": 900})
    shoot(page, f"ar-welcome-{width}")
    begin(page, "بدء")
    shoot(page, f"ar-consent-{width}")
    fill(page)
    onward(page, "متابعة")
    shoot(page, f"ar-instructions-{width}")
    assert left(page, ".talk .turn.own .bubble") < left(page, ".talk .turn:not(.own) .bubble")
    onward(page, "متابعة")
    shoot(page, f"ar-line-{width}")
    for line in page.locator("[data-control=number] input").all():
        line.fill("٧٥٫٥")
    onward(page, "متابعة")
    points = ".points.likert >> nth=0 >> .point"
    assert left(page, points, 0) > left(page, points, 6)
    ends = ".slide >> nth=0 >> .end"
    assert left(page, ends, 0) > left(page, ends, 1)
    assert left(page, ".grid >> nth=0 >> .who") > left(page, ".grid >> nth=0 >> .dot")
    assert page.locator(".slider .help").first.inner_text() == "يُرجى النقر على الخط أو لمسه."
    assert wide(page) <= 0
    page.locator("button[type=submit]").click()
    page.wait_for_selector("#summary:not([hidden])")
    shoot(page, f"ar-rating-{width}")
    assert wide(page) <= 0
    assert json.loads(answers(server).row(-1, named=True)["value"]) == 75.5


@pytest.mark.parametrize("width", WIDTHS)
def test_a_conversation_in_arabic(
    host: Hosting, window: Window, endpoint: Endpoint, width: int
) -> None:
    made = talk(endpoint.url, "echo", topics=["تحدثوا عن الطقس."]) | {
        "language": "ar",
        "title": "محادثة مع روبوت",
    }
    page = window(host(made).url, viewport={"width": width, "height": 900})
    begin(page, "بدء")
    fill(page)
    onward(page, "متابعة")
    onward(page, "متابعة")
    page.wait_for_selector("form[data-chat]")
    page.fill("#text", "مرحبًا، كيف الطقس؟")
    page.locator(".write button").click()
    page.get_by_text("الرسالة 2 من 2").wait_for()
    assert page.locator(".turn.own .speaker").inner_text() == "أنتم"
    assert left(page, ".turn.own .bubble") < left(page, ".turn:not(.own) .bubble")
    assert wide(page) <= 0
    shoot(page, f"ar-chat-{width}")


def test_the_language_is_chosen_on_the_first_page(
    make: Make, window: Window, tmp_path: Path
) -> None:
    site = make(load_study(written(tmp_path, GERMAN)))
    with running(study_app(site), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/?participant=anna")
        shoot(page, "choice")
        page.get_by_role("link", name="Deutsch").click()
        assert page.locator("h1").inner_text() == "Wie gut sind diese Antworten?"
        begin(page, "Beginnen")
        assert page.locator("html").get_attribute("lang") == "de"
