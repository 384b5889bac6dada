"""A server on raw sockets that answers as no honest one does: without end, packed, in drips, odd.

The name of the model says how: one of `WAYS`. `third` answers well two times of three.
"""

from __future__ import annotations

import gzip
import itertools
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import TracebackType
from typing import Self

import zstandard

OK = b"HTTP/1.1 200 OK\r\n"
JSON = OK + b"Content-Type: application/json\r\nConnection: close\r\n"
EVENTS = OK + b"Content-Type: text/event-stream\r\nConnection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
BEGINNING = b'{"choices": [{"message": {"content": "'
LARGE = 128 << 20
FILL = b"a" * 65536


def reply(text: str, **more: object) -> bytes:
    """An honest answer, as JSON."""
    said = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 5}
    return json.dumps({"choices": [{"message": said}], "usage": usage, **more}).encode()


def whole(body: bytes, head: bytes = JSON) -> list[bytes]:
    return [head + b"Content-Length: %d\r\n\r\n" % len(body) + body]


def endless(head: bytes, *pieces: bytes) -> Iterator[bytes]:
    yield head
    while True:
        yield from pieces


def event(delta: dict[str, object]) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


def dripped(raw: bytes) -> Iterator[bytes]:
    for place in range(len(raw)):
        time.sleep(0.2)
        yield raw[place : place + 1]


@cache
def bomb(packing: str) -> bytes:
    """128 MiB of white space in an answer, packed."""
    if packing == "zstd":
        maker = zstandard.ZstdCompressor().compressobj()
        pieces = [maker.compress(FILL.replace(b"a", b" ")) for _ in range(LARGE // len(FILL))]
        return b"".join([*pieces, maker.flush()])
    packer = zlib.compressobj(1, wbits=31 if packing == "gzip" else 15)
    blank = FILL.replace(b"a", b" ")
    pieces = [packer.compress(BEGINNING), *(packer.compress(blank) for _ in range(LARGE >> 16))]
    return b"".join([*pieces, packer.flush()])


def packed(packing: str, head: bytes = JSON) -> list[bytes]:
    named = packing.split(",", maxsplit=1)[0]
    raw = bomb(named) if named in ("gzip", "deflate", "zstd") else bytes(1000)
    return whole(raw, head + f"Content-Encoding: {packing}\r\n".encode())


def refusal(status: int, kind: str = "text/plain") -> bytes:
    return f"HTTP/1.1 {status} No\r\nContent-Type: {kind}\r\nConnection: close\r\n".encode()


NESTED = b"[" * 100_000
WAYS: dict[str, Callable[[], Iterable[bytes]]] = {
    "endless-json": lambda: endless(JSON + b"\r\n" + BEGINNING, FILL),
    "endless-text": lambda: endless(
        JSON.replace(b"application/json", b"text/plain") + b"\r\n", FILL
    ),
    "gzip-bomb": lambda: packed("gzip"),
    "deflate-bomb": lambda: packed("deflate"),
    "zstd-bomb": lambda: packed("zstd"),
    "br-bomb": lambda: packed("br"),
    "gzip-twice": lambda: packed("gzip, gzip"),
    "gzip-cut": lambda: whole(
        gzip.compress(reply("Hi"))[:20], JSON + b"Content-Encoding: gzip\r\n"
    ),
    "gzip-not": lambda: whole(reply("Hi"), JSON + b"Content-Encoding: gzip\r\n"),
    "gzip-events": lambda: packed("gzip", EVENTS),
    "endless-comments": lambda: endless(EVENTS + b"\r\n", b": still here\n\n" * 500),
    "endless-thoughts": lambda: endless(
        EVENTS + b"\r\n", event({"reasoning_content": "and " * 16}) * 100
    ),
    "endless-thought": lambda: endless(
        EVENTS + b"\r\n" + event({"content": "<think>"}), event({"content": "and " * 16}) * 100
    ),
    "endless-nothing": lambda: endless(EVENTS + b"\r\n", event({}) * 100),
    "endless-calls": lambda: endless(
        EVENTS + b"\r\n",
        event({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "x" * 50}}]})
        * 100,
    ),
    "endless-new-calls": lambda: endless(
        EVENTS + b"\r\n",
        event({"tool_calls": [{"function": {"name": "f"}, "id": i} for i in ("x", "y")]}) * 9,
    ),
    "endless-name": lambda: endless(
        EVENTS + b"\r\n",
        *(event({"tool_calls": [{"index": 0, "function": {"name": n}}]}) for n in ("f", "g")),
    ),
    "endless-words": lambda: endless(EVENTS + b"\r\n", event({"content": "word "}) * 100),
    "endless-line": lambda: endless(EVENTS + b"\r\ndata: ", FILL),
    "endless-400": lambda: endless(refusal(400) + b"\r\n", FILL),
    "endless-500": lambda: endless(refusal(500, "application/json") + b"\r\n{", FILL),
    "bomb-400": lambda: packed("gzip", refusal(400)),
    "drip-400": lambda: itertools.chain([refusal(400) + b"\r\n"], dripped(b"no, really " * 99)),
    "endless-headers": lambda: endless(OK, b"X-More: " + b"a" * 1000 + b"\r\n"),
    "endless-header": lambda: endless(OK + b"X-More: ", FILL),
    "endless-continue": lambda: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
    "endless-extension": lambda: endless(JSON + CHUNKED + b"1;x=", FILL),
    "endless-extensions": lambda: endless(JSON + CHUNKED, b"1;x=" + b"a" * 1000 + b"\r\n \r\n"),
    "endless-trailers": lambda: endless(JSON + CHUNKED + b"0\r\n", b"X-T: " + FILL + b"\r\n"),
    "drip-body": lambda: itertools.chain([JSON + b"\r\n"], dripped(reply("Hi" * 99))),
    "drip-head": lambda: dripped(JSON + b"X-Long: " + b"a" * 99 + b"\r\n\r\n"),
    "drip-events": lambda: itertools.chain([EVENTS + b"\r\n"], dripped(event({}) * 99)),
    "utf-16": lambda: whole(
        reply("Hi").decode().encode("utf-16"),
        JSON.replace(b"json", b"json; charset=utf-16"),
    ),
    "latin-1": lambda: whole(BEGINNING + "Grüß".encode("latin-1") + b'"}}]}'),
    "nan": lambda: whole(reply("Hi").replace(b"5", b"NaN")),
    "infinite": lambda: whole(reply("Hi").replace(b"5", b"1e999")),
    "nested": lambda: whole(b'{"choices": ' + NESTED),
    "nested-unknown": lambda: whole(b'{"x": ' + NESTED),
    "nested-error": lambda: whole(b'{"error": ' + NESTED),
    "nested-400": lambda: whole(b'{"error": ' + NESTED, refusal(400, "application/json")),
    "nested-event": lambda: whole(b'data: {"error": ' + NESTED + b"\n\n", EVENTS),
    "no-http": lambda: [b"220 mail.example.com ESMTP\r\n"],
    "no-length": lambda: [JSON + b"Content-Length: -5\r\n\r\n" + reply("Hi")],
    "two-lengths": lambda: [JSON + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n" + reply("Hi")],
    "gone": list,
}
GOOD: dict[str, Callable[[], Iterable[bytes]]] = {
    "good": lambda: whole(reply("Hi there.")),
    "gzip": lambda: whole(gzip.compress(reply("Hi there.")), JSON + b"Content-Encoding: gzip\r\n"),
    "deflate": lambda: whole(
        zlib.compress(reply("Hi there.")), JSON + b"Content-Encoding: deflate\r\n"
    ),
    "bom": lambda: whole(b"\xef\xbb\xbf" + reply("Hi there.")),
    "no-type": lambda: whole(reply("Hi there."), OK + b"Content-Type: application/JSON-ish\r\n"),
    "negative": lambda: whole(reply("Hi there.").replace(b"5", b"-5")),
}


