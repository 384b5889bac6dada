"""A model hub on this machine that speaks the protocol of the real one, as its own client reads it.

Information and listings under `/api/models/…`, files under `/REPOSITORY/resolve/REVISION/FILE`.
Weights lie elsewhere, as on the real hub: a second server, to which the first one redirects with
the promised size and hash (`X-Linked-Size`, `X-Linked-ETag`), and which knows ranges. Every request
is noted down. What goes wrong on a network is asked for in `breaks` and `swapped`.
"""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from tests.loopback import LoopbackServer, QuietHandler

TOKEN = "hf_tests"
"""Whoever sends it may read gated repositories."""

_LARGE = (".safetensors", ".bin")  # kept by hash, away from the rest


@dataclass(frozen=True)
class Request:
    """What a client asked for: `place` is `hub` or `storage`."""

    place: str
    method: str
    path: str
    range: str | None
    authorization: str | None


@dataclass(frozen=True)
class Break:
    """Where a connection ends too early: closed, or reset."""

    after: int
    reset: bool = False


@dataclass(frozen=True)
class File:
    """A file and what the hub says of it."""

    content: bytes
    is_large: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def pointer(self) -> bytes:
        """What git has in place of a large file."""
        spec = "version https://git-lfs.github.com/spec/v1"
        return f"{spec}\noid sha256:{self.sha256}\nsize {len(self.content)}\n".encode()

    @property
    def blob_id(self) -> str:
        """Git's name for it."""
        known = self.pointer if self.is_large else self.content
        return hashlib.sha1(b"blob %d\0" % len(known) + known).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.is_large else self.blob_id


@dataclass
class Repository:
    """One commit of a model, with the branches and tags that point to it."""

    files: dict[str, File]
    branches: tuple[str, ...] = ("main",)
    tags: tuple[str, ...] = ()
    gated: bool = False

    @property
    def commit(self) -> str:
        listed = sorted((path, file.blob_id) for path, file in self.files.items())
        return hashlib.sha1(repr(listed).encode()).hexdigest()

    def knows(self, revision: str) -> bool:
        return revision in (self.commit, *self.branches, *self.tags)


@dataclass
class Hub:
    """Use as a context; `url` is what HF_ENDPOINT should say.

    Attributes:
        repositories: By name.
        requests: All that came, in their order.
        breaks: Of the next answers with a file's content, by the file's name.
        swapped: What is sent instead of a file's content, whatever was promised.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    breaks: dict[str, list[Break]] = field(default_factory=dict)
    swapped: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, folder: Path, **more: Any) -> Repository:
        """Publish a folder."""
        files = {
            str(file.relative_to(folder)): File(file.read_bytes(), file.suffix in _LARGE)
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
        self.repositories[name] = Repository(files, **more)
        return self.repositories[name]

    def fetched(self) -> list[str]:
        """The files whose content was asked for."""
        return [
            one.path.rpartition("/")[2]
            for one in self.requests
            if one.method == "GET" and not one.path.startswith("/api/")
        ]

    def __enter__(self) -> Self:
        self._servers = [_Server(self, place) for place in ("hub", "storage")]
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.02,)) for server in self._servers
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """From now on connections are refused."""
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()

    @property
    def url(self) -> str:
        return self._servers[0].url

    @property
    def storage_url(self) -> str:
        return self._servers[1].url


class _Server(LoopbackServer):
    def __init__(self, hub: Hub, place: str) -> None:
        self.hub, self.place = hub, place
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Two names of this machine: the client knows by it whether it leaves the hub."""
        host = "127.0.0.1" if self.place == "hub" else "localhost"
        return f"http://{host}:{self.server_address[1]}"


