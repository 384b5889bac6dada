"""Who may see the researcher's side."""

from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dialens.web._password import TooManyTries
from dialens.web._site import Site

_BEARER = HTTPBearer(auto_error=False, description="The researcher's password.")

Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server can tell."""
    return request.client.host if request.client is not None else "unknown"


def password_fits(site: Site, request: Request, password: str) -> bool:
    """Whether the password is right; too many failed attempts are refused."""
    try:
        return site.password.accepts(password, address_of(request))
    except TooManyTries as error:
        raise HTTPException(429, str(error), {"retry-after": str(error.seconds)}) from error


def bearer_is_researcher(site: Site, request: Request) -> bool:
    """Whether a program's request carries the password."""
    scheme, _, password = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and password_fits(site, request, password.strip())
