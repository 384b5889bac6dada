"""The protocol of chat completions: what is sent, and what comes back."""

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from dialens.agents._agent import AgentError, Message, Wish
from dialens.agents.kinds._messages import as_messages, sendable
from dialens.agents.kinds._openai_address import takes_new_names
from dialens.agents.kinds._openai_errors import AttemptFailed, explained, malformed
from dialens.agents.kinds._openai_settings import EndpointSettings, stop_words
from dialens.agents.kinds._tools import ToolCall
from dialens.base import without_secrets

_LONGEST_LINE = 1 << 20
_MOST_CALLS = 1_000
_LONGEST_NAME = 1_000


class Usage(msgspec.Struct):
    """Tokens of a request."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: Any = None

    def believed(self) -> "Usage":
        """The same without counts that cannot be: a negative one would make others cheaper."""
        read, written = (
            None if count is None or count < 0 else count
            for count in (self.prompt_tokens, self.completion_tokens)
        )
        return Usage(read, written, self.prompt_tokens_details)

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
    tool_calls: Any = None

    @property
    def text(self) -> str:
        """What is said; some servers give it in parts."""
        if isinstance(self.content, list):
            return _text_of(part for part in self.content if not _is_thought(part)) or (
                self.refusal or ""
            )
        return self.content or self.refusal or ""

    @property
    def thought(self) -> str:
        """What the model wrote before, where the server keeps it apart."""
        found = self.reasoning_content or self.reasoning
        if not found and isinstance(self.content, list):
            found = "".join(
                _text_of(part["thinking"])
                if isinstance(part["thinking"], list)
                else str(part["thinking"])
                for part in self.content
                if _is_thought(part)
            )
        return found if isinstance(found, str) else ""


def _is_thought(part: Any) -> bool:
    """Whether a part of a content is what the model thought (Mistral's reasoning models)."""
    return isinstance(part, dict) and "thinking" in part


def _text_of(parts: Iterable[Any]) -> str:
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in found if isinstance(text, str))


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
class _Call:
    """A call of a tool, as far as it has come; arguments may come in very many pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def hear(self, name: Any, more: Any) -> None:
        if isinstance(name, str) and name != self.name:
            self.name += name
        if isinstance(more, dict):
            more = json.dumps(more, ensure_ascii=False)
        if isinstance(more, str):
            self.arguments.append(more)


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
    called: dict[int, "_Call"] = field(default_factory=dict)
    whose: str = "the endpoint"

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Calls of tools, in the order in which the model made them."""
        return tuple(
            ToolCall(*map(without_secrets, (one.id, one.name, "".join(one.arguments))))
            for _, one in sorted(self.called.items())
            if one.name
        )

    def hear_calls(self, pieces: Any) -> None:
        """Put calls of tools together: pieces say by an index which call they go on with.

        Some servers leave the index out: a new id is then a new call.
        """
        for piece in pieces if isinstance(pieces, list) else ():
            if not isinstance(piece, dict):
                continue
            place, known = piece.get("index"), piece.get("id")
            if not isinstance(place, int):
                last = max(self.called, default=-1)
                same = last >= 0 and known in (None, "", self.called[last].id)
                place = last if same else last + 1
            one = self.called.setdefault(place, _Call())
            one.id = one.id or (known if isinstance(known, str) else "")
            function = piece.get("function")
            if isinstance(function, dict):
                one.hear(function.get("name"), function.get("arguments"))
            if len(self.called) > _MOST_CALLS or len(one.name) > _LONGEST_NAME:
                raise malformed("it calls tools without end", self.whose)

    def hear(self, answer: _Answer) -> None:
        """Keep what a whole answer, or a piece of one, says of itself."""
        if answer.usage is not None:
            self.usage = answer.usage.believed()
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
    exchanged: Sequence[Mapping[str, Any]] = (),
    tools: Sequence[Mapping[str, Any]] = (),
    may_call: bool = True,
    extra: Mapping[str, Any] | None = None,
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
        exchanged: Calls of tools and their results since the last turn.
        tools: That are declared.
        may_call: Whether it may call them now.
        extra: Further fields.

    Examples:
        >>> history = [Message("partner", "Hi")]
        >>> address = "http://localhost/v1"
        >>> body = request_body("m", EndpointSettings(), address, history, seed=1, stream=False)
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
    messages += [*as_messages(history, settings.begin), *map(sendable, exchanged)]
    body: dict[str, Any] = {**(extra or {}), "model": model, "messages": messages}
    for name in ("temperature", "top_p", "min_p", "frequency_penalty", "presence_penalty"):
        value = getattr(settings, name)
        if value is not None:
            body[name] = value
    if settings.top_k:
        body["top_k"] = settings.top_k
    if settings.reasoning_effort != "auto":
        body["reasoning_effort"] = settings.reasoning_effort
    if settings.stop:
        body["stop"] = stop_words(settings.stop)
    if settings.max_tokens:
        # OpenAI's own models no longer take the old name, and others' servers know only that.
        name = "max_completion_tokens" if takes_new_names(endpoint) else "max_tokens"
        body[name] = settings.max_tokens
    if tools:
        body["tools"] = list(tools)
        if not may_call:
            body["tool_choice"] = "none"
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
    answer = _decoded(raw.removeprefix(codecs.BOM_UTF8), info)
    first = answer.choices[0] if answer.choices else _Choice()
    said = first.message
    if said is None:
        raise malformed("it holds no message", info.whose)
    info.hear(answer)
    info.finished = first.finish_reason or "stop"
    info.declined = info.finished == "content_filter" or bool(said.refusal and not said.content)
    info.likeliest = list(_likeliest(first.logprobs))
    info.thought.append(said.thought)
    info.hear_calls(said.tool_calls)
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
    for line in _lines(chunks, info):
        if not line.startswith(b"data:"):
            continue  # comments that keep the connection alive, names and ids of events
        begun = True
        data = line[5:].strip()
        if data == b"[DONE]":
            info.finished = info.finished or "stop"
            return
        if not data:
            continue
        answer = _decoded(data, info)
        info.hear(answer)
        for choice in answer.choices[:1]:
            info.finished = choice.finish_reason or info.finished
            said = choice.delta or choice.message
            if said is None:
                continue
            info.thought.append(said.thought)
            info.hear_calls(said.tool_calls)
            info.declined = info.declined or bool(said.refusal)
            if said.text:
                yield said.text
    if info.finished:
        return
    if begun:
        words = f"The answer of {info.whose} was cut off: the connection ended before it did."
        raise AttemptFailed(AgentError(words, "unreachable"), again=True)
    raise malformed("it was cut off: the stream ended before the answer did", info.whose)


def _lines(chunks: Iterable[bytes], info: ResponseInfo) -> Iterator[bytes]:
    """Lines of a stream; by bytes, because text may hold what else counts as the end of a line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.rstrip(b"\r") for line in lines)
        if len(rest) > _LONGEST_LINE:
            raise malformed(f"a line of it is longer than {_LONGEST_LINE:,} bytes", info.whose)
    if rest:
        yield rest


def _decoded(raw: bytes, info: ResponseInfo) -> _Answer:
    try:
        answer = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        shown = raw[:60].decode(errors="replace")
        why = f"it is not the JSON of a chat completion; seen: {shown!r}"
        raise malformed(why, info.whose) from error
    if answer.error:
        said = explained({"error": answer.error})
        error_ = AgentError(f"{info.whose} broke off with an error: {said}.", "failed")
        raise AttemptFailed(error_, again=True)
    return answer
