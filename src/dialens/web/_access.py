"""Who may see the researcher's side."""

import logging
from typing import Annotated, Protocol

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dialens.studies.store import TooManyTries
from dialens.web._cookies import CookieJar
from dialens.web._logging import Seldom
from dialens.web._pages import Templates
from dialens.web._password import OWNER, Password

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

    def note(self, what: str, who: str) -> None:
        """Write down what a researcher did, in the log of changes."""


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server can tell."""
    return request.client.host if request.client is not None else "unknown"


def role_of(place: LoginPlace, request: Request, password: str) -> str | None:
    """Whose password it is, if anybody's; too many failed attempts are refused."""
    address = address_of(request)
    try:
        role = place.password.accepts(password, address)
        if role is not None:
            return role
        _SELDOM.warn(address, f"A wrong password for the researcher's pages came from {address}.")
    except TooManyTries as error:
        _SELDOM.warn("locked", f"Too many wrong passwords; the last came from {address}.")
        raise HTTPException(429, str(error), {"retry-after": str(error.seconds)}) from error
    return None


def looks_only(who: str) -> HTTPException:
    """What somebody is told who may only look; that they tried has a line in the log."""
    _SELDOM.warn(f"looks {who}", f"{who or 'A viewer'} may only look, and tried to do more.")
    return HTTPException(403, "Your password lets you look, and change nothing.")


def bearer_is_researcher(place: LoginPlace, request: Request) -> bool:
    """Whether a program's request carries the password of who may do everything."""
    scheme, _, password = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and role_of(place, request, password.strip()) == OWNER
