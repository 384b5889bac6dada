"""Files and folders written atomically."""

import errno
import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from dialens.base._errors import DialensError, not_written

_UNFINISHED = "Invalid thrift: transport error"
"""All that Polars says where there is no room for the end of a file."""
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)  # a letter is a drive
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_ABANDONED_AFTER_S = 5.0
FILES = ".dialens.json"
"""Lists the files of a folder that dialens wrote, itself among them."""


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a scratch path beside `path`; it takes that name only if the block succeeds.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with atomic_file(folder / "a.txt") as scratch:
        ...     _ = scratch.write_text("whole")
        >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
        ('whole', 1)
    """
    refuse_address(path)
    make_folder(path.parent)
    scratch = _scratch(path, f".partial{path.suffix}")
    with _refused(path):
        scratch.touch(exist_ok=False)
    try:
        with room_on_disk(path):
            yield scratch
            scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(
    path: Path, *, inputs: Iterable[Path] = (), force: bool = False, private: bool = False
) -> Iterator[Path]:
    """Give a scratch folder that becomes `path` only if the block succeeds.

    The files that the block wrote are listed in a hidden file of the folder, and a later run
    replaces those and no others: whatever else lies in the folder is kept. A foreign file whose
    name is needed is renamed (``report.html`` to ``report.html.1``).

    Args:
        path: The folder to write.
        inputs: Files and folders that are read; none may be the output or lie in it.
        force: Write into a folder with files that dialens has not written.
        private: Whether nobody but the owner may read what is written.

    Raises:
        DialensError: The folder is not ours and `force` is not given, it holds an input, it is
            the current folder, or an address.

    Examples:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "out"
        >>> with atomic_folder(target) as scratch:
        ...     _ = (scratch / "scores.csv").write_text("old")
        >>> _ = (target / "notes.txt").write_text("mine")
        >>> with atomic_folder(target) as scratch:
        ...     _ = (scratch / "scores.csv").write_text("new")
        >>> sorted((p.name, p.read_text()) for p in target.iterdir() if p.name != FILES)
        [('notes.txt', 'mine'), ('scores.csv', 'new')]
    """
    refuse_inputs_in(path, inputs)
    place = Path(os.path.realpath(path))  # `resolve` fails where links lead in a circle
    if place in (Path.cwd(), *Path.cwd().parents):
        raise DialensError(f"{path} is the current folder. Name a folder in it, e.g. out.")
    with _refused(path):
        there = path.exists()
    if there and not path.is_dir():
        raise DialensError(f"{path} is a file. Name a folder to write.")
    if there and not force and any(path.iterdir()) and listed_files(path) is None:
        raise DialensError(
            f"{path} exists and was not written by dialens (it has no {FILES}). "
            "Name another place, or add --force to write into it; the files in it are kept."
        )
    make_folder(place.parent)
    _remove_abandoned(place)
    scratch = _scratch(place, ".partial")
    with _refused(path):
        scratch.mkdir(mode=0o700 if private else 0o777)
    try:
        with _in_use(scratch), room_on_disk(path):
            yield scratch
            list_files(scratch)
            if private:
                for file in _files(scratch):
                    file.chmod(0o600)
            _keep_foreign(place, scratch)
            _swap(scratch, place)
        _remove_abandoned(place)  # what was too young for it at the start
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


@contextmanager
def _in_use(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder for as long as the block takes; gives whether that was possible.

    It is not where another process holds it, and on file systems that lock no folders.
    """
    if os.name != "posix":
        yield False
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        taken = True
        try:
            take_lock(lock, f"{folder} is in use.")
        except DialensError:
            taken = False
        yield taken
    finally:
        os.close(lock)


def _remove_abandoned(place: Path) -> None:
    """Delete what runs into the same folder left that were killed; a living one holds its lock."""
    named = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{16}}\.partial")
    with suppress(OSError):  # whatever cannot be looked at stays
        for folder in [one for one in place.parent.iterdir() if named.fullmatch(one.name)]:
            if time.time() - folder.stat().st_mtime < _ABANDONED_AFTER_S:
                continue  # perhaps it is only now being made
            with _in_use(folder) as taken:
                if taken:
                    shutil.rmtree(folder, ignore_errors=True)


