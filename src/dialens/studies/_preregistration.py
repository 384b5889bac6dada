"""Preregistration: design, hypotheses and analysis plan, frozen before anybody took part.

The file holds the whole study and a SHA-256 over everything in it, the time included. Whoever has
the hash (in an e-mail, on a registry such as OSF) can tell whether the file is still the one.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dialens.base import DialensError
from dialens.studies._check import holds
from dialens.studies._study import Study
from dialens.studies._types import JSON

FILE = "preregistration.json"
"""Where it lies beside a study file, if it is not put elsewhere."""

_MOST = 60
_MOST_DIFFERENCES = 12
_ITEMS = ("items", "practice", "gold")


@dataclass(frozen=True)
class Preregistration:
    """A study as it was announced.

    Attributes:
        study: The study's name.
        version: Of the study.
        study_hash: Of its definition.
        frozen_at: When, in UTC.
        participants_before: People who had taken part by then; 0 in a proper preregistration.
        hypotheses: What is expected.
        analysis_plan: How it will be tested.
        definition: Design and items, as JSON.
    """

    study: str
    version: int
    study_hash: str
    frozen_at: str
    participants_before: int
    hypotheses: tuple[str, ...]
    analysis_plan: str
    definition: JSON

    @property
    def hash(self) -> str:
        """The SHA-256 of all of it."""
        data = asdict(self) | {"hypotheses": list(self.hypotheses)}
        text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> str:
        """The file's content."""
        return json.dumps({"hash": self.hash, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"


@dataclass(frozen=True)
class Difference:
    """A place where a study is not as it was announced."""

    place: str
    announced: str
    found: str

    def __str__(self) -> str:
        return f"{self.place}: announced {self.announced}, found {self.found}"


def preregister(
    study: Study, *, now: datetime, participants_before: int = 0, late: bool = False
) -> Preregistration:
    """Freeze a study.

    Args:
        study: The study.
        now: The time.
        participants_before: How many people have taken part.
        late: Whether it may be frozen although people have.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> tea = study_of(TEA | {"hypotheses": ["Anchors pull."]})
        >>> made = preregister(tea, now=datetime(2026, 1, 1, tzinfo=UTC))
        >>> made.frozen_at, len(made.hash), differences(made, tea)
        ('2026-01-01T00:00:00+00:00', 64, ())
    """
    design = study.design
    if participants_before and not late:
        raise DialensError(
            f"{participants_before:,} people have taken part in {study.name!r}: what is announced "
            "now is no preregistration. With --late it is written all the same, and says so."
        )
    if not design.hypotheses and not design.analysis_plan.strip():
        raise DialensError(
            f"The study {study.name!r} says neither what is expected (`hypotheses`) nor how it "
            "will be tested (`analysis_plan`). Write at least one of them into the study file."
        )
    return Preregistration(
        study=study.name,
        version=design.version,
        study_hash=study.hash,
        frozen_at=now.astimezone(UTC).isoformat(timespec="seconds"),
        participants_before=participants_before,
        hypotheses=tuple(design.hypotheses),
        analysis_plan=design.analysis_plan.strip(),
        definition=json.loads(study.definition),
    )


def read_preregistration(path: Path) -> Preregistration:
    """A preregistration from its file; one that was changed since is refused."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        written = data.pop("hash")
        made = Preregistration(**data | {"hypotheses": tuple(data["hypotheses"])})
    except FileNotFoundError as error:
        raise DialensError(f"There is no preregistration {path}.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DialensError(
            f"{path} is no preregistration. Make one with `dialens study preregister`."
        ) from error
    if made.hash != written:
        raise DialensError(
            f"{path} was changed after it was made: it says its hash is {str(written)[:12]}, and "
            f"it is {made.hash[:12]}. Use the file as it was."
        )
    return made


def differences(announced: Preregistration, study: Study) -> tuple[Difference, ...]:
    """Where a study is not the one that was announced; nothing if it is.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> made = preregister(
        ...     study_of(TEA | {"analysis_plan": "t-test"}), now=datetime(2026, 1, 1, tzinfo=UTC)
        ... )
        >>> print(*differences(made, study_of(TEA | {"analysis_plan": "bootstrap"})))
        analysis_plan: announced "t-test", found "bootstrap"
    """
    if announced.study_hash == study.hash:
        return ()
    before, after = announced.definition, json.loads(study.definition)
    found = list(_compared(before["design"], after["design"], ""))
    for part in _ITEMS:
        found += _items(part, before[part], after[part])
    return tuple(found) or (Difference("order", "another order of keys", "the order of the file"),)


def _compared(before: JSON, after: JSON, place: str) -> Iterator[Difference]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            inside = f"{place}.{key}" if place else str(key)
            yield from _compared(before.get(key), after.get(key), inside)
    else:
        yield Difference(place, _short(before), _short(after))


def _items(part: str, before: list[JSON], after: list[JSON]) -> Iterator[Difference]:
    """Items by their ids: how many are new, gone, changed."""
    old, new = ({item["id"]: item for item in items} for items in (before, after))
    changed = [name for name in old if name in new and old[name] != new[name]]
    gone, added = [n for n in old if n not in new], [n for n in new if n not in old]
    for what, names in (("changed", changed), ("left out", gone), ("added", added)):
        if names:
            some = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
            yield Difference(part, f"{len(old)} {part}", f"{len(names)} {what} ({some})")


def _short(value: JSON) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST else f"{text[: _MOST - 2]} …"


@dataclass(frozen=True)
class PreregistrationCheck:
    """Whether the study that was taken is the one that was announced, in words.

    Attributes:
        text: The answer, in a sentence.
        details: What differs and what was announced, one line each.
        warning: Whether results must not be read without it.
    """

    text: str
    details: tuple[str, ...] = ()
    warning: bool = False


NOT_PREREGISTERED = PreregistrationCheck(
    "This study was not preregistered (`dialens study preregister`)."
)


def check_study(
    announced: Preregistration, study: Study, *, first_answer: datetime | None = None
) -> PreregistrationCheck:
    """Whether a study is the one announced, and what differs.

    Args:
        announced: The preregistration.
        study: As it was taken.
        first_answer: When the first person answered; none if nobody has.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> tea = study_of(TEA | {"hypotheses": ["Anchors pull."]})
        >>> check = check_study(preregister(tea, now=datetime(2026, 1, 1, tzinfo=UTC)), tea)
        >>> check.text[:62], check.details, check.warning
        ('This is the study that was preregistered on 2026-01-01 at 00:0', ('Hypothesis 1: ...
    """
    found = differences(announced, study)
    details = [str(difference) for difference in found[:_MOST_DIFFERENCES]]
    if len(found) > _MOST_DIFFERENCES:
        details.append(f"… and {len(found) - _MOST_DIFFERENCES} more differences.")
    if announced.participants_before:
        details.append(
            f"{announced.participants_before:,} people had taken part when it was written."
        )
    if first_answer is not None and first_answer < datetime.fromisoformat(announced.frozen_at):
        details.append(
            f"The first answer was given before it, at {first_answer:%Y-%m-%d %H:%M} UTC."
        )
    details += [f"Hypothesis {n}: {text}" for n, text in enumerate(announced.hypotheses, start=1)]
    if announced.analysis_plan:
        details.append(f"Analysis plan: {announced.analysis_plan}")
    text = _another(announced) if found else _same(announced)
    return PreregistrationCheck(text, tuple(details), warning=bool(found))


def check_export(announced: Preregistration, export: Path) -> PreregistrationCheck:
    """Whether an export is of the study announced, as far as its codebook tells.

    Args:
        announced: The preregistration.
        export: The folder of an export, or any table of ratings.
    """
    codebook = export / "codebook.json"
    if not codebook.exists():
        text = (
            f"There is one ({announced.hash[:12]}), but a table of ratings does not say which "
            "study it comes from, so that it cannot be checked."
        )
        return PreregistrationCheck(text, warning=True)
    if json.loads(codebook.read_text(encoding="utf-8")).get("hash") == announced.study_hash:
        return PreregistrationCheck(_same(announced))
    text = f"{_another(announced)} Analyse the study itself to see what differs."
    return PreregistrationCheck(text, warning=True)


def _same(announced: Preregistration) -> str:
    return (
        f"This is the study that was preregistered {_when(announced)} "
        f"(hash {announced.hash[:12]}, study {announced.study_hash[:12]})."
    )


def _another(announced: Preregistration) -> str:
    return (
        f"This is not the study that was preregistered {_when(announced)} "
        f"(hash {announced.hash[:12]})."
    )


def _when(announced: Preregistration) -> str:
    return f"on {datetime.fromisoformat(announced.frozen_at):%Y-%m-%d at %H:%M} UTC"


def preregistration_markdown(made: Preregistration) -> str:
    """The same for people: what goes onto a registry.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> tea = study_of(TEA | {"hypotheses": ["Anchors pull."]})
        >>> text = preregistration_markdown(preregister(tea, now=datetime(2026, 1, 1, tzinfo=UTC)))
        >>> text.splitlines()[0], "1. Anchors pull." in text
        ('# Preregistration: How good are these replies?', True)
    """
    study = Study.from_definition(json.dumps(made.definition))
    design = study.design
    qualities = [
        f"- {name} ({quality.instrument.kind}): {' '.join(quality.definition.split())}".rstrip(": ")
        for name, quality in design.qualities.items()
    ]
    factors = [
        f"- {name}, {factor.assign} participants: {', '.join(lv.name for lv in factor.levels)}"
        for name, factor in design.factors.items()
    ]
    late = (
        [f"**{made.participants_before:,} people had taken part by then.**", ""]
        if made.participants_before
        else []
    )
    expected = [f"{n}. {one}" for n, one in enumerate(made.hypotheses, start=1)]
    lines = [
        f"# Preregistration: {' '.join(design.title.split())}",
        "",
        f"Study `{made.study}`, version {made.version}, frozen at {made.frozen_at}.",
        "",
        *late,
        f"- Hash of the preregistration: `{made.hash}`",
        f"- Hash of the study: `{made.study_hash}`",
        "",
        "## Hypotheses",
        "",
        *(expected or ["None."]),
        "",
        "## Analysis plan",
        "",
        made.analysis_plan or "None.",
        "",
        "## Design",
        "",
        *([" ".join(design.description.split()), ""] if design.description else []),
        f"{holds(study)}; {sum(study.targets.values()):,} participants in "
        f"{len(study.cells)} {'cell' if len(study.cells) == 1 else 'cells'}.",
        "",
        "Qualities:",
        "",
        *qualities,
        "",
        *(["Factors:", "", *factors, ""] if factors else []),
        "The whole design, every item and every word that participants read stand in the JSON file "
        "beside this one, over which the hash is computed.",
    ]
    return "\n".join(lines) + "\n"
