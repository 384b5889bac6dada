"""Agents behind any endpoint that speaks OpenAI's chat completions."""

import os
import random
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import httpx

from dialens.agents._agent import AgentError, AgentSpec, Message, Parameters, Reply, Wish
from dialens.agents._pieces import tidy, whole, without_thought
from dialens.agents._settings import Named, read_settings
from dialens.agents.kinds._openai_settings import EndpointSettings, endpoint_of, key_of
from dialens.agents.kinds._openai_wire import (
    RETRY,
    AttemptFailed,
    ResponseInfo,
    Usage,
    read_answer,
    read_stream,
    refused,
)
from dialens.agents.kinds._openai_wire import request_body as body_of
from dialens.agents.kinds._rate_limit import RateLimit, shared_limit
from dialens.base import DialensError

_CHARACTERS_A_TOKEN = 4
_FORESEEN_TOKENS = 256
_LEAST = 2
"""Turns that a conversation keeps, however little fits."""


@dataclass(frozen=True)
class EndpointAgent:
    """A model behind an endpoint.

    The key is read from the environment for each request and goes nowhere but into its header.

    Attributes:
        system: What it is a setting of.
        name: Which setting.
        parameters: What was set.
        model: What the endpoint calls the model.
        settings: How it talks and is reached.
        client: Keeps connections.
        environment: Where the key is.
        limit: How much may be asked a minute.
        clock: Seconds, from any beginning.
        sleep: How to wait.
        takes_schema: Empty once the endpoint has refused a schema.
        streams: Empty once the endpoint has refused to stream.
    """

    system: str
    name: str
    parameters: Parameters
    model: str
    settings: EndpointSettings
    client: httpx.Client = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    limit: RateLimit = field(repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    takes_schema: set[bool] = field(default_factory=lambda: {True}, repr=False)
    streams: set[bool] = field(default_factory=lambda: {True}, repr=False)

    @property
    def identity(self) -> str:
        """The model and where it is; what stands behind that name, only the endpoint knows."""
        return f"{self.model} at {endpoint_of(self.settings, self.environment)}"

    @property
    def maker(self) -> str:
        """The model, wherever it is."""
        return self.model

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Ask, again where that may help, and give the whole answer.

        It is streamed although nobody listens: an answer that takes long still shows signs of life.
        Whoever may not stream a model is answered in one piece.
        """
        if self.streams:
            try:
                return whole(self._asked(history, seed, stream=True, anew=True))
            except AgentError as error:
                if error.kind != "refused" or error.lasting or "stream" not in str(error):
                    raise
                reply = whole(self._asked(history, seed, stream=False, anew=True))
                self.streams.clear()
                return replace(reply, attempts=reply.attempts + error.attempts)
        return whole(self._asked(history, seed, stream=False, anew=True))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Ask, again as long as nothing has come, and pass on what comes."""
        return self._asked(history, seed, stream=True)

    @property
    def host(self) -> str:
        """Where what is said to it is sent."""
        return httpx.URL(endpoint_of(self.settings, self.environment)).host

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the endpoint."""
        url = httpx.URL(endpoint_of(self.settings, self.environment))
        return url.host, url.port or (443 if url.scheme == "https" else 80)

    @property
    def prices(self) -> tuple[float, float] | None:
        """Of a million tokens read and written, where both are set."""
        read, written = self.settings.price_in, self.settings.price_out
        return None if read is None or written is None else (read, written)

    def answer(self, history: Sequence[Message], wish: Wish, *, seed: int = 0) -> Reply:
        """Ask for an answer of a certain form.

        A server that knows no schemas refuses the whole request: it is asked again without one,
        and the answer says so.
        """
        wanted = wish if wish.schema is None or self.takes_schema else replace(wish, schema=None)
        try:
            reply = whole(self._asked(history, seed, stream=False, wish=wanted))
        except AgentError as error:
            if wanted.schema is None or error.kind != "refused" or error.lasting:
                raise
            bare = whole(self._asked(history, seed, stream=False, wish=replace(wish, schema=None)))
            self.takes_schema.clear()
            reply = replace(bare, attempts=bare.attempts + error.attempts)
        if wish.schema is not None and not self.takes_schema:
            return replace(reply, note="the server takes no schema: it stands in the prompt alone")
        return reply

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _asked(
        self,
        history: Sequence[Message],
        seed: int,
        *,
        stream: bool,
        wish: Wish | None = None,
        anew: bool = False,
    ) -> Generator[str, None, Reply]:
        """Ask until there is an answer, or no use in asking.

        Args:
            history: The conversation.
            seed: Of the conversation.
            stream: Whether the answer is to come in pieces.
            wish: What is wished for this answer; where there is one, nothing may be left out.
            anew: Whether an answer that broke off may be begun again: nobody has heard of it.
        """
        endpoint = endpoint_of(self.settings, self.environment)
        foreseen = sum(len(said.text) for said in history) / _CHARACTERS_A_TOKEN
        foreseen += self.settings.max_tokens or _FORESEEN_TOKENS
        jitter = random.Random(f"{seed} {len(history)}")
        self.limit.wait(foreseen)  # not part of the answer's time: the limit is our own
        began = self.clock()
        deadline = began + self.settings.total_timeout
        requests = failures = slowed = left_out = 0
        while True:
            if requests:
                self.limit.wait(foreseen)
            requests += 1
            body = body_of(
                self.model, self.settings, endpoint, history[left_out:], seed=seed, stream=stream,
                wish=wish,
            )  # fmt: skip
            info = ResponseInfo()
            text: list[str] = []
            try:
                pieces = tidy(
                    without_thought(
                        self._once(endpoint, body, info, deadline, stream=stream), info.thought
                    ),
                    longest=self.settings.longest_reply,
                    who=self.model,
                )
                for piece in pieces:
                    text.append(piece)
                    yield piece
            except AgentError as error:
                error.attempts = requests
                raise
            except AttemptFailed as failure:
                failure.error.attempts = requests
                if failure.too_long and wish is None and len(history) - left_out > _LEAST:
                    left_out += _oldest(len(history) - left_out)
                    continue
                slowed += failure.slow
                failures += not failure.slow
                wait = failure.wait
                if wait is None:
                    wait = RETRY.backoff(slowed if failure.slow else failures, jitter)
                late = self.clock() + wait >= deadline
                last = failures == self.settings.attempts
                if (text and not anew) or last or late or not failure.again:
                    raise failure.error from failure
                if failure.slow:  # everybody waits: the limit is the account's
                    self.limit.pause(wait)
                else:
                    self.sleep(wait)
                continue
            self.limit.served()
            note = f"the oldest {left_out} turns did not fit" if left_out else ""
            reply = self._reply("".join(text), info, requests, self.clock() - began, foreseen)
            return replace(reply, note=note)

    def _once(
        self,
        endpoint: str,
        body: dict[str, object],
        info: ResponseInfo,
        deadline: float,
        *,
        stream: bool,
    ) -> Iterator[str]:
        """One request; everything that goes wrong with it is `AttemptFailed`."""
        key = key_of(self.settings, self.environment)
        left = max(deadline - self.clock(), 0.01)
        timeout = httpx.Timeout(
            min(self.settings.read_timeout, left),
            connect=min(self.settings.connect_timeout, left),
        )
        host = httpx.URL(endpoint).host
        try:
            with self.client.stream(
                "POST",
                f"{endpoint}/chat/completions",
                json=body,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=timeout,
            ) as response:
                chunks = self._chunks(response, deadline)
                if response.status_code != 200:
                    raise refused(response, b"".join(chunks), self.model, secret=key)
                if stream and "json" not in response.headers.get("Content-Type", ""):
                    yield from read_stream(chunks, info)
                else:  # some endpoints do not stream, and answer at once
                    yield from read_answer(b"".join(chunks), info)
        except httpx.ConnectTimeout as error:
            raise self._late(f"{host} could not be reached", "connect_timeout") from error
        except httpx.TimeoutException as error:
            raise self._late(f"{host} gave no sign of life", "read_timeout") from error
        except httpx.ConnectError as error:
            said = f"{host} cannot be reached. Check endpoint and network."
            raise AttemptFailed(AgentError(said, "unreachable"), again=True) from error
        except httpx.TransportError as error:
            said = f"The connection to {host} broke before the answer was whole."
            raise AttemptFailed(AgentError(said, "unreachable"), again=True) from error
        except httpx.DecodingError as error:
            said = f"{host} sent an answer that cannot be unpacked."
            raise AttemptFailed(AgentError(said, "malformed"), again=True) from error

    def _chunks(self, response: httpx.Response, deadline: float) -> Iterator[bytes]:
        """The bytes of a response, as long as there is time and a reply could still be so long."""
        most = 64 * self.settings.longest_reply + (1 << 20)
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if self.clock() > deadline:
                raise self._late(f"{self.model} did not finish its answer", "total_timeout")
            if size > most and "json" in response.headers.get("Content-Type", ""):
                raise AgentError(
                    f"{self.model} answered with more than {most:,} bytes. Ask for shorter "
                    "answers, or raise longest_reply.",
                    "too_long",
                )
            yield chunk

    def _late(self, what: str, name: str) -> AttemptFailed:
        seconds = getattr(self.settings, name)
        error = AgentError(f"{what} within {seconds:g} s ({name}).", "timeout")
        return AttemptFailed(error, again=name != "total_timeout")

    def _reply(
        self, text: str, info: ResponseInfo, attempts: int, seconds: float, foreseen: float
    ) -> Reply:
        usage = info.usage or Usage()
        read, written = usage.prompt_tokens, usage.completion_tokens
        if read is not None and written is not None:
            self.limit.settle(read + written - foreseen)
        return Reply(
            text,
            seconds,
            attempts,
            read,
            written,
            self._cost(read, written),
            usage.cached,
            info.fingerprint,
            info.declined,
            tuple(info.likeliest),
            finish=info.finished,
            model=info.model,
            thought="".join(info.thought).strip(),
        )

    def _cost(self, read: int | None, written: int | None) -> float | None:
        if read is None or written is None or self.prices is None:
            return None
        per_read, per_written = self.prices
        return (read * per_read + written * per_written) / 1e6


def _oldest(turns: int) -> int:
    """How many turns to leave out at once: about a quarter, in pairs, so that roles alternate.

    Examples:
        >>> [_oldest(turns) for turns in (3, 8, 20)]
        [2, 2, 4]
    """
    return max(2, turns // 4 // 2 * 2)


def open_agent(
    spec: AgentSpec,
    *,
    environment: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> EndpointAgent:
    """An agent of an endpoint; a missing key is said here, before anything is asked."""
    settings = read_settings(EndpointSettings, spec)
    known = os.environ if environment is None else environment
    if not spec.target:
        raise DialensError("An agent of an endpoint needs a model: openai:MODEL.")
    endpoint = endpoint_of(settings, known)
    key_of(settings, known)
    limit = shared_limit(
        endpoint,
        spec.target,
        requests=settings.requests_per_minute,
        tokens=settings.tokens_per_minute,
    )
    named = Named.of(spec, EndpointSettings, system=spec.target)
    client = httpx.Client(limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))
    agent = EndpointAgent(
        named.system,
        named.name,
        named.parameters,
        spec.target,
        settings,
        client,
        known,
        limit,
        clock,
        sleep,
    )
    weakref.finalize(agent, client.close)  # for those who forget
    return agent
