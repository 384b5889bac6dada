"""Prolific through httpx, against a stand-in that checks the token, bodies and pages."""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies import TEA, study_of
from dialens.studies.recruiters import Prolific, completion_code, match
from tests.studies.recruiters.conftest import URL, tea
from tests.studies.recruiters.platform import LOSE, Answer
from tests.studies.recruiters.prolific_server import TOKEN, ProlificServer

REASON = (
    "The answers to both attention checks were wrong, and every reply was given the same number "
    "within two seconds."
)


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def prolific(prolific_server: ProlificServer, waits: list[float]) -> Prolific:
    return Prolific({"PROLIFIC_API_TOKEN": TOKEN}, prolific_server.url, waits.append)


def test_a_draft_is_made_as_the_study_file_says(
    prolific: Prolific, prolific_server: ProlificServer
) -> None:
    study = tea(
        kind="prolific", devices=["desktop"], filters={"current-country-of-residence": ["0", "1"]}
    )
    made = prolific.create(study, URL, 80)
    assert (made.state, made.places, made.free, made.url) == ("UNPUBLISHED", 80, 80, URL)
    body = prolific_server.studies[made.id]
    assert body["reward"] == 150  # pence
    assert body["device_compatibility"] == ["desktop"]
    assert body["prolific_id_option"] == "url_parameters"
    assert body["external_study_url"] == (
        f"{URL}&PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    review, give_back = body["completion_codes"][0], body["completion_codes"][1]
    assert review == {
        "code": completion_code(study),
        "code_type": "COMPLETED",
        "actions": [{"action": "MANUALLY_REVIEW"}],
    }
    assert give_back["code"] == completion_code(study, "no_consent")
    assert give_back["code_type"] == "NO_CONSENT"
    assert [one["action"] for one in give_back["actions"]] == ["REQUEST_RETURN"]
    codes = [one["code"] for one in body["completion_codes"]]
    assert len(set(codes)) == len(codes) == 3  # completed, no consent, withdrawn
    assert body["filters"] == [
        {"filter_id": "current-country-of-residence", "selected_values": ["0", "1"]}
    ]


def test_a_draft_is_published_once_and_ended(
    prolific: Prolific, prolific_server: ProlificServer
) -> None:
    study = tea(kind="prolific")
    made = prolific.create(study, URL, 4)
    assert prolific.create(study, URL, 4) == made
    assert len(prolific_server.studies) == 1
    prolific.publish(made.id)
    prolific.publish(made.id)
    assert prolific.postings(study)[0].state == "ACTIVE"
    assert prolific.create(study, URL, 4).id == made.id
    with pytest.raises(DialensError, match="Only draft"):
        prolific.delete(made.id)
    prolific.expire(made.id)
    draft = prolific.create(study, URL, 4, batch=2)
    last = prolific.create(study, URL, 4, batch=3)
    assert len(prolific.postings(study)) == 3  # two pages
    prolific.delete(draft.id)
    assert [one.id for one in prolific.postings(study)] == [made.id, last.id]


def test_submissions_are_matched_approved_and_given_a_bonus(
    prolific: Prolific, prolific_server: ProlificServer, taken: Any
) -> None:
    data = taken(tea(kind="prolific"))
    posting = prolific.create(data.study, URL, 9).id
    names = {}
    for number in range(3):
        _, code = data.come(f"5f{number:022x}")
        names[prolific_server.come(posting, f"5f{number:022x}", code=code or "")] = ""
    data.come("6e00", complete=False)
    names[prolific_server.come(posting, "6e00")] = "not completed"
    names[prolific_server.come(posting, "7a00", "RETURNED")] = "nobody"
    found = match(data.store, data.study.hash, "prolific", prolific.work(posting))
    assert [one.work.id for one in found] == list(names)  # three pages, in order
    for one in found:
        assert names[one.work.id] in one.doubt
        assert one.payable == (not names[one.work.id])
    payable = [one.work for one in found if one.payable]
    for work in payable:
        prolific.approve(work)
        prolific.approve(work)
    assert list(prolific_server.statuses().values()) == [
        *["APPROVED"] * 3,
        "AWAITING REVIEW",
        "RETURNED",
    ]
    prolific.bonus(payable[:2], Decimal("0.50"), "Thanks.")
    assert [one.bonuses for one in prolific.work(posting)][:3] == [
        (Decimal("0.5"),),
        (Decimal("0.5"),),
        (),
    ]


def test_rejections_need_a_category_and_a_reason(
    prolific: Prolific, prolific_server: ProlificServer
) -> None:
    posting = prolific.create(tea(kind="prolific"), URL, 2).id
    name = prolific_server.come(posting, "5f00")
    work = prolific.work(posting)[0]
    with pytest.raises(DialensError, match="Did you mean FAILED_CHECK"):
        prolific.reject(work, REASON, category="FAILED_CHECKS")
    with pytest.raises(DialensError, match="at least 100 characters"):
        prolific.reject(work, "Bad.", category="FAILED_CHECK")
    assert prolific_server.statuses()[name] == "AWAITING REVIEW"
    prolific.reject(work, REASON, category="FAILED_CHECK")
    assert prolific_server.statuses()[name] == "REJECTED"


def test_the_token_is_written_nowhere(
    prolific: Prolific, prolific_server: ProlificServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    prolific.create(tea(kind="prolific"), URL, 2)
    wrong = Prolific({"PROLIFIC_API_TOKEN": "wrong-token-1234"}, prolific_server.url)
    with pytest.raises(DialensError, match="refuses the token") as caught:
        wrong.postings(tea(kind="prolific"))
    seen = caplog.text + repr(prolific) + repr(prolific._api) + str(caught.value) + repr(wrong)
    assert "api/v1/studies" in seen  # requests were logged
    assert TOKEN not in seen
    assert "wrong-token-1234" not in seen


def test_no_token() -> None:
    for environment in ({}, {"PROLIFIC_API_TOKEN": "  "}):
        with pytest.raises(DialensError, match="PROLIFIC_API_TOKEN"):
            Prolific(environment).postings(tea(kind="prolific"))
    with pytest.raises(DialensError, match="odd characters"):
        Prolific({"PROLIFIC_API_TOKEN": "tok\nen"}).postings(tea(kind="prolific"))


def test_it_waits_when_asked_to(
    prolific: Prolific, prolific_server: ProlificServer, waits: list[float]
) -> None:
    later = Answer(429, {"error": {"detail": "slow"}}, {"Retry-After": "7"})
    prolific_server.faults = [later, Answer(503), Answer(502)]
    assert prolific.postings(tea(kind="prolific")) == ()
    assert waits[0] == 7
    assert len(waits) == 3
    prolific_server.faults = [later] * 9
    with pytest.raises(DialensError, match="slow down"):
        prolific.postings(tea(kind="prolific"))


def test_money_is_never_sent_twice_on_a_guess(
    prolific: Prolific, prolific_server: ProlificServer
) -> None:
    posting = prolific.create(tea(kind="prolific"), URL, 2).id
    prolific_server.come(posting, "5f00", "APPROVED")
    work = prolific.work(posting)
    bulk = Answer(201, {"id": "bulk0"})
    prolific_server.bulks["bulk0"] = [(work[0].id, Decimal("0.50"))]
    prolific_server.faults = [bulk, LOSE]
    with pytest.raises(DialensError, match="not known"):
        prolific.bonus(work, Decimal("0.50"), "Thanks.")
    paid = [name for name, _ in prolific_server.requests if name.endswith("/pay/")]
    assert len(paid) == 1
    assert prolific.work(posting)[0].bonuses == (Decimal("0.5"),)
    # Nor is a study created twice: the next run finds it.
    prolific_server.faults = [Answer(200, {"results": [], "meta": {"count": 0}}), LOSE]
    with pytest.raises(DialensError, match="not known"):
        prolific.create(tea(kind="prolific"), URL, 2, batch=2)
    before = len(prolific_server.studies)
    prolific.create(tea(kind="prolific"), URL, 2, batch=2)
    assert len(prolific_server.studies) == before == 2


def test_what_prolific_says_is_passed_on(
    prolific: Prolific, prolific_server: ProlificServer
) -> None:
    detail = {"reward": ["Ensure this value is greater than or equal to 100."]}
    none = Answer(200, {"results": [], "meta": {"count": 0}})
    prolific_server.faults = [none, Answer(400, {"error": {"detail": detail}})]
    with pytest.raises(DialensError, match=r"\(400\): reward: Ensure this value"):
        prolific.create(tea(kind="prolific", reward=0.1), URL, 2)
    prolific_server.faults = [Answer(500)]
    with pytest.raises(DialensError, match="trouble of its own"):
        prolific.postings(tea(kind="prolific"))
    with pytest.raises(DialensError, match="letters and digits"):
        prolific.expire("x/../y")


def test_nobody_there() -> None:
    nowhere = Prolific({"PROLIFIC_API_TOKEN": TOKEN}, "http://127.0.0.1:9", lambda _: None)
    with pytest.raises(DialensError, match=r"cannot be reached at http://127\.0\.0\.1:9"):
        nowhere.postings(tea(kind="prolific"))


def test_one_code_for_server_and_platform() -> None:
    plain = tea(kind="prolific")
    assert completion_code(plain) == completion_code(tea(kind="prolific"))
    # The reward may be raised while people take part: the platform knows the same code still.
    assert completion_code(plain) == completion_code(tea(kind="prolific", reward=2))
    other = study_of(TEA | {"title": "Another", "recruiter": {"kind": "prolific"}})
    assert completion_code(plain) != completion_code(other)
    assert completion_code(tea(kind="prolific", completion_code="C0DE1")) == "C0DE1"
    assert completion_code(tea(kind="mturk")) is None


def test_costs_by_hand() -> None:
    # A third of 1.50 on each of 80: 80 × 2.00.
    assert Prolific({}).estimate(tea(kind="prolific"), 80).total == Decimal("160.00")
    assert Prolific({}).estimate(tea(kind="prolific", fee=0.4286), 2).total == Decimal("4.28")
