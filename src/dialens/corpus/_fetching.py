"""What is no file on this machine, made one for as long as it is read: pipes and remote paths.

Formats are recognised by looking at a source before it is read, and hashes are taken of it, so a
pipe is first written to a scratch file. HTTP is spoken by httpx where it is installed; everything
else (`s3://`, `gs://`, `hf://`) by Polars, with the credentials it finds in the environment.
"""

import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

import polars as pl

from dialens.base import DialensError, first_line, room_on_disk
from dialens.corpus._fetch_failures import failed, from_polars, refused, unreached

STANDARD_INPUT = ("-", "/dev/stdin")
_REMOTE = re.compile(r"^(https?|s3a?|gs|gcs|hf|az|azure|adl|abfss?):/{1,2}(?=[^/])", re.IGNORECASE)
_HADOOP_NAMES = {"s3a": "s3"}
_LINES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".vtt", ".srt")
_PACKED = (".gz", ".zst")  # what Polars unpacks by itself
_PIECE = 1 << 20


@dataclass(frozen=True)
class LocalFile:
    """A source as a path on this machine.

    Attributes:
        path: Where it lies; gone when it is no longer needed, unless it was there before.
        shown: What the user calls it.
        label: A name for what it holds where the path has none.
        piped: Whether it came through a pipe.
    """

    path: Path
    shown: str
    label: str | None = None
    piped: bool = False


def remote_address(path: str | Path) -> str | None:
    """The address that a path stands for, or None if it is one on this machine.

    Examples:
        >>> remote_address(Path("https://example.org/chats.jsonl"))  # a Path joins the slashes
        'https://example.org/chats.jsonl'
        >>> remote_address("chats.jsonl") is None
        True
    """
    match = _REMOTE.match(str(path))
    scheme = match.group(1).lower() if match else ""
    return f"{_HADOOP_NAMES.get(scheme, scheme)}://{str(path)[match.end() :]}" if match else None


@contextmanager
def local_file(path: str | Path) -> Iterator[LocalFile]:
    """A source as a file of this machine, for as long as the block takes.

    Errors in the block call it what the user does.

    Examples:
        >>> with local_file("chats.jsonl") as here:
        ...     here.path, here.shown
        (PosixPath('chats.jsonl'), 'chats.jsonl')
    """
    address = remote_address(path)
    standard_input = str(path) in STANDARD_INPUT
    if address is None and not standard_input and not _is_pipe(Path(path)):
        yield LocalFile(Path(path), str(path))
        return
    with tempfile.TemporaryDirectory(prefix="dialens-") as folder:
        if address is not None:
            name = unquote(Path(urlsplit(address).path).name) or urlsplit(address).netloc
            here = LocalFile(Path(folder) / name.replace("*", "all"), address)
            _fetch(address, here.path)
        elif standard_input:
            here = LocalFile(Path(folder) / "stdin", "standard input", "stdin", piped=True)
            if sys.stdin is None or sys.stdin.isatty():
                raise DialensError(f"{path} is standard input, and nothing is piped into it.")
            _copy(sys.stdin.buffer, here.path)
        else:
            here = LocalFile(Path(folder) / "pipe", f"the pipe {path}", "pipe", piped=True)
            with Path(path).open("rb") as pipe:
                _copy(pipe, here.path)
        with errors_naming(here.shown, here.path):
            yield here


@contextmanager
def errors_naming(shown: str, path: Path) -> Iterator[None]:
    """Let errors of the block call a copy on this machine what the user calls its source."""
    try:
        yield
    except DialensError as error:
        if str(path) not in str(error):
            raise
        raise DialensError(str(error).replace(str(path), shown)) from error.__cause__


def _is_pipe(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _copy(pipe: IO[bytes], target: Path) -> None:
    with room_on_disk(target.parent), target.open("wb") as file:
        shutil.copyfileobj(pipe, file, _PIECE)


def _fetch(address: str, target: Path) -> None:
    if urlsplit(address).scheme in ("http", "https"):
        try:
            _by_http(address, target)
        except ModuleNotFoundError:
            if not _scans(target):
                raise DialensError(
                    f"{address}: reading this format over HTTP needs the package httpx: "
                    "pip install 'dialens[agents]'."
                ) from None
        else:
            return
    if not _scans(target):
        raise DialensError(
            f"{address} cannot be read from there: only Parquet and text files ({', '.join(_LINES)}"
            f", packed or not) can. Copy it to this machine and name the copy; `dialens score "
            "--engine spark` reads folders, too."
        )
    _by_polars(address, target)


def _by_http(address: str, target: Path) -> None:
    import httpx  # of an extra

    from dialens.base import RetryPolicy, not_sent, send_with_retry  # needs httpx

    try:
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            request = client.build_request("GET", address)
            response = send_with_retry(lambda: client.send(request, stream=True), RetryPolicy())
            try:
                if response.status_code != httpx.codes.OK:
                    raise refused(address, response.status_code)
                with room_on_disk(target.parent), target.open("wb") as file:
                    for piece in response.iter_bytes(_PIECE):
                        file.write(piece)
            finally:
                response.close()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = first_line(error)
        nobody = isinstance(error, httpx.TransportError) and not_sent(error)
        if "SSL" in reason:  # somebody did, in a way that is not to be trusted
            nobody = False
        raise (unreached if nobody else failed)(address, reason) from error


def _scans(target: Path) -> bool:
    name = target.name.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name.endswith((".parquet", *_LINES))


def _by_polars(address: str, target: Path) -> None:
    try:
        with room_on_disk(target.parent):
            if target.name.lower().endswith(".parquet"):
                pl.scan_parquet(address).sink_parquet(target)
            else:
                pl.scan_lines(address).sink_csv(
                    target,
                    include_header=False,
                    quote_style="never",
                    separator="\x1f",
                    check_extension=False,
                )
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise from_polars(address, error) from error
