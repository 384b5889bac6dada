"""Amazon Mechanical Turk, through boto3: the sandbox unless production is asked for.

A study is one HIT with an external question, which shows the served study in a frame. Whatever
spends money can be repeated: a HIT is known by its label and its request token, a bonus by its own.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from dialens.base import DialensError
from dialens.studies._study import Study
from dialens.studies.design import MTurkRecruiter
from dialens.studies.recruiters._mturk_calls import call, client
from dialens.studies.recruiters._recruiter import (
    APPROVED,
    CENT,
    REJECTED,
    SUBMITTED,
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

_QUESTION = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/"
    "ExternalQuestion.xsd"
)
_APPROVAL_RATE = "000000000000000000L0"
_APPROVED_HITS = "00000000000000000040"
_LOCALE = "00000000000000000071"
# Masters is a qualification that Amazon grants, and the two marketplaces name it differently.
_MASTERS = {True: "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", False: "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"}
_STATES = {"Submitted": SUBMITTED, "Approved": APPROVED, "Rejected": REJECTED}
_FRAME_HEIGHT = 800
_DAY_S = 86_400


@dataclass(frozen=True)
class MechanicalTurk:
    """The requester's side of Mechanical Turk.

    Attributes:
        production: Whether real people are asked and paid; if not, the sandbox is used.
        endpoint: Another server that speaks the protocol.
        frame_height: Pixels of the frame the study is shown in.
    """

    production: bool = False
    endpoint: str | None = None
    frame_height: int = _FRAME_HEIGHT
    name: str = "mturk"

    @cached_property
    def _client(self) -> Any:
        return client(production=self.production, endpoint=self.endpoint)

    def estimate(self, study: Study, places: int) -> Cost:
        """Rewards and Amazon's fees, by its rules unless the study file names a share.

        Examples:
            >>> from dialens.studies._examples import TEA
            >>> from dialens.studies._study import study_of
            >>> paid = study_of(TEA | {"recruiter": {"kind": "mturk", "reward": 1.5}})
            >>> str(MechanicalTurk().estimate(paid, 9)), str(MechanicalTurk().estimate(paid, 10))
            ('9 × (1.50 + 0.30 fee) = 16.20 USD', '10 × (1.50 + 0.60 fee) = 21.00 USD')
        """
        settings = _settings(study)
        share = settings.fee
        if "fee" not in settings.model_fields_set:
            share = 0.2 + (0.2 if places >= 10 else 0) + (0.05 if settings.masters else 0)
        return self._cost(study, money(settings.reward), places, share)

    def bonus_cost(self, study: Study, amount: Decimal, people: int) -> Cost:
        """Bonuses and Amazon's fifth of them."""
        settings = _settings(study)
        share = settings.fee if "fee" in settings.model_fields_set else 0.2
        return self._cost(study, money(amount), people, share)

    def _cost(self, study: Study, each: Decimal, people: int, share: float) -> Cost:
        least = CENT if each else Decimal("0.00")  # Amazon takes at least a cent
        return Cost(people, each, max(fee_of(each, share), least), _settings(study).currency)

    def balance(self) -> Decimal:
        """What the account holds, in US dollars."""
        return Decimal(call(self._client.get_account_balance)["AvailableBalance"])

    def create(self, study: Study, url: str, places: int, *, batch: int = 1) -> Posting:
        """Post the study as a HIT; the same batch again finds the HIT that is there."""
        settings = _settings(study)
        if settings.currency != "USD":
            raise DialensError(
                f"Mechanical Turk pays in USD; recruiter.currency is {settings.currency}."
            )
        known = self._labelled(label(study, batch))
        if known is not None:
            return known
        cost = self.estimate(study, check_places(places))
        held = self.balance()
        if held < cost.total:
            raise DialensError(
                f"The account holds {held} USD, and {places} participants cost {cost.total} USD "
                "with fees. Prepay on the requester's pages, or post fewer places."
            )
        minutes = study.design.limits.session_minutes
        request = {
            "Title": settings.title,
            "Description": settings.description,
            "Keywords": ", ".join(settings.keywords),
            "Reward": str(money(settings.reward)),
            "MaxAssignments": places,
            "LifetimeInSeconds": max(round(settings.lifetime_days * _DAY_S), 30),
            "AssignmentDurationInSeconds": max(round(minutes * 60), 30),
            "AutoApprovalDelayInSeconds": round(settings.auto_approve_days * _DAY_S),
            "Question": external_question(url, self.frame_height),
            "RequesterAnnotation": label(study, batch),
            "QualificationRequirements": qualifications(settings, production=self.production),
            "UniqueRequestToken": _token(label(study, batch)),
        }
        try:
            return _posting(call(self._client.create_hit, **request)["HIT"])
        except DialensError:
            # A token used before is refused: an earlier try arrived, and its answer was lost.
            known = self._labelled(label(study, batch))
            if known is None:
                raise
            return known

    def publish(self, posting: str) -> None:
        """A HIT is public from the start."""

    def postings(self, study: Study) -> tuple[Posting, ...]:
        """The HITs of this study, newest first."""
        return tuple(
            _posting(hit)
            for hit in self._hits()
            if hit.get("RequesterAnnotation", "").startswith(family(study))
        )

    def work(self, posting: str) -> tuple[Work, ...]:
        """The assignments that were handed in, with bonuses."""
        paid: dict[str, list[Decimal]] = {}
        for bonus in self._pages(
            self._client.list_bonus_payments, "BonusPayments", HITId=_hit_id(posting)
        ):
            paid.setdefault(bonus["AssignmentId"], []).append(Decimal(bonus["BonusAmount"]))
        handed_in = self._pages(
            self._client.list_assignments_for_hit, "Assignments", HITId=_hit_id(posting)
        )
        return tuple(
            Work(
                one["AssignmentId"],
                posting,
                one["WorkerId"],
                _STATES[one["AssignmentStatus"]],
                submitted_code(one.get("Answer", "")),
                tuple(paid.get(one["AssignmentId"], ())),
            )
            for one in handed_in
        )

    def approve(self, work: Work) -> None:
        """Pay the reward; somebody who was refused by mistake is paid as well."""
        if work.state == APPROVED:
            return
        request = {"AssignmentId": work.id, "OverrideRejection": work.state == REJECTED}
        try:
            call(self._client.approve_assignment, **request)
        except DialensError:
            there = call(self._client.get_assignment, AssignmentId=work.id)["Assignment"]
            if there["AssignmentStatus"] != "Approved":  # else an earlier try arrived
                raise

    def reject(self, work: Work, reason: str, *, category: str | None = None) -> None:
        """Refuse to pay."""
        call(self._client.reject_assignment, AssignmentId=work.id, RequesterFeedback=reason)

    def bonus(self, works: Sequence[Work], amount: Decimal, reason: str) -> None:
        """Pay a bonus to each; repeated with the same amount and reason it is paid once."""
        for work in works:
            request = {
                "WorkerId": work.worker,
                "AssignmentId": work.id,
                "BonusAmount": str(money(amount)),
                "Reason": reason,
                "UniqueRequestToken": _token(f"{work.id} {money(amount)} {reason}"),
            }
            try:
                call(self._client.send_bonus, **request)
            except DialensError:
                paid = self._pages(
                    self._client.list_bonus_payments, "BonusPayments", AssignmentId=work.id
                )
                same = (money(amount), reason)
                if same not in [(Decimal(one["BonusAmount"]), one["Reason"]) for one in paid]:
                    raise

    def expire(self, posting: str) -> None:
        """Let nobody new in; who has accepted the HIT may finish."""
        start = datetime(1970, 1, 1, tzinfo=UTC)
        call(self._client.update_expiration_for_hit, HITId=_hit_id(posting), ExpireAt=start)

    def delete(self, posting: str) -> None:
        """Remove a HIT whose work is all approved or rejected."""
        call(self._client.delete_hit, HITId=_hit_id(posting))

    def _labelled(self, wanted: str) -> Posting | None:
        for hit in self._hits():
            if hit.get("RequesterAnnotation") == wanted and hit["HITStatus"] != "Disposed":
                return _posting(hit)
        return None

    def _hits(self) -> Iterator[Any]:
        return self._pages(self._client.list_hits, "HITs")

    def _pages(self, operation: Callable[..., Any], part: str, **request: Any) -> Iterator[Any]:
        following: dict[str, Any] = {}
        while True:
            page = call(operation, MaxResults=100, **request, **following)
            yield from page.get(part, ())
            # The last page has a token too where Amazon does not know yet that it is the last.
            if not page.get("NextToken") or not page.get("NumResults"):
                return
            following = {"NextToken": page["NextToken"]}


