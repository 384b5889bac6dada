"""Who gets a place, who goes on, and how somebody stops: consent, screening, comprehension."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest

from dialens.studies import study_of
from dialens.studies.export import export
from dialens.studies.plan import consent_version
from dialens.studies.recruiters import completion_code
from dialens.studies.store import EarlyEnd
from dialens.web import Site
from tests.web.conftest import Make, Visit, tea
from tests.web.people import Page, Person
from tests.web.test_participation import Clock, answers

ONE_CELL: dict[str, Any] = {"factors": {}, "presentation": {"anchor": "none"}}
SCREENING = {
    "questions": {
        "age": {"kind": "number", "prompt": "How old are you?", "low": 0, "high": 120},
        "fluent": {"kind": "yes_no", "prompt": "Are you fluent?"},
    },
    "rules": [
        {"question": "age", "at_least": 18, "reason": "under 18"},
        {"question": "fluent", "one_of": ["yes"]},
    ],
    "end": {"title": "Sorry, not this time", "text": "We look for adults."},
}
COMPREHENSION = {
    "questions": {
        "judged": {
            "question": {
                "kind": "choice",
                "prompt": "What do you judge?",
                "choices": ["The last reply", "The first line"],
            },
            "correct": "The last reply",
        }
    },
    "tries": 2,
    "wrong": "That was not quite it.",
}


def told(comprehension: dict[str, Any]) -> dict[str, Any]:
    return {"text": "Judge the last reply.", "comprehension": comprehension}


def taken(site: Site) -> int:
    return sum(cell.live + cell.completed for cell in site.store.progress(site.study.hash))


def send(person: Person, page: Page, **given: str) -> Page:
    fields = {f"a:{name}": value for name, value in given.items()}
    return Page(person.client.post("/study", data=page.hidden | fields).text)


def agree(person: Person, address: str = "/") -> Page:
    return person.answer(person.begin(address))


def test_who_only_begins_takes_no_place(make: Make, visit: Visit) -> None:
    site = make(tea(targets=1, **ONE_CELL))
    for number in range(6):
        assert visit(site).begin(f"/?participant=p{number}").hidden["screen"] == "consent"
    assert taken(site) == 0
    person = visit(site)
    page = agree(person, "/?participant=late")
    assert page.hidden["screen"] == "instructions"
    assert taken(site) == 1


def test_who_agrees_when_the_last_place_went_is_told_and_forgotten(
    make: Make, visit: Visit
) -> None:
    site = make(tea(targets=1, **ONE_CELL))
    slow, quick = visit(site), visit(site)
    page = slow.begin("/?participant=slow")
    agree(quick, "/?participant=quick")
    after = slow.client.post("/study", data=slow.filled(page))
    assert after.url.path == "/full"
    assert "Somebody else took the last place while you were reading" in after.text
    assert answers(site).height == 1
    assert list(site.store.participants_of("link", "slow")) == []
    assert site.store.early_ends(site.study.hash) == (EarlyEnd("full", None, True, 1),)


def _agree_at_once(one: tuple[Person, dict[str, str]]) -> str:
    person, form = one
    return str(person.client.post("/study", data=form).url.path)


def test_one_of_many_who_agree_at_once_gets_the_last_place(make: Make, visit: Visit) -> None:
    site = make(tea(targets=1, **ONE_CELL))
    people = [visit(site) for _ in range(8)]
    forms = [
        person.filled(person.begin(f"/?participant=p{number}"))
        for number, person in enumerate(people)
    ]
    with ThreadPoolExecutor(8) as pool:
        paths = sorted(pool.map(_agree_at_once, zip(people, forms, strict=True)))
    assert paths == ["/full"] * 7 + ["/study"]
    assert taken(site) == 1


def test_reading_the_consent_for_long_costs_nothing(make: Make, visit: Visit) -> None:
    clock = Clock()
    site = make(tea(targets=1, limits={"idle_minutes": 1, "session_minutes": 5}, **ONE_CELL))
    site = make(site.study, clock=clock)
    person = visit(site)
    page = person.begin()
    clock.later(3600)
    site.store.expire(site.study.hash, now=clock())
    assert person.answer(page).hidden["screen"] == "instructions"


@pytest.mark.parametrize("watched", [False, True])
def test_a_session_ends_at_its_limit_whoever_looks(make: Make, visit: Visit, watched: bool) -> None:
    clock = Clock()
    site = make(tea(limits={"session_minutes": 10}), clock=clock)
    person = visit(site)
    page = agree(person)
    clock.later(601)
    if watched:
        site.store.expire(site.study.hash, now=clock())
    after = person.client.post("/study", data=person.filled(page))
    assert "has to be finished within 10 minutes" in after.text
    assert "away" not in after.text
    assert answers(site).height == 1
    assert "within 10 minutes" in person.client.get("/study").text


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("policy", ["resume", "restart", "block"])
def test_an_answer_after_a_pause_counts_while_the_place_is_free(
    make: Make, visit: Visit, policy: str, watched: bool
) -> None:
    clock = Clock()
    site = make(tea(limits={"idle_minutes": 1}, resume=policy), clock=clock)
    person = visit(site)
    page = agree(person)
    clock.later(3600)
    if watched:
        site.store.expire(site.study.hash, now=clock())
    assert person.answer(page).hidden["index"] == "2"
    assert taken(site) == 1


@pytest.mark.parametrize("watched", [False, True])
def test_a_pause_costs_the_place_if_somebody_else_came(
    make: Make, visit: Visit, watched: bool
) -> None:
    clock = Clock()
    site = make(tea(targets=1, limits={"idle_minutes": 1}, **ONE_CELL), clock=clock)
    person, other = visit(site), visit(site)
    page = agree(person, "/?participant=a")
    clock.later(3600)
    if watched:
        site.store.expire(site.study.hash, now=clock())
    agree(other, "/?participant=b")
    after = person.client.post("/study", data=person.filled(page))
    assert "You were away for more than 1 minutes" in after.text


def test_who_may_not_take_part_is_told_and_gives_the_place_back(make: Make, visit: Visit) -> None:
    site = make(tea(screening=SCREENING, completion={"codes": {"screened_out": "SCR-1"}}))
    young = visit(site)
    page = agree(young)
    assert page.hidden["screen"] == "screening"
    ended = send(young, page, age="17", fluent="yes")
    assert "Sorry, not this time" in ended.html
    assert "We look for adults." in ended.html
    assert "SCR-1" in ended.html
    assert taken(site) == 0
    assert answers(site).filter(pl.col("screen") == "screening")["value"].to_list() == [
        "17.0",
        '"yes"',
    ]
    again = visit(site)  # the same page for whoever comes back in the same browser
    assert "We look for adults." in young.client.get("/study").text
    grown = send(again, agree(again), age="18", fluent="yes")
    assert grown.hidden["screen"] == "instructions"
    other = visit(site)
    send(other, agree(other), age="40", fluent="no")
    assert site.store.early_ends(site.study.hash) == (
        EarlyEnd("screened_out", "fluent", False, 1),
        EarlyEnd("screened_out", "under 18", False, 1),
    )


def test_before_consent_answers_of_who_is_screened_out_are_not_kept(
    make: Make, visit: Visit
) -> None:
    site = make(tea(screening=SCREENING | {"when": "before_consent"}))
    young, grown = visit(site), visit(site)
    page = young.begin("/?participant=young")
    assert page.hidden["screen"] == "screening"
    assert "We look for adults." in send(young, page, age="9", fluent="yes").html
    assert answers(site).is_empty()
    assert [end.reason for end in site.store.early_ends(site.study.hash)] == ["under 18"]
    # Another browser with the same link: once screened out, always screened out.
    assert "We look for adults." in visit(site).begin("/?participant=young").html
    page = send(grown, grown.begin("/?participant=grown"), age="30", fluent="yes")
    assert page.hidden["screen"] == "consent"
    assert taken(site) == 0
    grown.answer(page)
    assert taken(site) == 1


def test_a_wrong_answer_leads_back_to_the_instructions(make: Make, visit: Visit) -> None:
    site = make(tea(instructions=told(COMPREHENSION)))
    person = visit(site)
    page = person.answer(agree(person))
    assert page.hidden["screen"] == "comprehension-1"
    again = send(person, page, judged="The first line")
    assert again.hidden["screen"] == "instructions-2"
    assert "That was not quite it." in again.html
    assert "Judge the last reply." in again.html
    page = person.answer(again)
    assert page.hidden["screen"] == "comprehension-2"
    after = send(person, page, judged="The last reply")
    assert after.hidden["screen"].startswith("rate-001")


def test_a_right_answer_passes_over_the_other_tries(make: Make, visit: Visit) -> None:
    site = make(tea(instructions=told(COMPREHENSION)))
    person = visit(site)
    page = send(person, person.answer(agree(person)), judged="The last reply")
    assert page.hidden["screen"].startswith("rate-001")
    code = person.finish(page)
    assert len(code) == 16


def fail(person: Person) -> Page:
    page = person.answer(agree(person))
    page = person.answer(send(person, page, judged="The first line"))
    return send(person, page, judged="The first line")


def test_after_the_last_try_the_session_ends(make: Make, visit: Visit, tmp_path: Any) -> None:
    codes = {"codes": {"failed_comprehension": "NOT-YET"}}
    site = make(tea(instructions=told(COMPREHENSION), completion=codes))
    person = visit(site)
    ended = fail(person)
    assert "The study ends here" in ended.html
    assert "NOT-YET" in ended.html
    assert taken(site) == 0
    export(site.store, site.study.hash, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "comprehension.parquet")
    assert table.select("try", "question", "answer", "right", "session_state").rows() == [
        (1, "judged", "The first line", False, "failed_comprehension"),
        (2, "judged", "The first line", False, "failed_comprehension"),
    ]


def test_after_the_last_try_a_flag_may_be_enough(make: Make, visit: Visit, tmp_path: Any) -> None:
    site = make(tea(instructions=told(COMPREHENSION | {"failing": "flag"})))
    person = visit(site)
    page = fail(person)
    assert page.hidden["screen"].startswith("rate-001")
    export(site.store, site.study.hash, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "questionnaires.parquet")
    checks = table.filter(pl.col("question") == "check_comprehension")
    assert checks["answer"].to_list() == ["failed"]


STATEMENTS = {
    "text": "We ask what you think.",
    "statements": {
        "storing": "My answers may be stored.",
        "sharing": {"text": "My answers may be shared.", "required": False},
    },
}


def test_statements_are_ticked_and_recorded(make: Make, visit: Visit, tmp_path: Any) -> None:
    site = make(tea(consent=STATEMENTS, contact="Ada, ada@example.org"))
    person = visit(site)
    page = person.begin()
    refused = person.client.post("/study", data=page.hidden | {"a:consent": "yes"})
    assert refused.status_code == 422
    assert "Please tick this box to take part" in refused.text
    assert taken(site) == 0
    after = send(person, page, consent="yes", consent_storing="yes")
    assert after.hidden["screen"] == "instructions"
    export(site.store, site.study.hash, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "consents.parquet")
    assert table.select("statement", "text", "required", "agreed").rows() == [
        ("consent_storing", "My answers may be stored.", True, True),
        ("consent_sharing", "My answers may be shared.", False, False),
        ("consent", "I have read this and want to take part.", True, True),
    ]
    (version,) = table["consent"].unique().to_list()
    assert len(version) == 16
    other = study_of(tea(consent=STATEMENTS, contact="Grace, grace@example.org"))
    assert json.loads(answers(site)["presented"][0])["consent"] == version
    assert consent_version(other.design) != version


def test_a_copy_of_the_consent_can_be_kept(make: Make, visit: Visit) -> None:
    clock = Clock()
    site = make(tea(consent=STATEMENTS, contact="Ada, ada@example.org"), clock=clock)
    person = visit(site)
    page = person.begin()
    assert 'href="/consent"' in page.html
    assert "My answers may be stored." in person.client.get("/consent").text
    send(person, page, consent="yes", consent_storing="yes")
    html = person.client.get("/consent").text
    assert "You agreed to take part on 2026-03-01 12:00 (UTC)." in html
    assert "ada@example.org" in html
    saved = person.client.get("/consent.txt")
    assert saved.headers["content-disposition"] == 'attachment; filename="consent.txt"'
    lines = saved.text.splitlines()
    assert "[x] My answers may be stored." in lines
    assert "[ ] My answers may be shared." in lines
    assert "Contact: Ada, ada@example.org" in lines
    stranger = visit(site)
    assert stranger.client.get("/consent").url.path == "/"


def test_everything_is_at_hand_on_every_screen(make: Make, visit: Visit) -> None:
    site = make(tea(contact="Ada, ada@example.org", **ONE_CELL))
    person = visit(site)
    page = person.answer(agree(person))
    while "the-code" not in page.html:
        assert "Read the conversation, then judge each reply." in page.html
        assert 'href="/withdraw"' in page.html
        assert "ada@example.org" in page.html
        page = person.answer(page)
    assert "ada@example.org" in page.html


def withdraw(person: Person, choice: str) -> Page:
    asked = Page(person.client.get("/withdraw").text)
    assert asked.action == "/withdraw"
    return Page(person.client.post("/withdraw", data=asked.hidden | {"answers": choice}).text)


def test_who_withdraws_may_leave_the_answers(make: Make, visit: Visit) -> None:
    site = make(tea(completion={"codes": {"withdrawn": "PART-1"}}, **ONE_CELL))
    person = visit(site)
    person.answer(person.answer(agree(person)))
    before = answers(site).height
    assert "Please choose what should happen" in withdraw(person, "").html
    assert taken(site) == 1
    ended = withdraw(person, "keep")
    assert "The answers that you gave are kept." in ended.html
    assert "PART-1" in ended.html
    assert taken(site) == 0
    assert answers(site).height == before
    assert answers(site)["session_state"].unique().to_list() == ["withdrawn"]
    assert site.store.early_ends(site.study.hash) == (EarlyEnd("withdrawn", None, False, 1),)
    assert "are kept" in person.client.get("/").text


def test_who_withdraws_may_have_everything_deleted(make: Make, visit: Visit) -> None:
    site = make(tea(**ONE_CELL))
    person = visit(site)
    page = agree(person, "/?participant=anna")
    ended = withdraw(person, "delete")
    assert "Everything about you was deleted." in ended.html
    assert answers(site).is_empty()
    assert site.store.participants_of("link", "anna") == {}
    assert site.store.early_ends(site.study.hash) == (EarlyEnd("withdrawn", None, True, 1),)
    late = person.client.post("/study", data=page.hidden)  # a second tab
    assert late.url.path == "/"


def test_there_is_nothing_to_withdraw_from_before_consent_or_after_the_end(
    make: Make, visit: Visit
) -> None:
    clock = Clock()
    site = make(tea(limits={"session_minutes": 10}, **ONE_CELL), clock=clock)
    reading, late = visit(site), visit(site)
    reading.begin("/?participant=r")
    assert reading.client.get("/withdraw").url.path == "/study"
    agree(late, "/?participant=l")
    clock.later(601)
    for address in ("/withdraw", "/consent", "/consent.txt"):
        assert "within 10 minutes" in late.client.get(address).text


def test_nobody_can_be_withdrawn_by_somebody_else(site: Site, visit: Visit) -> None:
    victim, attacker = visit(site), visit(site)
    agree(victim, "/?participant=v")
    agree(attacker, "/?participant=a")
    own = Page(attacker.client.get("/withdraw").text).hidden
    forged = victim.client.post("/withdraw", data=own | {"answers": "delete"})
    assert forged.status_code == 403
    assert taken(site) == 2


def test_on_prolific_everybody_goes_back_with_a_code_of_how_it_ended(
    make: Make, visit: Visit
) -> None:
    site = make(tea(recruiter={"kind": "prolific"}, screening=SCREENING))
    done = "https://app.prolific.com/submissions/complete?cc="
    came = "/?PROLIFIC_PID={}&STUDY_ID=s&SESSION_ID=x"
    person = visit(site)
    page = person.begin(came.format("p1"))
    said = person.client.post("/study", data=page.hidden | {"a:consent": "no"})
    assert f'href="{done}{completion_code(site.study, "no_consent")}"' in said.text
    person = visit(site)
    ended = send(person, agree(person, came.format("p2")), age="3", fluent="no")
    assert f'href="{done}{completion_code(site.study, "screened_out")}"' in ended.html
    codes = {completion_code(site.study, one) for one in ("completed", "no_consent", "withdrawn")}
    assert len(codes) == 3


def test_on_mechanical_turk_who_declines_is_asked_to_return_the_task(
    make: Make, visit: Visit
) -> None:
    site = make(tea(recruiter={"kind": "mturk"}))
    person = visit(site)
    page = person.begin("/?assignmentId=A9&hitId=H1&workerId=W7")
    said = person.client.post("/study", data=page.hidden | {"a:consent": "no"})
    assert "Please return the task" in said.text
    assert [end.outcome for end in site.store.early_ends(site.study.hash)] == ["no_consent"]
