"""The researcher's login: the form, the password, the cookie."""

import secrets
from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from dialens.web._access import LoginPlace, password_fits
from dialens.web._forms import SentForm

LOGIN, STEER = "login", "steer"
HOME = "/researcher"


class SentToLogin(Exception):
    """Nobody is logged in."""


def login_name(place: LoginPlace) -> Callable[[Request], str]:
    """Gives the name of the login that a request carries; who has none is sent to the form."""

    def name(request: Request) -> str:
        known = place.cookies.login(request)
        if known is None:
            raise SentToLogin
        return known

    return name


def check_ticket(place: LoginPlace, form: Mapping[str, str], name: str) -> None:
    """Refuse a form that was not made for this login."""
    if not place.cookies.is_ticket(form.get("ticket", ""), STEER, name):
        raise HTTPException(403, "This form is not yours or out of date.")


def to_login(place: LoginPlace) -> Response:
    """Send somebody to the form."""
    return RedirectResponse(f"{place.cookies.root}{HOME}/login", 303)


def login_routes(place: LoginPlace) -> APIRouter:
    """The addresses at which researchers log in and out."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[str, Depends(login_name(place))]

    @router.get("/login")
    def login_page(request: Request) -> Response:
        return _login_page(place, request)

    @router.post("/login")
    def login(request: Request, form: SentForm) -> Response:
        # The name before the login counts for the form only: a new one comes with the password.
        before = request.cookies.get(_before(place), "")
        if not before or not place.cookies.is_ticket(form.get("ticket", ""), LOGIN, before):
            return _login_page(place, request, 403, "The form was out of date. Please try again.")
        if not password_fits(place, request, form.get("password", "")):
            return _login_page(place, request, 401, "This is not the password.")
        response = RedirectResponse(f"{place.cookies.root}{HOME}", 303)
        place.cookies.set_login(request, response, secrets.token_urlsafe(24))
        return response

    @router.post("/logout")
    def logout(request: Request, name: LoggedIn, form: SentForm) -> Response:
        check_ticket(place, form, name)
        response = to_login(place)
        place.cookies.end_login(request, response)
        return response

    return router


def _before(place: LoginPlace) -> str:
    return f"{place.cookies.name}-login"


def _login_page(
    place: LoginPlace, request: Request, status: int = 200, message: str = ""
) -> Response:
    fresh = secrets.token_urlsafe(24)
    page = place.researcher_pages.page(
        "login", status, ticket=place.cookies.ticket(LOGIN, fresh), message=message
    )
    page.set_cookie(
        _before(place),
        fresh,
        3600,
        path=f"{place.cookies.root}/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return page
