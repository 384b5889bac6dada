"""Who is let in, and who may go on in another browser: an id is no secret."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies import study_of
from dialens.studies.recruiters import entrance_guard, personal_links
from dialens.studies.store import OperationStore
from dialens.web import Site
from tests.web.conftest import KEY, PASSWORD, Make, Visit, tea
from tests.web.people import Person
from tests.web.test_gates import ONE_CELL
from tests.web.test_participation import Clock

PROLIFIC = "/?PROLIFIC_PID={}&STUDY_ID=s&SESSION_ID={}"
MTURK = "/?workerId={}&assignmentId={}&hitId=H1"
CONNECT = "/?participantId={}&assignmentId={}&projectId=P"
PANEL = "/?rid={}&visit={}"
PLATFORMS: dict[str, tuple[dict[str, Any], str]] = {
    "prolific": ({"kind": "prolific"}, PROLIFIC),
    "mturk": ({"kind": "mturk"}, MTURK),
    "connect": ({"kind": "connect"}, CONNECT),
    "provider": (
        {
            "kind": "provider",
            "id_parameter": "rid",
            "other_parameters": ["visit"],
            "secret_parameter": "visit",
        },
        PANEL,
    ),
}
ELSEWHERE = "begun this study in another browser"


def _begun(site: Site, visit: Visit, address: str) -> Person:
    """Somebody who has agreed to take part and answered a screen more."""
    person = visit(site)
    person.answer(person.answer(person.begin(address)))
    return person


def _link(site: Site, person: str) -> str:
    running = site.running.now()
    (made,) = personal_links(running, KEY, "https://tea.org/", [{"id": person}])
    return made["link"].removeprefix("https://tea.org")


def _set(site: Site, **entry: Any) -> None:
    now = site.clock()
    OperationStore(site.store, "command").operate(site.study.hash, {"entry": entry}, now=now)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("resume", ["resume", "restart", "block"])
def test_an_id_alone_continues_nobodys_session(
    make: Make, visit: Visit, platform: str, resume: str
) -> None:
    """Whoever knew a PROLIFIC_PID went on in that person's session, and read their code."""
    recruiter, address = PLATFORMS[platform]
    site = make(tea(recruiter=recruiter, resume=resume))
    person = _begun(site, visit, address.format("5f00bb", "x1"))
    before = person.session
    for secret in ("invented", "x1x", ""):
        thief = visit(site)
        page = thief.begin(address.format("5f00bb", secret))
        assert 'name="screen"' not in page.html, secret
        assert before.participant not in page.html
    assert ELSEWHERE in page.html or platform == "mturk"  # there, no assignment is a preview
    assert person.session == before
    code = person.finish(person.come("/study"))
    for secret in ("invented", ""):
        assert code not in visit(site).begin(address.format("5f00bb", secret)).html


@pytest.mark.parametrize("platform", PLATFORMS)
def test_who_lost_the_cookie_goes_on_with_the_secret_of_the_platform(
    make: Make, visit: Visit, platform: str
) -> None:
    recruiter, address = PLATFORMS[platform]
    site = make(tea(recruiter=recruiter))
    before = _begun(site, visit, address.format("5f00bb", "x1")).session
    again = visit(site)
    page = again.begin(address.format("5f00bb", "x1"))
    assert (again.session.participant, again.session.index) == (before.participant, before.index)
    code = again.finish(page)
    assert code in visit(site).begin(address.format("5f00bb", "x1")).html  # the lost last page


def test_secrets_are_kept_as_marks(make: Make, visit: Visit) -> None:
    site = make(tea(recruiter={"kind": "prolific"}))
    _begun(site, visit, PROLIFIC.format("5f00bb", "a-secret-session"))
    file = site.store.database.file
    assert file is not None
    for part in (file, file.with_name(f"{file.name}-wal")):
        assert b"a-secret-session" not in part.read_bytes()


