"""The protocol of chat completions: what is sent, what comes back, and errors in words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import msgspec

from dialens.agents._agent import AgentError, Message, Wish
from dialens.agents.kinds._messages import as_messages
from dialens.agents.kinds._openai_settings import OPENAI, EndpointSettings
from dialens.base import RetryPolicy, retry_after

_LONGEST_LINE = 1 << 20
RETRY = RetryPolicy(
    longest_wait_s=30.0, statuses=frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
)
"""How often is the agent's own setting (`attempts`)."""

_BROKEN = (500, 501)
# In the words of OpenAI, llama.cpp, vLLM, Anthropic's and Google's compatible endpoints.
_TOO_LONG = re.compile(
    r"(?i)context (?:length|size|window)|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? the .{0,40}(?:context|token)|input .{0,40}too long"
)
_SECRET = re.compile(r"(?i)\b(?:[srp]k-[\w*.-]{6,}|bearer\s+\S+)")


class AttemptFailed(Exception):
    """An attempt failed.

    Attributes:
        error: What is said if it was the last.
        again: Whether another attempt may help.
        wait: Seconds the endpoint asked to wait, if it did.
        slow: Whether the endpoint asked to slow down: no fault of this request.
        too_long: Whether the conversation has more tokens than the model reads.
    """

    def __init__(
        self,
        error: AgentError,
        *,
        again: bool,
        wait: float | None = None,
        slow: bool = False,
        too_long: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.wait = wait
        self.slow = slow
        self.too_long = too_long


class Usage(msgspec.Struct):
    """Tokens of a request."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: Any = None

    @property
    def cached(self) -> int | None:
        """Tokens that the server knew from before, where it says so."""
        details = self.prompt_tokens_details
        found = details.get("cached_tokens") if isinstance(details, dict) else None
        return found if isinstance(found, int) else None


class _Said(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None

    @property
    def text(self) -> str:
        """What is said; some servers give it in parts."""
        if isinstance(self.content, list):
            parts = [part.get("text") for part in self.content if isinstance(part, dict)]
            return "".join(part for part in parts if isinstance(part, str))
        return self.content or self.refusal or ""

    @property
    def thought(self) -> str:
        """What the model wrote before, where the server keeps it apart."""
        found = self.reasoning_content or self.reasoning
        return found if isinstance(found, str) else ""


class _Choice(msgspec.Struct):
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] = []
    usage: Usage | None = None
    error: Any = None
    system_fingerprint: Any = None
    model: Any = None


_DECODER = msgspec.json.Decoder(_Answer)


@dataclass
class ResponseInfo:
    """What a response says besides its text."""

    usage: Usage | None = None
    finished: str = ""
    fingerprint: str | None = None
    declined: bool = False
    likeliest: list[dict[str, float]] = field(default_factory=list)
    model: str = ""
    thought: list[str] = field(default_factory=list)

    def hear(self, answer: _Answer) -> None:
        """Keep what a whole answer, or a piece of one, says of itself."""
        self.usage = answer.usage or self.usage
        if answer.system_fingerprint:
            self.fingerprint = str(answer.system_fingerprint)
        if isinstance(answer.model, str):
            self.model = answer.model


def request_body(
    model: str,
    settings: EndpointSettings,
    endpoint: str,
    history: Sequence[Message],
    *,
    seed: int,
    stream: bool,
    wish: Wish | None = None,
) -> dict[str, Any]:
    """What is sent.

    Args:
        model: What the endpoint calls it.
        settings: How it talks.
        endpoint: The address.
        history: The conversation.
        seed: Of the conversation.
        stream: Whether the answer is to come in pieces.
        wish: What is wished for this answer.

    Examples:
        >>> history = [Message("partner", "Hi")]
        >>> body = request_body("m", EndpointSettings(), OPENAI, history, seed=1, stream=False)
        >>> body["messages"], body["seed"]
        ([{'role': 'user', 'content': 'Hi'}], 1)
    """
    wanted = wish or Wish()
    if wanted.temperature is not None:
        settings = replace(settings, temperature=wanted.temperature)
    if wanted.max_tokens:
        settings = replace(settings, max_tokens=wanted.max_tokens)
    about = "\n\n".join(part for part in (settings.persona, settings.instruction) if part)
    messages = [{"role": "system", "content": about}] if about else []
    messages += as_messages(history, settings.begin)
    body: dict[str, Any] = {"model": model, "messages": messages}
    for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty"):
        value = getattr(settings, name)
        if value is not None:
            body[name] = value
    if settings.max_tokens:
        # OpenAI's own models no longer take the old name, and others' servers know only that.
        name = "max_completion_tokens" if endpoint == OPENAI else "max_tokens"
        body[name] = settings.max_tokens
    if settings.send_seed:
        body["seed"] = seed
    if wanted.schema is not None:
        # Strict schemas, which OpenAI guarantees, have no property that may be left out.
        strict = set(wanted.schema.get("required", ())) == set(wanted.schema["properties"])
        named = {"name": "answer", "schema": dict(wanted.schema), "strict": strict}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    if wanted.likeliest:
        body |= {"logprobs": True, "top_logprobs": wanted.likeliest}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def read_answer(raw: bytes, info: ResponseInfo) -> Iterator[str]:
    """The text of an answer that came in one piece."""
    answer = _decoded(raw)
    first = answer.choices[0] if answer.choices else _Choice()
    said = first.message
    if said is None:
        raise _malformed("it holds no message")
    info.hear(answer)
    info.finished = first.finish_reason or "stop"
    info.declined = info.finished == "content_filter" or bool(said.refusal and not said.content)
    info.likeliest = list(_likeliest(first.logprobs))
    info.thought.append(said.thought)
    yield said.text


def _likeliest(logprobs: Any) -> Iterator[dict[str, float]]:
    """For each token that was written the likeliest ones, whatever else a server says of them."""
    written = logprobs.get("content") if isinstance(logprobs, dict) else None
    for token in written if isinstance(written, list) else ():
        top = token.get("top_logprobs") if isinstance(token, dict) else None
        yield {
            str(one["token"]): float(one["logprob"])
            for one in (top if isinstance(top, list) else ())
            if isinstance(one, dict) and isinstance(one.get("logprob"), int | float)
        }


def read_stream(chunks: Iterable[bytes], info: ResponseInfo) -> Iterator[str]:
    """The pieces of an answer that comes as server-sent events.

    It is whole if it says so, by `[DONE]` or by a reason to finish; one that just stops was cut
    off.
    """
    begun = False
    for line in _lines(chunks):
        if not line.startswith(b"data:"):
            continue  # comments that keep the connection alive, names and ids of events
        begun = True
        data = line[5:].strip()
        if data == b"[DONE]":
            info.finished = info.finished or "stop"
            return
        if not data:
            continue
        answer = _decoded(data)
        info.hear(answer)
        for choice in answer.choices[:1]:
            info.finished = choice.finish_reason or info.finished
            said = choice.delta or choice.message
            if said is None:
                continue
            info.thought.append(said.thought)
            info.declined = info.declined or bool(said.refusal)
            if said.text:
                yield said.text
    if info.finished:
        return
    if begun:
        words = "The answer was cut off: the connection ended before it did."
        raise AttemptFailed(AgentError(words, "unreachable"), again=True)
    raise _malformed("it was cut off: the stream ended before the answer did")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a stream; by bytes, because text may hold what else counts as the end of a line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.rstrip(b"\r") for line in lines)
        if len(rest) > _LONGEST_LINE:
            raise _malformed(f"a line of it is longer than {_LONGEST_LINE:,} bytes")
    if rest:
        yield rest


def _decoded(raw: bytes) -> _Answer:
    try:
        answer = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        shown = raw[:60].decode(errors="replace")
        raise _malformed(f"it is not the JSON of a chat completion; seen: {shown!r}") from error
    if answer.error:
        said = explained({"error": answer.error})
        error_ = AgentError(f"The endpoint broke off with an error: {said}.", "failed")
        raise AttemptFailed(error_, again=True)
    return answer


def _malformed(why: str) -> AttemptFailed:
    error = AgentError(
        f"The endpoint's answer cannot be read: {why}. Check that the address is that of an "
        "OpenAI-compatible endpoint, up to /v1.",
        "malformed",
    )
    return AttemptFailed(error, again=True)


def refused(response: httpx.Response, raw: bytes, model: str, *, secret: str = "") -> AttemptFailed:
    """What a status other than 200 means."""
    status = response.status_code
    host = response.request.url.host
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        body = raw[:300].decode(errors="replace")
    said = explained(body, secret=secret)
    if status in (401, 403) and not secret:
        error = AgentError(
            f"{host} wants a key ({status}), and none was sent. Put it into an environment "
            "variable and name that one: --set key_variable=NAME.",
            "refused",
            lasting=True,
        )
    elif status in (401, 403):
        # The endpoint's own words often quote the key.
        error = AgentError(
            f"{host} refuses the key ({status}). Check that the environment variable holds a "
            "current key, whole, that may use this model.",
            "refused",
            lasting=True,
        )
    elif status == 404:
        error = AgentError(
            f"{host} knows no model {model!r}, or has no chat completions at this address (404): "
            f"{said}. Check model and endpoint.",
            "refused",
            lasting=True,
        )
    elif status == 429 and "insufficient_quota" in str(body):
        error = AgentError(
            f"The account at {host} has used up its credit (429). Top it up, then go on.",
            "refused",
            lasting=True,
        )
        return AttemptFailed(error, again=False)
    elif status == 429:
        error = AgentError(
            f"{host} asks to slow down (429): {said}. Set requests_per_minute or "
            "tokens_per_minute, or use fewer --workers.",
            "busy",
        )
    elif status in _BROKEN:
        error = AgentError(f"{host} failed ({status}): {said}. Try later.", "failed")
    elif status >= 500 or status in RETRY.statuses:
        error = AgentError(f"{host} has trouble of its own ({status}): {said}. Try later.", "busy")
    elif 300 <= status < 400:
        error = AgentError(
            f"{host} sends us elsewhere ({status}), where no key is sent. Give the final address "
            "as endpoint.",
            "refused",
            lasting=True,
        )
    else:
        error = AgentError(f"{host} does not accept the request ({status}): {said}.", "refused")
    return AttemptFailed(
        error,
        again=status in RETRY.statuses,
        wait=retry_after(response.headers),
        slow=status == 429,
        too_long=status in (400, 413, 422) and bool(_TOO_LONG.search(said)),
    )


def explained(body: Any, *, secret: str = "") -> str:
    """An endpoint's explanation, whichever form it has, without anything that looks like a key.

    Examples:
        >>> explained({"error": {"message": "Bad key sk-abcdef123456.", "type": "x"}})
        'Bad key …'
    """
    info = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(info, dict):
        info = info.get("message") or info.get("detail") or info
    text = " ".join(str(info).split())
    if secret:
        text = text.replace(secret, "…")
    return _SECRET.sub("…", text)[:300].strip().rstrip(".") or "no explanation"
