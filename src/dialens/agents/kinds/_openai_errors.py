"""What goes wrong with a request to an endpoint, in words, and whether to ask again."""

import re
from collections.abc import Collection
from typing import Any

import httpx
import msgspec

from dialens.agents._agent import AgentError
from dialens.base import RetryPolicy, retry_after

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


def is_too_long(said: str) -> bool:
    """Whether a server says that a conversation has more tokens than the model reads.

    Examples:
        >>> is_too_long("request (431 tokens) exceeds the available context size (256 tokens)")
        True
    """
    return bool(_TOO_LONG.search(said))


def malformed(why: str, whose: str = "the endpoint") -> AttemptFailed:
    """An answer that cannot be read."""
    error = AgentError(
        f"The answer of {whose} cannot be read: {why}. Check that the address is that of an "
        "OpenAI-compatible endpoint, up to /v1.",
        "malformed",
    )
    return AttemptFailed(error, again=True)


def refused(
    response: httpx.Response, raw: bytes, model: str, *, secrets: Collection[str] = ()
) -> AttemptFailed:
    """What a status other than 200 means; nothing of the secrets that were sent is repeated."""
    status = response.status_code
    host = response.request.url.host
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        body = raw[:300].decode(errors="replace")
    said = explained(body, secrets=secrets)
    if status in (401, 403) and not secrets:
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
        too_long=status in (400, 413, 422) and is_too_long(said),
    )


def explained(body: Any, *, secrets: Collection[str] = ()) -> str:
    """An endpoint's explanation, whichever form it has, without anything that looks like a key.

    Examples:
        >>> explained({"error": {"message": "Bad key sk-abcdef123456.", "type": "x"}})
        'Bad key …'
    """
    info = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(info, dict):
        info = info.get("message") or info.get("detail") or info
    text = " ".join(str(info).split())
    for secret in secrets:
        text = text.replace(secret, "…")
    return _SECRET.sub("…", text)[:300].strip().rstrip(".") or "no explanation"
