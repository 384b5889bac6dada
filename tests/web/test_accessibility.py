"""Every page that participants can meet, seen by axe: on a desktop and a phone, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dialens.studies import load_study, study_of
from dialens.studies.instruments import CONTROLS
from dialens.studies.recruiters import personal_links
from dialens.studies.store import OperationStore
from dialens.studies.texts import Texts
from dialens.web import study_app
from dialens.web._serving import PatientProtocol
from tests.accessibility import ALL, USUAL, Inspection
from tests.agents.endpoint import Endpoint
from tests.studies.test_translation import GERMAN, written
from tests.web.conftest import KEY, Hosting, Make, Window, running, tea
from tests.web.talks import arena, talk
from tests.web.test_browser import begin, fill, onward
from tests.web.test_devices import PHONE
from tests.web.test_gates import COMPREHENSION, ONE_CELL, SCREENING, STATEMENTS, told
from tests.web.test_kinds_browser import QUESTIONS
from tests.web.test_languages_browser import arabic
from tests.web.test_media import with_media
from tests.web.test_participation import Clock

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
                {
                    "context": ["Tea?", "No."],
                    "response": "Why not?",
                    "verdict": "Fine",
                    "why": "Kind.",
                }
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


_SHAPE = """() => [document.querySelector("main").className, document.querySelector("h1").className,
  ...[...document.querySelectorAll("[data-control]")].map(
    (box) => `${box.dataset.control} ${box.querySelectorAll("input").length}`)].join(", ")"""


def shape(page: Page) -> str:
    """What a screen consists of; another of the same shape has nothing new for axe."""
    return str(page.evaluate(_SHAPE))


def take(page: Page, look: Inspection, name: str, language: str = "en") -> set[str]:
    """Take a study from the first page to the last; the controls that were met."""
    say = Texts.of(language).say
    met: set[str] = set()
    shapes: set[str] = set()
    look(page, f"{name}-welcome")
    begin(page, say("begin"))
    while not page.locator(".the-code").count():
        screen = page.locator("form[data-screen]").get_attribute("data-screen")
        boxes = page.locator("[data-control]").all()
        here = {box.get_attribute("data-control") or "" for box in boxes}
        if shape(page) not in shapes:
            look(page, f"{name}-{screen}", USUAL if met else ALL)
            shapes.add(shape(page))
        if here - met:
            page.locator("main button[type=submit]").last.click()
            page.wait_for_selector("#summary:not([hidden])")
            look(page, f"{name}-{screen}-wrong")
        met |= here
        fill(page)
        onward(page, say("continue"))
    look(page, f"{name}-end")
    return met


def test_a_whole_participation(host: Hosting, window: Window) -> None:
    look = Inspection()
    page = window(host(everything()).url, expected=("422",))
    met = take(page, look, "all")
    look.done()
    assert met == set(CONTROLS)
    assert {"color-contrast", "target-size", "label", "region"} <= look.rules


def test_media_markdown_a_clock_and_pairs(make: Make, window: Window, tmp_path: Path) -> None:
    look = Inspection()
    reply = "Sure:\n\n1. Boil `500 ml`.\n\n| tea | min |\n|---|---|\n| green | 2 |\n\n> Hot."
    item = _item("marked") | {"responses": {"a": reply, "b": "No."}}
    shown = {"render": "markdown", "sticky": "context", "deadline": 600, "anchor": "textual"}
    pairs = tea(
        factors={},
        items={"inline": [item]},
        presentation=shown,
        qualities={"better": {"instrument": {"kind": "pairwise", "ties": True}, "definition": "?"}},
    )
    sites = {
        "media": make(load_study(with_media(tmp_path)), folder=tmp_path),
        "pairs": make(pairs),
    }
    for name, site in sites.items():
        with running(study_app(site), PatientProtocol) as port:
            page = window(f"http://127.0.0.1:{port}")
            begin(page)
            fill(page)
            onward(page)
            onward(page)
            assert page.locator(".media" if name == "media" else "[data-kept]").count()
            look(page, name)
    look.done()


def test_right_to_left(host: Hosting, window: Window) -> None:
    look = Inspection()
    page = window(host(arabic()).url, expected=("422",))
    take(page, look, "ar", "ar")
    look.done()


def test_several_languages(make: Make, window: Window, tmp_path: Path) -> None:
    look = Inspection()
    site = make(load_study(written(tmp_path, GERMAN)))
    with running(study_app(site), PatientProtocol) as port:
        look(window(f"http://127.0.0.1:{port}/?lang=de"), "languages")
    look.done()


def test_a_conversation(host: Hosting, window: Window, endpoint: Endpoint) -> None:
    look = Inspection()
    made = talk(endpoint.url, "flaky-1", exchanges=2, greeting="Hello!")
    page = window(host(made).url, expected=("422", "502", "503"))
    begin(page)
    fill(page)
    onward(page)
    onward(page)
    look(page, "chat-start")
    page.fill("#text", "How is the weather?")
    page.locator(".write button").click()
    page.get_by_role("button", name="Try again").wait_for()
    look(page, "chat-failed")
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Message 2 of 2").wait_for()
    look(page, "chat", ALL)
    page.fill("#text", "Thanks.")
    page.locator(".write button").click()
    page.get_by_role("button", name="Continue").wait_for()
    look(page, "chat-over")
    onward(page)
    look(page, "chat-rated")
    look.done()


def test_two_agents_side_by_side(host: Hosting, window: Window, endpoint: Endpoint) -> None:
    look = Inspection()
    made = arena(endpoint.url, "echo", "echo", exchanges=3, least_exchanges=1, minutes=30)
    page = window(host(made).url)
    begin(page)
    fill(page)
    onward(page)
    onward(page)
    page.fill("#text", "How is the weather?")
    page.locator(".write button").click()
    page.wait_for_selector("main.rating")
    look(page, "arena-rated", ALL)
    fill(page)
    onward(page)
    page.wait_for_selector("form[data-chat]")
    look(page, "arena", ALL)
    page.get_by_role("button", name="End the conversation").click()
    page.get_by_role("button", name="Continue").wait_for()
    onward(page)
    look(page, "arena-whole")
    look.done()


def test_ways_out(host: Hosting, window: Window) -> None:
    """The menu, the copy of the consent, and every page for those who do not go on."""
    look = Inspection()
    made = everything() | {
        "completion": {"codes": {"screened_out": "NOT-YOU", "withdrawn": "LEFT"}}
    }
    url = host(made).url
    page = window(url)
    begin(page)
    page.get_by_text("I do not want to take part.").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/declined")
    look(page, "declined")
    young = window(url)
    begin(young)
    fill(young)
    onward(young)
    look(young, "menu-closed", ())
    young.locator(".menu summary").click()
    look(young, "menu-screening")
    young.goto(f"{url}/consent")
    look(young, "consent-copy")
    young.goto(f"{url}/study")
    young.locator("input[type=text]").fill("9")
    young.get_by_text("Yes").click()
    young.get_by_role("button", name="Continue").click()
    young.get_by_text("NOT-YOU").wait_for()
    look(young, "screened-out")
    tired = window(url, expected=("422",))
    begin(tired)
    for _ in range(4):
        fill(tired)
        onward(tired)
    tired.locator(".menu summary").click()
    look(tired, "menu")
    tired.get_by_role("link", name="Stop taking part").click()
    tired.get_by_role("button", name="Stop taking part").click()
    look(tired, "withdraw-wrong")
    tired.get_by_text("Delete them").click()
    tired.get_by_role("button", name="Stop taking part").click()
    tired.get_by_text("LEFT").wait_for()
    look(tired, "withdrawn")
    look.done()


def test_sorry_pages(make: Make, window: Window) -> None:
    """Pages of those who are not let in, by what the study says."""
    look = Inspection()
    personal = tea(recruiter={"kind": "personal"})
    invited = personal_links(study_of(personal), KEY, "http://x/", [{"id": "anna"}])[0]["link"]
    desktop = tea(presentation={"devices": "desktop"}, contact="Ada, ada@example.org")
    turk = "/?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=x&workerId="
    cases: tuple[tuple[str, dict[str, Any], str, dict[str, Any]], ...] = (
        ("not-invited", personal, "/", {}),
        ("personal", personal, invited.removeprefix("http://x"), {}),
        ("device", desktop, "/", {"user_agent": PHONE}),
        ("missing", desktop, "/nowhere", {}),
        ("prolific-without-id", tea(recruiter={"kind": "prolific", "reward": 1}), "/", {}),
        ("mturk-preview", tea(recruiter={"kind": "mturk", "reward": 1.0}), turk, {}),
        ("login", desktop, "/researcher", {}),
    )
    for name, study, path, options in cases:
        with running(study_app(make(study)), PatientProtocol) as port:
            look(window(f"http://127.0.0.1:{port}{path}", expected=("40",), **options), name)
    look.done()


def test_full_closed_over_and_without_cookies(make: Make, window: Window) -> None:
    look, clock = Inspection(), Clock()
    made = tea(targets=1, contact="Ada, ada@example.org", limits={"session_minutes": 9}, **ONE_CELL)
    site = make(made, clock=clock)
    with running(study_app(site), PatientProtocol) as port:

        def come(name: str, **options: Any) -> Page:
            return window(f"http://127.0.0.1:{port}/?participant={name}", **options)

        quick, slow = come("quick"), come("slow")
        for page in (slow, quick):
            begin(page)
            fill(page)
        onward(quick)
        slow.get_by_role("button", name="Continue").click()
        slow.wait_for_url("**/full")
        look(slow, "taken")
        wary = come("wary", expected=("403",))
        wary.context.clear_cookies()
        wary.get_by_role("button", name="Begin").click()
        wary.get_by_role("heading", name="cookie").wait_for()
        look(wary, "cookies")
        operating = OperationStore(site.store, "dashboard")
        for state in ("open", "paused", "closed"):
            operating.set_cell(site.study.hash, site.study.cells[0].name, state, now=clock())
            late = come(f"late-{state}")
            late.get_by_role("button", name="Begin").click()
            late.wait_for_url("**/begin")
            look(late, f"full-{state}")
        clock.later(3600)
        quick.reload()
        look(quick, "over")
    look.done()


def test_a_kiosk(make: Make, window: Window) -> None:
    look, site = Inspection(), make(tea(recruiter={"kind": "kiosk"}))
    with running(study_app(site), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/")
        begin(page)
        page.goto(f"http://127.0.0.1:{port}/next")
        look(page, "kiosk-next")
        page.goto(f"http://127.0.0.1:{port}/declined")
        look(page, "kiosk-declined")
    look.done()


def test_axe_finds_what_is_wrong(window: Window) -> None:
    """The instrument itself: it sees a grey text, a picture without words, a field without name."""
    look = Inspection()
    page = window("data:text/html,<p style='color: silver'>Grey</p><img src=''><input>")
    look(page, "wrong")
    rules = {one.split(": ")[1].split(",")[0] for one in look.found}
    assert {"color-contrast", "image-alt", "label", "html-has-lang", "landmark-one-main"} <= rules
