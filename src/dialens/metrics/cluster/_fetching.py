"""What lies at an address, copied to this machine: by Hadoop's file systems, or else by Arrow.

The driver reads and checks a corpus before Spark does. Hadoop's client, which Spark brings, knows
HDFS; for S3, Google and Azure it needs libraries that most installations of Spark do not have.
Arrow has its own clients for those: what it fetches, Spark reads from the copy.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base import Advance, DialensError, first_line, is_spark_error, spark_reason

_LOOKS_EVERY_S = 0.2
_HIDDEN = (".", "_")  # as Spark has it
_ARROW_NAMES = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
}
"""Schemes that Arrow reads, and what it calls them."""

_SAID_BY_HADOOP = {
    "FileNotFoundException": "nothing is there.",
    "UnknownHostException": "no machine has that name.",
    "ConnectException": "nobody answers there. Are host and port those of a name node that runs?",
}
"""What its errors mean, of which it makes long sentences."""

Copy = Callable[[Path], None]


@dataclass(frozen=True)
class Fetched:
    """A copy of what lies at an address.

    Attributes:
        path: The folder of this machine, or the file where the address is one.
        by_spark: Whether Spark reads the address by itself.
    """

    path: Path
    by_spark: bool


def fetch(session: Any, address: str, folder: Path, advance: Advance) -> Fetched:
    """Copy a file, or the files of a folder and those below, from an address to this machine.

    Args:
        session: Of Spark.
        address: Of any scheme that Hadoop or Arrow reads.
        folder: Where the files go.
        advance: Called with the number of bytes just copied.

    Raises:
        DialensError: Nobody can read it, or nothing is there.
    """
    scheme = address.partition(":")[0]
    system = _hadoop_system(session, address, must=scheme not in _ARROW_NAMES)
    files = of_arrow(address) if system is None else _of_hadoop(session, system, address)
    if not files:
        raise DialensError(f"{address} holds no file. Name a corpus, or a folder of logs.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, copy in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with _growing(target, advance):
            copy(target)
    name = address.rstrip("/").rpartition("/")[2]
    one_file = list(files) == [name]
    return Fetched(folder / name if one_file else folder, system is not None)


def _hadoop_system(session: Any, address: str, *, must: bool) -> Any:
    """The file system of Hadoop's for an address; None if it has none and need not have one."""
    place = session._jvm.org.apache.hadoop.fs.Path(address)
    with _explained(address):
        try:
            return place.getFileSystem(session._jsc.hadoopConfiguration())
        except Exception as error:
            if must or not _is_unknown(error):
                raise
            return None


def _is_unknown(error: BaseException) -> bool:
    """Whether Hadoop lacks the library for a scheme, rather than an answer."""
    return is_spark_error(error) and (
        "UnsupportedFileSystemException" in str(error) or "ClassNotFoundException" in str(error)
    )


def _of_hadoop(session: Any, system: Any, address: str) -> dict[str, Copy]:
    """The files at an address by their names from there on, each as what copies it."""
    hadoop = session._jvm.org.apache.hadoop.fs

    def copier(place: Any) -> Copy:
        def copy(target: Path) -> None:
            with _explained(address):
                here = hadoop.Path(f"file://{target.absolute()}")
                system.copyToLocalFile(False, place, here, True)

        return copy

    def listed(place: Any, before: str = "") -> Iterator[tuple[str, Any]]:
        for one in system.listStatus(place):
            name = one.getPath().getName()
            if name.startswith(_HIDDEN):
                continue
            if one.isFile():
                yield before + name, one.getPath()
            else:
                yield from listed(one.getPath(), f"{before}{name}/")

    with _explained(address):
        return {name: copier(place) for name, place in listed(hadoop.Path(address))}


def of_arrow(address: str) -> dict[str, Copy]:
    """The same, by a client of Arrow's."""
    from pyarrow import fs

    scheme, _, rest = address.partition("://")

    def copier(system: Any, path: str) -> Copy:
        def copy(target: Path) -> None:
            with _explained(address):
                fs.copy_files(path, str(target), source_filesystem=system)

        return copy

    with _explained(address):
        system, path = fs.FileSystem.from_uri(f"{_ARROW_NAMES[scheme]}://{rest}")
        info = system.get_file_info(path)
        if info.is_file:
            return {info.base_name: copier(system, info.path)}
        found = system.get_file_info(fs.FileSelector(path, recursive=True))
    files = {one.path[len(info.path) :].strip("/"): one.path for one in found if one.is_file}
    return {
        name: copier(system, place)
        for name, place in files.items()
        if not any(part.startswith(_HIDDEN) for part in name.split("/"))
    }


@contextmanager
def _growing(target: Path, advance: Advance) -> Iterator[None]:
    """Tell how a file grows while somebody else writes it."""
    done = threading.Event()
    told = 0

    def look() -> None:
        nonlocal told
        size = target.stat().st_size if target.exists() else 0
        advance(size - told)
        told = size

    def watch() -> None:
        while not done.wait(_LOOKS_EVERY_S):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        look()


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """What Java or Arrow say, in a sentence with a remedy."""
    try:
        yield
    except FileNotFoundError as error:
        raise DialensError(f"{address} cannot be read: nothing is there.") from error
    except OSError as error:
        reason = first_line(error).partition(" (Request ID")[0].rstrip(".")
        raise DialensError(
            f"{address} cannot be read: {reason}. Is the address right, and are credentials, "
            "region and endpoint in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
            "AWS_REGION, AWS_ENDPOINT_URL for S3)?"
        ) from error
    except Exception as error:
        if not is_spark_error(error):
            raise
        for name, meaning in _SAID_BY_HADOOP.items():
            if name in str(error):
                raise DialensError(f"{address} cannot be read: {meaning}") from error
        raise DialensError(
            f"{address} cannot be read by Spark: {spark_reason(error)}. Settings and packages for "
            "such addresses belong into spark-defaults.conf in SPARK_CONF_DIR."
        ) from error
