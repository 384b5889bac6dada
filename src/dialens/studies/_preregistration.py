"""Preregistration: design, hypotheses and analysis plan, frozen before anybody took part.

The file holds the whole study and a SHA-256 over everything in it, the time included. Whoever has
the hash (in an e-mail, on a registry such as OSF) can tell whether the file is still the one.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dialens.base import DialensError
from dialens.studies._check import holds
from dialens.studies._differences import Difference, compared, definition_differences
from dialens.studies._operation import NOTES, is_operation, named, operation_values
from dialens.studies._precision import PRECISION_METHOD
from dialens.studies._study import Study
from dialens.studies._types import JSON
from dialens.studies.design import Design

FILE = "preregistration.json"
"""Where it lies beside a study file, if it is not put elsewhere."""

_MOST_DIFFERENCES = 12
_PLANNED = ("hypotheses", "analysis_plan")


@dataclass(frozen=True)
class Preregistration:
    """A study as it was announced.

    Attributes:
        study: The study's name.
        version: Of the study.
        study_hash: Of its definition, which is what participants see.
        frozen_at: When, in UTC.
        participants_before: People who had taken part by then; 0 in a proper preregistration.
        hypotheses: What is expected.
        analysis_plan: How it will be tested.
        definition: Design and items, as JSON.
        operation: How it is to be run (targets, reward, limits, …), as JSON.
    """

    study: str
    version: int
    study_hash: str
    frozen_at: str
    participants_before: int
    hypotheses: tuple[str, ...]
    analysis_plan: str
    definition: JSON
    operation: JSON

    @property
    def hash(self) -> str:
        """The SHA-256 of all of it."""
        data = asdict(self) | {"hypotheses": list(self.hypotheses)}
        text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> str:
        """The file's content."""
        return json.dumps({"hash": self.hash, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"


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
        operation=json.loads(study.operation),
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
    found: list[Difference] = []
    if announced.study_hash != study.hash:
        found = definition_differences(announced.definition, json.loads(study.definition))
        found = found or [Difference("order", "another order of keys", "the order of the file")]
    return (*found, *_run_otherwise(announced, study))


def _run_otherwise(announced: Preregistration, study: Study) -> list[Difference]:
    """Where a study is run otherwise than planned, defaults included."""
    planned = operation_values(_announced_study(announced).design)
    run = operation_values(study.design)
    return [
        difference
        for place in dict.fromkeys((*planned, *run))
        for difference in compared(planned.get(place), run.get(place), named(place))
    ]


def _announced_study(announced: Preregistration) -> Study:
    return Study.from_definition(json.dumps(announced.definition), json.dumps(announced.operation))


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
    announced: Preregistration,
    study: Study,
    *,
    first_answer: datetime | None = None,
    changes: Sequence[str] = (),
) -> PreregistrationCheck:
    """Whether a study is the one announced, and what differs.

    Args:
        announced: The preregistration.
        study: As it was taken.
        first_answer: When the first person answered; none if nobody has.
        changes: What was changed while people took part, as the log says it.

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
    details += [f"Changed while people took part: {change}" for change in changes]
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
    otherwise = [one for one in found if is_operation(tuple(one.place.split(".")))]
    plan_changed = any(one.place.split(".")[0] in _PLANNED for one in otherwise)
    if len(otherwise) < len(found):
        return PreregistrationCheck(_another(announced), tuple(details), warning=True)
    text = _same(announced)
    if plan_changed:
        text += " Its hypotheses or its analysis plan have changed since."
    elif otherwise:
        text += " It was run otherwise than planned; what differs is listed."
    return PreregistrationCheck(text, tuple(details), warning=plan_changed)


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
    study = _announced_study(made)
    design = study.design
    qualities = [
        f"- {name} ({quality.instrument.kind}): {' '.join(quality.definition.split())}".rstrip(": ")
        for name, quality in design.qualities.items()
    ]
    factors = [
        f"- {name}, {factor.assign} participants: {', '.join(lv.name for lv in factor.levels)}"
        for name, factor in design.factors.items()
    ]
    waves = [
        f"- {name}: from {wave.after_hours:g} hours after the part before on, {wave.items} items"
        for name, wave in design.waves.items()
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
        f"- Hash of the definition (what participants see): `{made.study_hash}`",
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
        *(["Waves, for which participants come back:", "", *waves, ""] if waves else []),
        "## Operation as planned",
        "",
        "This may change while people take part; changes are logged and listed as deviations.",
        "",
        *_planned(design),
        "",
        *([PRECISION_METHOD, ""] if design.allocation.kind == "precision" else []),
        "The whole design, every item and every word that participants read stand in the JSON file "
        "beside this one, over which the hash is computed.",
    ]
    return "\n".join(lines) + "\n"


def _planned(design: Design) -> list[str]:
    values = operation_values(design)
    return [
        f"- {named(place)}: {json.dumps(value, ensure_ascii=False)}"
        for place, value in values.items()
        if place[0] not in NOTES
    ]
