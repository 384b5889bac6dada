"""Approving, rejecting and bonuses on the dashboard, where the recruiter's platform can do that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException
from fastapi.responses import RedirectResponse, Response

from dialens.base import DialensError, counted
from dialens.studies import Study
from dialens.studies.recruiters import (
    REJECTIONS,
    Link,
    Matched,
    Recruiter,
    bonuses_due,
    match,
    money,
    pay_bonuses,
    unsettled,
)
from dialens.studies.store import OperationStore, Payment, PaymentStore
from dialens.web._cookies import Login
from dialens.web._desk import Desk
from dialens.web._forms import SentForm
from dialens.web._login import HOME


@dataclass(frozen=True)
class Account:
    """What people handed in at the platform, beside what the database says.

    Attributes:
        recruiter: Reaches the platform.
        study: As it is run now.
        works: What was handed in, unfinished work left out.
        operating: Writes down what is done, in the name of who is logged in.
    """

    recruiter: Recruiter
    study: Study
    works: tuple[Matched, ...]
    operating: OperationStore

    @property
    def payments(self) -> PaymentStore:
        """The bonuses, each written down before it is paid."""
        return PaymentStore(self.operating, self.recruiter.name)

    def named(self, work: str) -> Matched:
        """A piece of work by its id."""
        for entry in self.works:
            if entry.work.id == work:
                return entry
        raise DialensError(f"Nobody handed in {work!r} for this study.")

    def chosen(self, form: Mapping[str, str], usual: list[Matched]) -> list[Matched]:
        """The work that a form names; all the usual if it names none."""
        names = (form.get("works") or form.get("work", "")).split()
        return [self.named(work) for work in names] if names else usual

    def payable(self) -> list[Matched]:
        """Work that can be approved without a second look."""
        return [entry for entry in self.works if entry.payable]

    def approved(self) -> list[Matched]:
        """Work whose authors may get a bonus."""
        return [one for one in self.works if one.work.state == "approved" and not one.doubt]

    def unsettled(self) -> tuple[Payment, ...]:
        """Bonuses that were begun, and that the platform does not show."""
        return unsettled(self.payments, self.study.hash, self.works)


def open_account(desk: Desk, login: Login) -> Account:
    """Ask the platform; this may take a while."""
    study = desk.site.running.now()
    recruiter = desk.platform.recruiter(study)
    if isinstance(recruiter, Link):
        raise HTTPException(404, "People who come by link are paid by you.")
    works = [work for posting in recruiter.postings(study) for work in recruiter.work(posting.id)]
    matched = match(desk.site.store, study.hash, recruiter.name, works)
    finished = tuple(one for one in matched if one.work.state != "unfinished")
    return Account(recruiter, study, finished, desk.operating(login))


@dataclass(frozen=True)
class Decision:
    """What is to be done with work, to be agreed to before it is.

    Attributes:
        title: The question.
        lines: What it means and costs.
        word: On the button.
        works: Whose work it is about.
        carry_out: Does it.
    """

    title: str
    lines: tuple[str, ...]
    word: str
    works: Sequence[Matched]
    carry_out: Callable[[], None]


Decide = Callable[[Desk, Account, Mapping[str, str]], Decision]


def payment_routes(desk: Desk) -> APIRouter:
    """The addresses of payment."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[Login, Depends(desk.logged_in)]
    here = f"{desk.home}/payment"

    @router.get("/payment")
    def payment(login: LoggedIn) -> Response:
        return _page(desk, login)

    @router.post("/payment/{what}")
    def settle(login: LoggedIn, what: str, form: SentForm) -> Response:
        desk.check(form, login)
        if what not in _DECISIONS:
            raise HTTPException(404)
        try:
            decision = _DECISIONS[what](desk, open_account(desk, login), form)
            # Nobody's but theirs, even if more is handed in before somebody agrees.
            works = " ".join(entry.work.id for entry in decision.works)
            asked = desk.sure(
                login,
                {**form, "works": works},
                title=decision.title,
                lines=decision.lines,
                action=f"{here}/{what}",
                word=decision.word,
                back=here,
            )
            if asked is None:
                decision.carry_out()
        except DialensError as error:
            return _page(desk, login, sorry=str(error))
        return asked or RedirectResponse(here, 303)

    return router