def make_folder(path: Path) -> None:
    """Make a folder to write into, and those around it; why that cannot be is said.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.txt"
        >>> file.touch()
        >>> make_folder(file / "out")
        Traceback (most recent call last):
        ...
        dialens.DialensError: .../a.txt is a file, not a folder: nothing can be written in it...
    """
    in_the_way = next((place for place in (path, *path.parents) if place.is_file()), None)
    if in_the_way is not None:
        raise DialensError(
            f"{in_the_way} is a file, not a folder: nothing can be written in it. Name another "
            "place."
        )
    with _refused(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Say what the operating system refuses instead of a traceback."""
    try:
        yield
    except OSError as error:
        raise DialensError(not_written(error, path)) from error


class NoRoom(DialensError):
    """A disk takes no more, or nothing at all; `strerror` says why in the system's words."""

    def __init__(self, error: OSError, path: Path) -> None:
        """What the system refused, and what was to be written."""
        super().__init__(not_written(error, path))
        self.strerror = error.strerror


@contextmanager
def room_on_disk(path: Path) -> Iterator[None]:
    """Say of a disk that is full or cannot be written that `path` could not be, and why.

    Polars has errors of its own for it, which name the system's number in their text.

    Examples:
        >>> with room_on_disk(Path("out")):
        ...     raise pl.exceptions.ComputeError("No space left on device (os error 28)")
        Traceback (most recent call last):
        ...
        dialens.base._storage.NoRoom: out cannot be written: no space left on device. Name ...
    """
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        named = _OS_ERROR.search(str(error))
        number = int(named.group(1)) if named else getattr(error, "errno", None)
        if str(error).endswith(_UNFINISHED):
            number = errno.ENOSPC
        if number not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
            raise
        # Polars never releases its error, whose traceback would keep everything in use alive.
        raise NoRoom(OSError(number, os.strerror(number)), path) from error.with_traceback(None)


def refuse_address(output: Path) -> None:
    """Refuse an output that is no path: it would become a folder called `s3:`.

    Examples:
        >>> refuse_address(Path("s3://bucket/out"))  # a Path joins the slashes
        Traceback (most recent call last):
        dialens.DialensError: s3://bucket/out is an address, and results are written to folders...
    """
    match = _ADDRESS.match(str(output))
    if match is None:
        return
    scheme, rest = match[1].lower(), str(output)[match.end() :]
    if scheme == "file":
        raise DialensError(f"Name the folder to write by its path, /{rest}, without file:.")
    raise DialensError(
        f"{scheme}://{rest} is an address, and results are written to folders. Name a folder on "
        "this machine or on a disk that is mounted, and copy it there afterwards."
    )


def refuse_inputs_in(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, a folder around one, or an address.

    Examples:
        >>> refuse_inputs_in(Path("out"), [Path("logs/a.jsonl")])
    """
    refuse_address(output)
    place = Path(os.path.realpath(output))
    for source in inputs:
        read = Path(os.path.realpath(source))
        if place == read:
            raise DialensError(f"{output} is input and output. Name another place to write.")
        if place in read.parents:
            raise DialensError(
                f"The input {source} lies in the output {output}. Name another place to write."
            )


def list_files(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write down that dialens wrote files of a folder: these besides those listed, or all in it.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "a.csv").touch()
        >>> list_files(folder, ["a.csv"])
        >>> sorted(listed_files(folder))
        ['.dialens.json', 'a.csv']
    """
    if names is None:
        files = {file.relative_to(folder).as_posix() for file in _files(folder)}
    else:
        files = {*names, *(listed_files(folder) or ())}
    with atomic_file(folder / FILES) as scratch:
        scratch.write_text(json.dumps({"files": sorted(files | {FILES})}, indent=1) + "\n", "utf-8")


def listed_files(folder: Path) -> set[str] | None:
    """The files of a folder that dialens wrote, by their own list; None if there is no list."""
    try:
        return set(json.loads((folder / FILES).read_text("utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def set_aside(folder: Path, names: Iterable[str]) -> list[Path]:
    """Rename files that are in the way of ours: ``a.csv`` to ``a.csv.1``; gives the new names.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "a.csv").touch()
        >>> [path.name for path in set_aside(folder, ["a.csv", "b.csv"])]
        ['a.csv.1']
    """
    there = [folder / name for name in names if os.path.lexists(folder / name)]
    return [path.rename(_free_name(str(path))) for path in there]


def _free_name(name: str) -> str:
    """The name, or the name with the first number that is not taken."""
    numbered = (f"{name}.{number}" for number in itertools.count(1))
    return next(free for free in itertools.chain([name], numbered) if not os.path.lexists(free))


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.is_symlink() or not file.is_dir())


def _keep_foreign(old: Path, new: Path) -> None:
    """Link what is not ours from the old folder into the new one."""
    if not old.exists():
        return
    ours = listed_files(old) or set()
    emptied = {parent for name in ours for parent in (new / name).parents if new in parent.parents}

    def is_ours(folder: str, names: list[str]) -> list[str]:
        inner = Path(folder).relative_to(old)
        return [name for name in names if (inner / name).as_posix() in ours]

    shutil.copytree(
        old, new, symlinks=True, ignore=is_ours, copy_function=_link, dirs_exist_ok=True
    )
    for folder in sorted(emptied, reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _link(source: str, target: str) -> None:
    """A second name for a file, or a copy where the file system has no links."""
    free = _free_name(target)
    try:
        os.link(source, free)
    except OSError:
        shutil.copy2(source, free)


def _swap(scratch: Path, path: Path) -> None:
    if not path.exists():
        scratch.rename(path)
        return
    old = _scratch(path, ".old")
    path.rename(old)
    scratch.rename(path)
    shutil.rmtree(old)


def _scratch(path: Path, suffix: str) -> Path:
    """A hidden name beside a path. Python's `tempfile` would make it for the owner alone."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{suffix}")


def sha256_file(path: Path) -> str:
    """The hex SHA-256 of a file, read in pieces.

    Examples:
        >>> import tempfile
        >>> p = Path(tempfile.mkdtemp()) / "empty"
        >>> p.touch()
        >>> sha256_file(p)[:8]
        'e3b0c442'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def take_lock(file: int, refusal: str) -> None:
    """Take the lock of an open file, which ends with the process; refuse where another has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DialensError(refusal) from error
