"""What the platforms' stand-ins share: a server on the loopback interface, and faults on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import LoopbackServer, QuietHandler


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request that the real platform would refuse."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(str(answer.body))
        self.answer = answer


class Platform:
    """A stand-in. `faults` are taken one a request: an answer to give instead, or `lose`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.faults: list[Answer | str] = []
        self.requests: list[tuple[str, Any]] = []
        self.url = ""

    def handle(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        raise NotImplementedError


LOSE = "lose"
"""Do what is asked, and break the connection before it is answered."""


@contextmanager
def served(platform: Platform) -> Iterator[None]:
    class Handler(QuietHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with platform.lock:
                fault = platform.faults.pop(0) if platform.faults else None
                if isinstance(fault, Answer):
                    answer = fault
                else:
                    try:
                        answer = platform.handle(self.command, self.path, self.headers, body)
                    except Refused as refused:
                        answer = refused.answer
            if fault == LOSE:
                self.close_connection = True
                return
            text = b"" if answer.body is None else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = do_PATCH = _any

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    platform.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
