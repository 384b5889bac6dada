"""Prolific, through its REST API: a draft first, published when asked.

Participants come with their id in the address and go back with the completion code. Everything is
reviewed by hand (`MANUALLY_REVIEW`): the code alone approves nobody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from dialens.base import DialensError, did_you_mean
from dialens.studies._check import estimate
from dialens.studies._study import Study
from dialens.studies._types import NO_CONSENT
from dialens.studies.design import ProlificRecruiter
from dialens.studies.recruiters._codes import completion_code, possible_outcomes
from dialens.studies.recruiters._prolific_calls import ProlificCalls
from dialens.studies.recruiters._recruiter import (
    APPROVED,
    REJECTED,
    SUBMITTED,
    UNFINISHED,
    Cost,
    Posting,
    Work,
    check_places,
    check_url,
    family,
    fee_of,
    label,
    money,
)

REJECTIONS = (
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
)
"""The reasons for a rejection that Prolific knows."""

_SHORTEST_REASON = 100
_STATES = {
    "AWAITING REVIEW": SUBMITTED,
    "APPROVED": APPROVED,
    "PARTIALLY APPROVED": APPROVED,
    "REJECTED": REJECTED,
}
_DRAFT = "UNPUBLISHED"
_CODE_TYPES = {"completed": "COMPLETED", NO_CONSENT: "NO_CONSENT"}
# Prolific puts the values in; the server reads the names (`web.arrival`).
_PARAMETERS = "&".join(
    f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
)


@dataclass(frozen=True)
class Prolific:
    """A researcher's side of Prolific.

    Attributes:
        environment: Where the token is.
        endpoint: Another server that speaks the protocol.
        sleep: How to wait between tries.
    """

    environment: Mapping[str, str] = field(repr=False)
    endpoint: str | None = None
    sleep: Callable[[float], None] | None = field(default=None, repr=False)
    name: str = "prolific"

    @cached_property
    def _api(self) -> ProlificCalls:
        if self.sleep is None:
            return ProlificCalls(self.environment, self.endpoint)
        return ProlificCalls(self.environment, self.endpoint, self.sleep)

    def estimate(self, study: Study, places: int) -> Cost:
        """Rewards and Prolific's share; value-added tax may come on top of the share.

        Examples:
            >>> from dialens.studies._examples import TEA
            >>> from dialens.studies._study import study_of
            >>> paid = study_of(TEA | {"recruiter": {"kind": "prolific", "reward": 1.5}})
            >>> str(Prolific({}).estimate(paid, 10))
            '10 × (1.50 + 0.50 fee) = 20.00 GBP'
        """
        return self.bonus_cost(study, money(_settings(study).reward), places)

    def bonus_cost(self, study: Study, amount: Decimal, people: int) -> Cost:
        """Bonuses and Prolific's share of them."""
        settings = _settings(study)
        each = money(amount)
        return Cost(people, each, fee_of(each, settings.fee), settings.currency)

    def create(self, study: Study, url: str, places: int, *, batch: int = 1) -> Posting:
        """Write a draft; the same batch again finds what is there, published or not."""
        settings = _settings(study)
        for there in self._studies(study):
            if there.get("internal_name") == label(study, batch):
                return _posting(there)
        minutes = max(cell.minutes for cell in estimate(study).cells)
        body = {
            "name": settings.title,
            "internal_name": label(study, batch),
            "description": settings.description,
            "external_study_url": study_url(url),
            "prolific_id_option": "url_parameters",
            "completion_codes": [
                _completion_path(study, outcome) for outcome in possible_outcomes(study)
            ],
            "total_available_places": check_places(places),
            "estimated_completion_time": max(round(minutes), 1),
            "reward": int(money(settings.reward) * 100),
            "device_compatibility": list(settings.devices),
            "peripheral_requirements": [],
            "filters": [
                {"filter_id": name, "selected_values": values}
                for name, values in settings.filters.items()
            ],
        }
        return _posting(self._api.post("/studies/", body))

    def publish(self, posting: str) -> None:
        """Let people in; a study that is published already stays so."""
        if self._api.get(f"/studies/{_id(posting)}/").get("status") == _DRAFT:
            self._api.post(f"/studies/{_id(posting)}/transition/", {"action": "PUBLISH"})

    def postings(self, study: Study) -> tuple[Posting, ...]:
        """What is posted of this study."""
        return tuple(map(_posting, self._studies(study)))

    def work(self, posting: str) -> tuple[Work, ...]:
        """Submissions, those under way or given back among them."""
        return tuple(
            Work(
                one["id"],
                posting,
                one.get("participant_id") or one["participant"],
                _STATES.get(one["status"], UNFINISHED),
                # A code typed by hand with a slip is looked at, not refused.
                one.get("study_code") or None,
                tuple(Decimal(cents) / 100 for cents in one.get("bonus_payments") or ()),
            )
            for one in self._api.pages(f"/studies/{_id(posting)}/submissions/")
        )

    def approve(self, work: Work) -> None:
        """Pay the reward; approving twice is approving once."""
        self._api.post(
            f"/submissions/{work.id}/transition/", {"action": "APPROVE"}, idempotent=True
        )

    def reject(self, work: Work, reason: str, *, category: str | None = None) -> None:
        """Refuse to pay; Prolific asks for a category and at least a hundred characters."""
        if category not in REJECTIONS:
            raise DialensError(
                f"Prolific wants a category for a rejection; seen: {category}. "
                f"{did_you_mean(category or '', REJECTIONS)}Categories: {', '.join(REJECTIONS)}."
            )
        if len(reason) < _SHORTEST_REASON:
            raise DialensError(
                f"Prolific wants a reason of at least {_SHORTEST_REASON} characters, which the "
                f"participant reads; this one has {len(reason)}."
            )
        body = {"action": "REJECT", "message": reason, "rejection_category": category}
        self._api.post(f"/submissions/{work.id}/transition/", body, idempotent=True)

    def bonus(self, works: Sequence[Work], amount: Decimal, reason: str) -> None:
        """Pay a bonus to each. Prolific pays as often as it is asked: a lost answer is not retried.

        The reason is not passed on: Prolific has no place for it.
        """
        for posting in dict.fromkeys(work.posting for work in works):
            lines = [f"{one.id},{money(amount)}" for one in works if one.posting == posting]
            body = {"study_id": posting, "csv_bonuses": "\n".join(lines)}
            made = self._api.post("/submissions/bonus-payments/", body)
            self._api.post(f"/bulk-bonus-payments/{_id(made['id'])}/pay/")

    def expire(self, posting: str) -> None:
        """Let nobody new in; who has begun may finish."""
        self._api.post(f"/studies/{_id(posting)}/transition/", {"action": "STOP"}, idempotent=True)

    def delete(self, posting: str) -> None:
        """Remove a draft; what was published stays on Prolific's records."""
        self._api.delete(f"/studies/{_id(posting)}/")

    def _studies(self, study: Study) -> list[Any]:
        everything = self._api.pages("/studies/")
        return [
            one for one in everything if str(one.get("internal_name", "")).startswith(family(study))
        ]