def test_somebody_who_only_read_the_consent_keeps_nobody_out(make: Make, visit: Visit) -> None:
    """Nor do they see what is given afterwards by who comes with the same id."""
    site = make(tea(recruiter={"kind": "prolific"}))
    stranger, owner = visit(site), visit(site)
    read = stranger.begin(PROLIFIC.format("5f00bb", "invented"))
    page = owner.answer(owner.begin(PROLIFIC.format("5f00bb", "x1")))
    assert page.hidden["screen"] != "consent"
    sent = stranger.client.post("/study", data=read.hidden | {"a:consent": "yes"})
    assert sent.url.path == "/"
    assert stranger.client.get("/study").url.path == "/"
    assert owner.session.state == "live"
    assert site.store.answers_frame(site.study.hash)["rater"].n_unique() == 1


@pytest.mark.parametrize(("resume", "attempt"), [("resume", 2), ("restart", 2), ("block", None)])
def test_a_second_participation_follows_the_policy_and_shows_nothing_of_the_first(
    make: Make, visit: Visit, resume: str, attempt: int | None
) -> None:
    clock = Clock()
    site = make(tea(recruiter={"kind": "prolific"}, resume=resume), clock=clock)
    first = _begun(site, visit, PROLIFIC.format("5f00bb", "x1"))
    clock.later(3600)  # the session expired: it was returned, and the place is free
    second = visit(site)
    page = second.begin(PROLIFIC.format("5f00bb", "x2"))
    if attempt is None:
        assert "taken only once" in page.html
        return
    assert page.hidden["screen"] == "consent"
    assert (second.session.attempt, second.session.index) == (attempt, 0)
    assert second.session.participant == first.session.participant
    assert first.session.state == "restarted"
    third = visit(site).begin(PROLIFIC.format("5f00bb", "x1"))  # the secret of before is over
    assert ELSEWHERE in third.html


def test_a_platform_invites_to_a_later_wave_with_another_secret(make: Make, visit: Visit) -> None:
    clock = Clock()
    later = {"after_hours": 24, "within_hours": 72, "items": "same"}
    changes = {"recruiter": {"kind": "prolific"}, "waves": {"later": later}}
    site = make(tea(**(ONE_CELL | changes)), clock=clock)
    person = visit(site)
    code = person.finish(person.begin(PROLIFIC.format("5f00bb", "x1")))
    early = visit(site).begin(PROLIFIC.format("5f00bb", "x2"))
    assert code not in early.html
    clock.later(25 * 3600)
    back = visit(site)
    back.begin(PROLIFIC.format("5f00bb", "x2"))
    assert (back.session.wave, back.session.participant) == (2, person.session.participant)
    assert 'name="screen"' not in visit(site).begin(PROLIFIC.format("5f00bb", "x3")).html


@pytest.mark.parametrize(
    ("policy", "goes_on"), [("never", False), ("same_address", True), ("same_id", True)]
)
def test_a_link_goes_on_in_another_browser_as_the_study_says(
    make: Make, visit: Visit, policy: str, goes_on: bool
) -> None:
    site = make(tea(recruiter={"kind": "personal"}, entry={"another_browser": policy}))
    link = _link(site, "anna")
    person = _begun(site, visit, link)
    other = visit(site)
    page = other.begin(link)
    assert ('name="screen"' in page.html, ELSEWHERE in page.html) == (goes_on, not goes_on)
    back = person.client.get(link)  # in the browser that it was begun in, always
    assert back.url.path == "/study"
    person.finish(person.come("/study"))
    assert ("the-code" in visit(site).begin(link).html) is goes_on


def test_the_policy_may_change_while_people_take_part(make: Make, visit: Visit) -> None:
    """An id alone is enough where the researcher says so, for a participant who is locked out."""
    site = make(tea(recruiter={"kind": "prolific"}))
    person = _begun(site, visit, "/?PROLIFIC_PID=5f00bb")  # without SESSION_ID
    assert ELSEWHERE in visit(site).begin("/?PROLIFIC_PID=5f00bb").html
    _set(site, another_browser="same_id")
    other = visit(site)
    other.begin("/?PROLIFIC_PID=5f00bb")
    assert other.session.index == person.session.index


