"""One computer, one person after the other."""

from __future__ import annotations

import pytest

from dialens.web import Site, study_app
from dialens.web._serving import PatientProtocol
from tests.web.conftest import Make, Visit, Window, log_in, running, tea
from tests.web.people import Page, Person
from tests.web.test_browser import begin
from tests.web.test_gates import SCREENING


@pytest.fixture
def kiosk(make: Make) -> Site:
    return make(tea(recruiter={"kind": "kiosk"}))


def test_the_next_person_starts_afresh(kiosk: Site, visit: Visit) -> None:
    computer = visit(kiosk)
    code = computer.finish(computer.begin())
    former = computer.session
    end = computer.client.get("/")
    assert code in end.text
    assert "the code is still here" not in end.text
    form = Page(end.text)
    assert form.action == "/next"
    fresh = computer.client.post("/next", data=form.hidden)
    assert (fresh.url.path, "Begin" in fresh.text, code in fresh.text) == ("/", True, False)
    assert fresh.history[0].headers["clear-site-data"] == '"cache", "storage"'
    assert computer.client.get("/study").url.path == "/"
    computer.begin()
    assert computer.session.participant != former.participant


def test_who_left_in_the_middle_is_not_gone_on_with(kiosk: Site, visit: Visit) -> None:
    computer = visit(kiosk)
    page = computer.answer(computer.begin())
    form = computer.come("/next")
    fresh = computer.client.post("/next", data=form.hidden)
    assert "Begin" in fresh.text
    assert page.hidden["screen"] not in computer.client.get("/study").text


def test_the_form_of_the_former_person_does_nothing_to_the_next(kiosk: Site, visit: Visit) -> None:
    computer = visit(kiosk)
    computer.begin()
    old = computer.come("/next").hidden
    computer.client.post("/next", data=old)
    page = computer.begin()
    assert computer.client.post("/next", data=old).status_code == 403
    assert page.hidden["screen"] == Page(computer.client.get("/study").text).hidden["screen"]


def test_nobody_is_known_by_the_address(kiosk: Site, visit: Visit) -> None:
    one, other = visit(kiosk), visit(kiosk)
    one.begin("/?participant=anna")
    other.begin("/?participant=anna")
    assert one.session.participant != other.session.participant


def test_who_declines_leaves_the_computer_to_the_next(kiosk: Site, visit: Visit) -> None:
    computer = visit(kiosk)
    page = computer.begin()
    declined = computer.client.post("/study", data=page.hidden | {"a:consent": "no"})
    assert 'href="/next"' in declined.text


def _leave(page: Page, computer: Person, way: str) -> None:
    """End a participation before its last screen."""
    if way == "declined":
        computer.client.post("/study", data=page.hidden | {"a:consent": "no"})
        return
    page = computer.answer(page)
    if way == "screened":
        computer.client.post("/study", data=page.hidden | {"a:age": "9", "a:fluent": "yes"})
        return
    form = Page(computer.client.get("/withdraw").text)
    computer.client.post("/withdraw", data=form.hidden | {"answers": way})


@pytest.mark.parametrize("way", ["declined", "screened", "keep", "delete"])
def test_after_an_early_end_the_link_leads_to_the_start_for_the_next(
    make: Make, visit: Visit, way: str
) -> None:
    site = make(tea(recruiter={"kind": "kiosk"}, screening=SCREENING))
    computer = visit(site)
    computer.come()
    ended: list[str] = []
    computer.client.event_hooks["response"].append(lambda sent: ended.append(str(sent.url)))
    _leave(computer.begin(), computer, way)
    html = computer.client.get(ended[-1]).text
    assert 'href="/next"' in html
    form = computer.come("/next")
    assert form.action == "/next"
    fresh = computer.client.post("/next", data=form.hidden)
    assert (fresh.url.path, "Begin" in fresh.text) == ("/", True)
    assert fresh.history[0].headers["clear-site-data"] == '"cache", "storage"'
    assert computer.begin().hidden["screen"] == "consent"
    assert computer.session.state == "live"


def test_the_researcher_is_not_sent_to_the_next_person(kiosk: Site, visit: Visit) -> None:
    client = log_in(visit(kiosk))
    missing = client.get("/researcher/people/pnobody")
    assert missing.status_code == 404
    assert "/next" not in missing.text
    assert "/next" not in client.get("/researcher").text


def test_elsewhere_there_is_no_next_person(site: Site, visit: Visit) -> None:
    person = visit(site)
    assert person.client.get("/next").status_code == 404
    person.finish(person.begin())
    assert "/next" not in person.client.get("/study").text


@pytest.mark.browser
def test_the_back_button_shows_nothing_of_the_former_person(kiosk: Site, window: Window) -> None:
    with running(study_app(kiosk), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/", expected=("Clear-Site-Data",))
        begin(page)
        page.goto(f"http://127.0.0.1:{port}/next")
        page.get_by_role("button", name="Next person").click()
        page.get_by_role("button", name="Begin").wait_for()
        for _ in range(3):
            page.go_back()
            page.wait_for_load_state()
            assert page.locator("form[data-screen]").count() == 0
        page.goto("about:blank")
