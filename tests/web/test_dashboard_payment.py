"""Payment from the dashboard: the cost first, nobody twice, and only where a platform can do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from httpx import Client
from starlette.testclient import TestClient

from dialens.studies.recruiters import Prolific, completion_code
from dialens.studies.store import OperationStore
from dialens.web import Site
from dialens.web._desk import Platform
from tests.studies.recruiters.platform import served
from tests.studies.recruiters.prolific_server import TOKEN, ProlificServer
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.people import Page

WORKERS = ("5f00aa", "5f00bb")


@dataclass(frozen=True)
class Paid:
    """A study on Prolific that two people completed, and its researcher."""

    site: Site
    server: ProlificServer
    client: TestClient | Client
    work: list[str]

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
            return Paid(site, server, log_in(visit(site, platform=platform)), work)

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