def test_a_second_click_in_the_same_browser_is_the_same_person(make: Make, visit: Visit) -> None:
    """The first answer was lost on its way: the cookie says which browser it is, and no more."""
    entry = {"another_browser": "never"}
    site = make(tea(recruiter={"kind": "prolific"}, entry=entry, resume="block"))
    person = visit(site)
    welcome = person.come(PROLIFIC.format("5f00bb", "x1"))
    cookies = dict(person.client.cookies)
    person.client.post("/begin", data=welcome.hidden)
    person.answer(person.come("/study"))
    again = visit(site)
    again.client.cookies.update(cookies)
    page = again.client.post("/begin", data=welcome.hidden)
    assert "taken only once" in page.text  # known, and under `block` that is all
    OperationStore(site.store, "command").operate(
        site.study.hash, {"resume": "resume"}, now=site.clock()
    )
    again.client.post("/begin", data=welcome.hidden)
    assert 'name="screen"' in again.client.get("/study").text


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "pt", "ja", "zh", "ar"])
def test_nobody_is_let_in_without_a_link_if_the_study_says_so(
    make: Make, visit: Visit, language: str
) -> None:
    site = make(tea(entry={"invited": True}, language=language))
    said = site.study.texts
    person = visit(site)
    good = _link(site, "anna")
    other = make(tea(entry={"invited": True}, study="coffee"))
    for wrong in ("/", "/?participant=anna", good[:-3] + "AAA", _link(other, "anna")):
        refused = person.client.get(wrong)
        assert refused.status_code == 403
        assert said.say("recruit_personal") in refused.text
        assert person.client.post("/begin", data={"ticket": "x"}).status_code == 403
    page = person.begin(good)
    assert page.hidden["screen"] == "consent"
    assert site.store.participants_of("link", "anna")


def test_links_may_be_asked_for_while_a_study_runs(make: Make, visit: Visit) -> None:
    site = make(tea())
    with pytest.raises(DialensError, match="invited: true"):
        _link(site, "anna")
    under_way, reading = visit(site), visit(site)
    page = under_way.answer(under_way.begin("/?participant=anna"))
    welcome = reading.come("/?participant=ben")
    _set(site, invited=True)
    late = reading.client.post("/begin", data=welcome.hidden)
    assert (late.status_code, "link that you were sent" in late.text) == (403, True)
    assert visit(site).client.get("/?participant=anna").status_code == 403
    assert under_way.come("/study").hidden["screen"] == page.hidden["screen"]
    known = visit(site)
    known.begin(_link(site, "anna"))  # who had an id is the same person with a link
    assert known.session.participant == under_way.session.participant
    head = {"authorization": f"Bearer {PASSWORD}"}
    made = reading.client.post("/api/links", json={"ids": ["ben"]}, headers=head).json()
    assert reading.client.get(made["links"][0]["link"]).status_code == 200


@pytest.mark.parametrize(
    ("study", "problem"),
    [
        (
            {"recruiter": {"kind": "prolific"}, "entry": {"invited": True}},
            "is for people who come by link",
        ),
        ({"entry": {"another_browser": "sometimes"}}, "another_browser"),
        (
            {"recruiter": {"kind": "provider", "secret_parameter": "x"}},
            "secret_parameter is one of other_parameters",
        ),
    ],
)
def test_what_cannot_be_is_refused(study: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        study_of(tea(**study))


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ({}, "open to whoever has the address. In another browser, whoever gives the same"),
        ({"entry": {"invited": True}}, "with a link of `dialens study links` alone"),
        ({"recruiter": {"kind": "prolific"}}, "who brings the same SESSION_ID goes on"),
        ({"recruiter": {"kind": "mturk"}}, "comes with workerId, which is not verified"),
        (
            {"recruiter": {"kind": "personal"}, "entry": {"another_browser": "never"}},
            "nobody goes on",
        ),
        ({"recruiter": {"kind": "kiosk"}}, "Nobody goes on in another browser"),
    ],
)
def test_what_guards_the_entrance_is_said_in_one_line(study: dict[str, Any], said: str) -> None:
    line = entrance_guard(study_of(tea(**study)).design)
    assert said in line
    assert "\n" not in line
