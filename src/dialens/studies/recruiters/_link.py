"""People whom no platform posts the study to by itself; whoever asks them pays them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from dialens.base import DialensError
from dialens.studies._study import Study
from dialens.studies.recruiters._recruiter import Cost, Posting, Work, fee_of, money


@dataclass(frozen=True)
class Link:
    """No platform that dialens talks to: an address to send around, or to give to a platform.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> Link().create(study_of(TEA), "http://localhost:8000/", 80).url
        'http://localhost:8000/'
    """

    name: str = "link"

    def estimate(self, study: Study, places: int) -> Cost:
        """What `places` participants cost, if they get the reward of the study file."""
        return self.bonus_cost(study, money(study.design.recruiter.reward), places)

    def bonus_cost(self, study: Study, amount: Decimal, people: int) -> Cost:
        """The amount for each, and the fee of the study file."""
        settings = study.design.recruiter
        return Cost(people, amount, fee_of(amount, settings.fee), settings.currency)

    def create(self, study: Study, url: str, places: int, *, batch: int = 1) -> Posting:
        """Nothing is posted: the address is all there is."""
        return Posting("link", "open", places, url=url)

    def publish(self, posting: str) -> None:
        """There is nothing to publish."""

    def postings(self, study: Study) -> tuple[Posting, ...]:
        """None: nobody else keeps account."""
        return ()

    def work(self, posting: str) -> tuple[Work, ...]:
        """None: all there is to know is in the study's database."""
        return ()

    def approve(self, work: Work) -> None:
        """Not possible here."""
        self._by_hand()

    def reject(self, work: Work, reason: str, *, category: str | None = None) -> None:
        """Not possible here."""
        self._by_hand()

    def bonus(self, works: Sequence[Work], amount: Decimal, reason: str) -> None:
        """Not possible here."""
        self._by_hand()

    def expire(self, posting: str) -> None:
        """Not possible here."""
        self._by_hand()

    def delete(self, posting: str) -> None:
        """Not possible here."""
        self._by_hand()

    def _by_hand(self) -> NoReturn:
        raise DialensError(
            f"The study's recruiter is `{self.name}`: nothing is posted from here, and people are "
            "paid by you. Close cells on the researcher's page, or set recruiter.kind to prolific "
            "(or mturk)."
        )
