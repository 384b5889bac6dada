"""`dialens study recruit` as a researcher runs it, against the platforms' stand-ins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.study._recruit import app
from dialens.studies import load_study
from dialens.studies.design import MTurkRecruiter, ProlificRecruiter
from dialens.studies.store import OperationStore, PaymentStore, Session, Store
from tests.studies.recruiters.conftest import URL
from tests.studies.recruiters.prolific_server import ProlificServer
from tests.studies.recruiters.turk import Turk
from tests.studies.store.people import NOON, seeds

STUDY = """\
study: tea
title: How good are these replies?
targets: 5
items:
  inline:
    - {id: c1, context: [Tea or coffee?], responses: {plain: Tea., warm: "Tea, always!"}}
qualities:
  coherence: {definition: How well it fits., instrument: magnitude}
factors: {order: [random, fixed]}
consent: {text: We ask what you think of replies.}
instructions: {text: Judge each reply.}
recruiter: {kind: %s, reward: 1.5}
"""


def run(*arguments: object, answer: str | None = None) -> Result:
    runner = CliRunner(env={"COLUMNS": "120"})
    return runner.invoke(app, [str(part) for part in arguments], input=answer)


def done(*arguments: object, answer: str | None = None) -> str:
    result = run(*arguments, answer=answer)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return study_folder(tmp_path, "mturk")


def study_folder(path: Path, kind: str) -> Path:
    (path / "study.yaml").write_text(STUDY % kind)
    with Store.open(f"sqlite:///{path / 'study.db'}") as store:
        store.register(load_study(path), now=NOON)
    return path


def come(folder: Path, worker: str, *, complete: bool = True) -> tuple[Session, str]:
    study = load_study(folder)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        came = store.begin(
            study.hash,
            recruiter=study.design.recruiter.kind,
            worker=worker,
            now=NOON,
            seed_source=seeds(),
        )
        code = store.complete(came.token, screens=0, now=NOON) if complete else ""
    return came, code


def test_estimate_asks_nobody(folder: Path) -> None:
    # Two cells of five; 40 % from ten assignments on: 10 × 2.10.
    assert "10 × (1.50 + 0.60 fee) = 21.00 USD" in done("estimate", folder)
    assert "9 × (1.50 + 0.30 fee) = 16.20 USD" in done("estimate", folder, "--places", 9)


def test_money_is_spent_after_a_yes_only(folder: Path, turk: Turk) -> None:
    post = ("create", folder, "--url", URL, "--endpoint", turk.url)
    for answer in ("n\n", "", None):
        refused = run(*post, answer=answer)
        assert refused.exit_code == 1
        assert "21.00 USD" in refused.output
        assert turk.hits == {}
    assert "10 places" in done(*post, answer="y\n")
    assert len(turk.hits) == 1
    assert "Posted before: 3HIT0000" in done(*post, "--yes")
    assert len(turk.hits) == 1


def test_from_posting_to_bonus(folder: Path, turk: Turk) -> None:
    at = ("--endpoint", turk.url)
    done("create", folder, "--url", URL, "--yes", *at)
    hit = next(iter(turk.hits))
    good, code = come(folder, "A1GOOD")
    left, _ = come(folder, "A2LEFT", complete=False)
    first, second = turk.hand_in(hit, "A1GOOD", code), turk.hand_in(hit, "A2LEFT")
    third = turk.hand_in(hit, "A3STRANGER", "X")
    told = done("status", folder, *at)
    for words in (
        f"{first}  submitted  {good.participant}: completed",
        f"{second}  submitted  {left.participant}: has not completed the study",
        f"{third}  submitted  —: nobody of this id took part",
        "3 submitted",
    ):
        assert words in told
    assert "A1GOOD" not in told
    refused = run("approve", folder, *at, answer="n\n")
    assert refused.exit_code == 1
    assert set(turk.statuses().values()) == {"Submitted"}
    told = done("approve", folder, "--yes", *at)
    assert "1 × 1.50 = 1.50 USD" in told
    assert f"! {second} needs your decision: has not completed the study." in told
    # Nobody is ever rejected by itself.
    assert turk.statuses() == {first: "Approved", second: "Submitted", third: "Submitted"}
    assert "nothing to approve" in done("approve", folder, "--yes", *at)
    done("approve", folder, second, "--yes", *at)
    done("reject", folder, third, "--reason", "You have not taken part.", "--yes", *at)
    assert turk.statuses() == {first: "Approved", second: "Approved", third: "Rejected"}
    assert turk.assignments[third]["RequesterFeedback"] == "You have not taken part."
    pay = ("bonus", folder, "--amount", "0.50", "--reason", "It took long.", "--yes", *at)
    assert "1 × (0.50 + 0.10 fee) = 0.60 USD" in done(*pay)  # who completed
    assert "are skipped" in done(*pay)
    assert [one["AssignmentId"] for one in turk.bonuses] == [first]
    assert "takes nobody new" in done("expire", folder, *at)
    assert "is deleted" in done("delete", folder, hit, *at)
    assert "Nothing is posted" in done("status", folder, *at)


def test_a_bonus_by_completion_code_and_payment_is_written_down(folder: Path, turk: Turk) -> None:
    at = ("--endpoint", turk.url)
    done("create", folder, "--url", URL, "--yes", *at)
    hit = next(iter(turk.hits))
    (anna, code), (_, other) = come(folder, "A1ANNA"), come(folder, "A2BEN")
    work = turk.hand_in(hit, "A1ANNA", code)
    turk.hand_in(hit, "A2BEN", other)
    done("approve", folder, work, "--yes", *at)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        (mine,) = OperationStore(store, "command").code_holders(code)
        (theirs,) = OperationStore(store, "command").code_holders(other)
    assert mine.participant == anna.participant
    assert mine.paid_at is not None
    assert theirs.paid_at is None
    done("bonus", folder, code, "--amount", "0.50", "--reason", "It took long.", "--yes", *at)
    assert [one["AssignmentId"] for one in turk.bonuses] == [work]


def test_a_lost_bonus_is_paid_with_again_only(folder: Path, turk: Turk) -> None:
    at = ("--endpoint", turk.url)
    done("create", folder, "--url", URL, "--yes", *at)
    _, code = come(folder, "A1ANNA")
    work = turk.hand_in(next(iter(turk.hits)), "A1ANNA", code)
    done("approve", folder, work, "--yes", *at)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        payments = PaymentStore(OperationStore(store, "dashboard", "Ada"), "mturk")
        payments.begin(load_study(folder).hash, {work: None}, Decimal("0.50"), now=long_ago)
    pay = ("bonus", folder, "--amount", "0.50", "--reason", "It took long.", "--yes", *at)
    told = done(*pay)
    assert f"! {work} may not have got its bonus" in told
    assert "There is nobody to pay" in told
    assert turk.bonuses == []
    assert "Paid 1." in done(*pay, "--again")
    assert "are skipped" in done(*pay, "--again")
    assert [one["AssignmentId"] for one in turk.bonuses] == [work]


def test_places_and_pay_are_those_that_hold_now(folder: Path) -> None:
    study = load_study(folder)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        changed = {"targets": 4, "recruiter": {"reward": 2}}
        OperationStore(store, "dashboard").operate(study.hash, changed, now=NOON)
    # Two cells of four; 20 % for fewer than ten.
    assert "8 × (2.00 + 0.40 fee) = 19.20 USD" in done("estimate", folder)


def test_prolific_is_a_draft_until_published(
    tmp_path: Path, prolific_server: ProlificServer
) -> None:
    folder = study_folder(tmp_path, "prolific")
    post = ("create", folder, "--url", URL, "--yes", "--endpoint", prolific_server.url)
    assert "It is a draft" in done(*post)
    study = next(iter(prolific_server.studies.values()))
    assert study["status"] == "UNPUBLISHED"
    assert "draft" not in done(*post, "--publish")
    assert (study["status"], len(prolific_server.studies)) == ("ACTIVE", 1)
    _, code = come(folder, "5f00aa")
    name = prolific_server.come(study["id"], "5f00aa", code=code)
    done("approve", folder, "--yes", "--endpoint", prolific_server.url)
    assert prolific_server.statuses() == {name: "APPROVED"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("reject", "3NONE", "--reason", "x"), "Nobody handed in '3NONE'"),
        (("reject", "3NONE", "--reason", " "), "needs a reason"),
        (("bonus", "--amount", "-1", "--reason", "x"), "--amount"),
        (("bonus", "--amount", "NaN", "--reason", "x"), "--amount"),
        (("bonus", "--amount", "0.005", "--reason", "x"), "whole cents"),
        (("bonus", "--amount", "1"), "--reason"),
        (("status", "--production"), "sandbox: false"),
    ],
)
def test_mistakes(folder: Path, turk: Turk, arguments: tuple[str, ...], told: str) -> None:
    command, *rest = arguments
    failed = run(command, folder, *rest, "--endpoint", turk.url)
    assert isinstance(failed.exception, DialensError)
    assert told in str(failed.exception)


def test_people_by_link_are_paid_by_you(tmp_path: Path) -> None:
    folder = study_folder(tmp_path, "link")
    assert "10 × (1.50 + 0.00 fee) = 15.00 USD" in done("estimate", folder)
    assert "participants go to https" in done("create", folder, "--url", URL, "--yes")
    assert "Nothing is posted" in done("status", folder)
    failed = run("delete", folder, "link")
    assert isinstance(failed.exception, DialensError)
    assert "paid by you" in str(failed.exception)


def test_the_page_names_every_setting(repository: Path) -> None:
    page = (repository / "docs" / "recruiting.md").read_text("utf-8")
    for kind in (MTurkRecruiter, ProlificRecruiter):
        for name in set(kind.model_fields) - {"kind"}:
            assert f"`{name}`" in page, name
    for command in app.registered_commands:
        assert f"`{command.name}`" in page or f"recruit {command.name}" in page, command.name
