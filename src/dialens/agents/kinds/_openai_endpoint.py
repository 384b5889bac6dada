"""Agents behind any endpoint that speaks OpenAI's chat completions."""

import json
import os
import random
import time
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from dialens.agents._agent import AgentError, AgentSpec, Message, Parameters, Reply, Wish
from dialens.agents._cleaning import clean_pieces, clean_reply, noted
from dialens.agents._pieces import tidy, whole, without_thought
from dialens.agents._settings import Named, in_file, read_settings
from dialens.agents.kinds._bounded_http import bounded_client
from dialens.agents.kinds._messages import LEAST_TURNS, left_out_note, oldest
from dialens.agents.kinds._openai_address import endpoint_of, key_of
from dialens.agents.kinds._openai_connection import Connection, refuse_unasked
from dialens.agents.kinds._openai_errors import RETRY, AttemptFailed
from dialens.agents.kinds._openai_extras import (
    header_values,
    is_header_name,
    read_body,
    read_headers,
)
from dialens.agents.kinds._openai_settings import EndpointSettings, stop_words
from dialens.agents.kinds._openai_wire import ResponseInfo, Usage
from dialens.agents.kinds._openai_wire import request_body as body_of
from dialens.agents.kinds._rate_limit import RateLimit, shared_limit
from dialens.agents.kinds._tool_loop import Answered, Messages, until_it_speaks
from dialens.agents.kinds._tools import ToolSet, read_tools
from dialens.base import DialensError

_CHARACTERS_A_TOKEN = 4
_FORESEEN_TOKENS = 256