@dataclass
class HostileServer:
    """Answers in threads of its own while the block runs.

    Attributes:
        third: How every third answer to the model `third` is, in turn.
        said: Honest answers that it gave to the model `third`, in full.
        requests: What it was sent: heads and bodies.
    """

    third: tuple[str, ...] = ()
    said: list[str] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    own: dict[str, Callable[[], Iterable[bytes]]] = field(default_factory=dict)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._listening.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                taken, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(taken,), daemon=True).start()

    def _serve(self, taken: socket.socket) -> None:
        taken.settimeout(20)
        try:
            with taken:
                raw = b""
                while b"\r\n\r\n" not in raw:
                    raw += self._more(taken)
                head, _, body = raw.partition(b"\r\n\r\n")
                lengths = [
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                ]
                while len(body) < (lengths or [0])[0]:
                    body += self._more(taken)
                self.requests.append(head + b"\r\n\r\n" + body)
                for piece in self._answer(json.loads(body)["model"]):
                    taken.sendall(piece)
                    if self._closed.is_set():
                        return
        except (OSError, ValueError):
            return  # the client has gone, as it should

    @staticmethod
    def _more(taken: socket.socket) -> bytes:
        piece = taken.recv(65536)
        if not piece:
            raise OSError
        return piece

    def _answer(self, model: str) -> Iterable[bytes]:
        if model == "third":
            with self._lock:
                self._count += 1
                number = self._count
            if number % 3 == 0:
                return WAYS[self.third[number // 3 % len(self.third)]]()
            text = f"This is answer number {number}."
            self.said.append(text)
            return whole(reply(text))
        return {**WAYS, **GOOD, **self.own}[model]()
