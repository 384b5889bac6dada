"""A stand-in for an endpoint of chat completions: the real protocol, by scenario.

The scenario is the model's name (`SCENARIOS` says what each does), so that one server serves all
of them at once. That it speaks the protocol is shown in `test_endpoint.py` by OpenAI's own client.

    with Endpoint() as endpoint:
        ... endpoint.url, endpoint.requests ...

By hand, for trying things out: `python tests/agents/endpoint.py 8001`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.agents import calling, judging
from tests.loopback import LoopbackServer, QuietHandler

SCENARIOS = {
    "echo": "says back what was said last, with the seed",
    "told": "says the system message",
    "words-N": "says N words",
    "slow-S": "echo, with S seconds before each word",
    "led-N": "echo, each word when `Endpoint.words` is released once more; N tells them apart",
    "silent": "accepts the request and never answers",
    "drip-S": "sends a sign of life every S seconds, and never a word",
    "status-N": "answers with status N",
    "status-N-wait-S": "answers with status N, and asks to wait S seconds",
    "flaky-N": "answers N times with 503, then as echo",
    "quota": "429 because the account is empty",
    "limited-S": "echo, but 429 to whoever comes within S seconds of the last one answered",
    "limited-S-wait-W": "the same, asking to wait W seconds",
    "whole": "echo that refuses to stream",
    "thinks": "echo, with a thought before it",
    "thinks-apart": "the same, with the thought in a field of its own",
    "parts": "echo in one part of several",
    "cut-off-N": "says N words and was not done",
    "room-N": "echo that takes at most N messages",
    "turns": "echo that insists on user and assistant taking turns",
    "cut": "breaks off in the middle",
    "cut-clean": "stops in the middle as if that were the end",
    "bad-json": "sends something that is not JSON",
    "no-done": "leaves out the mark at the end",
    "no-usage": "does not say how many tokens there were",
    "error-event": "breaks off with an error in the stream",
    "html": "answers with a page",
    "no-choices": "answers without a choice",
    "empty": "says nothing",
    "blank": "says white space",
    "long-N": "says N characters",
    "redirect": "points elsewhere",
    "surrogate": "sends half a character",
    "separators": "says characters that some take for the end of a line",
    "refusal": "declines, in the field for that",
    "judge": "answers the questions of a study, by the schema or the prompt, chosen by the seed",
    "judge-fenced": "judge, with words and a code fence around the answer",
    "judge-plain": "judge that refuses a schema with 400",
    "judge-lines": "judge that answers in lines",
    "judge-wrong": "judge whose numbers are out of range, whatever it is told",
    "judge-mends": "judge whose numbers are out of range until it is told so",
    "judge-sorry": "judge that declines in words",
    "judge-keen": "judge that gives 4 where an exclamation mark stands on the screen, else 2; and "
    "`Endpoint.shift` more",
    "judge-late-S": "judge that takes S seconds",
    **calling.SCENARIOS,
    "judge-weighs": "says 4, with log-probabilities of 4, 5, 3 and something else",
}
SEPARATORS = "one\u2028two\u0085three\x0bfour"


@dataclass
class Endpoint:
    """The server; it runs in threads of its own while the block does."""

    key: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    stopping: threading.Event = field(default_factory=threading.Event)
    words: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    port: int = 0
    last: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    fingerprint: str = "fp_tests"
    shift: int = 0

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"endpoint": self})
        self._server = LoopbackServer(("127.0.0.1", self.port), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


class _Handler(QuietHandler):
    endpoint: Endpoint

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            models = [{"id": name, "object": "model", "owned_by": "tests"} for name in SCENARIOS]
            self._json(200, {"object": "list", "data": models})
        else:
            self._error(404, f"Unknown path {self.path}", "invalid_request_error")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        azure = re.fullmatch(
            r"/openai/deployments/([^/]+)/chat/completions\?api-version=[\w-]+", self.path
        )
        known = ("/v1/chat/completions", "/openai/v1/chat/completions")
        if self.path not in known and not azure:
            return self._error(404, f"Unknown path {self.path}", "invalid_request_error")
        body = json.loads(raw)
        if azure:  # the deployment is the model, whatever the body says
            body["model"] = azure[1]
        given = self.headers.get("Authorization", "")
        sent = {"authorization": given, "path": self.path, "headers": dict(self.headers)}
        self.endpoint.requests.append({**body, **sent})
        given = given.removeprefix("Bearer ") or self.headers.get("api-key", "")
        if self.endpoint.key and given != self.endpoint.key:
            said = f"Incorrect API key provided: {given}."
            return self._error(401, said, "invalid_request_error", code="invalid_api_key")
        return self._scenario(body)

    def _scenario(self, body: dict[str, Any]) -> None:
        model, stream = body["model"], bool(body.get("stream"))
        self.endpoint.counts[model] += 1
        name, numbers = re.match(r"[a-z-]*[a-z]", model)[0], re.findall(r"\d+\.?\d*", model)
        number = float(numbers[0]) if numbers else 0.0
        pause = self.endpoint.stopping.wait
        if name.startswith("status"):
            wait = {"Retry-After": numbers[1]} if len(numbers) > 1 else {}
            return self._error(int(number), "This is a test of errors", "test", headers=wait)
        if name == "flaky" and self.endpoint.counts[model] <= number:
            return self._error(503, "Overloaded", "server_error")
        if name.startswith("limited"):
            with self.endpoint.lock:
                early = time.monotonic() < self.endpoint.last + number
                self.endpoint.last = self.endpoint.last if early else time.monotonic()
            if early:
                wait = {"Retry-After": numbers[1]} if len(numbers) > 1 else {}
                return self._error(429, "Too many requests", "rate_limit", headers=wait)
            name = "echo"
        if name == "whole" and stream:
            said = "Your organization must be verified to stream this model."
            return self._error(400, said, "invalid_request_error")
        messages = [one["role"] for one in body["messages"] if one["role"] != "system"]
        if name == "room" and len(messages) > number:
            said = "This model's maximum context length is 8 tokens."
            return self._error(400, said, "invalid_request_error")
        if name == "turns" and messages != (["user", "assistant"] * len(messages))[: len(messages)]:
            return self._error(400, "Conversation roles must alternate", "invalid_request_error")
        if name == "quota":
            said = "You exceeded your current quota"
            return self._error(429, said, "insufficient_quota", code="insufficient_quota")
        if name == "silent":
            pause(60)
            self.close_connection = True
            return None
        if name == "html":
            return self._send(200, b"<html>Welcome</html>", "text/html")
        if name == "redirect":
            return self._send(307, b"", "text/plain", {"Location": "http://127.0.0.1:9/v1"})
        if name == "judge-plain" and "response_format" in body:
            return self._error(400, "Unknown field: response_format", "invalid_request_error")
        if name not in {re.sub(r"-[NS]\b", "", known) for known in SCENARIOS}:
            said = f"The model `{model}` does not exist or you do not have access to it."
            return self._error(404, said, "invalid_request_error", code="model_not_found")
        if name == "calls-unpaid" and calling.since_partner(body):
            return self._error(400, "This is a test of errors", "test")
        pieces = self._pieces(name, number, body)
        if stream:
            return self._stream(name, number, body, pieces)
        if name == "drip":
            return self._drip_whole(number)
        if name == "slow":
            pause(number * len(pieces))
        if name == "judge-late":
            pause(number)
        return self._whole(name, body, "".join(pieces))

    def _pieces(self, name: str, number: float, body: dict[str, Any]) -> list[str]:
        last = body["messages"][-1]["content"]
        if name.startswith("judge"):
            return [judging.answer(name, body, self.endpoint.shift)]
        if name.startswith("calls"):
            if calling.calls_of(name, int(number), body):
                return [calling.ASIDE] if name == "calls-says" else []
            last = " ".join(calling.since_partner(body))
        fixed = {
            "empty": "",
            "blank": " \n ",
            "separators": SEPARATORS,
            "told": body["messages"][0]["content"],
            "refusal": "I would rather not.",
            "words": " ".join(["word"] * int(number)),
            "cut-off": " ".join(["word"] * int(number)),
            "thinks": f"<think>\nThey said {last}.\n</think>\n\nI see: {last}",
            "thinks-apart": f"I see: {last}",
            "long": ("abcdefghi " * (int(number) // 10 + 1))[: int(number)],
        }
        text = fixed.get(name, f"You said: {last} ({body.get('seed')})")
        return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)

    def _calls(self, name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        if not name.startswith("calls"):
            return []
        number = re.findall(r"\d+", body["model"])
        return calling.calls_of(name, int(number[0]) if number else 0, body)

    def _usage(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        read = sum(len((said["content"] or "").split()) for said in body["messages"])
        written = len(text.split())
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": read // 2},
        }

    def _whole(self, name: str, body: dict[str, Any], text: str) -> None:
        said: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if name == "refusal":
            said |= {"content": None, "refusal": text}
        if name == "thinks-apart":
            said |= {"reasoning_content": "They said something."}
        if name == "parts":
            said |= {"content": [{"type": "text", "text": text}]}
        finish = "length" if name == "cut-off" else "stop"
        calls = self._calls(name, body)
        if calls:
            said |= {"content": text or None, "tool_calls": calls}
            finish = "tool_calls"
        choice = {"index": 0, "message": said, "finish_reason": finish, "logprobs": None}
        if name == "judge-weighs" and body.get("logprobs"):
            choice["logprobs"] = judging.logprobs(body["top_logprobs"])
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body["model"],
            "choices": [] if name == "no-choices" else [choice],
            "system_fingerprint": self.endpoint.fingerprint,
        }
        if name != "no-usage":
            answer["usage"] = self._usage(body, text)
        raw = json.dumps(answer, ensure_ascii=False).encode()
        if name == "surrogate":
            raw = raw.replace(b"You said", b"\\ud83d said")
        if name == "bad-json":
            raw = raw[: len(raw) // 2]
        if name in ("cut", "cut-clean"):
            half = raw[: len(raw) // 2]
            self._send(200, half, "application/json", size=len(raw))
            self.close_connection = True
            return
        self._send(200, raw, "application/json")

    def _drip_whole(self, seconds: float) -> None:
        self._begin("application/json")
        while not self.endpoint.stopping.wait(seconds):
            self._chunk(b" ")

    def _stream(self, name: str, number: float, body: dict[str, Any], pieces: list[str]) -> None:
        self._begin("text/event-stream")
        for event in self._events(name, number, body, pieces):
            self._chunk(event)
        if name == "cut":
            self.close_connection = True  # without the chunk that ends the body
            return
        self._chunk(b"")

    def _events(
        self, name: str, number: float, body: dict[str, Any], pieces: list[str]
    ) -> Iterator[bytes]:
        def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return _event(self._chunk_object(body, [choice]))

        yield b": stand-in\n\n"
        yield event({"role": "assistant", "content": ""})
        while name == "drip" and not self.endpoint.stopping.wait(number):
            yield b": still here\n\n"
        if name == "thinks-apart":
            yield event({"reasoning_content": "They said "})
            yield event({"reasoning_content": "something."})
        for place, piece in enumerate(pieces):
            if place == len(pieces) // 2:
                if name in ("cut", "cut-clean"):
                    return
                if name == "bad-json":
                    yield b'data: {"choices": [\n\n'
                if name == "surrogate":
                    yield event({"content": "x"}).replace(b'"x"', b'"\\ud83d"')
                if name == "no-choices":
                    yield b'data: {"answer": "hello"}\n\n'
                if name == "error-event":
                    error = {"message": "Something broke", "type": "server_error"}
                    yield _event({"error": error})
                    return
            if name == "slow":
                self.endpoint.stopping.wait(number)
            while name == "led" and not self.endpoint.words.acquire(timeout=0.02):
                if self.endpoint.stopping.is_set():
                    return
            yield event({"refusal" if name == "refusal" else "content": piece})
        calls = self._calls(name, body)
        yield from (event(delta) for delta in calling.deltas(calls))
        ended = "tool_calls" if calls else "length" if name == "cut-off" else "stop"
        yield event({}, ended)
        if body.get("stream_options", {}).get("include_usage") and name != "no-usage":
            usage = self._usage(body, "".join(pieces))
            yield _event({**self._chunk_object(body, []), "usage": usage})
        if name != "no-done":
            yield b"data: [DONE]\n\n"

    def _chunk_object(self, body: dict[str, Any], choices: list[Any]) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": body["model"],
            "choices": choices,
            "system_fingerprint": "fp_tests",
        }

    def _error(
        self,
        status: int,
        message: str,
        kind: str,
        *,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        error = {"message": message, "type": kind, "param": None, "code": code}
        self._json(status, {"error": error}, headers)

    def _json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), "application/json", headers)

    def _send(
        self,
        status: int,
        raw: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        *,
        size: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw) if size is None else size))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, raw: bytes) -> None:
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


if __name__ == "__main__":
    with Endpoint(port=int(sys.argv[1]) if len(sys.argv) > 1 else 0) as served:
        print(f"OPENAI_BASE_URL={served.url}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
