"""Mechanical Turk through boto3, against a stand-in that checks signatures, shapes and XML."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies.recruiters import MechanicalTurk, match, recruiter_of
from dialens.studies.recruiters import _mturk_calls as mturk_calls
from dialens.studies.recruiters._mturk import submitted_code
from tests.studies.recruiters.conftest import URL, tea
from tests.studies.recruiters.platform import LOSE, Answer
from tests.studies.recruiters.turk import Turk, throttled

EVERYTHING = {
    "kind": "mturk",
    "masters": True,
    "countries": ["US", "GB"],
    "approval_rate": 97,
    "approved_hits": 500,
}


def counted(turk: Turk, operation: str) -> int:
    return sum(name == operation for name, _ in turk.requests)


def test_a_hit_is_created_as_the_study_file_says(turk: Turk) -> None:
    study = tea(**EVERYTHING)
    made = MechanicalTurk(endpoint=turk.url).create(study, URL, 12)
    assert (made.places, made.free, made.done, made.url) == (12, 12, 0, URL)
    asked = dict(turk.requests)["CreateHIT"]
    assert asked["Reward"] == "1.50"
    assert asked["MaxAssignments"] == 12
    assert asked["LifetimeInSeconds"] == 7 * 24 * 3600
    assert asked["AssignmentDurationInSeconds"] == 180 * 60
    assert asked["AutoApprovalDelayInSeconds"] == 3 * 24 * 3600
    # Ids of system qualifications from Amazon's API reference; Masters is that of the sandbox.
    told = {one["QualificationTypeId"]: one for one in asked["QualificationRequirements"]}
    assert told["000000000000000000L0"]["IntegerValues"] == [97]
    assert told["00000000000000000040"]["IntegerValues"] == [500]
    assert told["2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"]["Comparator"] == "Exists"
    assert told["00000000000000000071"]["LocaleValues"] == [{"Country": "US"}, {"Country": "GB"}]
    assert "&amp;" not in URL
    assert "https://study.example.org/?lang=en</ExternalURL>" in asked["Question"]


def test_the_same_batch_is_posted_once(turk: Turk) -> None:
    study, recruiter = tea(kind="mturk"), MechanicalTurk(endpoint=turk.url)
    first = recruiter.create(study, URL, 9)
    assert recruiter.create(study, URL, 9) == first
    second = recruiter.create(study, URL, 9, batch=2)
    third = recruiter.create(study, URL, 9, batch=3)
    assert len(turk.hits) == 3  # two pages
    there = recruiter.postings(study)
    assert {one.id for one in there} == {first.id, second.id, third.id}
    assert recruiter.postings(tea(kind="mturk", reward=2)) == there  # edited since
    other = tea(kind="mturk")
    assert (
        recruiter.postings(
            type(other)(other.design.model_copy(update={"study": "coffee"}), other.items)
        )
        == ()
    )


def test_an_answer_that_is_lost_posts_and_pays_nothing_twice(turk: Turk, taken: Any) -> None:
    data = taken(tea(kind="mturk"))
    recruiter = MechanicalTurk(endpoint=turk.url)
    turk.faults = [Answer(200, {"HITs": [], "NumResults": 0})]
    turk.faults += [Answer(200, {"AvailableBalance": "100.00"}), LOSE]
    made = recruiter.create(data.study, URL, 9)
    assert list(turk.hits) == [made.id]
    assert counted(turk, "CreateHIT") == 2  # botocore tried again, with the same token
    _, code = data.come("A1WORKER")
    turk.hand_in(made.id, "A1WORKER", code)
    work = recruiter.work(made.id)[0]
    turk.faults = [LOSE]
    recruiter.approve(work)
    assert turk.statuses() == {work.id: "Approved"}
    turk.faults = [LOSE]
    recruiter.bonus([work], Decimal("0.50"), "Thanks.")
    recruiter.bonus([work], Decimal("0.50"), "Thanks.")
    assert [one["BonusAmount"] for one in turk.bonuses] == ["0.50"]
    assert recruiter.work(made.id)[0].bonuses == (Decimal("0.50"),)


def test_only_completed_sessions_are_payable(turk: Turk, taken: Any) -> None:
    data = taken(tea(kind="mturk"))
    recruiter = MechanicalTurk(endpoint=turk.url)
    hit = recruiter.create(data.study, URL, 9).id
    second = recruiter.create(data.study, URL, 9, batch=2).id
    expected = {}
    done, code = data.come("A1DONE")
    expected[turk.hand_in(hit, "A1DONE", code)] = (done.participant, "")
    expected[turk.hand_in(second, "A1DONE", code)] = (done.participant, "already counts")
    left, _ = data.come("A2LEFT", complete=False)
    expected[turk.hand_in(hit, "A2LEFT")] = (left.participant, "not completed")
    expected[turk.hand_in(hit, "A3STRANGER", code)] = (None, "nobody")
    wrong, _ = data.come("A4WRONG")
    expected[turk.hand_in(hit, "A4WRONG", "GUESSED")] = (wrong.participant, "another completion")
    plain, _ = data.come("A5PLAIN")
    expected[turk.hand_in(hit, "A5PLAIN")] = (plain.participant, "")
    works = [work for one in (hit, second) for work in recruiter.work(one)]
    for one in match(data.store, data.study.hash, "mturk", works):
        participant, doubt = expected[one.work.id]
        assert one.participant == participant
        assert (doubt in one.doubt) if doubt else one.payable
        assert "WORKER" not in repr(one)
        assert one.work.worker not in repr(one)


def test_a_rejected_assignment_can_still_be_approved(turk: Turk) -> None:
    recruiter = MechanicalTurk(endpoint=turk.url)
    hit = recruiter.create(tea(kind="mturk"), URL, 2).id
    turk.hand_in(hit, "A1WORKER")
    recruiter.reject(recruiter.work(hit)[0], "No answers.")
    assert set(turk.statuses().values()) == {"Rejected"}
    recruiter.approve(recruiter.work(hit)[0])
    assert set(turk.statuses().values()) == {"Approved"}


def test_expire_and_delete(turk: Turk) -> None:
    recruiter = MechanicalTurk(endpoint=turk.url)
    hit = recruiter.create(tea(kind="mturk"), URL, 2).id
    with pytest.raises(DialensError, match="Assignable"):
        recruiter.delete(hit)
    recruiter.expire(hit)
    recruiter.delete(hit)
    assert turk.hits == {}
    with pytest.raises(DialensError, match="does not exist"):
        recruiter.expire(hit)
    with pytest.raises(DialensError, match="capital letters"):
        recruiter.expire("../x")


@pytest.mark.parametrize(
    ("settings", "places", "total"),
    [
        # By hand from Amazon's price list: 20 %, 40 % from ten assignments on, Masters 5 % more,
        # at least a cent.
        ({"reward": 1.5}, 9, "16.20"),  # 9 × 1.80
        ({"reward": 1.5}, 10, "21.00"),  # 10 × 2.10
        ({"reward": 1.5, "masters": True}, 10, "21.80"),  # 45 % of 1.50 is 0.675, so 2.18
        ({"reward": 0.01}, 9, "0.18"),
        ({"reward": 2, "fee": 0.1}, 10, "22.00"),
        ({"reward": 0}, 10, "0.00"),
    ],
)
def test_costs(settings: dict[str, Any], places: int, total: str) -> None:
    cost = MechanicalTurk().estimate(tea(kind="mturk", **settings), places)
    assert cost.total == Decimal(total)
    assert cost.currency == "USD"


def test_nothing_is_posted_that_the_account_cannot_pay(turk: Turk) -> None:
    turk.balance = Decimal("20.99")
    with pytest.raises(DialensError, match=r"holds 20\.99 USD, and 10 participants cost 21\.00"):
        MechanicalTurk(endpoint=turk.url).create(tea(kind="mturk"), URL, 10)
    assert turk.hits == {}


@pytest.mark.parametrize(
    ("settings", "url", "told"),
    [
        ({}, "http://study.example.org/", "https address"),
        ({"currency": "EUR"}, URL, "pays in USD"),
        ({"reward": 1.005}, URL, "whole cents"),
        ({"title": ""}, URL, "Title"),  # what Amazon says is passed on
    ],
)
def test_what_amazon_would_refuse(
    turk: Turk, settings: dict[str, Any], url: str, told: str
) -> None:
    with pytest.raises(DialensError, match=told):
        MechanicalTurk(endpoint=turk.url).create(tea(kind="mturk", **settings), url, 2)
    assert turk.hits == {}


def test_no_credentials() -> None:
    with pytest.raises(DialensError, match="AWS_ACCESS_KEY_ID"):
        MechanicalTurk(endpoint="http://127.0.0.1:9").balance()


def test_credentials_that_are_refused(turk: Turk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(DialensError, match="refuses these credentials") as caught:
        MechanicalTurk(endpoint=turk.url).balance()
    assert "another" not in str(caught.value)


def test_throttling_is_waited_out(turk: Turk) -> None:
    turk.faults = [throttled(), throttled()]
    assert MechanicalTurk(endpoint=turk.url).balance() == Decimal("10000.00")


def test_throttling_without_end(turk: Turk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mturk_calls, "_TRIES", 2)
    turk.faults = [throttled()] * 5
    with pytest.raises(DialensError, match="slow down"):
        MechanicalTurk(endpoint=turk.url).balance()
    assert len(turk.faults) == 3


def test_nobody_there(amazon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mturk_calls, "_TRIES", 1)
    with pytest.raises(DialensError, match=r"cannot be reached at http://127\.0\.0\.1:9"):
        MechanicalTurk(endpoint="http://127.0.0.1:9").balance()


def test_production_needs_the_file_and_the_flag() -> None:
    sandbox, real = tea(kind="mturk"), tea(kind="mturk", sandbox=False)
    with pytest.raises(DialensError, match="sandbox: false"):
        recruiter_of(sandbox, {}, production=True)
    with pytest.raises(DialensError, match="--production"):
        recruiter_of(real, {})
    made = {
        production: recruiter_of(study, {}, production=production)
        for study, production in ((sandbox, False), (real, True))
    }
    # The addresses of Amazon's API reference.
    for production, name in ((False, "mturk-requester-sandbox"), (True, "mturk-requester")):
        recruiter = made[production]
        assert isinstance(recruiter, MechanicalTurk)
        address = recruiter._client.meta.endpoint_url
        assert address == f"https://{name}.us-east-1.amazonaws.com"


def test_odd_answers_hold_no_code() -> None:
    for text in ("", "no xml", "<a/>", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'):
        assert submitted_code(text) is None
