"""Limits on the size and duration of requests, and security headers on responses."""

import asyncio
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialens.web._refusal import Refusal

MOST_BYTES = 1_048_576
"""Of a request's body; the longest answers a study allows fit."""

BODY_SECONDS = 20.0
"""In which a body has to arrive."""

_READING = ("GET", "HEAD", "OPTIONS")


def security_headers(*, framed_by: tuple[str, ...] = (), within: bool = False) -> dict[str, str]:
    """Headers of every page: nothing from elsewhere, nothing inline, no frames.

    Args:
        framed_by: Sites that may show the pages within theirs, and take the last form.
        within: Whether a page of ours shows another in a frame, as previews do.

    Examples:
        >>> "frame-ancestors 'none'" in security_headers()["content-security-policy"]
        True
    """
    sites = " ".join(framed_by)
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "form-action": f"'self' {sites}".strip(),
        "frame-ancestors": sites or "'none'",
        "base-uri": "'none'",
    }
    if within:
        policy |= {"frame-src": "'self'", "frame-ancestors": "'self'"}
    headers = {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    if framed_by:
        return headers
    return headers | {"x-frame-options": "SAMEORIGIN" if within else "DENY"}


class Guard:
    """Middleware that applies the limits and adds the headers.

    A request that another site made the browser send is refused by what the browser says of it
    (`Sec-Fetch-Site`); forms carry a ticket besides, for browsers that say nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        headers: Mapping[str, str],
        most_bytes: int = MOST_BYTES,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as GET; the server sends no body
            scope = {**scope, "method": "GET"}
        scope["dialens.refusal"] = self._refusal(scope)
        await self._app(scope, self._bounded(receive), self._dressed(scope, send))

    def _refusal(self, scope: Scope) -> HTTPException | None:
        """Why the request is not handled at all; the application says it in its own words."""
        sent = dict(scope["headers"])
        if b"transfer-encoding" in sent and b"content-length" in sent:
            return Refusal(400, "unreadable")  # two ways to say where it ends: a smuggler's
        length = sent.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._most_bytes:
            return Refusal(413, "large")
        site = sent.get(b"sec-fetch-site", b"same-origin")
        if scope["method"] not in _READING and site not in (b"same-origin", b"none"):
            return Refusal(403, "other_site")
        return None

    def _bounded(self, receive: Receive) -> Receive:
        seen, complete, until = 0, False, asyncio.get_running_loop().time() + self._body_seconds

        async def bounded() -> Message:
            nonlocal seen, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError as error:
                raise Refusal(408, "slow") from error
            seen += len(message.get("body", b""))
            if seen > self._most_bytes:
                raise Refusal(413, "large")
            complete = not message.get("more_body", False)
            return message

        return bounded

    def _dressed(self, scope: Scope, send: Send) -> Send:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                added = [pair for pair in self._headers if pair[0] not in own]
                if b"cache-control" not in own:
                    added.append((b"cache-control", b"no-store"))
                if scope["scheme"] == "https":
                    added.append((b"strict-transport-security", b"max-age=31536000"))
                if message["status"] in (400, 408, 413):
                    added.append((b"connection", b"close"))
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        return dressed
