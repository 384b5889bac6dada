"""Pages for one person on their own machine: who may ask for them.

Requests have to name this machine as their host (so that no foreign name can be made to point
here), may not come from another site's page, and need a token that only the address printed by
the command holds; the first page puts it into a cookie.
"""

import hashlib
import hmac
from dataclasses import dataclass

from fastapi import HTTPException, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.types import Scope

_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Key:
    """The token of a page, and the cookie that holds it.

    Attributes:
        token: The secret.
        command: The command that printed the address.
        prefix: Of the cookie's name.
    """

    token: str
    command: str
    prefix: str

    @property
    def cookie(self) -> str:
        """Name of the cookie; cookies do not know ports."""
        return f"{self.prefix}-{hashlib.sha256(self.token.encode()).hexdigest()[:12]}"

    def check(self, request: Request) -> None:
        """Refuse who shows no token (401), or a wrong one (403)."""
        if not self.opens(request):
            raise HTTPException(
                403 if self._shown(request) else 401,
                f"Open the address that `{self.command}` printed: it holds the key to this page.",
            )

    def opens(self, request: Request) -> bool:
        """Whether a request shows the token."""
        return hmac.compare_digest(self._shown(request).encode(), self.token.encode())

    def _shown(self, request: Request) -> str:
        return request.cookies.get(self.cookie) or request.query_params.get("token", "")

    def keep(self, response: Response) -> None:
        """Let the browser show the token from now on."""
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")


def foreign(scope: Scope) -> Response | None:
    """Refuse what another page on the web may have sent.

    What browsers say of a request (`Origin`, `Sec-Fetch-Site`) has to be that it comes from a page
    of ours or from the address bar; a link elsewhere that was followed may only show a page.
    """
    sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    host = sent.get("host", "")
    if host.rpartition(":")[0] not in _HOSTS and host not in _HOSTS:
        return PlainTextResponse("This page is only for this machine.", 421)
    own = sent.get("origin") in (None, f"http://{host}")
    followed = scope["method"] in ("GET", "HEAD") and sent.get("sec-fetch-mode") == "navigate"
    near = sent.get("sec-fetch-site", "none") in ("same-origin", "none")
    if not own or not (near or followed):
        return PlainTextResponse("This request came from another site.", 403)
    return None
