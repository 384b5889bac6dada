"""A study file that is being written: watched, checked, changed, and never overwritten blindly."""

import hashlib
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialens.base import DialensError, InvalidFile, atomic_file, read_yaml
from dialens.studies import (
    JSON,
    PLACEHOLDER,
    Change,
    Study,
    StudyEstimate,
    edited,
    estimate,
    holds,
    load_study,
    study_file,
)
from dialens.studies.design import Design
from dialens.studies.store import Store
from dialens.web._site import Site

_DOTTED = re.compile(r"[a-z_]+(?:\.[A-Za-z0-9_-]+)+")
_LONGEST_PATH = 260
_BOM = "\ufeff"

_Way = tuple[str | int, ...]


class FileChanged(DialensError):
    """Somebody else wrote the file since it was read; it is not overwritten."""


@dataclass(frozen=True)
class StudyProblem:
    """What `study check` says.

    Attributes:
        message: What it is, and the remedy.
        line: Where it stands in the study file; none if it is about no single line.
        where: The way to it; empty if it is about the whole.
    """

    message: str
    line: int | None = None
    where: _Way = ()

    def as_json(self) -> dict[str, JSON]:
        """For the page."""
        return {"message": self.message, "line": self.line, "where": list(self.where)}


@dataclass(frozen=True)
class StudyText:
    """The text of a study file, as an editor sees it: without byte-order mark and CRLF.

    Attributes:
        text: The text.
        hash: Of the bytes that it was read from.
    """

    text: str
    hash: str


@dataclass(frozen=True)
class CheckedStudy:
    """The state of a study file and of the files that it names.

    Attributes:
        stamp: Changes whenever one of the files does.
        site: The last valid version, ready to be shown; none if there was none yet.
        errors: Why the newest version is not valid; none if it is.
        warnings: What a careful colleague would ask about.
        summary: What the study asks of people, in a sentence.
    """

    stamp: str
    site: Site | None
    errors: tuple[StudyProblem, ...] = ()
    warnings: tuple[StudyProblem, ...] = ()
    summary: str = ""

    def as_json(self) -> dict[str, JSON]:
        """For the page."""
        return {
            "stamp": self.stamp,
            "shown": self.site is not None,
            "errors": [problem.as_json() for problem in self.errors],
            "warnings": [problem.as_json() for problem in self.warnings],
            "summary": self.summary,
        }


