"""Who may see the researcher's side."""

import logging
from typing import Annotated, Protocol

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dialens.web._cookies import CookieJar
from dialens.web._logging import Seldom
from dialens.web._pages import Templates
from dialens.web._password import Password, TooManyTries

_SELDOM = Seldom(logging.getLogger(__name__))
_BEARER = HTTPBearer(auto_error=False, description="The researcher's password.")

Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]


class LoginPlace(Protocol):
    """Where a researcher logs in: a study, or the index of several."""

    @property
    def cookies(self) -> CookieJar:
        """What browsers keep."""

    @property
    def password(self) -> Password:
        """The researcher's."""

    @property
    def researcher_pages(self) -> Templates:
        """Makes HTML."""


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server can tell."""
    return request.client.host if request.client is not None else "unknown"


def password_fits(place: LoginPlace, request: Request, password: str) -> bool:
    """Whether the password is right; too many failed attempts are refused."""
    address = address_of(request)
    try:
        if place.password.accepts(password, address):
            return True
        _SELDOM.warn(address, f"A wrong password for the researcher's pages came from {address}.")
    except TooManyTries as error:
        _SELDOM.warn("locked", f"Too many wrong passwords; the last came from {address}.")
        raise HTTPException(429, str(error), {"retry-after": str(error.seconds)}) from error
    return False


def bearer_is_researcher(place: LoginPlace, request: Request) -> bool:
    """Whether a program's request carries the password."""
    scheme, _, password = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and password_fits(place, request, password.strip())
