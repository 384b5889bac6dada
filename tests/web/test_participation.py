"""From the first page to the code, whatever browsers and people do in between."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from dialens.studies.design import LinkRecruiter
from dialens.studies.store import Store
from dialens.studies.templates import TEMPLATES
from dialens.studies.texts import LANGUAGES, Texts
from dialens.web import Site, _entrance, study_app
from dialens.web._arrival import NotFilledIn, arrival
from dialens.web._logging import Seldom
from tests.studies.samples import load_template, template_folder
from tests.web.conftest import KEY, PASSWORD, Make, Visit, tea
from tests.web.people import Page, Person

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def answers(site: Site) -> pl.DataFrame:
    return site.store.answers_frame(site.study.hash)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_can_be_taken_without_scripts(name: str, make: Make, visit: Visit) -> None:
    site = make(load_template(name), folder=template_folder(name))
    person = visit(site)
    code = person.finish(person.begin("/?participant=anna"))
    assert len(code) >= 4
    assert sum(cell.completed for cell in site.store.progress(site.study.hash)) == 1
    screens = site.screens(person.session)
    asked = sum(len(screen.fields) for screen in screens)
    assert answers(site).height == asked
    # The same page again: the code has not changed.
    assert person.client.get("/study").text.count(code) >= 1


def test_all_cells_are_filled_in_turn(site: Site, visit: Visit) -> None:
    for number in range(8):
        person = visit(site, seed=number)
        person.finish(person.begin())
    progress = site.store.progress(site.study.hash)
    assert [cell.completed for cell in progress] == [2, 2, 2, 2]


def test_looking_begins_nothing(site: Site, visit: Visit) -> None:
    person = visit(site)
    person.come()
    person.come()
    assert person.client.get("/study").url.path == "/"
    assert sum(cell.live for cell in site.store.progress(site.study.hash)) == 0


def test_a_double_click_and_a_reload_count_once(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.begin()
    form = person.filled(page)
    first = person.client.post("/study", data=form)
    again = person.client.post("/study", data=form)  # the response was lost, or a second click
    assert Page(first.text).hidden["index"] == Page(again.text).hidden["index"] == "1"
    assert answers(site).height == 1


def test_begin_twice_is_one_session(site: Site, visit: Visit) -> None:
    person = visit(site)
    welcome = person.come()
    person.client.post("/begin", data=welcome.hidden)
    page = Page(person.client.post("/begin", data=welcome.hidden).text)
    person.answer(page)
    assert sum(cell.live for cell in site.store.progress(site.study.hash)) == 1


def test_of_two_tabs_the_first_answer_counts(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.answer(person.answer(person.begin()))
    other = Page(person.client.get("/study").text)
    assert page.hidden["key"] != other.hidden["key"]
    mine = person.filled(page)
    theirs = {name: "7" if name.startswith("a:") else v for name, v in person.filled(other).items()}
    person.client.post("/study", data=mine)
    after = Page(person.client.post("/study", data=theirs).text)
    assert after.hidden["index"] == "3"
    stored = answers(site).filter(pl.col("index") == 2)
    given = {row["field"]: json.loads(row["value"]) for row in stored.iter_rows(named=True)}
    assert given == {name: float(mine[f"a:{name}"]) for name in given}


def test_the_back_button_leads_to_the_current_screen(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.answer(person.begin())
    back = person.client.get("/study")
    assert Page(back.text).hidden["screen"] == page.hidden["screen"]
    assert back.headers["cache-control"] == "no-store"  # so that a browser asks again
    assert person.client.get("/").url.path == "/study"


def test_a_restarted_server_goes_on(tmp_path: Path, make: Make, visit: Visit) -> None:
    site = make()
    person = visit(site)
    page = person.answer(person.answer(person.begin()))
    with Store.open(f"sqlite:///{tmp_path}/study-0.db", secrets=KEY) as store:
        fresh = Site.of(site.study, store, password=PASSWORD)
        client = TestClient(study_app(fresh), cookies=dict(person.client.cookies))
        after = Person(fresh, client)
        assert Page(client.get("/study").text).hidden["screen"] == page.hidden["screen"]
        after.finish(after.answer(page))  # the form from before the restart
        client.close()
    assert sum(cell.completed for cell in site.store.progress(site.study.hash)) == 1


def test_a_wrong_answer_is_told_and_kept(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.answer(person.answer(person.begin()))
    form = person.filled(page)
    name = next(name for name in form if name.startswith("a:"))
    told = person.client.post("/study", data=form | {name: "-3"})
    assert told.status_code == 422
    assert "Please give a number above zero" in told.text
    assert 'value="-3"' in told.text
    assert 'role="alert"' in told.text
    as_json = person.client.post(
        "/study", data=form | {name: ""}, headers={"accept": "application/json"}
    )
    assert as_json.status_code == 422
    assert as_json.json()["errors"] == {name.removeprefix("a:"): "Please answer this question."}
    assert answers(site).height == 1


def test_whoever_declines_leaves_no_trace(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.begin()
    told = person.client.post("/study", data=page.hidden | {"a:consent": "no"})
    assert "You chose not to take part" in told.text
    assert answers(site).is_empty()
    assert sum(cell.live for cell in site.store.progress(site.study.hash)) == 0
    assert Page(person.client.get("/study").text).action == "/begin"


def test_a_full_study_says_so(make: Make, visit: Visit) -> None:
    site = make(tea(targets=1, factors={}, presentation={"anchor": "none"}))
    early, late = visit(site), visit(site)
    welcome = late.come()
    early.answer(early.begin())
    assert "All places are taken" in late.client.post("/begin", data=welcome.hidden).text
    assert "All places are taken" in visit(site).come().html  # at once, with nothing to click
    assert Page(visit(site).client.get("/").text).action != "/begin"
    named = visit(site).come("/?participant=ada")  # may have begun elsewhere
    assert "All places are taken" in named.html
    assert named.action == "/begin"


def test_who_comes_back_under_block_is_not_let_in(make: Make, visit: Visit) -> None:
    site = make(tea(resume="block"))
    person = visit(site)
    person.answer(person.begin("/?participant=anna"))
    other = visit(site)  # another browser
    welcome = other.come("/?participant=anna")
    assert "it can be taken only once" in other.client.post("/begin", data=welcome.hidden).text


def test_the_link_of_a_person_resumes_in_another_browser(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.answer(person.begin("/?participant=anna"))
    other = visit(site)
    assert other.begin("/?participant=anna").hidden["screen"] == page.hidden["screen"]


def test_an_expired_session_is_told(make: Make, visit: Visit) -> None:
    clock = Clock()
    cells = {"targets": 1, "factors": {}, "presentation": {"anchor": "none"}}
    site = make(tea(**cells), clock=clock)
    person = visit(site)
    page = person.answer(person.begin())
    form = person.filled(page)
    clock.later(3600)
    site.store.expire(site.study.hash, now=clock())
    other = visit(site)
    other.answer(other.begin())  # somebody else has the place now
    told = person.client.post("/study", data=form)
    assert "You were away for more than 30 minutes" in told.text


def test_a_deadline_ends_a_screen(make: Make, visit: Visit) -> None:
    clock = Clock()
    site = make(tea(presentation={"deadline": 10}), clock=clock)
    person = visit(site)
    page = person.answer(person.answer(person.begin()))
    assert 'data-left="10.0"' in page.html
    form = person.filled(page)
    unanswered = {name: value for name, value in form.items() if not name.startswith("a:")}
    # Nobody gets out of answering by claiming that time is up.
    assert person.client.post("/study", data=unanswered | {"overdue": "1"}).status_code == 422
    clock.later(4)
    assert 'data-left="6.0"' in person.client.get("/study").text  # a reload wins no time
    clock.later(6)
    after = person.client.post("/study", data=unanswered)
    assert Page(after.text).hidden["index"] == "3"
    assert answers(site).filter(pl.col("index") == 2)["value"].unique().to_list() == ["null"]


def test_events_give_the_active_time(make: Make, visit: Visit) -> None:
    clock = Clock()
    site = make(clock=clock)
    person = visit(site)
    page = person.begin()
    clock.later(20)

    def at(seconds: float) -> str:
        return (NOON + timedelta(seconds=seconds)).isoformat()

    sent = {"page": page.hidden["key"], "screen": "consent", "ticket": page.hidden["ticket"]}
    away = [
        {"kind": "hidden", "at": at(5), "serial": 1},
        {"kind": "visible", "at": at(12), "serial": 2},
    ]
    for _ in range(2):  # sent again, they are kept once
        assert person.client.post("/events", json=sent | {"events": away}).status_code == 204
    last = [{"kind": "submitted", "at": at(20), "serial": 3}]
    form = person.filled(page) | {
        "shown_at": at(0),
        "submitted_at": at(20),
        "events": json.dumps(last),
    }
    person.client.post("/study", data=form)
    assert answers(site)["active_ms"].to_list() == [13_000]
    kinds = site.store.events_frame(site.study.hash)["kind"].to_list()
    assert kinds == ["hidden", "visible", "submitted"]


def test_events_that_cannot_be_read_cost_no_answer(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.begin()
    odd = {"events": '[{"kind": "party"}', "shown_at": "9999-99-99", "submitted_at": "0001-01-01"}
    after = person.client.post("/study", data=person.filled(page) | odd)
    assert Page(after.text).hidden["index"] == "1"
    assert answers(site).height == 1


def test_mechanical_turk(make: Make, visit: Visit) -> None:
    site = make(tea(recruiter={"kind": "mturk", "reward": 2.0}))
    person = visit(site)
    looked = person.come("/?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H1")
    assert "Accept the task" in looked.html
    assert looked.action == ""
    assert person.client.get("/").status_code == 403
    claimed = "&turkSubmitTo=https://evil.example"
    address = f"/?assignmentId=A9&hitId=H1&workerId=W7{claimed}"
    code = person.finish(person.begin(address))
    done = person.client.get("/study")
    page = Page(done.text)
    assert page.action == "https://workersandbox.mturk.com/mturk/externalSubmit"
    assert page.hidden == {"assignmentId": "A9", "code": code}
    policy = done.headers["content-security-policy"]
    assert "frame-ancestors https://www.mturk.com https://workersandbox.mturk.com" in policy
    assert "evil" not in done.text + policy
    assert site.store.worker(person.session.participant) == "W7"
    assert person.session.recruiter == "mturk"


def test_without_cookies_the_way_back_is_told(make: Make, visit: Visit) -> None:
    person = visit(make(tea(recruiter={"kind": "mturk"})))
    welcome = person.come("/?assignmentId=A9&workerId=W7")
    person.client.cookies.clear()
    told = person.client.post("/begin", data=welcome.hidden)
    assert told.status_code == 403
    assert 'href="/?assignmentId=A9&amp;workerId=W7" target="_blank"' in told.text
    lured = person.client.post("/begin", data=welcome.hidden | {"here": "//evil.example"})
    assert "evil" not in lured.text


def test_prolific(make: Make, visit: Visit) -> None:
    site = make(tea(recruiter={"kind": "prolific", "completion_code": "C0FFEE"}))
    person = visit(site)
    assert "page on Prolific" in person.come().html
    code = person.finish(person.begin("/?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=x1"))
    assert code == "C0FFEE"
    link = 'href="https://app.prolific.com/submissions/complete?cc=C0FFEE"'
    assert link in person.client.get("/study").text
    assert site.store.worker(person.session.participant) == "p1"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_whose_placeholders_were_not_filled_in(
    make: Make,
    visit: Visit,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
) -> None:
    """Everybody was let in as one person called `{{%PROLIFIC_PID%}}`."""
    # Of this test alone: what was said a minute ago is not said again.
    monkeypatch.setattr(_entrance, "_SELDOM", Seldom(logging.getLogger("dialens.web")))
    site = make(tea(recruiter={"kind": "prolific"}, language=language))
    person = visit(site)
    for query in (
        "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID=s&SESSION_ID=x",
        "PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=%7B%7B%25SESSION_ID%25%7D%7D",
    ):
        answer = person.client.get(f"/?{query}")
        assert answer.status_code == 403
        assert Texts.of(language).say("recruit_incomplete") in unescape(answer.text)
        assert site.cookies.name not in person.client.cookies
    person.client.get("/?PROLIFIC_PID=[ID]")
    said = [one.getMessage() for one in caplog.records if "placeholder" in one.getMessage()]
    assert ["PROLIFIC_PID" in one for one in said] == [True, False]  # each parameter once
    assert person.client.get("/?PROLIFIC_PID=p1&SESSION_ID=x").status_code == 200


@pytest.mark.parametrize("value", ["{{%ID%}}", "{id}", "${ID}", "[ID]", "<id>", "%ID%", "p{{x}}"])
def test_placeholders_are_no_ids(value: str) -> None:
    with pytest.raises(NotFilledIn) as error:
        arrival(LinkRecruiter(), {"participant": value})
    assert error.value.name == "participant"


@pytest.mark.parametrize(
    "value", ["5f00bb", "anna@example.org", "a[1]", "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}"]
)
def test_ids_are_no_placeholders(value: str) -> None:
    assert arrival(LinkRecruiter(), {"participant": value}).worker == value


def test_a_program_says_that_it_is_one_with_the_password_only(site: Site, visit: Visit) -> None:
    person = visit(site)
    welcome = person.come()
    claim = {"x-dialens-rater": "simulated"}
    refused = person.client.post("/begin", data=welcome.hidden, headers=claim)
    assert refused.status_code == 403
    claim["authorization"] = f"Bearer {PASSWORD}"
    person.client.post("/begin", data=welcome.hidden, headers=claim)
    assert person.session.rater_kind == "simulated"


def test_nothing_on_a_page_tells_what_is_expected(make: Make, visit: Visit) -> None:
    site = make(load_template("likert"))
    person = visit(site)
    page = person.begin()
    while "the-code" not in page.html:
        session = person.session
        for asked in site.screens(session)[session.index].fields:
            for target in asked.targets.values():
                assert f'"{target["response"]}"' not in page.html
                assert f">{target['agent']}<" not in page.html
        assert "expected" not in page.html
        page = person.answer(page)


def test_no_cookie_tells_the_name_of_the_study(make: Make, visit: Visit) -> None:
    person = visit(make(tea(study="warm-beats-cold")))
    person.begin()
    assert "warm" not in str(person.client.cookies)
