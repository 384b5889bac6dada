"""Agents from one GGUF file in its own precision, run by llama.cpp in this process."""

import secrets
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path
from typing import Any

import msgspec

from dialens.agents._agent import AgentError, AgentSpec, Message, Parameters, Reply, Wish
from dialens.agents._pieces import LONGEST, tidy, whole, without_thought
from dialens.agents._settings import Named, read_settings, setting
from dialens.agents.kinds._gguf_file import gguf_path
from dialens.agents.kinds._messages import (
    LEAST_TURNS,
    as_messages,
    left_out_note,
    oldest,
    sendable,
)
from dialens.agents.kinds._openai_errors import AttemptFailed, is_too_long
from dialens.agents.kinds._openai_settings import stop_words
from dialens.agents.kinds._openai_wire import ResponseInfo, Usage, read_answer
from dialens.agents.kinds._tool_loop import Answered, Messages, until_it_speaks
from dialens.agents.kinds._tools import ToolSet, read_tools
from dialens.base import sha256_file

_LIKELIEST = 200  # tokens looked at for an answer; the rest is next to impossible


@dataclass(frozen=True)
class LlamaSettings:
    """How the model talks, and what it may use."""

    persona: str = setting("", "Who the agent is; the first part of the system message.")
    instruction: str = setting("", "How it is to talk; the second part of the system message.")
    temperature: float = setting(0.7, "Of sampling; 0 takes the likeliest.", low=0.0, high=5.0)
    top_p: float = setting(0.9, "Nucleus of sampling.", low=0.01, high=1.0)
    top_k: int = setting(40, "Tokens to draw from; 0 for all.", low=0)
    min_p: float = setting(
        0.05, "Least chance of a token, by that of the likeliest.", low=0.0, high=1.0
    )
    max_tokens: int = setting(512, "The most tokens of an answer.", low=1, high=100_000)
    stop: str = setting("", 'Where an answer ends: a text, or several as ["A:", "B:"].')
    tools: str = setting("", "A YAML or JSON file of tools that the model may call.", file=True)
    most_calls: int = setting(8, "Calls of tools for one answer.", low=1, high=1000)
    begin: str = setting("Hello!", "Said to the model when it is to speak first.")
    context: int = setting(
        8192, "Tokens of the longest conversation.", low=64, high=10_000_000, connection=True
    )
    at_once: int = setting(1, "Answers written at the same time.", low=1, high=64, connection=True)
    threads: int = setting(0, "Of computing; 0 leaves it to llama.cpp.", low=0, connection=True)
    gpu_layers: int = setting(
        -1, "Layers on the graphics card, where there is one; -1 for all.", low=-1, connection=True
    )
    longest_reply: int = setting(
        LONGEST, "Characters of the longest answer accepted.", low=1, connection=True
    )


