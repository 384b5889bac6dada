"""What every request of the workbench passes: the key, and a net under faults of ours."""

from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

from fastapi import HTTPException, Request
from fastapi.responses import Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialens.web._loopback import Key


class Keyed:
    """Lets nothing through without the key; takes it out of addresses, into a cookie."""

    def __init__(
        self, app: ASGIApp, *, key: Key, refused: Callable[[Request, HTTPException], Response]
    ) -> None:
        self._app = app
        self._key = key
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        request = Request(scope)
        try:
            self._key.check(request)
        except HTTPException as error:
            await self._refused(request, error)(scope, receive, send)
            return
        if "token" not in request.query_params:
            await self._app(scope, receive, send)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        kept = urlencode([pair for pair in query if pair[0] != "token"])
        inner = {**scope, "query_string": kept.encode("ascii")}
        await self._app(inner, receive, self._keeping(send))

    def _keeping(self, send: Send) -> Send:
        cookie = Response()
        self._key.keep(cookie)

        async def keeping(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", cookie.headers["set-cookie"])
            await send(message)

        return keeping


class Faults:
    """Shows a page where something of ours broke, and lets the server go on."""

    def __init__(self, app: ASGIApp, *, broken: Callable[[Request, Exception], Response]) -> None:
        self._app = app
        self._broken = broken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            page = self._broken(Request(scope), error)
            if not started:
                await page(scope, receive, send)
