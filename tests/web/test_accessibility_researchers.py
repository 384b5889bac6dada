"""Every page of researchers, seen by axe: dashboard, replay, payment, index, preview, editor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dialens.studies.store import OperationStore
from dialens.studies.templates import write_template
from dialens.web import Index, Site, studies_app, study_app, study_preview
from dialens.web._desk import Platform
from dialens.web._serving import PatientProtocol
from tests.accessibility import ALL, USUAL, Inspection
from tests.agents.endpoint import Endpoint
from tests.studies.recruiters.prolific_server import TOKEN
from tests.web.conftest import PASSWORD, Make, Visit, Window, running
from tests.web.people import Page as Form
from tests.web.talks import Visiting, talk
from tests.web.test_accessibility import everything, shape
from tests.web.test_dashboard_payment import Paid, paid
from tests.web.test_preview import rewrite
from tests.web.test_preview_browser import go_to, shown
from tests.web.test_several import index

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["index", "paid"]  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def log_in(page: Page) -> None:
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/researcher")


def names(site: Site) -> list[str]:
    people = OperationStore(site.store, "dashboard").participants_frame(site.study.hash)
    return [str(one) for one in people["rater"]]


def test_the_dashboard(paid: Callable[[], Paid], window: Window, visit: Visit) -> None:
    look, study = Inspection(), paid()
    site = study.site
    halfway = visit(site, seed=9)
    halfway.answer(halfway.begin("/?PROLIFIC_PID=5f00cc&STUDY_ID=x&SESSION_ID=y"))
    platform = Platform({"PROLIFIC_API_TOKEN": TOKEN}, study.server.url)
    with running(study_app(site, platform=platform), PatientProtocol) as port:
        home = f"http://127.0.0.1:{port}/researcher"
        page = window(home, expected=("401", "404", "409", "422"))
        page.get_by_label("Password").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_role("alert").wait_for()
        look(page, "login-wrong")
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/researcher")
        look(page, "dash-home", ALL)
        page.get_by_role("button", name="Close all cells").click()
        look(page, "dash-sure")
        for path in (
            "people",
            "screens",
            "settings",
            "payment",
            "code?code=NOBODY",
            "people/nobody",
        ):
            page.goto(f"{home}/{path}")
            look(page, f"dash-{path.partition('?')[0].replace('/', '-')}")
        page.goto(f"{home}/settings")
        page.get_by_label("People wanted in every cell").fill("many")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("alert").wait_for()
        look(page, "dash-settings-wrong")
        page.get_by_label("People wanted in every cell").fill("9")
        page.get_by_role("button", name="Save").click()
        page.goto(f"{home}/settings")
        look(page, "dash-settings-changed")
        page.goto(f"{home}/people/{names(site)[0]}")
        page.get_by_label("Why the person is excluded").fill("Asleep")
        page.get_by_role("button", name="Exclude and replace").click()
        page.get_by_text("since").wait_for()
        look(page, "dash-person-excluded")
        page.goto(f"{home}/payment")
        page.get_by_role("button", name="Approve all").click()
        look(page, "dash-payment-sure")
        page.locator(".sure button").click()
        look(page, "dash-payment-done")
        page.goto(f"{home}/preview")
        shown(page).get_by_role("button", name="Begin").wait_for()
        look(page, "dash-preview")
    look.done()


def test_a_person_and_what_they_saw(make: Make, visit: Visit, window: Window) -> None:
    look, site = Inspection(), make(everything())
    person = visit(site)
    form = person.begin()
    while "the-code" not in form.html:
        sent = person.filled(form)
        sent |= {"a:age": "40", "a:fluent": "yes"} if "a:age" in sent else {}
        sent |= {"a:judged": "The last reply"} if "a:judged" in sent else {}
        form = Form(person.client.post("/study", data=sent).text)
    (name,) = names(site)
    shapes: set[str] = set()
    with running(study_app(site), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/researcher", expected=("401",))
        log_in(page)
        page.goto(f"http://127.0.0.1:{port}/researcher/people/{name}")
        look(page, "person")
        for index in range(len(site.screens(person.session)) - 1):
            page.goto(f"http://127.0.0.1:{port}/researcher/people/{name}/replay?index={index}")
            if shape(page) not in shapes:
                look(page, f"replay-{index:02d}", USUAL[index % 2 :][:1])
                shapes.add(shape(page))
    look.done()


def test_conversations(make: Make, talker: Visiting, endpoint: Endpoint, window: Window) -> None:
    look, site = Inspection(), make(talk(endpoint.url, "flaky-1", tries=3))
    person = talker(site)
    person.say(person.begin(), "Do you like tea?")
    person.again(person.here())
    with running(study_app(site), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/researcher", expected=("401",))
        log_in(page)
        look(page, "talks-home")
        page.goto(f"http://127.0.0.1:{port}/researcher/people/{names(site)[0]}")
        look(page, "talks-person")
        page.goto(f"{page.url}/replay?index=2")
        look(page, "talks-replay")
    look.done()


def test_several_studies(index: Index, window: Window) -> None:
    look = Inspection()
    with running(studies_app(index), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/labs/researcher", expected=("401", "404"))
        look(page, "index-login")
        log_in(page)
        look(page, "index")
        page.goto(f"http://127.0.0.1:{port}/labs/")
        look(page, "index-missing")
        page.goto(f"http://127.0.0.1:{port}/labs/tea/researcher")
        look(page, "index-study")
    look.done()


def test_the_preview_and_its_editor(window: Window, tmp_path: Path) -> None:
    look = Inspection()
    write_template("likert", tmp_path / "mine")
    preview = study_preview(tmp_path / "mine")
    with running(preview, PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}{preview.address}")
        go_to(page, "soup")
        shown(page).get_by_text("Love it.").wait_for()
        look(page, "preview", ALL)
        page.get_by_role("button", name="Phone").click()
        page.get_by_role("button", name="Edit", exact=True).click()
        page.locator("summary", has_text="Qualities").click()
        for section in page.locator("#form > details > summary").all():
            if section.locator("xpath=..").get_attribute("open") is None:
                section.click()
        page.locator("summary", has_text="relevance").click()
        look(page, "preview-editor")
        rewrite(tmp_path / "mine" / "study.yaml", "title: How", "titel: How")
        page.locator("#problems .error").first.wait_for()
        look(page, "preview-wrong")
        rewrite(tmp_path / "mine" / "study.yaml", "titel: How", "title: How")
        page.wait_for_function("() => !document.querySelector('#problems .error')")
        page.goto("about:blank")
    preview.close()
    look.done()
