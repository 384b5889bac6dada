"""A small reverse proxy, and nginx where it is installed, in front of a study's server."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.other_servers import free_port

_HOP = ("connection", "transfer-encoding", "keep-alive", "server", "date")


@contextmanager
def plain_proxy(port: int, root: str, *, strips: bool) -> Iterator[str]:
    """Pass what comes below `root` on to a port, and nothing else; gives the address."""

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            if not self.path.startswith(f"{root}/"):
                self.send_error(404)
                return
            length = int(self.headers.get("content-length", 0))
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            path = self.path.removeprefix(root) if strips else self.path
            headers = dict(self.headers.items())
            line.request(self.command, path, self.rfile.read(length), headers)
            answer = line.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in (*_HOP, "content-length"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            line.close()

        do_GET = do_POST = do_PUT = _pass

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{root}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def nginx(port: int, root: str, folder: Path) -> Iterator[str]:
    """The same by nginx, with the lines of docs/server.md."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("nginx is not installed")
    own = free_port()
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"""daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; {temporary}
  server {{
    listen 127.0.0.1:{own};
    location {root}/ {{
      proxy_pass http://127.0.0.1:{port};
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_buffering off;
    }}
  }}
}}
""",
        "utf-8",
    )
    process = subprocess.Popen(
        [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            try:
                httpx.get(f"http://127.0.0.1:{own}/")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{own}{root}"
    finally:
        process.terminate()
        process.wait()
