"""A connection to an endpoint: one request, and everything that can go wrong with it."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

import httpx

from dialens.agents._agent import AgentError
from dialens.agents._keys import refuse_key
from dialens.agents.kinds._bounded_http import NotUnpacked, timeouts, unpacked
from dialens.agents.kinds._openai_address import (
    completions_of,
    endpoint_of,
    key_header,
    key_of,
    key_variable_of,
)
from dialens.agents.kinds._openai_errors import AttemptFailed, malformed, refused
from dialens.agents.kinds._openai_extras import header_values, secrets_in, variables_in
from dialens.agents.kinds._openai_settings import KEY_VARIABLE, URL_VARIABLE, EndpointSettings
from dialens.agents.kinds._openai_wire import ResponseInfo, read_answer, read_stream
from dialens.base import know_secret

_EXPLAINED = 1 << 16
"""Bytes that are read of an explanation."""
_EXPLAINING = 5.0
"""Seconds that one is waited for."""
_EVENTS = 16
"""How much longer than in one piece an answer may be in events: each has a frame around a word."""


@dataclass(frozen=True)
class Connection:
    """How a model is reached.

    Key and headers are read from the environment for each request and go nowhere else.

    Attributes:
        model: What the endpoint calls the model.
        settings: How it is reached.
        headers: Further headers, without the values of their variables.
        environment: Where those are, and the key.
        client: Keeps connections.
        clock: Seconds, from any beginning.
    """

    model: str
    settings: EndpointSettings
    headers: Mapping[str, str]
    environment: Mapping[str, str] = field(repr=False)
    client: httpx.Client = field(repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    @property
    def endpoint(self) -> str:
        """The address."""
        return endpoint_of(self.settings, self.environment)

    @property
    def variables(self) -> list[str]:
        """Environment variables whose values are sent."""
        key = [key_variable_of(self.settings)] if key_of(self.settings, self.environment) else []
        return [*key, *variables_in(self.headers)]

    def request(
        self,
        body: dict[str, Any],
        info: ResponseInfo,
        deadline: float,
        *,
        stream: bool,
    ) -> Iterator[str]:
        """The text of an answer as it comes; everything that goes wrong is `AttemptFailed`."""
        endpoint = self.endpoint
        key = key_of(self.settings, self.environment)
        headers = httpx.Headers(header_values(self.headers, self.environment))
        headers.update(key_header(self.settings, endpoint, key))
        secrets = [*([key] if key else []), *secrets_in(self.headers, self.environment)]
        for secret in (*secrets, *proxy_secrets()):
            know_secret(secret)
        host = httpx.URL(endpoint).host
        info.whose = f"{self.model} at {host}"
        waits = timeouts(
            self.settings.read_timeout, self.settings.connect_timeout, deadline, self.clock
        )
        try:
            with self.client.stream(
                "POST",
                completions_of(endpoint),
                json=body,
                headers=headers,
                extensions=waits,
            ) as response:
                if response.status_code != 200:
                    waits["timeout"]["read"].deadline = min(deadline, self.clock() + _EXPLAINING)
                    raise refused(response, _beginning(response), self.model, secrets=secrets)
                if stream and "json" not in response.headers.get("Content-Type", ""):
                    yield from read_stream(self._chunks(response, deadline, _EVENTS), info)
                else:  # some endpoints do not stream, and answer at once
                    yield from read_answer(b"".join(self._chunks(response, deadline)), info)
        except httpx.ConnectTimeout as error:
            raise self._late(f"{host} could not be reached", "connect_timeout") from error
        except httpx.TimeoutException as error:
            if self.clock() >= deadline:
                late = self._late(f"{info.whose} did not finish its answer", "total_timeout")
                raise late from error
            raise self._late(f"{host} gave no sign of life", "read_timeout") from error
        except httpx.ConnectError as error:
            said = f"{host} cannot be reached. Check endpoint and network."
            raise AttemptFailed(AgentError(said, "unreachable"), again=True) from error
        except httpx.TransportError as error:
            said = f"The connection to {host} broke before the answer was whole."
            raise AttemptFailed(AgentError(said, "unreachable"), again=True) from error
        except NotUnpacked as error:
            raise malformed(str(error), info.whose) from error

    def _chunks(self, response: httpx.Response, deadline: float, times: int = 1) -> Iterator[bytes]:
        """The bytes of a response, as long as there is time and a reply could still be so long."""
        most = times * (64 * self.settings.longest_reply + (1 << 20))
        who = f"{self.model} at {response.request.url.host}"
        size = 0
        for chunk in unpacked(response):
            size += len(chunk)
            if self.clock() > deadline:
                raise self._late(f"{who} did not finish its answer", "total_timeout")
            if size > most:
                raise AgentError(
                    f"{who} answered with more than {most:,} bytes. Ask for shorter answers, or "
                    "raise longest_reply.",
                    "too_long",
                )
            yield chunk

    def _late(self, what: str, name: str) -> AttemptFailed:
        seconds = getattr(self.settings, name)
        error = AgentError(f"{what} within {seconds:g} s ({name}).", "timeout")
        return AttemptFailed(error, again=name != "total_timeout")


def _beginning(response: httpx.Response) -> bytes:
    """What an answer other than 200 says first; its status counts, however that goes on."""
    said = b""
    try:
        for chunk in unpacked(response):
            said += chunk
            if len(said) >= _EXPLAINED:
                break
    except (httpx.TransportError, NotUnpacked):
        pass
    return said


def proxy_secrets() -> list[str]:
    """Passwords in the addresses of proxies that the environment names."""
    found = (urlsplit(address).password for address in getproxies().values())
    return [unquote(password) for password in found if password]


def refuse_unasked(
    settings: EndpointSettings,
    endpoint: str,
    headers: Mapping[str, str],
    environment: Mapping[str, str],
) -> None:
    """Refuse variables that a file would send where the user did not say they may go.

    OpenAI's own may go to the address of `OPENAI_BASE_URL`: both are the user's.
    """
    url = httpx.URL(endpoint)
    key = [key_variable_of(settings)] if key_of(settings, environment) else []
    usual = environment.get(URL_VARIABLE, "").strip()
    for variable in [*key, *variables_in(headers)]:
        if variable == KEY_VARIABLE and usual and httpx.URL(usual).host == url.host:
            continue
        refuse_key(variable, url.host, environment, encrypted=url.scheme == "https")
