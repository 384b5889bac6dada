"""What every recruiter can do: say what it costs, post a study, list and settle people's work."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Protocol
from urllib.parse import urlsplit

from dialens.base import DialensError
from dialens.studies._study import Study

SUBMITTED, APPROVED, REJECTED, UNFINISHED = "submitted", "approved", "rejected", "unfinished"
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Cost:
    """What paying people comes to.

    Attributes:
        people: How many are paid.
        each: What each of them gets.
        fee_each: What the platform takes for each, on top.
        currency: ISO code.

    Examples:
        >>> cost = Cost(80, Decimal("1.50"), Decimal("0.60"), "USD")
        >>> cost.total, str(cost)
        (Decimal('168.00'), '80 × (1.50 + 0.60 fee) = 168.00 USD')
    """

    people: int
    each: Decimal
    fee_each: Decimal
    currency: str

    @property
    def total(self) -> Decimal:
        """Rewards and fees."""
        return self.people * (self.each + self.fee_each)

    def __str__(self) -> str:
        return f"{self.people} × ({self.each} + {self.fee_each} fee) = {self.total} {self.currency}"


@dataclass(frozen=True)
class Posting:
    """A study on a platform.

    Attributes:
        id: The platform's.
        state: In the platform's words.
        places: People it is open to in all.
        free: Places nobody has taken yet.
        pending: People at work.
        done: People who handed in, whatever became of it.
        url: Where participants are sent.
    """

    id: str
    state: str
    places: int
    free: int = 0
    pending: int = 0
    done: int = 0
    url: str = ""


@dataclass(frozen=True)
class Work:
    """What one person handed in at the platform.

    Attributes:
        id: The platform's name for it: an assignment, a submission.
        posting: Where it belongs.
        worker: The person's id at the platform; not for print.
        state: `submitted`, `approved`, `rejected` or `unfinished`.
        code: The completion code handed in; none if there was none.
        bonuses: What was paid on top so far.
    """

    id: str
    posting: str
    worker: str = field(repr=False)
    state: str
    code: str | None = None
    bonuses: tuple[Decimal, ...] = ()


class Recruiter(Protocol):
    """A place where participants come from. Nothing here rejects anybody by itself."""

    @property
    def name(self) -> str:
        """As `Store.begin` takes it, and the study file."""

    def estimate(self, study: Study, places: int) -> Cost:
        """What `places` participants cost."""

    def bonus_cost(self, study: Study, amount: Decimal, people: int) -> Cost:
        """What a bonus for so many people costs."""

    def create(self, study: Study, url: str, places: int, *, batch: int = 1) -> Posting:
        """Post the study; the same batch again finds what is there."""

    def publish(self, posting: str) -> None:
        """Let people in, where `create` leaves a draft."""

    def postings(self, study: Study) -> tuple[Posting, ...]:
        """What is posted of this study."""

    def work(self, posting: str) -> tuple[Work, ...]:
        """What people handed in."""

    def approve(self, work: Work) -> None:
        """Pay somebody's reward."""

    def reject(self, work: Work, reason: str, *, category: str | None = None) -> None:
        """Refuse to pay, with a reason that the person reads."""

    def bonus(self, works: Sequence[Work], amount: Decimal, reason: str) -> None:
        """Pay something on top."""

    def expire(self, posting: str) -> None:
        """Let nobody new in."""

    def delete(self, posting: str) -> None:
        """Remove the posting."""


def label(study: Study, batch: int) -> str:
    """By which a posting of ours is known again: study, version, definition, batch.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> label(study_of(TEA), 2).startswith("dialens tea/1/"), label(study_of(TEA), 2)[-2:]
        (True, '/2')
    """
    return f"{family(study)}{study.hash[:16]}/{batch}"


def family(study: Study) -> str:
    """What the labels of all postings of a study begin with, whatever was edited since."""
    return f"dialens {study.name}/{study.design.version}/"


def money(amount: float | Decimal) -> Decimal:
    """An amount in whole cents; a finer one is refused rather than rounded away.

    Examples:
        >>> money(1.5), money(0.1 + 0.2)
        (Decimal('1.50'), Decimal('0.30'))
    """
    exact = Decimal(str(round(amount, 9)))
    rounded = exact.quantize(CENT)
    if rounded != exact or rounded < 0:
        raise DialensError(f"Money is paid in whole cents; seen: {exact}.")
    return rounded


def fee_of(each: Decimal, share: float) -> Decimal:
    """A platform's share, rounded to cents.

    Examples:
        >>> fee_of(Decimal("1.50"), 1 / 3)
        Decimal('0.50')
    """
    return (each * Decimal(str(share))).quantize(CENT, ROUND_HALF_UP)


def check_url(url: str) -> str:
    """An address that platforms accept: https, with a host and nothing after a `#`."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.fragment:
        raise DialensError(
            f"Participants are sent to an https address, e.g. https://study.example.org/; "
            f"seen: {url!r}."
        )
    return url


def check_places(places: int) -> int:
    """At least one."""
    if places < 1:
        raise DialensError(f"At least one place has to be posted; seen: {places}.")
    return places
