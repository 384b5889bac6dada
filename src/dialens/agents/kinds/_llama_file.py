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
from dialens.agents.kinds._messages import as_messages
from dialens.agents.kinds._openai_wire import (
    AttemptFailed,
    ResponseInfo,
    Usage,
    read_answer,
)
from dialens.base import sha256_file

_LIKELIEST = 200  # tokens looked at for an answer; the rest is next to impossible


@dataclass(frozen=True)
class LlamaSettings:
    """How the model talks, and what it may use."""

    persona: str = setting("", "Who the agent is; the first part of the system message.")
    instruction: str = setting("", "How it is to talk; the second part of the system message.")
    temperature: float = setting(0.7, "Of sampling; 0 takes the likeliest.", low=0.0, high=5.0)
    top_p: float = setting(0.9, "Nucleus of sampling.", low=0.01, high=1.0)
    max_tokens: int = setting(512, "The most tokens of an answer.", low=1, high=100_000)
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
    """

    system: str
    name: str
    parameters: Parameters
    settings: LlamaSettings
    server: Any = field(repr=False)
    identity: str = ""

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Write the whole answer."""
        return self.answer(history, Wish(), seed=seed)

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Write the answer and give it in one piece."""
        reply = self.reply(history, seed=seed)
        yield reply.text
        return reply

    def answer(self, history: Sequence[Message], wish: Wish, *, seed: int = 0) -> Reply:
        """Write an answer that keeps to a schema, where one is wished for."""
        settings = self.settings
        if wish.temperature is not None:
            settings = replace(settings, temperature=wish.temperature)
        body: dict[str, Any] = {
            "messages": self._messages(history),
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": wish.max_tokens or settings.max_tokens,
            "seed": (seed + len(history)) & 0x7FFFFFFF,
        }
        if wish.schema is not None:
            named = {"name": "answer", "schema": dict(wish.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if wish.likeliest:
            body |= {"logprobs": True, "top_logprobs": wish.likeliest}
        began = time.monotonic()
        info = ResponseInfo()

        def said() -> Generator[str, None, Reply]:
            pieces = tidy(
                without_thought(read_answer(self._asked(body), info), info.thought),
                longest=settings.longest_reply,
                who=self.system,
            )
            text = yield from pieces
            usage = info.usage or Usage()
            return Reply(
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

        try:
            return whole(said())
        except AttemptFailed as failure:
            raise failure.error from failure

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

    def _messages(self, history: Sequence[Message]) -> list[dict[str, str]]:
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
            told = said.get("message", said) if isinstance(said, dict) else said
            raise AgentError(
                f"{self.system} does not take the request: {told}. Where it is too long, raise "
                "`context`.",
                "failed",
            )
        return msgspec.json.encode(answer)


_LOADING = threading.Lock()


def open_agent(spec: AgentSpec) -> LlamaAgent:
    """A language model in a GGUF file, in whatever precision it has."""
    settings = read_settings(LlamaSettings, spec)
    path = gguf_path(spec)
    named = Named.of(spec, LlamaSettings)
    return LlamaAgent(
        named.system, named.name, named.parameters, settings, _server(path, settings),
        sha256_file(path),
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