def _approval(desk: Desk, account: Account, form: Mapping[str, str]) -> Decision:
    chosen = account.chosen(form, account.payable())
    waiting = [entry for entry in chosen if entry.work.state == "submitted"]
    if not waiting:
        raise DialensError("There is nothing to approve.")
    cost = account.recruiter.estimate(account.study, len(waiting))
    doubts = [f"{one.work.id}: {one.doubt}." for one in waiting if one.doubt]

    def approve() -> None:
        for entry in waiting:
            account.recruiter.approve(entry.work)
            if entry.participant is not None:
                account.operating.mark_paid(entry.participant, now=desk.now())

    lines = (f"{counted(len(waiting), 'person is', 'people are')} paid: {cost}.", *doubts)
    word = f"Approve {len(waiting)}"
    return Decision(f"{word}?", lines, word, waiting, approve)


def _rejection(desk: Desk, account: Account, form: Mapping[str, str]) -> Decision:
    entry = account.named(form.get("work", ""))
    reason = form.get("reason", "").strip()
    if not reason:
        raise DialensError("A rejection needs a reason, which the person reads.")
    if entry.work.state != "submitted":
        raise DialensError(f"{entry.work.id} cannot be rejected: it is {entry.work.state}.")
    done = (f"{entry.participant} completed the study.",) if entry.completed else ()

    def reject() -> None:
        account.recruiter.reject(entry.work, reason, category=form.get("category") or None)

    lines = (
        *done,
        "The person is not paid, and it harms their standing at the platform.",
        f"They read: {reason}",
    )
    return Decision(f"Reject {entry.work.id}?", lines, "Reject", (entry,), reject)


def _bonus(desk: Desk, account: Account, form: Mapping[str, str]) -> Decision:
    each, reason = _amount(form.get("amount", "")), form.get("reason", "").strip()
    if not reason:
        raise DialensError("A bonus needs a reason, which the person reads.")
    chosen = account.chosen(form, account.approved())
    due = bonuses_due(account.payments, account.study.hash, chosen, each)
    if not due.works and due.unsure:
        raise DialensError(
            f"Nobody is paid twice: a bonus was begun before ({due.unsure[0]}), and "
            f"{account.recruiter.name} does not show it. Look there, and then below."
        )
    if not due.works:
        raise DialensError(f"There is nobody to pay: whoever got a bonus of {each} gets no second.")
    cost = account.recruiter.bonus_cost(account.study, each, len(due.works))
    skipped = [f"Skipped, begun before and not shown yet: {one}." for one in due.unsure]
    if due.got:
        skipped.append(f"{len(due.got):,} got a bonus of {each} before and are skipped.")

    def pay() -> None:
        pay_bonuses(
            account.payments,
            account.recruiter,
            account.study,
            due.works,
            each,
            reason,
            clock=desk.now,
        )

    lines = (f"The bonus costs {cost}.", *skipped)
    return Decision(f"Pay a bonus to {len(due.works)}?", lines, "Pay the bonus", due.works, pay)


def _again(desk: Desk, account: Account, form: Mapping[str, str]) -> Decision:
    entry, each = account.named(form.get("work", "")), _amount(form.get("amount", ""))
    known = [one for one in account.unsettled() if (one.work, one.amount) == (entry.work.id, each)]
    if not known:
        raise DialensError(f"The bonus of {each} for {entry.work.id} is not unsettled any more.")

    def release() -> None:
        account.payments.release(account.study.hash, entry.work.id, each, now=desk.now())

    lines = (
        f"{known[0]}.",
        f"If {account.recruiter.name} paid it after all, a second payment would be too much: look "
        "there first. Nothing is paid yet; the bonus can then be paid as any other.",
    )
    return Decision("Was it not paid?", lines, "It was not paid", (entry,), release)


_DECISIONS: Mapping[str, Decide] = {
    "approve": _approval,
    "reject": _rejection,
    "bonus": _bonus,
    "again": _again,
}


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise DialensError(f"The amount is what each person gets, e.g. 0.50; seen: {text!r}.")
    return money(amount)


def _page(desk: Desk, login: Login, *, sorry: str = "") -> Response:
    account, problem = None, sorry
    try:
        account = open_account(desk, login)
    except DialensError as error:
        problem = sorry or str(error)
    return desk.page(
        "payment",
        login,
        409 if problem else 200,
        account=account,
        categories=REJECTIONS if account and account.recruiter.name == "prolific" else (),
        sorry=problem,
    )
