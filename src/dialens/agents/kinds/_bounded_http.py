"""Responses of servers that nobody answers for: bounded in time and in size, however they come.

A timeout of httpx is about the silence between two bytes, and its decoders unpack whatever a piece
holds. A server that sends a byte a second, headers or extensions of chunks without end, or a
kilobyte that unpacks to a gigabyte passes both.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpcore
import httpx

_PIECE = 1 << 16
_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS

Clock = Callable[[], float]


class Until(float):
    """Seconds that may pass without a byte, with a moment after which none is waited for.

    It goes through httpx as the timeout that it is, to the connection, which knows its deadline.
    """

    def __new__(cls, seconds: float, deadline: float, clock: Clock) -> "Until":
        """The seconds, the moment, and the clock that it is a moment of."""
        made = super().__new__(cls, seconds)
        made.deadline = deadline
        made.clock = clock
        return made

    deadline: float
    clock: Clock

    @property
    def left(self) -> float:
        """Seconds that may be waited now."""
        return min(float(self), self.deadline - self.clock())


class _Stream(httpcore.NetworkStream):
    """A connection that looks at the clock before it waits."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Bytes that come before the deadline."""
        if isinstance(timeout, Until):
            timeout = timeout.left
            if timeout <= 0:
                raise httpcore.ReadTimeout("the deadline has passed")
        return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send, a piece at a time, as long as there is time: a server may read slowly, too."""
        for start in range(0, len(buffer), _PIECE):
            left = timeout
            if isinstance(timeout, Until):
                left = timeout.left
                if left <= 0:
                    raise httpcore.WriteTimeout("the deadline has passed")
            self._inner.write(buffer[start : start + _PIECE], left)

    def close(self) -> None:
        """Close it."""
        self._inner.close()

    def start_tls(self, *given: Any, **named: Any) -> httpcore.NetworkStream:
        """The same, encrypted; the handshake has a time limit of its own."""
        return _Stream(self._inner.start_tls(*given, **named))

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection."""
        return self._inner.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    """Makes such connections."""

    def connect_tcp(self, *given: Any, **named: Any) -> httpcore.NetworkStream:
        """A connection to a host, or to the proxy before it."""
        return _Stream(super().connect_tcp(*given, **named))


def bounded_client(limits: httpx.Limits) -> httpx.Client:
    """A client whose connections keep to the deadline of a timeout that is an `Until`.

    Redirects are not followed, and answers are asked for as they are, not packed.

    Args:
        limits: Of its connections.
    """
    client = httpx.Client(limits=limits, headers={"Accept-Encoding": "identity"})
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):  # proxies have one each
            transport._pool._network_backend = _Backend()
    return client


def timeouts(seconds: float, connect: float, deadline: float, clock: Clock) -> dict[str, Any]:
    """The extensions of a request that is to be over by a deadline.

    Args:
        seconds: That may pass without a byte.
        connect: To reach the server.
        deadline: After which nothing is waited for, by the clock.
        clock: Seconds, from any beginning.

    Examples:
        >>> timeouts(60.0, 10.0, 5.0, lambda: 3.0)["timeout"]["read"].left
        2.0
    """
    left = max(deadline - clock(), 0.01)
    until = Until(seconds, deadline, clock)
    reached = min(connect, left)
    return {"timeout": {"connect": reached, "pool": reached, "read": until, "write": until}}


class NotUnpacked(Exception):
    """A body is packed in a way that was not asked for, or damaged."""


def unpacked(response: httpx.Response) -> Iterator[bytes]:
    """The bytes of a body in small pieces, however far a packed one would unpack.

    Packed bodies are not asked for; some servers pack nevertheless, by gzip or deflate.

    Raises:
        NotUnpacked: If it is packed otherwise, or damaged.

    Examples:
        >>> import gzip
        >>> body = gzip.compress(bytes(1_000_000))
        >>> sent = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=_Bytes([body]))
        >>> max(map(len, unpacked(sent))), len(body) < 2_000
        (65536, True)
    """
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if packed in ("", "identity"):
        yield from response.iter_raw()
    elif packed in ("gzip", "x-gzip", "deflate"):
        yield from _unzipped(response.iter_raw())
    else:
        raise NotUnpacked(f"it is packed as {packed[:40]!r}, which was not asked for")


def _unzipped(raw: Iterable[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_ZLIB_OR_GZIP)
    for chunk in raw:
        while True:
            try:
                piece = unpacker.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise NotUnpacked("it cannot be unpacked") from error
            if piece:
                yield piece
            chunk = unpacker.unconsumed_tail
            if not piece and not chunk:
                break
        if unpacker.eof:
            return


class _Bytes(httpx.SyncByteStream):
    """Pieces of a body, for examples."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
