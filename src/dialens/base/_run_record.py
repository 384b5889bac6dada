"""The run record: what was done, with what, on what, how long it took, and what was left out.

Callers describe their data as plain mappings, so that every room can write one.
"""

import json
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from dialens.base._errors import DialensError, first_line
from dialens.base._redaction import without_secrets
from dialens.base._storage import atomic_file, sha256_file

RUN = "run.json"
TABLES = (
    "scores.parquet",
    "turns.parquet",
    "ratings.parquet",
    "references.parquet",
    "answers.parquet",
)
"""Files of score folders, corpora and exports that make up their content."""
_PACKAGES = ("polars", "numpy", "scipy", "altair", "vl-convert-python")
_GIT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class RunRecord:
    """Everything that is needed to say where numbers come from, and to make them again.

    Attributes:
        command: What was run, `score` for instance.
        arguments: Its arguments, as on the command line.
        seed: The random seed.
        dialens: Version of dialens.
        commit: Of the source tree dialens runs from, with `-dirty` where files were changed;
            None for an installed package.
        python: Version of Python.
        packages: Versions of the packages that make numbers or charts.
        platform: Operating system and processor; no host name.
        started: UTC, ISO 8601.
        ended: UTC; None while the run goes on.
        seconds: Wall-clock time of each step.
        counts: Systems, agents, dialogs, turns, agent turns, scores, rejected records.
        rejected: Reasons why records were left out, with how many.
        data: Where the conversations came from: name, format, hashes.
        prompt: What a turn is compared with, the `context` or the `last` turn.
        lexicons: By use (emotion, style, stop): name, hash, licence, source, number of terms.
        signatures: Of the metrics.
        details: What only this command records; in the file they stand beside the other keys.

    Examples:
        >>> record = Recorder("score", {"corpus": "talks.jsonl"}, seed=7).record()
        >>> record.command, record.seed, record.ended
        ('score', 7, None)
    """

    command: str
    arguments: Mapping[str, Any]
    seed: int
    dialens: str
    commit: str | None
    python: str
    packages: Mapping[str, str]
    platform: str
    started: str
    ended: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None
    lexicons: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The record as indented JSON."""
        content = asdict(self)
        content |= content.pop("details")
        return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read a record from its file.

        Examples:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "run.json"
            >>> written = Recorder("score").finish(path)
            >>> RunRecord.open(path) == written
            True
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            own_fields = {
                each.name: content.pop(each.name) for each in fields(cls) if each.name in content
            }
            return cls(**own_fields, details=content)
        except (OSError, ValueError, RecursionError, TypeError, AttributeError) as error:
            raise DialensError(
                f"{path} is not the record of a run ({first_line(error)}). Run the command again."
            ) from error


class Recorder:
    """Keeps the record of a run while it goes on.

    Examples:
        >>> recorder = Recorder("score", {"corpus": "talks.jsonl"})
        >>> with recorder.step("read"):
        ...     pass
        >>> list(recorder.record().seconds)
        ['read']
    """

    def __init__(
        self,
        command: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin a run; `now` and `timer` are its clocks."""
        self._now = now
        self._timer = timer
        self._seconds: dict[str, float] = {}
        self._record = RunRecord(
            command=command,
            arguments={key: _plain(value) for key, value in (arguments or {}).items()},
            seed=seed,
            dialens=_version("dialens"),
            commit=_commit(Path(__file__).resolve().parent),
            python=platform.python_version(),
            packages=versions(*_PACKAGES),
            platform=f"{platform.system()} {platform.release()} {platform.machine()}",
            started=_stamp(now()),
        )

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step; steps of one name add up."""
        started = self._timer()
        try:
            yield
        finally:
            spent = self._timer() - started
            self._seconds[name] = self._seconds.get(name, 0.0) + spent

    def observe(
        self,
        *,
        counts: Mapping[str, int] | None = None,
        rejected: Sequence[str] | Mapping[str, int] | None = None,
        packages: Mapping[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
        **facts: Any,
    ) -> Self:
        """Add facts about the run.

        Args:
            counts: Added to the counts so far.
            rejected: The reason of every record left out, or how many there are of each.
            packages: Versions added to those of the usual packages.
            details: What only this command records.
            facts: `data`, `prompt`, `lexicons` and `signatures`, as :class:`RunRecord` has them.

        Examples:
            >>> recorder = Recorder("score").observe(counts={"turns": 3}, prompt="last")
            >>> recorder.observe(rejected=["is not text"]).record().counts
            {'turns': 3, 'rejected': 1}
        """
        record = self._record
        every = {**record.counts, **(counts or {})}
        if rejected is not None:
            reasons = dict(Counter(rejected).most_common())
            every["rejected"] = sum(reasons.values())
            facts["rejected"] = reasons
        self._record = replace(
            record,
            counts=every,
            packages={**record.packages, **(packages or {})},
            details={**record.details, **(details or {})},
            **facts,
        )
        return self

    def read_from(self, *places: Path | str | None) -> Self:
        """Note the hashes of what is read, so that it can be told later whether that changed.

        Files by their own, folders by those of their tables (`TABLES`); anything else, an address
        for instance, is passed over.

        Examples:
            >>> import tempfile
            >>> ratings = Path(tempfile.mkdtemp()) / "ratings.csv"
            >>> _ = ratings.write_text("1")
            >>> noted = Recorder("agreement").read_from(ratings, None).record().details["sources"]
            >>> noted[str(ratings)]["."][:8]
            '6b86b273'
        """
        noted = dict(self._record.details.get("sources", {}))
        for place in places:
            if place is None:
                continue
            path = Path(place)
            files = {name: path / name for name in TABLES} if path.is_dir() else {".": path}
            hashes = {name: sha256_file(file) for name, file in files.items() if file.is_file()}
            if hashes:
                noted[str(place)] = hashes
        return self.observe(details={"sources": noted})

    def record(self) -> RunRecord:
        """The record as it stands now, with the steps that are done."""
        seconds = {name: round(spent, 3) for name, spent in self._seconds.items()}
        return replace(self._record, seconds=seconds)

    def finish(self, path: Path) -> RunRecord:
        """End the run and write its record; the file appears whole or not at all."""
        done = replace(self.record(), ended=_stamp(self._now()))
        with atomic_file(path) as scratch:
            scratch.write_text(without_secrets(done.to_json()), encoding="utf-8")
        return done


def _plain(value: Any) -> Any:
    """An argument as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _stamp(moment: datetime) -> str:
    """To the millisecond, so that what was made within one second keeps its order."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def versions(*packages: str) -> dict[str, str]:
    """The versions of packages, `not installed` among them.

    Examples:
        >>> versions("no-such-package")
        {'no-such-package': 'not installed'}
    """
    return {package: _version(package) for package in packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit(folder: Path) -> str | None:
    """The commit of the tree that holds our own code, not of one that only surrounds it."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *arguments],
                capture_output=True,
                text=True,
                timeout=_GIT_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