def external_question(url: str, frame_height: int) -> str:
    """The XML by which a HIT shows a page of one's own.

    Examples:
        >>> made = external_question("https://study.example.org/?a=1&b=2", 800)
        >>> made.partition("<ExternalURL>")[2].partition("<")[0]
        'https://study.example.org/?a=1&amp;b=2'
    """
    return (
        f'<ExternalQuestion xmlns="{_QUESTION}">'
        f"<ExternalURL>{escape(check_url(url))}</ExternalURL>"
        f"<FrameHeight>{frame_height}</FrameHeight>"
        "</ExternalQuestion>"
    )


def qualifications(settings: MTurkRecruiter, *, production: bool) -> list[dict[str, object]]:
    """Who may take the HIT; others do not even see it.

    Examples:
        >>> made = qualifications(MTurkRecruiter(countries=["US", "GB"]), production=False)
        >>> [(one["Comparator"], one.get("IntegerValues")) for one in made]
        [('GreaterThanOrEqualTo', [95]), ('GreaterThanOrEqualTo', [100]), ('In', None)]
    """
    wanted: list[dict[str, object]] = []
    for kind, least in (
        (_APPROVAL_RATE, settings.approval_rate),
        (_APPROVED_HITS, settings.approved_hits),
    ):
        if least is not None:
            wanted.append(
                {
                    "QualificationTypeId": kind,
                    "Comparator": "GreaterThanOrEqualTo",
                    "IntegerValues": [least],
                }
            )
    if settings.masters:
        wanted.append({"QualificationTypeId": _MASTERS[production], "Comparator": "Exists"})
    if settings.countries:
        places = [{"Country": country} for country in settings.countries]
        wanted.append({"QualificationTypeId": _LOCALE, "Comparator": "In", "LocaleValues": places})
    return [one | {"ActionsGuarded": "DiscoverPreviewAndAccept"} for one in wanted]


