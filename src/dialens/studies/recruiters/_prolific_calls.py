"""Calls to Prolific's REST API: the token, pages of results, when to try again, errors in words."""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx

from dialens.base import DialensError, RetryPolicy, know_secret, not_sent, send_with_retry

ENDPOINT = "https://api.prolific.com"
TOKEN_VARIABLE = "PROLIFIC_API_TOKEN"
_RETRY = RetryPolicy(attempts=5, first_wait_s=1.0)
_PAGE = 100


@dataclass(frozen=True)
class ProlificCalls:
    """A connection to Prolific.

    Attributes:
        environment: Where the token is (`PROLIFIC_API_TOKEN`); read when it is needed, and
            written nowhere but into the header of requests.
        endpoint: Another server that speaks the protocol.
        sleep: How to wait.
    """

    environment: Mapping[str, str] = field(repr=False)
    endpoint: str | None = None
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def _client(self) -> httpx.Client:
        token = self.environment.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise DialensError(
                f"There is no token for Prolific. Make one on its page (Settings, API tokens) and "
                f"set {TOKEN_VARIABLE} to it."
            )
        if not token.isascii() or not token.isprintable():
            raise DialensError(f"{TOKEN_VARIABLE} does not hold a token: it has odd characters.")
        know_secret(token)
        return httpx.Client(
            base_url=self.endpoint or ENDPOINT,
            headers={"Authorization": f"Token {token}"},
            timeout=httpx.Timeout(60.0, connect=10.0),
            verify=self._certificates,
        )

    def get(self, path: str, **query: str | int) -> Any:
        """Read something."""
        return self._sent("GET", path, idempotent=True, query=query)

    def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, idempotent: bool = False
    ) -> Any:
        """Change something; `idempotent` says that doing it twice is doing it once."""
        return self._sent("POST", path, idempotent=idempotent, body=body)

    def delete(self, path: str) -> None:
        """Remove something."""
        self._sent("DELETE", path, idempotent=True)

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        """The results of all pages."""
        page = 1
        seen = 0
        while True:
            content = self.get(path, **query, page=page, page_size=_PAGE)
            results = content.get("results", [])
            yield from results
            seen += len(results)
            count = content.get("meta", {}).get("count", seen)
            if not results or seen >= count:
                return
            page += 1

    def _sent(
        self,
        method: str,
        path: str,
        *,
        idempotent: bool,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        def send() -> httpx.Response:
            with self._client() as client:
                return client.request(method, f"/api/v1{path}", params=query, json=body)

        try:
            response = send_with_retry(send, _RETRY, idempotent=idempotent, sleep=self.sleep)
        except httpx.TransportError as error:
            raise self._unreachable(safe=idempotent or not_sent(error)) from error
        return _content(response)

    def _unreachable(self, *, safe: bool) -> DialensError:
        place = self.endpoint or ENDPOINT
        if safe:
            return DialensError(f"Prolific cannot be reached at {place}. Check the network.")
        return DialensError(
            f"The connection to {place} broke before Prolific answered: whether it did what was "
            "asked is not known. Look at the study on Prolific's page before you try again."
        )


def _content(response: httpx.Response) -> Any:
    status = response.status_code
    if status in (401, 403):
        raise DialensError(
            f"Prolific refuses the token in {TOKEN_VARIABLE} ({status}). Check that it is whole, "
            "current, and of an account that may see this study."
        )
    if status == 429:
        raise DialensError("Prolific asks to slow down. Run the command again in a few minutes.")
    if status >= 500:
        raise DialensError(f"Prolific has trouble of its own ({status}). Try again later.")
    if status >= 300:
        raise DialensError(f"Prolific says ({status}): {_explanation(response)}")
    if status == 204 or not response.content:
        return None
    try:
        return response.json()
    except ValueError as error:
        raise DialensError(
            f"{response.request.url.host} did not answer as Prolific does: no JSON in {status}."
        ) from error


def _explanation(response: httpx.Response) -> str:
    """Prolific's explanation, whichever form it has."""
    try:
        body = response.json()
    except ValueError:
        return response.text[:300].strip() or "nothing more"
    error = body.get("error", body) if isinstance(body, dict) else body
    detail = error.get("detail", error) if isinstance(error, dict) else error
    if isinstance(detail, dict):
        detail = "; ".join(
            f"{name}: {' '.join(map(str, why)) if isinstance(why, list) else why}"
            for name, why in detail.items()
        )
    return (" ".join(map(str, detail)) if isinstance(detail, list) else str(detail))[:600]