@dataclass
class StudyFile:
    """A study file on disk; thread-safe."""

    path: Path
    _named: tuple[Path, ...] = ()
    _checked: CheckedStudy = field(default_factory=lambda: CheckedStudy("", None))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def at(cls, place: Path) -> "StudyFile":
        """The study file at a path, or in a folder."""
        return cls(study_file(place).resolve())

    def checked(self) -> CheckedStudy:
        """The state of now; the study is read again if a file has changed."""
        with self._lock:
            if self._stamp() != self._checked.stamp or not self._checked.stamp:
                self._named = tuple(_named_files(self.path))
                self._checked = self._read(self._stamp())
            return self._checked

    def read(self) -> StudyText:
        """The text of now."""
        try:
            content = self.path.read_bytes()
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise DialensError(f"{self.path} cannot be read: {error}.") from error
        return StudyText(text.replace("\r\n", "\n"), hashlib.sha256(content).hexdigest())

    def change(self, before: str, changes: Sequence[Change]) -> StudyText:
        """Change some values in the file.

        Args:
            before: The hash of the text that was changed.
            changes: In the order in which they are made.

        Raises:
            FileChanged: The file has another text by now.
        """
        with self._lock:
            return self._written(before, edited(self._unchanged(before).text, changes))

    def replace(self, before: str, text: str) -> StudyText:
        """Give the file another text, e.g. an earlier one."""
        with self._lock:
            self._unchanged(before)
            return self._written(before, text)

    def _unchanged(self, before: str) -> StudyText:
        now = self.read()
        if now.hash != before:
            raise FileChanged(
                f"{self.path.name} was changed on disk since this page read it. Nothing was "
                "written; reload the form to go on with the new text."
            )
        return now

    def _written(self, before: str, text: str) -> StudyText:
        old = self.path.read_bytes()
        if b"\r\n" in old:
            text = text.replace("\n", "\r\n")
        if old.startswith(_BOM.encode()):
            text = _BOM + text
        with atomic_file(self.path) as scratch:
            scratch.write_bytes(text.encode())
            shutil.copymode(self.path, scratch)
        return self.read()

    def _stamp(self) -> str:
        seen = hashlib.sha256()
        for path in (self.path, *self._named):
            try:
                parts = sorted(path.iterdir()) if path.is_dir() else [path]
                marks = [
                    (str(part), part.stat().st_mtime_ns, part.stat().st_size) for part in parts
                ]
            except OSError:
                marks = []
            seen.update(repr((str(path), marks)).encode())
        return seen.hexdigest()

    def _read(self, stamp: str) -> CheckedStudy:
        last = self._checked
        try:
            study = load_study(self.path)
            found = estimate(study)
            site = site_in_memory(study, self.path.parent, agents=False)
        except InvalidFile as error:
            own = error.path == self.path
            problems = tuple(
                StudyProblem(problem.message, problem.line, problem.where)
                if own
                else StudyProblem(f"{error.path.name}:{problem.line}: {problem.message}")
                for problem in error.problems
            )
            return CheckedStudy(stamp, last.site, problems, summary=last.summary)
        except DialensError as error:
            said = str(error).removeprefix(f"{self.path}: ")
            problem = StudyProblem(said, where=_meant(said, {}))
            return CheckedStudy(stamp, last.site, (problem,), summary=last.summary)
        if last.site is not None:
            last.site.store.close()
        data, lines = read_yaml(self.path)
        warnings = tuple(
            _placed(StudyProblem(said, where=_meant(said, data)), lines) for said in found.warnings
        )
        return CheckedStudy(stamp, site, (), warnings, _summary(study, found))


def site_in_memory(study: Study, folder: Path, *, agents: bool) -> Site:
    """A study that can be shown and taken; what is stored is gone with the process.

    Args:
        study: The study.
        folder: Where its file lies.
        agents: Whether agents are opened, where participants talk with some.
    """
    own: dict[str, JSON] = {} if agents else {"agents": {}}
    password = secrets.token_urlsafe(24)
    return Site.of(study, Store.in_memory(), password=password, folder=folder, **own)


def _summary(study: Study, found: StudyEstimate) -> str:
    longest = max(cell.minutes for cell in found.cells)
    return (
        f"{holds(study)}, cells: {len(found.cells)}, participants: {found.participants:,}, "
        f"minutes each: about {longest:.0f}"
    )


def _meant(said: str, data: JSON) -> _Way:
    """The setting that a message is about, as far as it names one."""
    for match in _DOTTED.finditer(said):
        way = match[0].split(".")
        if way[0] in Design.model_fields:
            return tuple(int(step) if step.isdecimal() else step for step in way)
    first = said.partition(" ")[0]
    if first in data.get("qualities", ()):
        return ("qualities", first)
    texts = _texts(data, ()) if said.startswith(PLACEHOLDER) else ()
    return next((way for way, text in texts if PLACEHOLDER in text), ())


def _placed(problem: StudyProblem, lines: Mapping[_Way, int]) -> StudyProblem:
    return replace(problem, line=lines.get(problem.where) if problem.where else None)


def _named_files(path: Path) -> Iterator[Path]:
    """Files and folders that a study file names, those that are not there yet among them."""
    try:
        data, _ = read_yaml(path)
    except DialensError:
        return
    yield from path.parent.glob(f"{path.stem}.*.yaml")  # translations
    for _, text in _texts(data, ()):
        if "\n" in text or not text or len(text) > _LONGEST_PATH:
            continue
        for name in (text, text.partition(":")[2]):  # an agent is named by `script:FILE`
            place = path.parent / name
            likely = " " not in name and Path(name).suffix
            try:
                if name and (likely or place.exists()):
                    yield place
            except (OSError, ValueError):
                continue


def _texts(value: JSON, at: _Way) -> Iterator[tuple[_Way, str]]:
    """Every text in a study file, and the way to it."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, (*at, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _texts(part, (*at, place))
