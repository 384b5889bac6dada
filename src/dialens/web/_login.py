"""The researcher's login: the form, the password, the cookie."""

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from dialens.studies.store import LONGEST_NAME
from dialens.web._access import LoginPlace, looks_only, role_of
from dialens.web._cookies import Login, name_on_the_line
from dialens.web._forms import SentForm
from dialens.web._password import OWNER

LOGIN, STEER = "login", "steer"
HOME = "/researcher"


class SentToLogin(Exception):
    """Nobody is logged in."""


def login_of(place: LoginPlace) -> Callable[[Request], Login]:
    """Gives the login that a request carries; who has none is sent to the form."""

    def login(request: Request) -> Login:
        known = place.cookies.login(request)
        if known is None:
            raise SentToLogin
        return known

    return login


def check_owner(login: Login) -> None:
    """Refuse who may only look."""
    if login.role != OWNER:
        raise looks_only(login.who)


def check_ticket(place: LoginPlace, form: Mapping[str, str], login: Login) -> None:
    """Refuse a form that was not made for this login."""
    if not place.cookies.is_ticket(form.get("ticket", ""), STEER, login.session):
        raise HTTPException(403, "This form is not yours or out of date.")


def to_login(place: LoginPlace) -> Response:
    """Send somebody to the form."""
    return RedirectResponse(f"{place.cookies.root}{HOME}/login", 303)


def login_routes(place: LoginPlace) -> APIRouter:
    """The addresses at which researchers log in and out."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[Login, Depends(login_of(place))]

    @router.get("/")
    @router.get("/login/")
    def without_slash() -> Response:
        return RedirectResponse(f"{place.cookies.root}{HOME}", 307)

    @router.get("/login")
    def login_page(request: Request) -> Response:
        return _login_page(place, request)

    @router.post("/login")
    def log_in(request: Request, form: SentForm) -> Response:
        # The name before the login counts for the form only: a new one comes with the password.
        before = request.cookies.get(_before(place, request), "")
        who = _tidy_name(form.get("who", ""))
        if not before or not place.cookies.is_ticket(form.get("ticket", ""), LOGIN, before):
            sorry = "The form was out of date. Please try again."
            return _login_page(place, request, 403, sorry, who)
        role = role_of(place, request, form.get("password", ""))
        if role is None:
            return _login_page(place, request, 401, "This is not the password.", who)
        response = RedirectResponse(f"{place.cookies.root}{HOME}", 303)
        login = Login(secrets.token_urlsafe(24), who, role)
        place.note("logged in" if role == OWNER else "logged in to look", who)
        place.cookies.set_login(request, response, login)
        return response

    @router.post("/logout")
    def logout(request: Request, login: LoggedIn, form: SentForm) -> Response:
        check_ticket(place, form, login)
        response = to_login(place)
        place.note("logged out", login.who)
        place.cookies.end_login(request, response, login, datetime.now(UTC))
        return response

    return router


def _tidy_name(text: str) -> str:
    """A name as one short line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST_NAME]


def _before(place: LoginPlace, request: Request) -> str:
    return name_on_the_line(request, f"{place.cookies.name}-login", place.cookies.root)


def _login_page(
    place: LoginPlace, request: Request, status: int = 200, message: str = "", who: str = ""
) -> Response:
    fresh = secrets.token_urlsafe(24)
    page = place.researcher_pages.page(
        "login",
        status,
        ticket=place.cookies.ticket(LOGIN, fresh),
        message=message,
        who=who,
        longest=LONGEST_NAME,
    )
    page.set_cookie(
        _before(place, request),
        fresh,
        3600,
        path=f"{place.cookies.root}/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return page
