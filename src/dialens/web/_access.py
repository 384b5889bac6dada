"""Who may see the researcher's side."""

from typing import Annotated, Protocol

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dialens.web._cookies import CookieJar
from dialens.web._pages import Templates
from dialens.web._password import Password, TooManyTries

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
    try:
        return place.password.accepts(password, address_of(request))
    except TooManyTries as error:
        raise HTTPException(429, str(error), {"retry-after": str(error.seconds)}) from error


def bearer_is_researcher(place: LoginPlace, request: Request) -> bool:
    """Whether a program's request carries the password."""
    scheme, _, password = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and password_fits(place, request, password.strip())
