"""A stand-in for Prolific's API: token, JSON, status codes, pages, as its reference has them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.studies.recruiters.platform import Answer, Platform, Refused

TOKEN = "prolific-secret-token-7f3a"
PAGE = 2
CATEGORIES = {"FAILED_CHECK", "LOW_EFFORT", "NO_CODE", "OTHER", "TOO_QUICKLY"}
NEEDED = {
    "name": str,
    "description": str,
    "external_study_url": str,
    "prolific_id_option": str,
    "completion_codes": list,
    "total_available_places": int,
    "estimated_completion_time": int,
    "reward": int,
}


class ProlificServer(Platform):
    def __init__(self) -> None:
        super().__init__()
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.bulks: dict[str, list[tuple[str, Decimal]]] = {}
        self.slow = False
        """Whether bonuses are shown only after `settle`, as Prolific pays them in its own time."""
        self.pending: list[tuple[str, Decimal]] = []

    def settle(self) -> None:
        """Show the bonuses that were ordered."""
        for name, amount in self.pending:
            self.submissions[name]["bonus_payments"].append(int(amount * 100))
        self.pending.clear()

    def come(self, study: str, person: str, status: str = "AWAITING REVIEW", code: str = "") -> str:
        """A participant takes part."""
        name = f"sub{len(self.submissions):021d}"
        self.submissions[name] = {
            "id": name,
            "participant_id": person,
            "study": study,
            "status": status,
            "study_code": code,
            "bonus_payments": [],
        }
        return name

    def statuses(self) -> dict[str, str]:
        return {name: one["status"] for name, one in self.submissions.items()}

    def handle(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        if headers.get("Authorization") != f"Token {TOKEN}":
            return Answer(401, {"error": {"status": 401, "detail": "Authentication failed."}})
        parts = urlsplit(path)
        query = dict(parse_qsl(parts.query))
        request = json.loads(body) if body else {}
        self.requests.append((f"{method} {parts.path}", request))
        routes: list[tuple[str, Callable[..., Answer]]] = [
            (r"GET /api/v1/studies/", self._list),
            (r"POST /api/v1/studies/", self._create),
            (r"GET /api/v1/studies/(\w+)/", self._study),
            (r"DELETE /api/v1/studies/(\w+)/", self._remove),
            (r"POST /api/v1/studies/(\w+)/transition/", self._move_study),
            (r"GET /api/v1/studies/(\w+)/submissions/", self._submissions),
            (r"POST /api/v1/submissions/(\w+)/transition/", self._move_submission),
            (r"POST /api/v1/submissions/bonus-payments/", self._bonus),
            (r"POST /api/v1/bulk-bonus-payments/(\w+)/pay/", self._pay),
        ]
        for pattern, act in routes:
            match = re.fullmatch(pattern, f"{method} {parts.path}")
            if match:
                return act(*match.groups(), request | query)
        return _error(404, "Not found")

    def _list(self, request: dict[str, Any]) -> Answer:
        return _page(request, list(self.studies.values()))

    def _create(self, request: dict[str, Any]) -> Answer:
        wrong = {
            name: ["This field is required."]
            for name, kind in NEEDED.items()
            if not isinstance(request.get(name), kind)
        }
        if "{{%PROLIFIC_PID%}}" not in request.get("external_study_url", ""):
            wrong["external_study_url"] = ["There is no participant id in it."]
        for code in request.get("completion_codes", []):
            if not code.get("code") or not code.get("actions"):
                wrong["completion_codes"] = ["A code needs actions."]
        for one in request.get("filters", []):
            if set(one) != {"filter_id", "selected_values"}:
                wrong["filters"] = ["Unknown shape."]
        if wrong:
            return _error(400, wrong)
        name = f"5study{len(self.studies):018d}"
        self.studies[name] = request | {"id": name, "status": "UNPUBLISHED", "places_taken": 0}
        return Answer(201, self.studies[name])

    def _study(self, name: str, request: dict[str, Any]) -> Answer:
        return Answer(200, self._there(self.studies, name))

    def _remove(self, name: str, request: dict[str, Any]) -> Answer:
        if self._there(self.studies, name)["status"] != "UNPUBLISHED":
            return _error(400, "Only draft studies can be deleted.")
        del self.studies[name]
        return Answer(204)

    def _move_study(self, name: str, request: dict[str, Any]) -> Answer:
        study = self._there(self.studies, name)
        moves = {"PUBLISH": ("UNPUBLISHED", "ACTIVE"), "STOP": ("ACTIVE", "AWAITING REVIEW")}
        before, after = moves[request["action"]]
        if study["status"] != before:
            return _error(400, f"Study is {study['status']}.")
        study["status"] = after
        return Answer(200, study)

    def _submissions(self, name: str, request: dict[str, Any]) -> Answer:
        there = [one for one in self.submissions.values() if one["study"] == name]
        return _page(request, there)

    def _move_submission(self, name: str, request: dict[str, Any]) -> Answer:
        one = self._there(self.submissions, name)
        target = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[request["action"]]
        if request["action"] == "REJECT" and (
            request.get("rejection_category") not in CATEGORIES
            or len(request.get("message", "")) < 100
        ):
            return _error(400, {"message": ["Must be at least 100 characters, with a category."]})
        if one["status"] not in ("AWAITING REVIEW", target):
            return _error(400, f"Submission is {one['status']}.")
        one["status"] = target
        return Answer(200, one)

    def _bonus(self, request: dict[str, Any]) -> Answer:
        lines = [line.split(",") for line in request["csv_bonuses"].split("\n")]
        for name, amount in lines:
            if self._there(self.submissions, name)["study"] != request["study_id"]:
                return _error(400, "Not of this study.")
            if not re.fullmatch(r"\d+\.\d\d", amount):
                return _error(400, "Not an amount.")
        bulk = f"bulk{len(self.bulks)}"
        self.bulks[bulk] = [(name, Decimal(amount)) for name, amount in lines]
        return Answer(201, {"id": bulk, "study": request["study_id"]})

    def _pay(self, bulk: str, request: dict[str, Any]) -> Answer:
        self.pending += self._there(self.bulks, bulk)
        if not self.slow:
            self.settle()
        return Answer(202, {})

    def _there(self, table: dict[str, Any], name: str) -> Any:
        if name not in table:
            raise Refused(_error(404, "Not found"))
        return table[name]


def _page(request: dict[str, Any], rows: list[Any]) -> Answer:
    page, size = int(request.get("page", 1)), min(int(request.get("page_size", PAGE)), PAGE)
    shown = rows[(page - 1) * size : page * size]
    more = f"?page={page + 1}" if page * size < len(rows) else None
    links = {"next": {"href": more, "title": "Next"}}
    return Answer(200, {"results": shown, "_links": links, "meta": {"count": len(rows)}})


def _error(status: int, detail: Any) -> Answer:
    return Answer(status, {"error": {"status": status, "error_code": 1, "detail": detail}})
