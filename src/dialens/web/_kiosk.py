"""One computer, one person after the other: each starts afresh, and finds nothing of the former."""

import secrets

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dialens.web._arrival import Arrival
from dialens.web._cookies import Visit
from dialens.web._forms import SentForm, onward
from dialens.web._refusal import Refusal
from dialens.web._site import Site

NEXT = "next"
"""Purpose of the ticket that the form for the next person brings along."""

_FORGET = '"cache", "storage"'
"""What a browser clears: pages that it kept to go back to, and answers that were not sent."""


def kiosk_routes(site: Site) -> APIRouter:
    """The addresses at which the next person begins.

    Where somebody left in the middle, whoever looks after the room opens `/next`.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/next")
    def ask(request: Request) -> Response:
        visit, pages = site.cookies.visit(request), site.pages_for(request)
        if visit is None:
            return onward(request, "/")
        return pages.page(
            "next",
            ticket=site.cookies.ticket(NEXT, visit.visitor),
        )

    @router.post("/next")
    def start_afresh(request: Request, form: SentForm) -> Response:
        visit = site.cookies.visit(request)
        response = onward(request, "/")
        if visit is None:
            return response
        if not site.cookies.is_ticket(form.get("ticket", ""), NEXT, visit.visitor):
            raise Refusal(403, "not_yours")
        fresh = Visit(secrets.token_urlsafe(24), Arrival(visit.arrival.recruiter))
        site.cookies.set_visit(request, response, fresh)
        response.headers["clear-site-data"] = _FORGET
        return response

    return router