def _completion_path(study: Study, outcome: str) -> dict[str, Any]:
    """What Prolific does with a code: who did not agree is asked to return the submission."""
    actions: list[dict[str, str]] = [{"action": "MANUALLY_REVIEW"}]
    if outcome == NO_CONSENT:
        actions = [{"action": "REQUEST_RETURN", "return_reason": "Did not agree to take part."}]
    kind = _CODE_TYPES.get(outcome, "OTHER")
    return {"code": completion_code(study, outcome), "code_type": kind, "actions": actions}


def study_url(url: str) -> str:
    """The address with the places that Prolific fills in.

    Examples:
        >>> study_url("https://study.example.org/?lang=en")[:58]
        'https://study.example.org/?lang=en&PROLIFIC_PID={{%PROLIFI'
    """
    return f"{check_url(url)}{'&' if urlsplit(url).query else '?'}{_PARAMETERS}"


def _posting(study: Any) -> Posting:
    places = int(study.get("total_available_places", 0))
    taken = int(study.get("places_taken", 0))
    done = int(study.get("number_of_submissions", taken))
    url = str(study.get("external_study_url", "")).partition(_PARAMETERS)[0]
    return Posting(
        str(study["id"]),
        str(study.get("status", "")),
        places,
        max(places - taken, 0),
        max(taken - done, 0),
        done,
        url.rstrip("?&"),
    )


def _settings(study: Study) -> ProlificRecruiter:
    settings = study.design.recruiter
    if not isinstance(settings, ProlificRecruiter):
        raise DialensError(f"The recruiter of {study.name} is {settings.kind}, not prolific.")
    return settings


def _id(name: str) -> str:
    """An id that cannot lead a request elsewhere."""
    if not name.isascii() or not name.replace("-", "").isalnum():
        raise DialensError(f"Prolific's ids are made of letters and digits; seen: {name!r}.")
    return name
