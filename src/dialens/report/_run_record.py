"""The run record: what was done, with what, on what, how long it took, and what was left out."""

import json
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import polars as pl

from dialens.base import atomic_file
from dialens.corpus import Corpus
from dialens.metrics import Resources, Scores
from dialens.text import Lexicon

RUN = "run.json"
PACKAGES = ("polars", "numpy", "scipy", "altair", "vl-convert-python")
_GIT_PATIENCE_S = 5.0


@dataclass(frozen=True)
class RunRecord:
    """Everything that is needed to say where numbers come from, and to make them again.

    Attributes:
        command: What was run, `score` for instance.
        arguments: What it was given, as on the command line.
        seed: Of every draw.
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
        prompt: What a turn is held against, the `context` or the `last` turn.
        lexicons: By use (emotion, style, stop): name, hash, licence, source, number of terms.
        signatures: Of the metrics.

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

    def to_json(self) -> str:
        """The record as indented JSON."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False, default=str) + "\n"

    @classmethod
    def open(cls, path: Path) -> Self:
        """A record that was written before.

        Examples:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "run.json"
            >>> written = Recorder("score").finish(path)
            >>> RunRecord.open(path) == written
            True
        """
        return cls(**json.loads(path.read_text(encoding="utf-8")))


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
            packages={name: _version(name) for name in PACKAGES},
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
        corpus: Corpus | None = None,
        scores: Scores | None = None,
        resources: Resources | None = None,
        rejected: Sequence[str] | Mapping[str, int] | None = None,
    ) -> Self:
        """Take down what the run works on; call it as things become known.

        Args:
            corpus: Where the conversations came from, and how many there are.
            scores: How many values, by which metrics.
            resources: Lexicons and prompt.
            rejected: The reason of every record left out, or how many there are of each.
        """
        record = self._record
        counts = dict(record.counts)
        if corpus is not None:
            counts |= _corpus_counts(corpus)
            record = replace(record, data=_origin(corpus))
        if scores is not None:
            counts |= _score_counts(scores)
            record = replace(record, signatures=dict(scores.signatures))
        if resources is not None:
            used = {
                "emotion": _about(resources.emotion),
                "style": _about(resources.style),
                "stop": _about(resources.stop),
            }
            record = replace(record, lexicons=used, prompt=resources.prompt)
        if rejected is not None:
            reasons = dict(Counter(rejected).most_common())
            counts["rejected"] = sum(reasons.values())
            record = replace(record, rejected=reasons)
        self._record = replace(record, counts=counts)
        return self

    def record(self) -> RunRecord:
        """The record as it stands now, with the steps that are done."""
        seconds = {name: round(spent, 3) for name, spent in self._seconds.items()}
        return replace(self._record, seconds=seconds)

    def finish(self, path: Path) -> RunRecord:
        """End the run and write its record; the file appears whole or not at all."""
        done = replace(self.record(), ended=_stamp(self._now()))
        with atomic_file(path) as scratch:
            scratch.write_text(done.to_json(), encoding="utf-8")
        return done


def _plain(value: Any) -> Any:
    """An argument as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _corpus_counts(corpus: Corpus) -> dict[str, int]:
    counted = corpus.turns.select(
        turns=pl.len(), agent_turns=(pl.col("role") == "agent").sum()
    ).collect(engine="streaming")
    rejected = int(corpus.manifest.get("counts", {}).get("rejected", 0))
    return {**counted.row(0, named=True), "rejected": rejected}


def _score_counts(scores: Scores) -> dict[str, int]:
    """From the dialogues' sums, one row each: counting a million ids again costs memory."""
    units = scores.states.select(
        systems=pl.col("system").n_unique(),
        agents=pl.struct("system", "agent").n_unique(),
        dialogs=pl.len(),
    ).collect(engine="streaming")
    values = scores.table.select(pl.len()).collect(engine="streaming").item()
    return {**units.row(0, named=True), "scores": values, "metrics": len(scores.signatures)}


def _origin(corpus: Corpus) -> dict[str, Any]:
    manifest = corpus.manifest
    origin = dict(manifest.get("source", {}))
    tables = {name: about["sha256"] for name, about in manifest.get("files", {}).items()}
    return {**origin, "tables": tables} if tables else origin


def _about(lexicon: Lexicon) -> dict[str, Any]:
    return {
        "name": lexicon.name,
        "sha256": lexicon.sha256,
        "licence": lexicon.licence,
        "source": lexicon.source,
        "terms": len(lexicon),
        "notes": list(lexicon.notes),
    }


def _commit(folder: Path) -> str | None:
    """The commit of the tree that holds our own code, not of one that only surrounds it."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *arguments],
                capture_output=True,
                text=True,
                timeout=_GIT_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