@dataclass(frozen=True)
class EndpointAgent:
    """A model behind an endpoint.

    Attributes:
        system: What it is a setting of.
        name: Which setting.
        parameters: What was set.
        model: What the endpoint calls the model.
        settings: How it talks and is reached.
        connection: By which it is reached.
        limit: How much may be asked a minute.
        sleep: How to wait.
        tools: What it may call.
        extra: Further fields of a request.
        takes_schema: Empty once the endpoint has refused a schema.
        streams: Empty once the endpoint has refused to stream.
    """

    system: str
    name: str
    parameters: Parameters
    model: str
    settings: EndpointSettings
    connection: Connection = field(repr=False)
    limit: RateLimit = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    tools: ToolSet | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    takes_schema: set[bool] = field(default_factory=lambda: {True}, repr=False)
    streams: set[bool] = field(default_factory=lambda: {True}, repr=False)

    @property
    def identity(self) -> str:
        """The model and where it is; what stands behind that name, only the endpoint knows."""
        return f"{self.model} at {self.connection.endpoint}"

    @property
    def maker(self) -> str:
        """The model, wherever it is, with what its files say."""
        more = [f"tools {self.tools.digest}"] if self.tools else []
        if self.extra:
            more.append(json.dumps(self.extra, sort_keys=True))
        return " ".join([self.model, *more])

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
        return httpx.URL(self.connection.endpoint).host

    @property
    def keys_sent(self) -> list[tuple[str, str]]:
        """Environment variables that are sent, and where to."""
        return [(name, self.host) for name in self.connection.variables]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the endpoint."""
        url = httpx.URL(self.connection.endpoint)
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
        self.connection.client.close()

    def _asked(
        self,
        history: Sequence[Message],
        seed: int,
        *,
        stream: bool,
        wish: Wish | None = None,
        anew: bool = False,
    ) -> Generator[str, None, Reply]:
        """Ask until it speaks, answering the tools that it calls.

        Args:
            history: The conversation.
            seed: Of the conversation.
            stream: Whether the answer is to come in pieces.
            wish: What is wished for this answer; where there is one, nothing may be left out and
                no tool called.
            anew: Whether an answer that broke off may be begun again: nobody has heard of it.
        """
        tools = self.tools if wish is None else None
        declared = tools.declared if tools else ()
        endpoint = self.connection.endpoint
        ends: list[float] = []

        def ask(exchanged: Messages, may_call: bool) -> Generator[str, None, Answered]:  # noqa: FBT001
            def body(left_out: int) -> dict[str, Any]:
                return body_of(
                    self.model, self.settings, endpoint, history[left_out:], seed=seed,
                    stream=stream, wish=wish, exchanged=exchanged, tools=declared,
                    may_call=may_call, extra=self.extra,
                )  # fmt: skip

            droppable = len(history) if wish is None else 0
            jitter = random.Random(f"{seed} {len(history)}")
            foreseen = _tokens(history, exchanged) + (self.settings.max_tokens or _FORESEEN_TOKENS)
            self.limit.wait(foreseen)  # not part of the answer's time: the limit is our own
            ends.append(self.connection.clock() + self.settings.total_timeout)
            return (
                yield from self._insisted(
                    body, droppable, jitter, foreseen, ends[0], stream=stream, anew=anew
                )
            )

        return until_it_speaks(
            ask, history, tools, most_calls=self.settings.most_calls, who=self.model
        )

    def _insisted(
        self,
        body: Callable[[int], dict[str, Any]],
        droppable: int,
        jitter: random.Random,
        foreseen: float,
        deadline: float,
        *,
        stream: bool,
        anew: bool,
    ) -> Generator[str, None, Answered]:
        """Make a request until there is an answer, or no use in asking."""
        began = self.connection.clock()
        requests = failures = slowed = left_out = 0
        while True:
            if requests:
                self.limit.wait(foreseen)
            requests += 1
            info = ResponseInfo()
            text: list[str] = []
            removed: list[bool] = []
            try:
                said = self.connection.request(body(left_out), info, deadline, stream=stream)
                pieces = tidy(
                    clean_pieces(without_thought(said, info.thought), removed),
                    longest=self.settings.longest_reply,
                    who=self.model,
                )
                for piece in pieces:
                    text.append(piece)
                    yield piece
            except AgentError as error:
                if error.kind != "empty" or not info.calls:
                    error.attempts = requests
                    if info.usage:
                        error.spent = self._reply("", info, 0, 0.0, foreseen)
                    raise
            except AttemptFailed as failure:
                failure.error.attempts = requests
                if failure.too_long and droppable - left_out > LEAST_TURNS:
                    left_out += oldest(droppable - left_out)
                    continue
                slowed += failure.slow
                failures += not failure.slow
                wait = failure.wait
                if wait is None:
                    wait = RETRY.backoff(slowed if failure.slow else failures, jitter)
                late = self.connection.clock() + wait >= deadline
                last = failures == self.settings.attempts
                if (text and not anew) or last or late or not failure.again:
                    raise failure.error from failure
                if failure.slow:  # everybody waits: the limit is the account's
                    self.limit.pause(wait)
                else:
                    self.sleep(wait)
                continue
            self.limit.served()
            reply = self._reply(
                "".join(text), info, requests, self.connection.clock() - began, foreseen
            )
            reply = clean_reply(replace(reply, note=left_out_note(left_out)))
            return Answered(noted(reply) if removed else reply, info.calls)

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


def _tokens(history: Sequence[Message], exchanged: Messages) -> float:
    """About how many a conversation has."""
    size = sum(len(said.text) for said in history)
    size += sum(len(str(message)) for message in exchanged)
    return size / _CHARACTERS_A_TOKEN


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
    if settings.key_header and not is_header_name(settings.key_header):
        raise DialensError("key_header is not the name of a header, such as api-key.")
    headers = read_headers(settings.headers)
    header_values(headers, known)
    if not (spec.typed and not in_file(settings.headers)):
        refuse_unasked(settings, endpoint, headers, known)
    stop_words(settings.stop)
    limit = shared_limit(
        endpoint,
        spec.target,
        requests=settings.requests_per_minute,
        tokens=settings.tokens_per_minute,
    )
    named = Named.of(spec, EndpointSettings, system=spec.target)
    client = bounded_client(httpx.Limits(max_connections=None, max_keepalive_connections=20))
    agent = EndpointAgent(
        named.system,
        named.name,
        named.parameters,
        spec.target,
        settings,
        Connection(spec.target, settings, headers, known, client, clock),
        limit,
        sleep,
        read_tools(Path(settings.tools)) if settings.tools else None,
        read_body(settings.extra_body),
    )
    weakref.finalize(agent, client.close)  # for those who forget
    return agent
