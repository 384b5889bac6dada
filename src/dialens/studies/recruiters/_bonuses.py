"""Paying bonuses: who is due, and each written down before the platform is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from dialens.studies._study import Study
from dialens.studies.recruiters._matching import Matched
from dialens.studies.recruiters._recruiter import Recruiter
from dialens.studies.store import PAID, Payment, PaymentStore


@dataclass(frozen=True)
class Due:
    """Who is to be paid a bonus of some amount, and who is not.

    Attributes:
        works: Whose bonus it is time to pay.
        got: Work whose bonus was paid, as the platform or the database says.
        unsure: Bonuses that were begun, and that the platform does not show: they may be on their
            way, or lost. Nobody is paid a second time before somebody has looked.
    """

    works: tuple[Matched, ...]
    got: tuple[Matched, ...]
    unsure: tuple[Payment, ...]


def unsettled(payments: PaymentStore, study: str, works: Sequence[Matched]) -> tuple[Payment, ...]:
    """Bonuses that were begun, are not known to be paid, and are not shown by the platform."""
    shown = {entry.work.id: entry.work.bonuses for entry in works}
    return tuple(
        payment
        for payment in payments.begun(study)
        if payment.state != PAID and payment.amount not in shown.get(payment.work, ())
    )


def bonuses_due(
    payments: PaymentStore, study: str, chosen: Sequence[Matched], amount: Decimal
) -> Due:
    """Of the work that was chosen, what is still to get a bonus of this amount.

    Args:
        payments: The bonuses begun so far.
        study: The hash of its definition.
        chosen: As the platform shows it now.
        amount: What each gets.
    """
    begun = {one.work: one for one in payments.begun(study) if one.amount == amount}
    works, got, unsure = [], [], []
    for entry in chosen:
        payment = begun.get(entry.work.id)
        if amount in entry.work.bonuses or (payment is not None and payment.state == PAID):
            got.append(entry)
        elif payment is not None:
            unsure.append(payment)
        else:
            works.append(entry)
    return Due(tuple(works), tuple(got), tuple(unsure))


def pay_bonuses(
    payments: PaymentStore,
    recruiter: Recruiter,
    study: Study,
    works: Sequence[Matched],
    amount: Decimal,
    reason: str,
    *,
    clock: Callable[[], datetime],
) -> None:
    """Pay a bonus to each, once, whoever else pays at the same time in whatever process.

    Raises:
        DialensError: One of them was begun before, and nobody is paid; or the platform did not say
            that it pays, and then they count as lost until somebody looks.
    """
    people = {entry.work.id: entry.participant for entry in works}
    payments.begin(study.hash, people, amount, now=clock())
    try:
        recruiter.bonus([entry.work for entry in works], amount, reason)
    except BaseException:
        payments.lost(people, amount)
        raise
    payments.paid(study.hash, people, amount, reason, now=clock())
