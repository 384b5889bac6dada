"""A stand-in for Mechanical Turk that speaks its protocol: AWS JSON 1.1, signed requests.

Rules are those of the API reference of 2017-01-17 and of ExternalQuestion.xsd (2006-07-14): what
the service refuses is refused here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

from tests.studies.recruiters.platform import Answer, Platform, Refused

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/EXAMPLEKEY"
NAMESPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/"
    "ExternalQuestion.xsd"
)
TARGET = "MTurkRequesterServiceV20170117."
MONEY = re.compile(r"[0-9]+(\.)?[0-9]{0,2}")
ENTITY = re.compile(r"[A-Z0-9]{1,64}")
PAGE = 2
FORM = (
    '<?xml version="1.0" encoding="ASCII"?><QuestionFormAnswers xmlns="http://mechanicalturk.'
    'amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"><Answer>'
    "<QuestionIdentifier>code</QuestionIdentifier><FreeText>{}</FreeText></Answer>"
    "</QuestionFormAnswers>"
)


class Turk(Platform):
    def __init__(self, balance: str = "10000.00") -> None:
        super().__init__()
        self.balance = Decimal(balance)
        self.hits: dict[str, dict[str, Any]] = {}
        self.assignments: dict[str, dict[str, Any]] = {}
        self.bonuses: list[dict[str, Any]] = []
        self.tokens: dict[str, str] = {}

    # What workers do

    def hand_in(self, hit: str, worker: str, code: str | None = None) -> str:
        """A worker takes an assignment and submits the form of the last page."""
        name = f"3ASSIGNMENT{len(self.assignments):04d}"
        self.assignments[name] = {
            "AssignmentId": name,
            "WorkerId": worker,
            "HITId": hit,
            "AssignmentStatus": "Submitted",
            "Answer": "" if code is None else FORM.format(code),
        }
        return name

    def statuses(self) -> dict[str, str]:
        return {name: one["AssignmentStatus"] for name, one in self.assignments.items()}

    # What requesters do

    def handle(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        if method != "POST" or path != "/":
            raise Refused(Answer(404))
        if headers["Content-Type"] != "application/x-amz-json-1.1":
            raise _fault("SerializationException", "not JSON 1.1")
        _check_signature(headers, body)
        operation = headers["X-Amz-Target"].removeprefix(TARGET)
        assert headers["X-Amz-Target"].startswith(TARGET)
        request = json.loads(body)
        self.requests.append((operation, request))
        return Answer(
            200,
            getattr(self, f"_{operation}")(request),
            {"Content-Type": "application/x-amz-json-1.1"},
        )

    def _GetAccountBalance(self, request: dict[str, Any]) -> Any:
        return {"AvailableBalance": f"{self.balance:.2f}"}

    def _CreateHIT(self, request: dict[str, Any]) -> Any:
        _needs(request, "LifetimeInSeconds", "AssignmentDurationInSeconds", "Reward", "Title")
        _needs(request, "Description", "Question")
        _demand(MONEY.fullmatch(request["Reward"]), "Reward")
        _demand(1 <= len(request["Title"]) <= 128, "Title")
        _demand(1 <= len(request["Description"]) <= 2000, "Description")
        _demand(len(request.get("Keywords", "")) <= 1000, "Keywords")
        _demand(len(request.get("RequesterAnnotation", "")) <= 255, "RequesterAnnotation")
        _demand(1 <= len(request.get("UniqueRequestToken", "-")) <= 64, "UniqueRequestToken")
        _demand(30 <= request["LifetimeInSeconds"] <= 31_536_000, "LifetimeInSeconds")
        _demand(30 <= request["AssignmentDurationInSeconds"] <= 31_536_000, "Duration")
        _demand(0 <= request["AutoApprovalDelayInSeconds"] <= 2_592_000, "AutoApprovalDelay")
        _check_question(request["Question"])
        _check_qualifications(request.get("QualificationRequirements", []))
        token = request.get("UniqueRequestToken")
        if token in self.tokens:
            raise _request_error("HITAlreadyExists", f"The HIT exists: {self.tokens[token]}")
        name = f"3HIT{len(self.hits):04d}"
        self.hits[name] = {
            "HITId": name,
            "HITStatus": "Assignable",
            "CreationTime": 1_767_225_600.0,
            "Expiration": 1_767_225_600.0 + request["LifetimeInSeconds"],
            **{
                part: request[part]
                for part in ("Title", "Question", "Reward", "MaxAssignments", "RequesterAnnotation")
            },
        }
        if token:
            self.tokens[token] = name
        return {"HIT": self._shown(name)}

    def _shown(self, name: str) -> dict[str, Any]:
        hit = self.hits[name]
        done = sum(one["HITId"] == name for one in self.assignments.values())
        return hit | {
            "NumberOfAssignmentsAvailable": hit["MaxAssignments"] - done,
            "NumberOfAssignmentsPending": 0,
            "NumberOfAssignmentsCompleted": 0,
        }

    def _ListHITs(self, request: dict[str, Any]) -> Any:
        return _page(request, "HITs", [self._shown(name) for name in reversed(self.hits)])

    def _UpdateExpirationForHIT(self, request: dict[str, Any]) -> Any:
        self._hit(request)["Expiration"] = request["ExpireAt"]
        self._hit(request)["HITStatus"] = "Reviewable"
        return {}

    def _DeleteHIT(self, request: dict[str, Any]) -> Any:
        hit = self._hit(request)
        open_work = any(
            one["HITId"] == hit["HITId"] and one["AssignmentStatus"] == "Submitted"
            for one in self.assignments.values()
        )
        if hit["HITStatus"] != "Reviewable" or open_work:
            raise _request_error(
                "InvalidHITState", "This HIT is currently in the state 'Assignable'."
            )
        del self.hits[hit["HITId"]]
        return {}

    def _ListAssignmentsForHIT(self, request: dict[str, Any]) -> Any:
        name = self._hit(request)["HITId"]
        there = [one for one in self.assignments.values() if one["HITId"] == name]
        return _page(request, "Assignments", there)

    def _GetAssignment(self, request: dict[str, Any]) -> Any:
        return {"Assignment": self._assignment(request)}

    def _ApproveAssignment(self, request: dict[str, Any]) -> Any:
        one = self._assignment(request)
        allowed = ["Submitted"] + ["Rejected"] * bool(request.get("OverrideRejection"))
        if one["AssignmentStatus"] not in allowed:
            raise _request_error(
                "InvalidAssignmentState", "This operation can be called with a status of: Submitted"
            )
        one["AssignmentStatus"] = "Approved"
        return {}

    def _RejectAssignment(self, request: dict[str, Any]) -> Any:
        _needs(request, "RequesterFeedback")
        one = self._assignment(request)
        if one["AssignmentStatus"] != "Submitted":
            raise _request_error("InvalidAssignmentState", "It is not submitted.")
        one["AssignmentStatus"] = "Rejected"
        one["RequesterFeedback"] = request["RequesterFeedback"]
        return {}

    def _SendBonus(self, request: dict[str, Any]) -> Any:
        _needs(request, "WorkerId", "BonusAmount", "AssignmentId", "Reason")
        _demand(MONEY.fullmatch(request["BonusAmount"]), "BonusAmount")
        _demand(request["WorkerId"] == self._assignment(request)["WorkerId"], "WorkerId")
        token = request.get("UniqueRequestToken", "")
        if token in self.tokens:
            raise _request_error("DuplicateRequest", f"Paid by request {self.tokens[token]}")
        self.tokens[token] = f"request {len(self.tokens)}"
        self.bonuses.append(request | {"HITId": self._assignment(request)["HITId"]})
        return {}

    def _ListBonusPayments(self, request: dict[str, Any]) -> Any:
        key = "HITId" if "HITId" in request else "AssignmentId"
        there = [one for one in self.bonuses if one[key] == request[key]]
        return _page(request, "BonusPayments", there)

    def _hit(self, request: dict[str, Any]) -> dict[str, Any]:
        _demand(ENTITY.fullmatch(request["HITId"]), "HITId")
        if request["HITId"] not in self.hits:
            raise _request_error("HITDoesNotExist", f"Hit {request['HITId']} does not exist.")
        return self.hits[request["HITId"]]

    def _assignment(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["AssignmentId"] not in self.assignments:
            raise _request_error("AssignmentDoesNotExist", "There is no such assignment.")
        return self.assignments[request["AssignmentId"]]


def throttled() -> Answer:
    return Answer(400, {"__type": "ThrottlingException", "message": "Rate exceeded"})


def _page(request: dict[str, Any], part: str, rows: list[Any]) -> Any:
    _demand(1 <= request.get("MaxResults", 10) <= 100, "MaxResults")
    start = int(request.get("NextToken", "p0").removeprefix("p"))
    shown = rows[start : start + PAGE]
    more = {"NextToken": f"p{start + PAGE}"} if start + PAGE < len(rows) else {}
    return {part: shown, "NumResults": len(shown), **more}


def _check_question(text: str) -> None:
    root = ElementTree.fromstring(text)
    _demand(root.tag == f"{{{NAMESPACE}}}ExternalQuestion", "Question")
    _demand(
        [one.tag for one in root] == [f"{{{NAMESPACE}}}ExternalURL", f"{{{NAMESPACE}}}FrameHeight"],
        "Question: elements",
    )
    _demand((root[0].text or "").startswith("https://"), "Question: URL")
    _demand(re.fullmatch(r"\d+", root[1].text or ""), "Question: FrameHeight")


def _check_qualifications(wanted: list[dict[str, Any]]) -> None:
    _demand(len(wanted) <= 10, "QualificationRequirements")
    for one in wanted:
        _needs(one, "QualificationTypeId", "Comparator")
        _demand(
            one["ActionsGuarded"] in ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept"),
            "ActionsGuarded",
        )
        integers, locales = one.get("IntegerValues"), one.get("LocaleValues")
        if one["Comparator"] in ("Exists", "DoesNotExist"):
            _demand(integers is None and locales is None, "values with Exists")
        elif one["QualificationTypeId"] == "00000000000000000071":
            _demand(one["Comparator"] in ("EqualTo", "NotEqualTo", "In", "NotIn"), "Locale")
            _demand(integers is None and 1 <= len(locales or []) <= 30, "LocaleValues")
            _demand(all(re.fullmatch("[A-Z]{2}", v["Country"]) for v in locales or []), "Country")
        else:
            _demand(locales is None and len(integers or []) == 1, "IntegerValues")


def _check_signature(headers: Any, body: bytes) -> None:
    """Signature version 4, computed anew from the request as it arrived."""
    told = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(\w+)/(\d{8})/us-east-1/mturk-requester/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        headers.get("Authorization", ""),
    )
    if told is None:
        raise _fault("MissingAuthenticationTokenException", "Missing Authentication Token")
    key, day, names, signature = told.groups()
    if key != KEY:
        raise _fault("UnrecognizedClientException", "The security token is invalid.")
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in names.split(";")]
    canonical = "\n".join(["POST", "/", "", *lines, "", names, hashlib.sha256(body).hexdigest()])
    scope = f"{day}/us-east-1/mturk-requester/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", headers["X-Amz-Date"], scope, digest])
    made = f"AWS4{SECRET}".encode()
    for part in (day, "us-east-1", "mturk-requester", "aws4_request", text):
        made = hmac.new(made, part.encode(), hashlib.sha256).digest()
    if made.hex() != signature:
        raise _fault("InvalidSignatureException", "The signature does not match.")


def _needs(request: dict[str, Any], *names: str) -> None:
    for name in names:
        _demand(name in request, f"{name} is missing")


def _demand(holds: object, what: str) -> None:
    if not holds:
        raise _request_error("ParameterValidationError", f"There was an error with {what}.")


def _request_error(code: str, message: str) -> Refused:
    body = {
        "__type": "RequestError",
        "Message": message,
        "TurkErrorCode": f"AWS.MechanicalTurk.{code}",
    }
    return Refused(Answer(400, body))


def _fault(code: str, message: str) -> Refused:
    return Refused(Answer(400, {"__type": code, "message": message}))
