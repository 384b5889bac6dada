"""Coming back for a later wave: too early, in time, too late."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dialens.studies.recruiters import personal_links
from dialens.studies.simulation import Population, simulate_study
from dialens.web import Site, study_app
from dialens.web._serving import PatientProtocol
from tests.web.conftest import Make, Visit, Window, log_in, running, tea
from tests.web.people import Page
from tests.web.test_gates import ONE_CELL
from tests.web.test_participation import Clock

LATER = {"after_hours": 24, "within_hours": 72, "items": "same"}
HOUR = 3600.0


def waves(**changes: Any) -> dict[str, Any]:
    return tea(waves={"later": LATER}, **(ONE_CELL | changes))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def site(make: Make, clock: Clock) -> Site:
    return make(waves(), clock=clock)


def test_the_last_page_says_when_to_come_back(site: Site, visit: Visit, clock: Clock) -> None:
    person = visit(site)
    person.finish(person.begin())
    end = person.client.get("/study").text
    assert "This study has another part." in end
    assert 'datetime="2026-03-02T12:00:00+00:00"' in end
    assert "2026-03-02, 12:00 UTC" in end
    assert "2026-03-04, 12:00 UTC" in end


def test_too_early_in_time_too_late(site: Site, visit: Visit, clock: Clock) -> None:
    punctual, late = visit(site), visit(site)
    codes = [person.finish(person.begin()) for person in (punctual, late)]
    clock.later(23 * HOUR)
    early = punctual.client.get("/")
    assert early.url.path == "/wave"
    assert "You are early" in early.text
    assert codes[0] in early.text
    assert not Page(early.text).action
    clock.later(HOUR)
    page = punctual.begin()
    assert punctual.session.wave == 2
    assert "Welcome back" in page.html
    assert page.hidden["screen"] == "instructions"
    assert "Stop taking part" in page.html  # nothing was agreed to on this screen, still at hand
    second = punctual.finish(page)
    assert second not in codes
    assert "another part" not in punctual.client.get("/study").text
    clock.later(48 * HOUR)
    over = late.client.get("/")
    assert over.url.path == "/wave"
    assert "This part is over" in over.text
    assert codes[1] in over.text
    assert not Page(over.text).action
    (wave,) = site.store.waves(site.study.hash, now=clock())
    assert (wave.awaited, wave.completed, wave.late) == (2, 1, 1)


def test_a_page_left_open_lets_them_begin(site: Site, visit: Visit, clock: Clock) -> None:
    person = visit(site)
    person.finish(person.begin())
    clock.later(30 * HOUR)
    page = Page(person.client.get("/wave").text)
    assert "The next part is open" in page.html
    begun = person.client.post(page.action, data=page.hidden)
    assert begun.url.path == "/study"
    assert person.session.wave == 2
    assert person.client.get("/wave").url.path == "/study"


def test_a_personal_link_leads_back_from_any_device(make: Make, visit: Visit, clock: Clock) -> None:
    site = make(waves(recruiter={"kind": "personal"}), clock=clock)
    (anna,) = personal_links(site.study, site.store.secrets, "https://tea.org/", [{"id": "anna"}])
    link = "/?" + anna["link"].partition("?")[2]
    at_home, elsewhere = visit(site), visit(site)
    at_home.finish(at_home.begin(link))
    clock.later(HOUR)
    early = elsewhere.begin(link)
    assert "You are early" in early.html
    clock.later(24 * HOUR)
    elsewhere.finish(elsewhere.begin(link))
    assert elsewhere.session.participant == at_home.session.participant
    assert (elsewhere.session.wave, at_home.session.wave) == (2, 1)
    # The browser at home has the cookie of the first part, and is shown the end of the second.
    assert elsewhere.session.code in at_home.begin(link).html


def test_the_consent_of_the_first_wave_holds_on(site: Site, visit: Visit, clock: Clock) -> None:
    person = visit(site)
    person.finish(person.begin())
    clock.later(30 * HOUR)
    person.begin()
    copy = person.client.get("/consent.txt").text
    assert "[x] I have read this and want to take part." in copy
    assert "2026-03-01 12:00" in copy


def test_codes_by_wave_and_outcome(make: Make, visit: Visit, clock: Clock) -> None:
    later = {"completed": "SECOND-2", "withdrawn": "GONE-2"}
    codes = {"codes": {"completed": "FIRST-1"}, "waves": {"later": later}}
    site = make(waves(completion=codes), clock=clock)
    one, other = visit(site), visit(site)
    assert {person.finish(person.begin()) for person in (one, other)} == {"FIRST-1"}
    clock.later(30 * HOUR)
    assert one.finish(one.begin()) == "SECOND-2"
    other.begin()
    leave = other.come("/withdraw")
    left = other.client.post("/withdraw", data=leave.hidden | {"answers": "keep"})
    assert "GONE-2" in left.text


def test_programs_are_told_in_json(site: Site, visit: Visit, clock: Clock) -> None:
    person = visit(site)
    code = person.finish(person.begin())
    asked = {"accept": "application/json"}
    assert person.client.get("/", headers=asked).json() == {"next": "/wave"}
    told = person.client.get("/wave", headers=asked).json()
    assert told == {
        "code": code,
        "wave": {
            "number": 2,
            "standing": "early",
            "opens_at": "2026-03-02T12:00:00+00:00",
            "closes_at": "2026-03-04T12:00:00+00:00",
        },
    }


def test_without_waves_the_page_leads_on(make: Make, visit: Visit) -> None:
    site = make(tea(**ONE_CELL))
    person = visit(site)
    assert person.client.get("/wave").url.path == "/"
    person.finish(person.begin())
    assert person.client.get("/wave").url.path == "/study"


def test_the_dashboard_counts_waves(site: Site, visit: Visit, clock: Clock) -> None:
    person = visit(site)
    first = person.finish(person.begin())
    clock.later(30 * HOUR)
    second = person.finish(person.begin())
    desk = log_in(visit(site))
    home = desk.get("/researcher").text
    assert "Further waves" in home
    assert "1 of 20 people have completed" in home
    assert "2: later" in home
    people = desk.get("/researcher/people").text
    assert f"{first}, {second}" in people
    assert "1 of 1 people" in people
    shown = desk.get("/researcher/code", params={"code": first}).text
    assert f"The completion code <code>{first}</code> is this person’s." in shown
    assert "Attempt 2, wave 2" in shown
    assert "all, wave 2" in desk.get("/researcher/screens").text
    replay = desk.get(f"/researcher/people/{person.session.participant}/replay?attempt=2")
    assert "Welcome back" in replay.text
    outline = desk.get("/researcher/preview/outline", params={"cell": "all", "wave": 2}).json()
    assert [screen["kind"] for screen in outline["screens"][:3]] == [
        "welcome",
        "instructions",
        "rating",
    ]
    assert outline["waves"] == ["first", "later"]


@pytest.mark.browser
def test_times_are_said_in_the_language_and_place_of_the_reader(
    make: Make, window: Window, visit: Visit
) -> None:
    clock = Clock()
    site = make(waves(language="de"), clock=clock)
    with running(study_app(site), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/", timezone_id="Asia/Tokyo")
        page.get_by_role("button", name="Beginnen").click()
        page.wait_for_selector("form[data-screen=consent]")
        cookie = page.context.cookies()[0]
        person = visit(site)
        person.client.cookies.set(cookie["name"], cookie["value"])
        person.finish(Page(person.client.get("/study").text))
        page.reload()
        page.get_by_text("Diese Studie hat noch einen Teil.").wait_for()
        opens = page.locator("time").first
        assert opens.inner_text() == "Montag, 2. März 2026 um 21:00"
        clock.now = datetime(2026, 3, 2, 12, tzinfo=UTC)
        page.goto(f"http://127.0.0.1:{port}/wave")
        page.get_by_role("button", name="Nächsten Teil beginnen").click()
        page.get_by_role("heading", name="Willkommen zurück").wait_for()


def test_people_are_counted_once_however_often_they_come(make: Make, visit: Visit) -> None:
    site = make(waves())
    simulate_study(site.store, site.study, Population(), participants=4, now=datetime.now(UTC))
    assert site.store.waves(site.study.hash, now=datetime.now(UTC))[0].completed == 4
    home = log_in(visit(site)).get("/researcher").text
    assert "4 of the 4 who took part are simulated" in home