@dataclass(frozen=True)
class LlamaAgent:
    """A language model in a GGUF file.

    Attributes:
        system: What it is a setting of.
        name: Which setting.
        parameters: What was set.
        settings: How it talks.
        server: Of xllamacpp: llama.cpp's own server, asked in process.
        identity: The hash of the file.
        tools: What it may call.
    """

    system: str
    name: str
    parameters: Parameters
    settings: LlamaSettings
    server: Any = field(repr=False)
    identity: str = ""
    tools: ToolSet | None = None

    @property
    def maker(self) -> str:
        """The file, wherever it is, with its tools."""
        return f"{self.identity} tools {self.tools.digest}" if self.tools else self.identity

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Write the whole answer; the oldest turns are left out where it is too long."""
        return whole(self.stream(history, seed=seed))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Write the answer and give it in one piece, or one more for each call of a tool."""

        def ask(exchanged: Messages, may_call: bool) -> Generator[str, None, Answered]:  # noqa: FBT001
            left_out = 0
            while True:
                body = self._body(history[left_out:], seed + len(history), exchanged)
                if self.tools:
                    body["tools"] = self.tools.declared
                    body |= {} if may_call else {"tool_choice": "none"}
                more = len(history) - left_out > LEAST_TURNS
                try:
                    answered = self._answered(body)
                except AttemptFailed as failure:
                    if not failure.too_long or not more:
                        raise failure.error from failure
                else:
                    if not more or not self._ran_out(answered.reply):
                        if answered.reply.text:
                            yield answered.reply.text
                        note = left_out_note(left_out)
                        return replace(answered, reply=replace(answered.reply, note=note))
                left_out += oldest(len(history) - left_out)

        return until_it_speaks(
            ask, history, self.tools, most_calls=self.settings.most_calls, who=self.system
        )

    def answer(self, history: Sequence[Message], wish: Wish, *, seed: int = 0) -> Reply:
        """Write an answer that keeps to a schema, where one is wished for; nothing is left out."""
        body = self._body(history, seed + len(history))
        if wish.temperature is not None:
            body["temperature"] = wish.temperature
        if wish.max_tokens:
            body["max_tokens"] = wish.max_tokens
        if wish.schema is not None:
            named = {"name": "answer", "schema": dict(wish.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if wish.likeliest:
            body |= {"logprobs": True, "top_logprobs": wish.likeliest}
        try:
            return self._answered(body).reply
        except AttemptFailed as failure:
            raise failure.error from failure

    def _body(
        self, history: Sequence[Message], seed: int, exchanged: Messages = ()
    ) -> dict[str, Any]:
        settings = self.settings
        body: dict[str, Any] = {
            "messages": [*self._messages(history), *map(sendable, exchanged)],
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "top_k": settings.top_k,
            "min_p": settings.min_p,
            "max_tokens": settings.max_tokens,
            "seed": seed & 0x7FFFFFFF,
        }
        return body | ({"stop": stop_words(settings.stop)} if settings.stop else {})

    def _answered(self, body: dict[str, Any]) -> Answered:
        """The answer to one request, which may be silent where it calls tools."""
        began = time.monotonic()
        info = ResponseInfo()
        pieces = tidy(
            without_thought(read_answer(self._asked(body), info), info.thought),
            longest=self.settings.longest_reply,
            who=self.system,
        )
        try:
            text = "".join(pieces)
        except AgentError as error:
            if error.kind != "empty" or not info.calls:
                raise
            text = ""
        usage = info.usage or Usage()
        reply = Reply(
            text,
            time.monotonic() - began,
            1,
            usage.prompt_tokens,
            usage.completion_tokens,
            tokens_cached=usage.cached,
            fingerprint=info.fingerprint,
            declined=info.declined,
            likeliest=tuple(info.likeliest),
            finish=info.finished,
            thought="".join(info.thought).strip(),
        )
        return Answered(reply, info.calls)

    def _ran_out(self, reply: Reply) -> bool:
        """Whether an answer ended because the conversation left no room for it."""
        written = reply.tokens_out or 0
        return reply.finish == "length" and written < self.settings.max_tokens

    def likelihoods(self, history: Sequence[Message], answers: Sequence[str]) -> list[float]:
        """How likely each answer would come next, whole, and not go on as another of them.

        An answer may be written in several tokens, and in several ways: all of them count.
        """
        found = dict.fromkeys(answers, 0.0)
        self._walk(history, answers, "", 1.0, found)
        return [max(0.0, found[answer]) for answer in answers]

    def _walk(
        self,
        history: Sequence[Message],
        answers: Sequence[str],
        written: str,
        chance: float,
        found: dict[str, float],
    ) -> float:
        """Follow all tokens that begin an answer; gives how much of the chance reached one."""
        reached = 0.0
        for token, log in self._next(history, written).items():
            more = token if written else token.lstrip()
            if not more:
                continue
            text, likely = written + more, chance * exp(log)
            longer = [one for one in answers if one.startswith(text) and one != text]
            deeper = self._walk(history, longer, text, likely, found) if longer else 0.0
            if text in answers:
                found[text] += likely - deeper  # what goes on to be "10" is no "1"
                deeper = likely
            reached += deeper
        return reached

    def _next(self, history: Sequence[Message], written: str) -> dict[str, float]:
        """The likeliest next tokens with their log-probability, before any grammar."""
        messages = self._messages(history)
        if written:
            messages.append({"role": "assistant", "content": written})
        body = {
            "messages": messages,
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": _LIKELIEST,
        }
        info = ResponseInfo()
        try:
            "".join(read_answer(self._asked(body), info))
        except AttemptFailed as failure:
            raise failure.error from failure
        return info.likeliest[0] if info.likeliest else {}

    def _messages(self, history: Sequence[Message]) -> list[dict[str, Any]]:
        about = "\n\n".join(
            part for part in (self.settings.persona, self.settings.instruction) if part
        )
        said = as_messages(history, self.settings.begin)
        return [{"role": "system", "content": about}, *said] if about else said

    def _asked(self, body: dict[str, Any]) -> bytes:
        try:
            answer = self.server.handle_chat_completions(body)
        except (ValueError, RuntimeError) as error:
            raise AgentError(
                f"{self.system} does not take this conversation: {error}.", "failed"
            ) from error
        if "error" in answer:
            said = answer["error"]
            told = str(said.get("message", said) if isinstance(said, dict) else said)
            error_ = AgentError(
                f"{self.system} does not take the request: {told}. Where it is too long, raise "
                "`context`.",
                "failed",
            )
            raise AttemptFailed(error_, again=False, too_long=is_too_long(told))
        return msgspec.json.encode(answer)


_LOADING = threading.Lock()


def open_agent(spec: AgentSpec) -> LlamaAgent:
    """A language model in a GGUF file, in whatever precision it has."""
    settings = read_settings(LlamaSettings, spec)
    path = gguf_path(spec)
    named = Named.of(spec, LlamaSettings)
    stop_words(settings.stop)
    tools = read_tools(Path(settings.tools)) if settings.tools else None
    return LlamaAgent(
        named.system, named.name, named.parameters, settings, _server(path, settings),
        sha256_file(path), tools,
    )  # fmt: skip


def _server(path: Path, settings: LlamaSettings) -> Any:
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(path)
    wanted.n_ctx = settings.context * settings.at_once
    wanted.n_parallel = settings.at_once
    wanted.n_gpu_layers = settings.gpu_layers
    wanted.verbosity = -1
    # It also listens on this machine: nobody else is to use the model through that.
    wanted.api_keys = [secrets.token_urlsafe(32)]
    wanted.ui = False
    if settings.threads:
        wanted.cpuparams.n_threads = settings.threads
    with _LOADING:
        try:
            return xllamacpp.Server(wanted)
        except (ValueError, RuntimeError) as error:
            raise AgentError(
                f"{path} cannot be loaded: {error}. The file may be damaged, or of an architecture "
                "that this version of llama.cpp does not know.",
                lasting=True,
            ) from error