class _Handler(QuietHandler):
    server: _Server

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        asked = (self.headers.get("Range"), self.headers.get("Authorization"))
        self.server.hub.requests.append(Request(self.server.place, self.command, path, *asked))
        if self.server.place == "storage":
            self._stored(path)
        elif asked[1] not in (None, f"Bearer {TOKEN}"):
            self._refuse(401, "", "Invalid credentials in Authorization header")
        elif path.startswith("/api/models/"):
            self._api(path.removeprefix("/api/models/"))
        elif "/resolve/" in path:
            name, _, rest = path.strip("/").partition("/resolve/")
            self._resolve(name, *rest.split("/", 1))
        else:  # the client asks about itself, too, and can do without
            self._refuse(404, "", f"Not found: {path}")

    def _is_known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _found(self, name: str, revision: str | None = None) -> Repository | None:
        """A repository that has the revision; or None, and the client has been told."""
        repository = self.server.hub.repositories.get(name)
        if repository is None:  # strangers are not told whether it is private
            status = 404 if self._is_known() else 401
            self._refuse(status, "RepoNotFound", "Repository not found")
        elif revision is not None and not repository.knows(revision):
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return repository
        return None

    def _api(self, path: str) -> None:
        organisation, model, what, *rest = path.split("/")
        name = f"{organisation}/{model}"
        repository = self._found(name, rest[0] if rest else None)
        if repository is None:
            return
        if what == "refs":
            self._json(
                {
                    "branches": [self._ref(repository, "heads", n) for n in repository.branches],
                    "tags": [self._ref(repository, "tags", n) for n in repository.tags],
                    "converts": [],
                }
            )
        elif what == "tree":
            self._json([self._listed(path, file) for path, file in repository.files.items()])
        elif what == "revision":
            siblings = [{"rfilename": path} for path in repository.files]
            self._json({"id": name, "sha": repository.commit, "siblings": siblings})
        else:
            self._refuse(404, "", f"Not found: {self.path}")

    def _ref(self, repository: Repository, kind: str, name: str) -> dict[str, str]:
        return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": repository.commit}

    def _listed(self, path: str, file: File) -> dict[str, Any]:
        size = len(file.content)
        told: dict[str, Any] = {"type": "file", "path": path, "size": size, "oid": file.blob_id}
        if file.is_large:
            told["lfs"] = {"oid": file.sha256, "size": size, "pointerSize": len(file.pointer)}
        return told

    def _resolve(self, name: str, revision: str, path: str) -> None:
        repository = self._found(name, revision)
        if repository is None:
            return
        commit = {"X-Repo-Commit": repository.commit}
        file = repository.files.get(path)
        if repository.gated and not self._is_known():
            said = f"Access to model {name} is restricted. Please log in."
            self._refuse(401, "GatedRepo", said)
        elif file is None:
            self._refuse(404, "EntryNotFound", "Entry not found", commit)
        elif file.is_large:
            linked = {
                "Location": f"{self.server.hub.storage_url}/{file.sha256}/{path}",
                "X-Linked-Size": str(len(file.content)),
                "X-Linked-ETag": f'"{file.sha256}"',
            }
            self._send(302, b"", commit | linked)
        else:
            self._content(path, file, commit)

    def _stored(self, path: str) -> None:
        """A large file, by its hash."""
        sha256, _, name = path.strip("/").partition("/")
        for repository in self.server.hub.repositories.values():
            file = repository.files.get(name)
            if file is not None and file.sha256 == sha256:
                self._content(name, file, {})
                return
        self._send(403, b"")

    def _content(self, path: str, file: File, headers: Mapping[str, str]) -> None:
        content = self.server.hub.swapped.get(path, file.content)
        if self.command == "HEAD":  # promises what the file should be
            told = {"ETag": f'"{file.etag}"', "Content-Length": str(len(file.content))}
            self._send(200, b"", {**headers, **told})
            return
        start, status = 0, 200
        more = {"ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
        if wanted := self.headers.get("Range"):
            start, status = int(wanted.removeprefix("bytes=").removesuffix("-")), 206
            more["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(status, content[start:], {**headers, **more}, self._next_break(path))

    def _next_break(self, path: str) -> Break | None:
        waiting = self.server.hub.breaks.get(path)
        return waiting.pop(0) if waiting else None

    def _refuse(
        self, status: int, code: str, said: str, headers: Mapping[str, str] | None = None
    ) -> None:
        told = {"X-Error-Code": code, "X-Error-Message": said, **(headers or {})}
        self._json({"error": said}, status, told)

    def _json(
        self, data: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        told = {"Content-Type": "application/json", **(headers or {})}
        self._send(status, json.dumps(data).encode(), told)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        broken: Break | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if broken is None else body[: broken.after])
        if broken is not None:
            self.close_connection = True
            if broken.reset:  # closing a socket that may not linger resets the connection
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.connection.close()
