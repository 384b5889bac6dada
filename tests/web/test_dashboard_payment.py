"""Payment from the dashboard: the cost first, nobody twice, and only where a platform can do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from httpx import Client
from starlette.testclient import TestClient

from dialens.studies.recruiters import Prolific, completion_code
from dialens.studies.store import OperationStore, PaymentStore, Store
from dialens.web import Site
from dialens.web._desk import Platform
from tests.studies.recruiters.platform import LOSE, Answer, served
from tests.studies.recruiters.prolific_server import TOKEN, ProlificServer
from tests.studies.recruiters.turk import KEY as AWS_KEY
from tests.studies.recruiters.turk import SECRET, Turk
from tests.web.conftest import KEY, PASSWORD, Make, Visit, log_in, tea
from tests.web.people import Page

WORKERS = ("5f00aa", "5f00bb")


@dataclass(frozen=True)
class Paid:
    """A study on Prolific that two people completed, and its researcher."""

    site: Site
    server: ProlificServer
    client: TestClient | Client
    work: list[str]
    platform: Platform

    def send(self, what: str, **form: str) -> Any:
        ticket = Page(self.client.get("/researcher").text).hidden["ticket"]
        return self.client.post(f"/researcher/payment/{what}", data={"ticket": ticket} | form)

    def agree(self, asked: Any, what: str) -> Any:
        form = dict(_hidden(asked.text)) | {"sure": "yes"}
        return self.client.post(f"/researcher/payment/{what}", data=form)


def _hidden(html: str) -> Iterator[tuple[str, str]]:
    part = html.split('<div class="card sure">')[1]
    yield from Page(part).hidden.items()


@pytest.fixture
def paid(make: Make, visit: Visit) -> Iterator[Callable[[], Paid]]:
    server = ProlificServer()
    with served(server):

        def made() -> Paid:
            recruiter = {"kind": "prolific", "reward": 1.5, "fee": 0.5}
            site = make(tea(recruiter=recruiter))
            platform = Platform({"PROLIFIC_API_TOKEN": TOKEN}, server.url)
            prolific = platform.recruiter(site.study)
            assert isinstance(prolific, Prolific)
            posting = prolific.create(site.study, "https://study.example.org/", 2)
            prolific.publish(posting.id)
            work = []
            for number, worker in enumerate(WORKERS):
                person = visit(site, seed=number)
                query = f"PROLIFIC_PID={worker}&STUDY_ID={posting.id}&SESSION_ID=s{number}"
                person.finish(person.begin(f"/?{query}"))
                work.append(server.come(posting.id, worker, code=completion_code(site.study) or ""))
            return Paid(site, server, log_in(visit(site, platform=platform)), work, platform)

        yield made


def test_people_who_came_by_link_are_paid_by_hand(site: Site, researcher: TestClient) -> None:
    assert researcher.get("/researcher/payment").status_code == 404
    assert "/researcher/payment" not in researcher.get("/researcher").text


def test_the_cost_comes_before_the_approval(paid: Callable[[], Paid]) -> None:
    study = paid()
    assert "Approve all who completed (2)" in study.client.get("/researcher/payment").text
    asked = study.send("approve")
    assert "2 × (1.50 + 0.75 fee) = 4.50 GBP" in asked.text
    assert set(study.server.statuses().values()) == {"AWAITING REVIEW"}
    study.agree(asked, "approve")
    assert set(study.server.statuses().values()) == {"APPROVED"}
    people = OperationStore(study.site.store, "dashboard").participants_frame(study.site.study.hash)
    assert people["paid_at"].null_count() == 0
    again = study.agree(asked, "approve")
    assert again.status_code == 409
    assert "There is nothing to approve" in again.text


def test_who_hands_in_meanwhile_is_not_paid_along(paid: Callable[[], Paid], visit: Visit) -> None:
    study = paid()
    asked = study.send("approve", work=study.work[0])
    study.agree(asked, "approve")
    assert study.server.statuses() == {study.work[0]: "APPROVED", study.work[1]: "AWAITING REVIEW"}


def test_a_bonus_is_paid_once(paid: Callable[[], Paid]) -> None:
    study = paid()
    study.agree(study.send("approve"), "approve")
    for wrong, word in (
        ({"amount": "a lot", "reason": "x"}, "e.g. 0.50"),
        ({"amount": "0.50", "reason": " "}, "needs a reason"),
    ):
        assert word in study.send("bonus", **wrong).text
    asked = study.send("bonus", amount="0.50", reason="It took longer.")
    assert "2 × (0.50 + 0.25 fee) = 1.50 GBP" in asked.text
    study.agree(asked, "bonus")
    again = study.agree(asked, "bonus")  # a second click
    assert "There is nobody to pay" in again.text
    bonuses = [one["bonus_payments"] for one in study.server.submissions.values()]
    assert bonuses == [[50], [50]]


def test_a_rejection_needs_a_reason_and_a_yes(paid: Callable[[], Paid]) -> None:
    study = paid()
    assert "needs a reason" in study.send("reject", work=study.work[0]).text
    reason = "All answers were the same number, although the replies differ. " * 2
    asked = study.send("reject", work=study.work[0], reason=reason, category="LOW_EFFORT")
    assert "completed the study" in asked.text
    assert study.server.statuses()[study.work[0]] == "AWAITING REVIEW"
    study.agree(asked, "reject")
    assert study.server.statuses()[study.work[0]] == "REJECTED"


def test_a_platform_that_does_not_answer_is_said(make: Make, visit: Visit) -> None:
    site = make(tea(recruiter={"kind": "prolific", "reward": 1.5}))
    client = log_in(visit(site, platform=Platform({}, "http://127.0.0.1:9")))
    page = client.get("/researcher/payment")
    assert page.status_code == 409
    assert "PROLIFIC_API_TOKEN" in page.text


def bonuses(study: Paid) -> list[list[int]]:
    return [one["bonus_payments"] for one in study.server.submissions.values()]


def approved(study: Paid) -> Paid:
    study.agree(study.send("approve"), "approve")
    return study


def test_two_servers_that_pay_in_the_same_second_pay_once(
    paid: Callable[[], Paid], visit: Visit
) -> None:
    study = approved(paid())
    study.server.slow = True  # neither can see at Prolific what the other has just paid
    with Store.open(str(study.site.store.database.engine.url), secrets=KEY) as store:
        other = Site.of(study.site.study, store, password=PASSWORD)
        person = visit(other, platform=study.platform)
        both = (study, replace(study, site=other, client=log_in(person)))
        asked = [one.send("bonus", amount="0.50", reason="It took longer.") for one in both]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda one, page: one.agree(page, "bonus"), both, asked))
        again = both[1].agree(asked[1], "bonus")
    study.server.settle()
    assert bonuses(study) == [[50], [50]]
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert "There is nobody to pay" in again.text


def fail(study: Paid, *faults: Answer | str) -> Any:
    """Agree to a bonus; faults happen when it is ordered, and when it is to be paid."""
    before = len(study.server.requests)
    asked = study.send("bonus", amount="0.50", reason="It took longer.")
    looked = len(study.server.requests) - before
    study.server.faults = [*[""] * looked, *faults]
    return study.agree(asked, "bonus")


def test_a_lost_payment_is_asked_about_and_never_paid_twice(paid: Callable[[], Paid]) -> None:
    study = approved(paid())
    study.server.slow = True
    assert fail(study, "", LOSE).status_code == 409  # Prolific pays, and nobody hears of it
    page = study.client.get("/researcher/payment").text
    assert "Bonuses that may not have arrived" in page
    again = study.send("bonus", amount="0.50", reason="It took longer.")
    assert "Nobody is paid twice" in again.text
    study.server.settle()
    assert "may not have arrived" not in study.client.get("/researcher/payment").text
    again = study.send("bonus", amount="0.50", reason="It took longer.")
    assert "There is nobody to pay" in again.text
    assert bonuses(study) == [[50], [50]]


def test_a_payment_that_did_not_arrive_is_paid_after_a_look(paid: Callable[[], Paid]) -> None:
    study = approved(paid())
    fail(study, Answer(400, {"error": {"detail": "No."}}))
    for work in study.work:
        asked = study.send("again", work=work, amount="0.50")
        assert "look there first" in asked.text
        study.agree(asked, "again")
    assert bonuses(study) == [[], []]
    study.agree(study.send("bonus", amount="0.50", reason="It took longer."), "bonus")
    assert bonuses(study) == [[50], [50]]


def test_a_server_that_died_while_paying_is_waited_for(paid: Callable[[], Paid]) -> None:
    study = approved(paid())
    site = study.site
    payments = PaymentStore(OperationStore(site.store, "dashboard", "Ada"), "prolific")
    work = study.work[0]
    payments.begin(site.study.hash, {work: None}, Decimal("0.50"), now=site.clock())
    page = study.agree(study.send("again", work=work, amount="0.50"), "again")
    assert "is being paid right now" in page.text
    later = site.clock() + timedelta(minutes=11)
    payments.release(site.study.hash, work, Decimal("0.50"), now=later)
    assert payments.begun(site.study.hash) == ()


def test_work_on_mechanical_turk_is_settled_from_the_dashboard(
    make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", AWS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    turk = Turk()
    with served(turk):
        site = make(tea(recruiter={"kind": "mturk", "reward": 1.5}))
        platform = Platform({}, turk.url)
        mturk = platform.recruiter(site.study)
        hit = mturk.create(site.study, "https://study.example.org/", 2).id
        work = []
        for number, worker in enumerate(("A1WORKER", "A2WORKER")):
            person = visit(site, seed=number)
            query = f"assignmentId=3X{number}&hitId={hit}&workerId={worker}"
            code = person.finish(person.begin(f"/?{query}"))
            work.append(turk.hand_in(hit, worker, code))
        client = log_in(visit(site, platform=platform))
        study = Paid(site, ProlificServer(), client, work, platform)
        asked = study.send("approve", work=work[0])
        assert "1 × (1.50 + 0.30 fee) = 1.80 USD" in asked.text
        study.agree(asked, "approve")
        assert turk.statuses() == {work[0]: "Approved", work[1]: "Submitted"}
        asked = study.send("bonus", amount="0.50", reason="It took longer.")
        assert "1 × (0.50 + 0.10 fee) = 0.60 USD" in asked.text
        study.agree(asked, "bonus")
        assert "There is nobody to pay" in study.agree(asked, "bonus").text
        paid = {one.id: one.bonuses for one in mturk.work(hit)}
        assert paid == {work[0]: (Decimal("0.50"),), work[1]: ()}
        asked = study.send("reject", work=work[1], reason="Every answer is the same.")
        study.agree(asked, "reject")
        assert turk.statuses()[work[1]] == "Rejected"