def submitted_code(answer: str) -> str | None:
    """The completion code among what a worker's form sent, as Amazon gives it back.

    Examples:
        >>> submitted_code(
        ...     "<A><Answer><QuestionIdentifier>code</QuestionIdentifier>"
        ...     "<FreeText> X7 </FreeText></Answer></A>"
        ... )
        'X7'
    """
    # Amazon declares no entities; a text that does was not written by Amazon.
    if not answer or "<!" in answer.replace("<![CDATA[", ""):
        return None
    try:
        root = ElementTree.fromstring(answer)
    except ElementTree.ParseError:
        return None
    for one in root.iter():
        if one.tag.rpartition("}")[2] != "Answer":
            continue
        told = {part.tag.rpartition("}")[2]: (part.text or "").strip() for part in one}
        if told.get("QuestionIdentifier") == "code" and told.get("FreeText"):
            return told["FreeText"]
    return None


def _posting(hit: Any) -> Posting:
    found = re.search(r"<ExternalURL>(.*?)</ExternalURL>", hit.get("Question", ""))
    return Posting(
        hit["HITId"],
        hit["HITStatus"],
        hit["MaxAssignments"],
        hit.get("NumberOfAssignmentsAvailable", 0),
        hit.get("NumberOfAssignmentsPending", 0),
        hit["MaxAssignments"]
        - hit.get("NumberOfAssignmentsAvailable", 0)
        - hit.get("NumberOfAssignmentsPending", 0),
        found.group(1).replace("&amp;", "&") if found else "",
    )


def _settings(study: Study) -> MTurkRecruiter:
    settings = study.design.recruiter
    if not isinstance(settings, MTurkRecruiter):
        raise DialensError(f"The recruiter of {study.name} is {settings.kind}, not mturk.")
    return settings


def _hit_id(posting: str) -> str:
    if not re.fullmatch(r"[A-Z0-9]{1,64}", posting):
        raise DialensError(f"A HIT's id is made of capital letters and digits; seen: {posting!r}.")
    return posting


def _token(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
