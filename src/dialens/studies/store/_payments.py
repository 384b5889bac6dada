"""Bonuses, written down before they are paid, so that nobody is paid the same twice."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from dialens.base import DialensError, counted
from dialens.studies.store._changes import Change, log_changes
from dialens.studies.store._operating import OperationStore
from dialens.studies.store._session import find_study, lock_study
from dialens.studies.store._tables import LOST, PAID, PAYING, payments

SETTLES_WITHIN = timedelta(minutes=10)
"""How long a payment may be under way before it counts as lost."""


@dataclass(frozen=True)
class Payment:
    """A bonus that was begun.

    Attributes:
        work: The platform's name for what it is paid for.
        participant: The pseudonym; none if nobody of that id took part.
        amount: What the person gets.
        state: `paying`; `paid` once the platform said so; `lost` if its answer did not come.
        begun_at: When the platform was asked.
        who: The name of the person who asked for it; none if it is not known.
    """

    work: str
    participant: str | None
    amount: Decimal
    state: str
    begun_at: datetime
    who: str | None

    def __str__(self) -> str:
        whom = f" by {self.who}" if self.who else ""
        when = f"{self.begun_at:%Y-%m-%d %H:%M} UTC"
        return f"{self.amount} for {self.participant or self.work}, begun {when}{whom}"


@dataclass(frozen=True)
class PaymentStore:
    """The bonuses of a recruiter's work.

    Attributes:
        operating: In whose name they are paid.
        recruiter: Whose work it is.
    """

    operating: OperationStore
    recruiter: str

    def begun(self, study: str) -> tuple[Payment, ...]:
        """Every bonus of a study that was begun, paid ones among them, in the order of beginning.

        Args:
            study: The hash of its definition.
        """
        with self.operating.store.database.reading() as connection:
            own = payments.c.study_id == find_study(connection, study).id
            query = select(payments).where(own, payments.c.recruiter == self.recruiter)
            rows = connection.execute(query.order_by(payments.c.begun_at, payments.c.id))
            return tuple(
                Payment(
                    row.work,
                    row.participant,
                    _amount(row.cents),
                    row.state,
                    row.begun_at,
                    row.who,
                )
                for row in rows
            )

    def begin(
        self, study: str, works: Mapping[str, str | None], amount: Decimal, *, now: datetime
    ) -> None:
        """Write down that bonuses are being paid, all of them or none.

        Args:
            study: The hash of its definition.
            works: What they are paid for, with the pseudonyms of the people.
            amount: What each gets.
            now: The time.

        Raises:
            DialensError: One of them was begun before, by whomever.
        """
        with self.operating.store.database.writing() as connection:
            row = lock_study(connection, study)
            query = select(payments.c.work).where(self._those(works, amount))
            before = connection.execute(query).scalars().all()
            if before:
                raise DialensError(
                    f"Nobody was paid: {counted(len(before), 'bonus', 'bonuses')} of {amount} "
                    f"{'is' if len(before) == 1 else 'are'} being paid already, or "
                    "were begun and got lost. Look again who is still to be paid."
                )
            connection.execute(
                insert(payments),
                [
                    {
                        "study_id": row.id,
                        "recruiter": self.recruiter,
                        "work": work,
                        "cents": _cents(amount),
                        "participant": participant,
                        "state": PAYING,
                        "begun_at": now,
                        "who": self.operating.who or None,
                    }
                    for work, participant in works.items()
                ],
            )

    def paid(
        self,
        study: str,
        works: Mapping[str, str | None],
        amount: Decimal,
        reason: str,
        *,
        now: datetime,
    ) -> None:
        """Write down, and log, that the platform took the order."""
        with self.operating.store.database.writing() as connection:
            row = lock_study(connection, study)
            self._set(connection, works, amount, PAID)
            made = [Change("bonus", None, str(amount), who, reason) for who in works.values()]
            by, who = self.operating.by, self.operating.who
            log_changes(connection, row.id, made, by=by, who=who, now=now)

    def lost(self, works: Mapping[str, str | None], amount: Decimal) -> None:
        """Write down that nobody knows whether they were paid: the platform did not say so."""
        with self.operating.store.database.writing() as connection:
            self._set(connection, works, amount, LOST)

    def release(self, study: str, work: str, amount: Decimal, *, now: datetime) -> None:
        """Let a bonus be paid that was begun before: somebody has seen that it did not arrive.

        Raises:
            DialensError: It was paid, or it may still be under way.
        """
        with self.operating.store.database.writing() as connection:
            lock_study(connection, study)
            own = self._those({work: None}, amount)
            row = connection.execute(select(payments).where(own)).one_or_none()
            if row is None:
                return
            if row.state == PAID:
                raise DialensError(f"The bonus of {amount} for {work} was paid.")
            if row.state == PAYING and now - row.begun_at < SETTLES_WITHIN:
                raise DialensError(
                    f"The bonus of {amount} for {work} is being paid right now. If it does not "
                    f"arrive, look again in {SETTLES_WITHIN.seconds // 60} minutes."
                )
            connection.execute(delete(payments).where(own))

    def _those(self, works: Mapping[str, str | None], amount: Decimal) -> ColumnElement[bool]:
        return and_(
            payments.c.recruiter == self.recruiter,
            payments.c.work.in_(list(works)),
            payments.c.cents == _cents(amount),
        )

    def _set(
        self, connection: Connection, works: Mapping[str, str | None], amount: Decimal, state: str
    ) -> None:
        own = self._those(works, amount)
        connection.execute(update(payments).where(own).values(state=state))


def _cents(amount: Decimal) -> int:
    return int(amount * 100)


def _amount(cents: int) -> Decimal:
    return (Decimal(cents) / 100).quantize(Decimal("0.01"))
